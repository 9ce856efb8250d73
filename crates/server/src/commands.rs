//! A file a command.

pub(crate) mod accept;
pub(crate) mod archive;
pub(crate) mod backup;
pub(crate) mod completions;
pub(crate) mod configuration;
pub(crate) mod errors;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod gateway;
pub(crate) mod incidents;
pub(crate) mod migrate;
pub(crate) mod operations;
pub(crate) mod outbox;
pub(crate) mod prune;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod token;
