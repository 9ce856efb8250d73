//! What a SQLite ledger is opened on: a path, or a pool on a file.

use std::path::{Path, PathBuf};

use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::port::{Opener, SqliteAddress};
use onefold_core::{Error, Result};
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteLockingMode};

use crate::{Sqlite, SqliteOptions};

impl Sqlite {
    /// Opens the file that a pool is connected to.
    ///
    /// The ledger's connections are its own. Those of [`Sqlite::begin`] have the pool's options (foreign keys, extensions,
    /// other pragmas), except for what the ledger's promises need: write-ahead log, `synchronous = FULL`.
    pub async fn open_pool(pool: &SqlitePool, options: SqliteOptions) -> Result<Self> {
        let connect = SqliteConnectOptions::clone(&pool.connect_options());
        let path = connect.get_filename().to_owned();
        if !is_file(&path) {
            return Err(Error::new(
                CONFIGURATION_INVALID,
                "the pool's database is in memory and ends with its process",
            )
            .hint("connect the pool to a file"));
        }
        let connect = connect
            .read_only(false)
            .immutable(false)
            .locking_mode(SqliteLockingMode::Normal)
            .journal_mode(SqliteJournalMode::Wal);
        Box::pin(Self::open_with(connect, path, options)).await
    }
}

/// The driver gives a database in memory a name of its own.
fn is_file(path: &Path) -> bool {
    let name = path.to_string_lossy();
    !name.is_empty() && name != ":memory:" && !name.starts_with("file:sqlx-in-memory")
}

macro_rules! paths {
    ($($path:ty),+) => {$(
        impl SqliteAddress<Sqlite> for $path {
            fn opener(self) -> Opener<Sqlite> {
                let path = PathBuf::from(AsRef::<Path>::as_ref(&self));
                Box::new(|clock, random| Box::pin(Sqlite::open(path, SqliteOptions::new(clock, random))))
            }
        }
    )+};
}

paths!(&str, &String, String, &Path, &PathBuf, PathBuf);

impl SqliteAddress<Sqlite> for SqlitePool {
    fn opener(self) -> Opener<Sqlite> {
        Box::new(|clock, random| {
            Box::pin(async move { Sqlite::open_pool(&self, SqliteOptions::new(clock, random)).await })
        })
    }
}
