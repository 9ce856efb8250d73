//! The promises of a ledger, a file a transition.

pub mod batch;
pub mod claim;
pub mod incident;
pub mod machine;
pub mod outcomes;
pub mod prune;
pub mod read;
pub mod reconcile;
pub mod record;
pub mod release;
pub mod renew;
pub mod resolve;
pub mod sweep;

mod suite;
