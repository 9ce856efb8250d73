//! The embedded store: one file, one writer, batches in one commit.
//!
//! What was acknowledged survives `kill -9` and power loss: the write-ahead log is synced before anybody hears of a
//! commit in it.
//! Several processes may share a file; the user's own tables may live in it, and [`Sqlite::begin`]
//! gives a transaction in which both are written together.
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `open` | opens the file: limits, pragmas, migrations, keys |
//! | `address` | what it is opened on: a path, or a pool on a file |
//! | `position` | how far the ledger has come, and whether the file still is that ledger |
//! | `backup` | a copy of the ledger, made and restored |
//! | `rows` | a ledger of any store as rows of a backup |
//! | `migrate` | which migrations a file has, and the missing ones |
//! | `connection` | a connection that one thread at a time uses |
//! | `log_sync` | makes a commit durable while the next one is written |
//! | `ledger/write` | claim, record, renew, release: a batch in one commit |
//! | `ledger/maintenance` | sweep, reconcile |
//! | `ledger/prune` | retention and archive |
//! | `ledger/read` | find, list, timeline, incidents |
//! | `registry` | declarations of kinds, API tokens |
//! | `announcements` | who was told of which incident |
//! | `outbox` | staging, relays, what is set aside |
//! | `incidents` | incidents that are not about an operation |
//! | `ledger/once`, `transaction` | the user's own transaction |
//! | `ledger/transition` | carries a transition out |
//! | `ledger/row` | columns and entries |
//! | `clock` | the highest time seen |
//! | `error` | result codes and the registry |

mod address;
mod announcements;
mod backup;
mod clock;
mod connection;
mod error;
mod incidents;
mod installation_lock;
mod ledger;
mod log_sync;
mod migrate;
mod open;
mod outbox;
mod position;
mod registry;
mod rows;
mod sql;
mod transaction;

use std::path::Path;
use std::sync::{Arc, Mutex};

use onefold_core::fingerprint::Keyring;

pub use backup::BackupProgress;
pub use error::fault;
pub use migrate::SqliteMigration;
pub use open::SqliteOptions;
pub use rows::{BackupReader, BackupWriter};
pub use transaction::SqliteTx;

use clock::StoreClock;
use connection::SharedConnection;
use log_sync::LogSync;
use onefold_core::ledger::GrantCache;
use onefold_core::port::Faults;
use position::PositionTracker;

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
    track: PositionTracker,
    /// Makes batches durable.
    log: Arc<LogSync>,
    /// The one connection that writes operations.
    writer: SharedConnection,
    /// Reads do not wait for commits.
    reader: SharedConnection,
    /// Relays read events here, so that nobody waits for them; opened by the first one.
    events_reader: std::sync::OnceLock<SharedConnection>,
    /// Connections for the user's own transactions.
    pool: sqlx::SqlitePool,
    /// One user transaction at a time waits for the file's write lock; the others wait in order.
    gate: Arc<tokio::sync::Semaphore>,
    granted: Mutex<GrantCache>,
    clock: Arc<StoreClock>,
    faults: Arc<dyn Faults>,
    keyring: Arc<Keyring>,
    options: SqliteOptions,
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
