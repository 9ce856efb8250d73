//! Opening a file: limits, pragmas, migrations, keys.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use onefold_core::clock::{ClockHistory, JUMP_MAX};
use onefold_core::error::{DATABASE_BUSY, DATABASE_READ_ONLY, DATABASE_UNAVAILABLE};
use onefold_core::fingerprint::{FingerprintKey, KeyId, Keyring};
use onefold_core::port::{Clock, Contents, Faults, NoFaults, Random};
use onefold_core::position::Generation;
use onefold_core::{Error, Result, Timestamp};
use onefold_files::PositionFile;
use rusqlite::{Connection, OpenFlags};
use sqlx::Connection as _;
use sqlx::SqliteConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};

use crate::clock::{StoreClock, clock_history};
use crate::connection::SharedConnection;
use crate::error::{naming, opening, translate};
use crate::log_sync::LogSync;
use crate::position::{self, PositionTracker};
use crate::{Inner, Sqlite, migrate, sql};

/// How often a file that is busy while it is opened is tried again.
const BUSY_LOOK_EVERY: Duration = Duration::from_millis(20);

/// How a file is opened. Every limit has its unit.
#[derive(Clone)]
pub struct SqliteOptions {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance, for the installation's first key.
    pub random: Arc<dyn Random>,
    /// Where tests stop the process.
    pub faults: Arc<dyn Faults>,
    /// How long a writer waits for another process' write transaction.
    pub busy_wait: Duration,
    /// The file grows no further than this.
    pub file_bytes_max: Option<u64>,
    /// How long [`Sqlite::begin`] waits for its turn.
    pub begin_wait: Duration,
}

impl SqliteOptions {
    /// The defaults, on this clock and this source of chance.
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Self {
            clock,
            random,
            faults: Arc::new(NoFaults),
            busy_wait: Duration::from_secs(10),
            file_bytes_max: None,
            begin_wait: Duration::from_secs(30),
        }
    }
}

const PAGE_BYTES: u64 = 4096;

/// The page cache of a connection; the system's own stands behind it. A commit that split a page looks through all of it
/// (SQLite lends the page a number past the end of the file, and then drops whatever is past the end).
const CACHE_KIB: i64 = 16 * 1024;

fn pages(bytes: u64) -> i64 {
    i64::try_from(bytes / PAGE_BYTES).unwrap_or(i64::MAX).max(1)
}

impl Sqlite {
    /// Opens the file, creating and migrating it as needed.
    ///
    /// A file that cannot be written, is damaged, or comes from a newer version is refused with
    /// what to do about it, and left untouched.
    pub async fn open(path: impl Into<PathBuf>, options: SqliteOptions) -> Result<Self> {
        let path = path.into();
        Box::pin(Self::open_with(SqliteConnectOptions::new().filename(&path), path, options)).await
    }

    /// The user's transactions run on connections with these options and what the ledger's promises need.
    pub(crate) async fn open_with(
        connect: SqliteConnectOptions,
        path: PathBuf,
        options: SqliteOptions,
    ) -> Result<Self> {
        let opened = open_when_free(&path, &options).await?;
        let connect = connect
            .create_if_missing(false)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(options.busy_wait)
            .optimize_on_close(false, None);
        let connect = match options.file_bytes_max {
            Some(bytes) => connect.pragma("max_page_count", pages(bytes).to_string()),
            None => connect,
        };
        // SQLite ends a transaction itself when the disk is full or fails, and the driver goes on counting it as begun:
        // such a connection would refuse every further transaction.
        let ended = |connection: &mut SqliteConnection| Ok(!connection.is_in_transaction());
        let pool = SqlitePoolOptions::new()
            .max_connections(4)
            .acquire_timeout(options.begin_wait)
            .before_acquire(move |connection, _| Box::pin(std::future::ready(ended(connection))))
            .connect_lazy_with(connect);
        let inner = Inner {
            path,
            resolved: opened.resolved,
            track: opened.track,
            writer: SharedConnection::new(opened.writer, Arc::clone(&opened.log)),
            reader: SharedConnection::new(opened.reader, Arc::clone(&opened.log)),
            log: opened.log,
            events_reader: std::sync::OnceLock::new(),
            pool,
            granted: std::sync::Mutex::default(),
            gate: Arc::new(tokio::sync::Semaphore::new(1)),
            clock: Arc::new(StoreClock::new(Arc::clone(&options.clock), opened.highest, opened.history)),
            faults: Arc::clone(&options.faults),
            keyring: Arc::new(opened.keyring),
            options,
        };
        Ok(Self { inner: Arc::new(inner) })
    }
}

impl Sqlite {
    /// What this file holds. Nothing is changed.
    pub async fn contents(path: impl Into<PathBuf>) -> Result<Contents> {
        let path = path.into();
        tokio::task::spawn_blocking(move || migrate::contents(&path))
            .await
            .map_err(|cause| Error::new(DATABASE_UNAVAILABLE, "looking was cut short").caused_by(cause))?
    }

    /// The migrations that opening this file would apply. Nothing is changed.
    pub async fn missing_migrations(path: impl Into<PathBuf>) -> Result<Vec<migrate::SqliteMigration>> {
        let path = path.into();
        tokio::task::spawn_blocking(move || migrate::missing(&path))
            .await
            .map_err(|cause| Error::new(DATABASE_UNAVAILABLE, "looking was cut short").caused_by(cause))?
    }
}

impl Sqlite {
    /// The connection that relays read on.
    pub(crate) fn events_reader(&self) -> Result<SharedConnection> {
        if let Some(reader) = self.inner.events_reader.get() {
            return Ok(reader.clone());
        }
        let connection = connect(&self.inner.resolved, &self.inner.options, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let opened = SharedConnection::new(connection, Arc::clone(&self.inner.log));
        Ok(self.inner.events_reader.get_or_init(|| opened).clone())
    }
}

struct OpenState {
    writer: Connection,
    reader: Connection,
    keyring: Keyring,
    highest: Timestamp,
    history: ClockHistory,
    resolved: PathBuf,
    track: PositionTracker,
    log: Arc<LogSync>,
}

/// Opens the file. SQLite does not always wait while another process makes, migrates or closes it, so we do.
async fn open_when_free(path: &Path, options: &SqliteOptions) -> Result<OpenState> {
    let give_up = options.clock.monotonic().saturating_add(options.busy_wait);
    let tries = options.busy_wait.as_millis() / BUSY_LOOK_EVERY.as_millis();
    for _ in 0..tries {
        match open_once(path, options).await {
            Err(error) if error.code() == DATABASE_BUSY && options.clock.monotonic() < give_up => {
                options.clock.sleep(BUSY_LOOK_EVERY).await;
            }
            opened => return opened,
        }
    }
    open_once(path, options).await
}

async fn open_once(path: &Path, options: &SqliteOptions) -> Result<OpenState> {
    let (path, options) = (path.to_owned(), options.clone());
    tokio::task::spawn_blocking(move || open_connections(&path, &options))
        .await
        .map_err(|cause| Error::new(DATABASE_UNAVAILABLE, "opening was cut short").caused_by(cause))?
}

fn open_connections(path: &Path, options: &SqliteOptions) -> Result<OpenState> {
    connect_both(path, options).map_err(|error| naming(path, error))
}

fn connect_both(path: &Path, options: &SqliteOptions) -> Result<OpenState> {
    // Before anything is made: a ledger that is gone must not come back as an empty one.
    let resolved = position::resolve(path);
    if resolved.exists() {
        position::one_name(&resolved)?;
    }
    if let Some(refused) = position::setback(path, &resolved, options)? {
        return Err(refused);
    }
    let (writer, keyring) = make_ready(path, options)?;
    let resolved = position::resolve(path);
    let identity = position::one_name(&resolved)?;
    let file = PositionFile::beside(&resolved);
    let state = position::state(&writer)?;
    let no_generation = || Error::new(DATABASE_UNAVAILABLE, "the ledger has no generation");
    let present = state.position().ok_or_else(no_generation)?;
    if file.read()? != Some(present) {
        file.raise(&present)?;
    }
    let (highest, history) = read_clock(&writer, options.clock.now())?;
    if let Some(bytes) = options.file_bytes_max {
        writer.pragma_update_and_check(None, "max_page_count", pages(bytes), |_| Ok(())).map_err(translate)?;
    }
    let reader = connect(path, options, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let track = PositionTracker::new(file, identity, present, &writer)?;
    let log = Arc::new(LogSync::open(&resolved, &writer, Arc::clone(&options.faults))?);
    Ok(OpenState { writer, reader, keyring, highest, history, resolved, track, log })
}

/// The highest time seen, and what is known of the time. A highest time that is far ahead of the present, because the
/// clock once was, comes back here.
fn read_clock(writer: &Connection, now: Timestamp) -> Result<(Timestamp, ClockHistory)> {
    let highest = || writer.query_row(&sql::CLOCK, [], |row| row.get(0)).map(Timestamp::from_micros).map_err(translate);
    let seen = highest()?;
    if seen > now.plus(JUMP_MAX) {
        let lowered = writer.execute(&sql::LOWER_CLOCK, [now.as_micros()]).map_err(translate)?;
        let follows = lowered > 0;
        tracing::warn!(highest = %seen, now = %now, follows, "the clock was ahead when the ledger was last used");
    }
    Ok((highest()?, clock_history(writer)?))
}

/// A connection that writes, on a migrated file with a key and a generation.
fn make_ready(path: &Path, options: &SqliteOptions) -> Result<(Connection, Keyring)> {
    create_private(path)?;
    let writer = connect(path, options, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    migrate::migrate(&writer, path, options.clock.now())?;
    let keyring = committed(&writer, || {
        let keyring = read_or_make_keys(&writer, options)?;
        if position::state(&writer)?.generations.is_empty() {
            let now = options.clock.now();
            position::begin_generation(&writer, Generation(options.random.bytes()), now, None)?;
            position::raise_mark(&writer, 0, now)?;
        }
        Ok(keyring)
    })?;
    Ok((writer, keyring))
}

/// Begins a new generation of the ledger in this file, if it is not the one that was last seen.
pub(crate) fn accept(path: &Path, options: &SqliteOptions, who: &str, why: &str) -> Result<Option<Error>> {
    let Some(refused) = position::setback(path, &position::resolve(path), options)? else {
        return Ok(None);
    };
    let accepted = || {
        let (writer, _) = make_ready(path, options)?;
        let file = PositionFile::beside(&position::resolve(path));
        let remembered = file.read().ok().flatten().map_or(0, |remembered| remembered.mark);
        committed(&writer, || {
            let now = options.clock.now();
            position::begin_generation(&writer, Generation(options.random.bytes()), now, Some((who, why)))?;
            position::raise_mark(&writer, remembered, now)?;
            writer.execute(&sql::ACCEPT_COPY, []).map(drop).map_err(translate)
        })?;
        let state = position::state(&writer)?;
        state.position().map_or(Ok(()), |position| file.accept(&position))
    };
    accepted().map_err(|error| naming(path, error))?;
    Ok(Some(naming(path, refused)))
}

/// Makes a new file readable by its owner alone: it holds results and the fingerprint key.
///
/// One that is there is not opened: closing it would take this process' SQLite locks on it away.
fn create_private(path: &Path) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let created = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
    match created {
        Ok(_) => Ok(()),
        Err(cause) if cause.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => {
            let error = Error::new(DATABASE_READ_ONLY, format!("{}: {cause}", path.display()));
            let missing = cause.kind() == std::io::ErrorKind::NotFound;
            let error =
                if missing { error.hint("make the folder first, or name a file in one that exists") } else { error };
            Err(error.caused_by(cause))
        }
    }
}

fn connect(path: &Path, options: &SqliteOptions, flags: OpenFlags) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|cause| opening(path, cause))?;
    let set = || -> rusqlite::Result<()> {
        connection.busy_timeout(options.busy_wait)?;
        connection.set_prepared_statement_cache_capacity(64);
        if flags.contains(OpenFlags::SQLITE_OPEN_READ_WRITE) {
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
        }
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        connection.pragma_update(None, "temp_store", "MEMORY")
    };
    set().map_err(|cause| opening(path, cause))?;
    Ok(connection)
}

/// Runs `work` in one write transaction.
fn committed<T>(connection: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    connection.execute_batch("BEGIN IMMEDIATE").map_err(translate)?;
    let done = work();
    let ended = connection.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).map_err(translate);
    done.and_then(|value| ended.map(|()| value))
}

fn read_or_make_keys(connection: &Connection, options: &SqliteOptions) -> Result<Keyring> {
    let mut keys = read_keys(connection)?;
    let in_use = key_ids_in_use(connection)?;
    // A key in the place of one that is gone would make every duplicate a conflict.
    if keys.is_empty() && in_use.is_empty() {
        let mut secret = [0; 32];
        secret[..16].copy_from_slice(&options.random.bytes());
        secret[16..].copy_from_slice(&options.random.bytes());
        let now = options.clock.now().as_micros();
        connection.execute(&sql::ADD_KEY, (1, secret, now)).map_err(translate)?;
        // A new file: its time begins here.
        connection.execute(&sql::CONFIRM_TIME, (now, None::<i64>)).map_err(translate)?;
        keys = read_keys(connection)?;
    }
    Keyring::complete(keys, &in_use)
}

/// The keys that the oldest and the newest operations were made with; all of them would take a scan.
fn key_ids_in_use(connection: &Connection) -> Result<Vec<KeyId>> {
    let read = || -> rusqlite::Result<Vec<KeyId>> {
        let mut statement = connection.prepare(&sql::KEY_IDS_IN_USE)?;
        let rows = statement.query_map([], |row| Ok(KeyId(row.get(0)?)))?;
        rows.collect()
    };
    read().map_err(translate)
}

fn read_keys(connection: &Connection) -> Result<Vec<FingerprintKey>> {
    let read = || -> rusqlite::Result<Vec<FingerprintKey>> {
        let mut statement = connection.prepare(&sql::KEYS)?;
        let rows = statement.query_map([], |row| Ok(FingerprintKey::new(KeyId(row.get("id")?), row.get("secret")?)))?;
        rows.collect()
    };
    read().map_err(translate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onefold_core::port::BoxFuture;

    struct Still;

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp::default()
        }
        fn monotonic(&self) -> Duration {
            Duration::ZERO
        }
        fn boot(&self) -> Duration {
            Duration::ZERO
        }
        fn sleep(&self, _wait: Duration) -> BoxFuture<'static, ()> {
            Box::pin(async {})
        }
    }

    impl Random for Still {
        fn bytes(&self) -> [u8; 16] {
            [7; 16]
        }
    }

    #[test]
    fn the_writer_syncs_every_commit_and_writes_ahead() {
        let folder = tempfile::tempdir().unwrap();
        let opened =
            open_connections(&folder.path().join("x.db"), &SqliteOptions::new(Arc::new(Still), Arc::new(Still)))
                .unwrap();
        let pragma = |name: &str| {
            opened.writer.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0)).unwrap()
        };
        assert_eq!(pragma("synchronous"), rusqlite::types::Value::Integer(2), "FULL");
        assert_eq!(pragma("journal_mode"), rusqlite::types::Value::Text("wal".into()));
    }
}
