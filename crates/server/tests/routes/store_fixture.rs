//! The store: an SQLite file of its own for every test.

use std::path::Path;
use std::sync::Arc;

use onefold_runtime::{Ledger, Settings, SystemClock, SystemRandom};

/// Where operations are kept.
pub(crate) type Store = onefold_sqlite::Sqlite;

/// A store that nobody has used; gone when the test ends.
pub(crate) struct StoreFixture {
    folder: tempfile::TempDir,
}

impl StoreFixture {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A ledger of this process.
    pub(crate) async fn ledger(&self) -> Ledger<Store> {
        let options = onefold_sqlite::SqliteOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()));
        let store = Store::open(self.folder().join("onefold.db"), options).await.unwrap();
        Ledger::open(store, Settings::default()).unwrap()
    }

    /// From now on nothing can be written, until what this returns is dropped.
    pub(crate) fn take_away(&self) -> impl Drop + use<> {
        let other = rusqlite::Connection::open(self.folder().join("onefold.db")).unwrap();
        other.busy_timeout(std::time::Duration::from_mins(1)).unwrap();
        other.execute_batch("BEGIN EXCLUSIVE").unwrap();
        Away(other)
    }

    /// What tells a server of this store where it is.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![("ONEFOLD_DATABASE", format!("sqlite:{}", self.folder().join("onefold.db").display()))]
    }
}

struct Away(rusqlite::Connection);

impl Drop for Away {
    fn drop(&mut self) {
        self.0.execute_batch("ROLLBACK").unwrap();
    }
}
