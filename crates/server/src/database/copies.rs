//! Backup and restore: one file for either store.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use onefold_core::backup::{BackupSummary, ExistingLedger, TableRows};
use onefold_core::error::UNEXPECTED;
use onefold_core::{Error, Result};
use onefold_postgres::Postgres;
use onefold_sqlite::{BackupProgress, BackupReader, BackupWriter, Sqlite};
use tokio::sync::mpsc;

use super::{Database, at_start, postgres_options, sqlite_options};
use crate::app::now;
use crate::config::{Address, Config};

/// Parts of a backup that wait between the two databases.
const PARTS: usize = 4;

impl Database {
    /// Copies the ledger into a file while it is used.
    pub(crate) async fn backup(
        &self,
        file: &Path,
        existing: ExistingLedger,
        progress: BackupProgress,
    ) -> Result<BackupSummary> {
        match self {
            Self::Sqlite(store) => store.backup(file, existing, progress).await,
            Self::Postgres(store) => export(store, file, existing, progress).await,
        }
    }

    /// Puts a backup where the configured database is.
    pub(crate) async fn restore(config: &Config, file: &Path, existing: ExistingLedger) -> Result<BackupSummary> {
        match &config.database {
            Address::Sqlite(path) => Sqlite::restore(file, path, sqlite_options(), existing).await,
            Address::Postgres(url) => {
                import(url.secret(), postgres_options(config), file, existing).await.map_err(at_start)
            }
        }
    }
}

async fn export(
    store: &Postgres,
    file: &Path,
    existing: ExistingLedger,
    progress: BackupProgress,
) -> Result<BackupSummary> {
    let began = now();
    let mut writer = BackupWriter::create(file, existing, began)?;
    let total = store.operations().await?;
    let done = AtomicU64::new(0);
    let (parts, mut from) = mpsc::channel::<TableRows>(PARTS);
    let writing = blocking(move || {
        while let Some(part) = from.blocking_recv() {
            writer.add(&part)?;
            if part.table == "onefold_operations" {
                let rows = part.rows.len() as u64;
                progress(done.fetch_add(rows, Ordering::Relaxed) + rows, total);
            }
        }
        Ok(writer)
    });
    let (exported, written) = tokio::join!(store.export(parts), writing);
    // Where writing ended, exporting did too: what happened first is told.
    let writer = written?;
    exported?;
    blocking(move || writer.finish(began)).await
}

async fn import(
    url: &str,
    options: onefold_postgres::PostgresOptions,
    file: &Path,
    existing: ExistingLedger,
) -> Result<BackupSummary> {
    let path = file.to_owned();
    let reader = blocking(move || BackupReader::open(&path)).await?;
    let summary = reader.summary().clone();
    let (parts, from) = mpsc::channel(PARTS);
    let reading = blocking(move || reader.read(|part| parts.blocking_send(part).map_err(|_| cut_short())));
    let (imported, read) = tokio::join!(Postgres::import(url, options, existing, summary.clone(), from), reading);
    imported?;
    read.map(|()| summary)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|cause| cut_short().caused_by(cause))?
}

fn cut_short() -> Error {
    Error::new(UNEXPECTED, "the backup was cut short")
}
