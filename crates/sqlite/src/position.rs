//! How far the ledger has come, and whether the file still is that ledger.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use onefold_core::error::{DATABASE_ALIASED, DATABASE_UNAVAILABLE, LEDGER_WENT_BACK};
use onefold_core::position::{Generation, LedgerState, Position, Setback};
use onefold_core::row::Cell;
use onefold_core::{Error, Result, Timestamp};
use onefold_files::PositionFile;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::clock::StoreClock;
use crate::error::{opening, translate};
use crate::ledger::transition::{execute, in_transaction, query};
use crate::open::SqliteOptions;
use crate::{Sqlite, sql};

/// How long a stopping process waits for those who still read the log.
const FOLD_WITHIN: Duration = Duration::from_secs(1);

/// What a process knows of the ledger's position.
pub(crate) struct PositionTracker {
    file: PositionFile,
    /// Device and inode of the database file that was opened.
    identity: (u64, u64),
    generation: Generation,
    /// The database as it was when the ledger was opened.
    opened: MarkedState,
    seen: Mutex<MarkedState>,
    /// Set once the database under this process is no longer the one it opened.
    refused: OnceLock<Error>,
}

/// The database as this process last marked it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct MarkedState {
    mark: u64,
    /// Changes when other connections commit.
    data_version: i64,
    /// Rows that the writer has changed.
    changes: u64,
}

impl MarkedState {
    fn of(writer: &Connection, mark: u64) -> Result<Self> {
        Ok(Self { mark, data_version: data_version(writer)?, changes: writer.total_changes() })
    }
}

impl PositionTracker {
    pub(crate) fn new(
        file: PositionFile,
        identity: (u64, u64),
        position: Position,
        writer: &Connection,
    ) -> Result<Self> {
        // What others wrote before is not marked for sure, so the first look finds a change.
        let seen = Mutex::new(MarkedState { mark: position.mark, ..MarkedState::default() });
        let opened = MarkedState::of(writer, position.mark)?;
        Ok(Self { file, identity, generation: position.generation, opened, seen, refused: OnceLock::new() })
    }

    /// Refuses once the database is no longer the one that was opened.
    pub(crate) fn check(&self) -> Result<()> {
        self.refused.get().map_or(Ok(()), |error| Err(error.share()))
    }

    fn refuse(&self, error: Error) -> Error {
        tracing::error!(error_code = %error.code(), detail = error.detail(), "nothing more is granted on this database");
        self.refused.get_or_init(|| error).share()
    }

    fn raise(&self, connection: &Connection, clock: &StoreClock) -> Result<Option<Position>> {
        self.check()?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let data_version = data_version(connection)?;
        let state = state(connection)?;
        let generation = self.same_ledger(&state, seen.mark)?;
        let own = connection.total_changes() != seen.changes;
        // Where somebody else has raised the mark since, the next writer raises it again.
        let unmarked = data_version != seen.data_version && state.mark == seen.mark;
        if !own && !unmarked {
            (seen.mark, seen.data_version) = (state.mark, data_version);
            return Ok(None);
        }
        let (mark, at, data_version) = in_transaction(connection, clock, |connection, now| {
            raise_mark(connection, 0, now)?;
            Ok((read_position(connection)?.mark, now, self::data_version(connection)?))
        })?;
        *seen = MarkedState { mark, data_version, changes: connection.total_changes() };
        Ok(Some(Position { generation, mark, at }))
    }

    /// The database's present generation, if it still is the ledger that this process opened.
    fn same_ledger(&self, state: &LedgerState, mark: u64) -> Result<Generation> {
        let known = Position { generation: self.generation, mark, at: state.at };
        match Setback::of(Some(known), Some(state)) {
            None => Ok(state.generations.last().copied().unwrap_or(self.generation)),
            Some(setback) => Err(self.refuse(setback.error())),
        }
    }

    /// Whether the name still leads to the file that is open.
    fn same_file(&self, resolved: &Path) -> Result<()> {
        if std::fs::metadata(resolved).is_ok_and(|file| identity(&file) == self.identity) {
            return Ok(());
        }
        let what = format!("{}: the file was moved, deleted or replaced under this process", resolved.display());
        Err(self.refuse(Error::new(LEDGER_WENT_BACK, what)))
    }
}

impl Sqlite {
    /// Raises the mark where anyone has written since, and remembers it once it is durable.
    pub(crate) async fn raise_mark(&self) -> Result<()> {
        let inner = Arc::clone(&self.inner);
        blocking(move || {
            inner.track.check()?;
            inner.track.same_file(&inner.resolved)?;
            let raised = inner.writer.call_here(|connection| inner.track.raise(connection, &inner.clock))?;
            raised.map_or(Ok(()), |position| inner.track.file.raise(&position))
        })
        .await
    }

    /// Takes more room than a claim needs, and gives it back in a commit of its own: what is freed in the commit that
    /// took it is never written.
    pub(crate) async fn take_room(&self) -> Result<()> {
        let inner = Arc::clone(&self.inner);
        blocking(move || {
            inner.track.check()?;
            inner.writer.call_here(|connection| {
                [&sql::TAKE_ROOM, &sql::GIVE_ROOM_BACK].into_iter().try_for_each(|statement| {
                    in_transaction(connection, &inner.clock, |connection, _| {
                        execute(connection, statement, []).map(drop)
                    })
                })
            })
        })
        .await
    }

    /// Marks where the ledger ends, and folds the write-ahead log into the file, which then is the whole ledger.
    pub(crate) async fn fold(&self) -> Result<()> {
        // A command that only looked writes nothing.
        let opened = self.inner.track.opened;
        if self.inner.writer.call(move |connection| Ok(MarkedState::of(connection, opened.mark)? != opened)).await? {
            self.raise_mark().await?;
        }
        let inner = Arc::clone(&self.inner);
        let read_on = blocking(move || {
            inner.writer.call_here(|connection| {
                connection.busy_timeout(FOLD_WITHIN).map_err(translate)?;
                let folded = connection
                    .pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |row| Ok(row.get::<_, i64>(0)? != 0))
                    .map_err(translate);
                connection.busy_timeout(inner.options.busy_wait).map_err(translate)?;
                folded
            })
        })
        .await?;
        if read_on {
            tracing::info!("another process uses the database: its write-ahead log stays beside it");
        }
        Ok(())
    }

    /// A person accepts the ledger in this file as it is: a new generation begins, with who and why.
    ///
    /// Answers with what was wrong with it; nothing is changed where nothing was.
    pub async fn accept(
        path: impl Into<PathBuf>,
        options: SqliteOptions,
        who: &str,
        why: &str,
    ) -> Result<Option<Error>> {
        let (path, who, why) = (path.into(), who.to_owned(), why.to_owned());
        blocking(move || crate::open::accept(&path, &options, &who, &why)).await
    }
}

pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let cut_short = |cause| Error::new(DATABASE_UNAVAILABLE, "the call was cut short").caused_by(cause);
    tokio::task::spawn_blocking(work).await.map_err(cut_short)?
}

/// Where the file is, with every symbolic link followed: its log and its locks are beside it there.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    if let Ok(resolved) = path.canonicalize() {
        return resolved;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// What is wrong with the ledger in this file, if anything is. The file and its log are left as they are.
pub(crate) fn setback(path: &Path, resolved: &Path, options: &SqliteOptions) -> Result<Option<Error>> {
    let remembered = match PositionFile::beside(resolved).read() {
        Ok(remembered) => remembered,
        Err(error) if error.code() == LEDGER_WENT_BACK => return Ok(Some(error)),
        Err(error) => return Err(error),
    };
    let empty = std::fs::metadata(resolved).map_or(true, |file| file.len() == 0);
    let wal_alone = empty && !wal_has_content(resolved);
    let found = if wal_alone { None } else { look(path, options)? };
    Ok(Setback::of(remembered, found.as_ref()).map(Setback::error))
}

/// A new file is empty until its log is folded in for the first time.
fn wal_has_content(resolved: &Path) -> bool {
    std::fs::metadata(wal_path(resolved)).is_ok_and(|wal| wal.len() > 0)
}

/// The write-ahead log of a database file.
pub(crate) fn wal_path(resolved: &Path) -> PathBuf {
    let mut name = resolved.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// The ledger's own account of itself, through a connection that folds nothing and deletes nothing when it is closed.
fn look(path: &Path, options: &SqliteOptions) -> Result<Option<LedgerState>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |cause| opening(path, cause);
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    connection.busy_timeout(options.busy_wait).map_err(failed)?;
    if connection.table_exists(None, "onefold_position").map_err(failed)? {
        return state(&connection).map(Some);
    }
    Ok(None)
}

pub(crate) fn state(connection: &Connection) -> Result<LedgerState> {
    let generations = query(connection, &sql::GENERATIONS, [], |row| row.get(0).map(Generation).map_err(translate))?;
    Ok(LedgerState { generations, ..read_position(connection)? })
}

fn read_position(connection: &Connection) -> Result<LedgerState> {
    let read = |row: &rusqlite::Row<'_>| -> rusqlite::Result<LedgerState> {
        Ok(LedgerState {
            generations: Vec::new(),
            mark: u64::try_from(row.get::<_, i64>("mark")?).unwrap_or(0),
            at: Timestamp::from_micros(row.get("marked_at")?),
            copied_at: row.get::<_, Option<i64>>("copied_at")?.map(Timestamp::from_micros),
        })
    };
    connection.query_row(&sql::POSITION, [], read).map_err(translate)
}

/// Raises the mark, past what is remembered.
pub(crate) fn raise_mark(connection: &Connection, remembered: u64, now: Timestamp) -> Result<()> {
    let remembered = i64::try_from(remembered).unwrap_or(0);
    execute(connection, &sql::RAISE_MARK, [Cell::Int(remembered), Cell::Int(now.as_micros())]).map(drop)
}

/// Begins a generation; who and why where a person accepted the ledger.
pub(crate) fn begin_generation(
    connection: &Connection,
    generation: Generation,
    now: Timestamp,
    accepted: Option<(&str, &str)>,
) -> Result<()> {
    let text = |text: &str| Cell::Text(text.to_owned().into());
    let (who, why) = accepted.map_or((Cell::Null, Cell::Null), |(who, why)| (text(who), text(why)));
    let generation = Cell::Blob(generation.0.to_vec().into());
    execute(connection, &sql::BEGIN_GENERATION, [generation, Cell::Int(now.as_micros()), who, why]).map(drop)
}

pub(crate) fn data_version(connection: &Connection) -> Result<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0)).map_err(translate)
}

pub(crate) fn identity(file: &std::fs::Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Refuses a file that has a second name: a process that opens it there has another log and other locks.
pub(crate) fn one_name(resolved: &Path) -> Result<(u64, u64)> {
    let aliased = |what: String| Err(Error::new(DATABASE_ALIASED, format!("{}: {what}", resolved.display())));
    let file = std::fs::metadata(resolved).map_err(|cause| {
        Error::new(DATABASE_UNAVAILABLE, format!("{}: {cause}", resolved.display())).caused_by(cause)
    })?;
    if file.is_file() && file.nlink() > 1 {
        return aliased(format!("the file has {} names (hard links)", file.nlink()));
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if file.is_file() && is_mounted(&mounts, resolved) {
        return aliased("the file is mounted here by itself, without its log and its locks".to_owned());
    }
    Ok(identity(&file))
}

/// Whether this very path is a mount point, by the system's own list.
fn is_mounted(mounts: &str, path: &Path) -> bool {
    let escaped = |c: char| match c {
        ' ' => "\\040".to_owned(),
        '\t' => "\\011".to_owned(),
        '\n' => "\\012".to_owned(),
        '\\' => "\\134".to_owned(),
        c => c.to_string(),
    };
    let path: String = path.to_string_lossy().chars().map(escaped).collect();
    mounts.lines().any(|line| line.split(' ').nth(4) == Some(path.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_a_mount_point_is_found_in_the_systems_list() {
        let mounts =
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 22 8:1 /a.db /data/my\\040ledger.db rw - ext4 /dev/sda1 rw\n";
        assert!(is_mounted(mounts, Path::new("/data/my ledger.db")));
        assert!(!is_mounted(mounts, Path::new("/data/other.db")));
        assert!(!is_mounted(mounts, Path::new("/data")));
    }
}
