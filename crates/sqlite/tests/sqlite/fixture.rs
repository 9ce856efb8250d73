//! A file in a folder of its own.

use std::path::PathBuf;
use std::sync::Arc;

use onefold_conformance::Harness;
use onefold_conformance::fixture::StoreFixture;
use onefold_conformance::outbox::fixture::OutboxHarness;
use onefold_core::Result;
use onefold_core::event::NewEvent;
use onefold_core::port::{Clock, Random, StageOrder, Staged, Staging};
use onefold_runtime::{SystemClock, SystemRandom};
use onefold_sqlite::{Sqlite, SqliteOptions};
use tempfile::TempDir;

/// A store's file, gone with its folder.
pub(crate) struct SqliteHarness {
    folder: TempDir,
}

impl SqliteHarness {
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("onefold.db")
    }
}

impl Harness for SqliteHarness {
    type Store = Sqlite;

    async fn fresh() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    async fn open(&self, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Sqlite {
        Sqlite::open(self.path(), SqliteOptions::new(clock, random)).await.expect("the file opens")
    }
}

impl OutboxHarness for SqliteHarness {
    async fn stage(store: &Sqlite, events: Vec<NewEvent>) -> Result<Vec<Staged>> {
        let mut transaction = store.begin().await?;
        let staged = Staging::stage(store, &mut transaction, &events, StageOrder::AggregateIsLocked).await?;
        transaction.commit().await?;
        Ok(staged)
    }

    async fn stage_and_roll_back(store: &Sqlite, events: Vec<NewEvent>) -> Result<()> {
        let mut transaction = store.begin().await?;
        Staging::stage(store, &mut transaction, &events, StageOrder::LockAggregate).await?;
        transaction.rollback().await
    }
}

/// A fixture on a file.
pub(crate) type SqliteFixture = StoreFixture<SqliteHarness>;

/// A folder that is gone when the test ends.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// The file of the store.
    pub(crate) fn path(&self) -> PathBuf {
        self.file("onefold.db")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// The defaults, on the system's clock.
pub(crate) fn options() -> SqliteOptions {
    SqliteOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()))
}

/// Opens a file on the system's clock.
pub(crate) async fn open(path: PathBuf) -> Result<Sqlite> {
    Sqlite::open(path, options()).await
}
