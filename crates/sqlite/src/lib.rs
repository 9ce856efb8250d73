//! The embedded store: one file, one writer, batches in one commit.
//!
//! What was acknowledged survives `kill -9` and power loss: write-ahead log, `synchronous = FULL`.
//! Several processes may share a file; the user's own tables may live in it, and [`Sqlite::begin`]
//! gives a transaction in which both are written together.
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `open` | opens the file: limits, pragmas, migrations, keys |
//! | `position` | how far the ledger has come, and whether the file still is that ledger |
//! | `backup` | a copy of the ledger, made and restored |
//! | `rows` | a ledger of any store as rows of a backup |
//! | `migrate` | which migrations a file has, and the missing ones |
//! | `connected` | a connection that one thread at a time uses |
//! | `act` | claim, record, renew, release: a batch in one commit |
//! | `keep` | sweep, reconcile, resolve |
//! | `prune` | retention and archive |
//! | `look` | find, list, timeline, incidents |
//! | `share` | pinned kinds, tokens, who looked |
//! | `tell` | who was told of which incident |
//! | `once`, `transaction` | the user's own transaction |
//! | `write` | carries a transition out |
//! | `row` | columns and entries |
//! | `clock` | the highest time seen |
//! | `error` | result codes and the registry |

mod act;
mod backup;
mod clock;
mod connected;
mod error;
mod hold;
mod keep;
mod look;
mod migrate;
mod once;
mod open;
mod position;
mod prune;
mod row;
mod rows;
mod share;
mod sql;
mod tell;
mod transaction;
mod write;

use std::path::Path;
use std::sync::{Arc, Mutex};

use onefold_core::fingerprint::Keyring;

pub use backup::Progress;
pub use error::fault;
pub use migrate::Migration;
pub use open::Options;
pub use rows::{BackupReader, BackupWriter};
pub use transaction::Tx;

use clock::StoreClock;
use connected::Connected;
use onefold_core::persistence::Granted;
use onefold_core::ports::Faults;
use position::Track;

/// The embedded store. Cheap to clone; clones share the file.
#[derive(Clone)]
pub struct Sqlite {
    inner: Arc<Inner>,
}

struct Inner {
    path: std::path::PathBuf,
    /// Where the file really is, whatever name it was opened by.
    resolved: std::path::PathBuf,
    /// How far the ledger has come.
    track: Track,
    /// The one connection that writes operations.
    writer: Connected,
    /// Reads do not wait for commits.
    reader: Connected,
    /// Connections for the user's own transactions.
    pool: sqlx::SqlitePool,
    /// One user transaction at a time waits for the file's write lock; the others wait in order.
    gate: Arc<tokio::sync::Semaphore>,
    granted: Mutex<Granted>,
    clock: Arc<StoreClock>,
    faults: Arc<dyn Faults>,
    keyring: Arc<Keyring>,
    options: Options,
}

impl Sqlite {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.inner.path).finish_non_exhaustive()
    }
}
