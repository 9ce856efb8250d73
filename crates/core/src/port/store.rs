//! A store as a whole.

use std::sync::Arc;

use super::BoxFuture;
use super::announcement::AnnouncementQueue;
use super::incident::IncidentWrite;
use super::ledger::{LedgerMaintenance, LedgerRead, LedgerWrite};
use crate::error::Result;
use crate::fingerprint::Keyring;

/// What a file or a schema holds before it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// No table, or it does not exist.
    Nothing,
    /// A ledger, of whatever version; tables of others may be beside it.
    Ledger,
    /// Tables of others and no ledger; the first few names.
    OtherTables(Vec<String>),
}

/// A ledger's store.
pub trait Store: LedgerWrite + LedgerMaintenance + LedgerRead + AnnouncementQueue + IncidentWrite + 'static {
    /// What it is called in metrics.
    fn name(&self) -> &'static str;
    /// The keys that fingerprints are made with; shared by everyone on this store.
    fn keyring(&self) -> Arc<Keyring>;
    /// Takes an installation's name, where a store can tell whether a living process has it; refused while one has.
    fn lock_installation(&self, installation: &str) -> Result<InstallationLock>;
    /// Remembers outside the database how far it has come, where something was written since; called about once a second.
    ///
    /// Refused with `LEDGER_WENT_BACK` once the database under this process is no longer the one it opened; from then on
    /// every step is refused so.
    fn remember(&self) -> BoxFuture<'_, Result<()>>;
    /// Writes something that takes space and is never shown: whether an operation could be claimed now.
    fn probe(&self) -> BoxFuture<'_, Result<()>>;
    /// Called when nothing is in flight any more: folds everything into its place, and remembers how far it came.
    fn finish(&self) -> BoxFuture<'_, Result<()>>;
}

/// An installation's name, taken.
pub enum InstallationLock {
    /// No other living process has it while the guard lives, so what an earlier life held is proved dead.
    Alone(Box<dyn Send + Sync>),
    /// Nobody can prove that from here: a connection that ends does not mean a process that ended.
    Unproved,
}
