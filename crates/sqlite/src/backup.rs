//! A copy of the ledger in one file: made while it is used, verified, and never mistaken for the ledger itself.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use onefold_core::backup::{BackupSummary, ExistingLedger};
use onefold_core::error::{BACKUP_REFUSED, DATABASE_CORRUPT, DATABASE_IN_USE, DATABASE_READ_ONLY};
use onefold_core::{Error, Result, Timestamp};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::{opening, translate};
use crate::installation_lock::take_name;
use crate::open::SqliteOptions;
use crate::position::{blocking, resolve, state};
use crate::{Sqlite, sql};

/// Told every now and then: bytes written so far, and about how many there will be.
pub type BackupProgress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// How long a restore waits for those who use the file.
const FREE_WITHIN: Duration = Duration::from_secs(1);

impl Sqlite {
    /// Copies the ledger, with whatever tables share its file, into a new file while it is used.
    ///
    /// Everything that was acknowledged before this was called is in it. The copy is checked, synced and only then
    /// given its name; before a server starts on it, a person must accept it.
    pub async fn backup(&self, to: &Path, existing: ExistingLedger, progress: BackupProgress) -> Result<BackupSummary> {
        free_place(to, existing)?;
        self.raise_mark().await?;
        let (source, at, to) = (self.inner.resolved.clone(), self.inner.clock.now(), to.to_owned());
        let written = new_file(&to)?;
        let mut copying = Box::pin(blocking({
            let (source, written) = (source.clone(), written.clone());
            move || {
                let copied = copy(&source, &written).and_then(|()| seal(&written, &to, at));
                copied.inspect_err(|_| drop(std::fs::remove_file(&written)))
            }
        }));
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        loop {
            tokio::select! {
                copied = &mut copying => return copied,
                () = self.inner.clock.sleep(TELL_EVERY) => progress(bytes(&written), bytes(&source)),
            }
        }
    }

    /// Puts a backup where a ledger is to be. Before a server starts on it, a person must accept it.
    ///
    /// Refused while a process uses the ledger that is there. One that gives way is kept beside, under a name of its own.
    pub async fn restore(
        from: &Path,
        to: &Path,
        options: SqliteOptions,
        existing: ExistingLedger,
    ) -> Result<BackupSummary> {
        let (from, to) = (from.to_owned(), to.to_owned());
        blocking(move || {
            verify(&from)?;
            let resolved = resolve(&to);
            let now = options.clock.now();
            set_aside(&resolved, existing, now)?;
            let written = new_file(&resolved)?;
            let copied = std::fs::copy(&from, &written).map(drop).map_err(|cause| unusable(&written, cause));
            copied.and_then(|()| seal(&written, &resolved, now)).inspect_err(|_| drop(std::fs::remove_file(&written)))
        })
        .await
    }
}

fn copy(source: &Path, to: &Path) -> Result<()> {
    let connection = open(source, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.execute("VACUUM INTO ?1", [to.to_string_lossy()]).map(drop).map_err(translate)
}

/// Marks a copy, checks it, and gives it its name.
pub(crate) fn seal(written: &Path, name: &Path, at: Timestamp) -> Result<BackupSummary> {
    let connection = open(written, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // One file is the whole copy.
    connection.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())).map_err(translate)?;
    connection.execute(&sql::MARK_COPY, [at.as_micros()]).map_err(translate)?;
    drop(connection);
    let summary = verify(written)?;
    let file = File::open(written).map_err(|cause| unusable(written, cause))?;
    onefold_files::finish(&file, written, name).map_err(|cause| unusable(name, cause))?;
    Ok(summary)
}

/// Whether a file is a whole copy of a ledger, and what it holds.
pub(crate) fn verify(path: &Path) -> Result<BackupSummary> {
    let damaged = |what: &str| {
        Err(Error::new(DATABASE_CORRUPT, format!("{}: {what}", path.display())).hint("use another backup"))
    };
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if !connection.table_exists(None, "onefold_position").map_err(|cause| opening(path, cause))? {
        return damaged("there is no ledger in it");
    }
    let sound: String = connection.pragma_query_value(None, "integrity_check", |row| row.get(0)).map_err(translate)?;
    if sound != "ok" {
        return damaged("the integrity check failed");
    }
    let state = state(&connection)?;
    let mut rows = BTreeMap::new();
    for table in columns(&connection)?.into_keys() {
        let count = connection.query_row(&sql::COUNT_ROWS.replace(":table", &table), [], |row| row.get::<_, i64>(0));
        rows.insert(table, u64::try_from(count.map_err(translate)?).unwrap_or(0));
    }
    let bytes = std::fs::metadata(path).map_err(|cause| unusable(path, cause))?.len();
    Ok(BackupSummary { copied_at: state.copied_at.unwrap_or(state.at), mark: state.mark, rows, bytes })
}

/// The ledger's tables with their columns.
pub(crate) fn columns(connection: &Connection) -> Result<BTreeMap<String, Vec<String>>> {
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut statement = connection.prepare(&sql::COLUMNS).map_err(translate)?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(translate)?;
    for row in found {
        let (table, column): (String, String) = row.map_err(translate)?;
        tables.entry(table).or_default().push(column);
    }
    Ok(tables)
}

pub(crate) fn open(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let failed = |cause| opening(path, cause);
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    connection.busy_timeout(FREE_WITHIN).map_err(failed)?;
    Ok(connection)
}

/// A new file beside `name`, readable by its owner alone; what an earlier try left there goes.
pub(crate) fn new_file(name: &Path) -> Result<PathBuf> {
    let mut written = name.as_os_str().to_owned();
    written.push(".new");
    let written = PathBuf::from(written);
    let _ = std::fs::remove_file(&written);
    let made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&written);
    made.map(drop).map_err(|cause| unusable(&written, cause))?;
    Ok(written)
}

/// Refuses a name that is taken.
pub(crate) fn free_place(name: &Path, existing: ExistingLedger) -> Result<()> {
    if existing == ExistingLedger::Replace || !name.exists() {
        return Ok(());
    }
    Err(Error::new(BACKUP_REFUSED, format!("{} exists already", name.display()))
        .hint("name another file, or replace it with --overwrite"))
}

fn unusable(path: &Path, cause: std::io::Error) -> Error {
    Error::new(DATABASE_READ_ONLY, format!("{}: {cause}", path.display())).caused_by(cause)
}

/// Makes way for a backup: nobody may use the ledger that is there, and it is kept under another name.
fn set_aside(resolved: &Path, existing: ExistingLedger, now: Timestamp) -> Result<()> {
    let beside = |ending: &str| {
        let mut name = resolved.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    if resolved.exists() {
        let _held = take_name(resolved, resolved, "server")?;
        let operations = used(resolved)?;
        if operations > 0 && existing == ExistingLedger::Keep {
            let what = format!("{} holds a ledger with {operations} operations", resolved.display());
            return Err(Error::new(BACKUP_REFUSED, what)
                .hint("restore to another place, or replace it with --replace; it is kept under another name"));
        }
    }
    for ending in ["", "-wal", "-shm"] {
        let path = beside(ending);
        if path.exists() {
            let aside = beside(&format!(".replaced-{}{ending}", now.as_micros()));
            std::fs::rename(&path, aside).map_err(|cause| unusable(&path, cause))?;
        }
    }
    Ok(())
}

/// How many operations a file holds that no other process uses.
fn used(path: &Path) -> Result<i64> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let in_use = |cause| {
        let error = opening(path, cause);
        if error.code() != onefold_core::error::DATABASE_BUSY {
            return error;
        }
        Error::new(DATABASE_IN_USE, format!("{}: a process uses the database", path.display()))
            .hint("stop every server, worker and service on it first")
    };
    // Refused while anybody else has the file open.
    connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(())).map_err(in_use)?;
    if !connection.table_exists(None, "onefold_operations").map_err(in_use)? {
        return Ok(0);
    }
    let count = sql::COUNT_ROWS.replace(":table", "onefold_operations");
    connection.query_row(&count, [], |row| row.get(0)).map_err(in_use)
}
