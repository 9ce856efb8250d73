//! What makes an operation take hold once: the handle, the batches, the attempts and the loops that watch them.

pub(crate) mod archive;
pub(crate) mod attempt;
pub(crate) mod batcher;
pub(crate) mod builder;
pub(crate) mod claim_request;
pub(crate) mod handle;
pub(crate) mod incidents;
pub(crate) mod journal;
pub(crate) mod kind;
pub(crate) mod lease_handle;
pub(crate) mod once;
pub(crate) mod operation;
pub(crate) mod perform;
pub(crate) mod pruner;
pub(crate) mod reconciler;
pub(crate) mod recorder;
pub(crate) mod remote;
pub(crate) mod running_attempt;
pub(crate) mod sweeper;
