//! The ledger: operations, their attempts, notes and incidents.

pub(crate) mod fast_path;
pub(crate) mod lost_commit;
pub(crate) mod maintenance;
pub(crate) mod once;
pub(crate) mod prune;
pub(crate) mod read;
pub(crate) mod row;
pub(crate) mod transition;
pub(crate) mod write;
