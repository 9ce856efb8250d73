//! Connecting: limits, migrations, keys.

use std::path::PathBuf;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::clock::ClockHistory;
use onefold_core::error::{CONFIGURATION_INVALID, DATABASE_UNAVAILABLE, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::fingerprint::{FingerprintKey, KeyId, Keyring};
use onefold_core::port::{Clock, Contents, Faults, NoFaults, Random};
use onefold_core::position::{Generation, LedgerState};
use onefold_core::{Error, Result, Timestamp};
use onefold_files::PositionFile;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, PgPool};

use crate::clock::{StoreClock, Time, read_history, write_history};
use crate::connection::Connections;
use crate::error::translate;
use crate::ledger::prune::PrunePlaces;
use crate::ledger::row;
use crate::migrate::{self, PostgresMigration};
use crate::position::{self, PositionTracker};
use crate::session::Session;
use crate::sql::Sql;
use crate::{Inner, Postgres};

/// How a database is used. Every limit has its unit.
#[derive(Clone)]
pub struct PostgresOptions {
    /// Time, for waits.
    pub clock: Arc<dyn Clock>,
    /// Whose time leases count by.
    pub time: Time,
    /// Chance, for the installation's first key and for jitter.
    pub random: Arc<dyn Random>,
    /// Where tests stop the process.
    pub faults: Arc<dyn Faults>,
    /// The schema of the ledger's tables; the connection's own search path without it.
    pub schema: Option<String>,
    /// Whether statements may have names.
    pub statements: Statements,
    /// Connections at most.
    pub connections_max: u32,
    /// How long a caller waits for a connection.
    pub connection_wait: Duration,
    /// How long the database may take for a batch.
    pub answer_wait: Duration,
    /// How long a batch is tried again after contention, a lost connection or a failover.
    pub try_for: Duration,
    /// The file in which this process remembers how far the ledger has come, so that a database that went back is
    /// refused at the next start; without it nothing is remembered here.
    pub position: Option<PathBuf>,
}

/// Whether statements may have names, which spares the server parsing and planning them each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Statements {
    /// Where a connection's session is its own; not through `PgBouncer`. Assumes that no other pooler passes start-up
    /// parameters on and yet lends sessions out.
    #[default]
    Detect,
    /// Never.
    Unnamed,
}

impl PostgresOptions {
    /// The defaults, on this clock and this source of chance.
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Self {
            clock,
            time: Time::Server,
            random,
            faults: Arc::new(NoFaults),
            schema: None,
            statements: Statements::Detect,
            connections_max: 10,
            connection_wait: Duration::from_secs(10),
            answer_wait: Duration::from_secs(15),
            try_for: Duration::from_secs(10),
            position: None,
        }
    }
}

/// What connections are called in the server's list.
const APPLICATION: &str = "onefold";

/// The same for a schema, so that a restore sees who uses it. The server keeps 63 bytes.
pub(crate) fn application_of(schema: Option<&str>) -> String {
    let name = schema.map_or_else(|| APPLICATION.to_owned(), |schema| format!("{APPLICATION} {schema}"));
    name.chars().take(63).collect()
}

/// Whatever the database's default is: starters that waited for each other must see what was done.
pub(crate) const READ_COMMITTED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

impl Postgres {
    /// Connects, and creates and migrates the ledger's tables as needed.
    ///
    /// A database that cannot be reached or written, or that a newer version has migrated, is refused with what to do
    /// about it.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<Self> {
        let (connect, address) = parse(url, options.schema.as_deref())?;
        Box::pin(Self::open_with(connect, address, None, options)).await
    }

    /// The ledger's connections are made with these options; the user's transactions run on the user's pool, if given.
    pub(crate) async fn open_with(
        connect: PgConnectOptions,
        address: String,
        users: Option<PgPool>,
        options: PostgresOptions,
    ) -> Result<Self> {
        let sql = Sql::new(checked_schema(options.schema.as_deref())?);
        let probed = Self::detached(in_time(options.clone(), Session::probe(connect, options.clone())));
        let session = probed.await.map_err(|error| naming(&address, &error))?;
        let watch = session.watch();
        let pool = PgPoolOptions::new()
            .max_connections(options.connections_max)
            .acquire_timeout(options.connection_wait)
            // A connection that broke is found by the statement that needs it, which is then tried again: asking
            // first would cost every statement a round trip.
            .test_before_acquire(false)
            .after_connect(move |connection, _| watch(connection))
            .connect_lazy_with(session.connect.clone());
        let prepared = Box::pin(Self::detached(prepare(session.connect.clone(), options.clone())));
        let OpenState { keyring, now, history, track } = prepared.await.map_err(|error| naming(&address, &error))?;
        let inner = Inner {
            connected: Connections::new(pool, users, session.named),
            sql,
            track,
            clock: StoreClock::new(Arc::clone(&options.clock), options.time, now, history),
            granted: std::sync::Mutex::default(),
            prune_places: PrunePlaces::default(),
            prune_events_from: std::sync::atomic::AtomicI64::new(0),
            faults: Arc::clone(&options.faults),
            keyring: Arc::new(keyring),
            address,
            options,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What the schema holds. Nothing is changed.
    pub async fn contents(url: &str, options: PostgresOptions) -> Result<Contents> {
        let (connect, address) = parse(url, options.schema.as_deref())?;
        let sql = Sql::new(checked_schema(options.schema.as_deref())?);
        let contents = Self::detached(in_time(options.clone(), async move {
            let mut connection = connect.connect().await.map_err(translate)?;
            let mut transaction = connection.begin_with(READ_COMMITTED).await.map_err(translate)?;
            migrate::contents(&mut transaction, &sql, options.schema.as_deref()).await
        }));
        contents.await.map_err(|error| naming(&address, &error))
    }

    /// The migrations that opening this database would apply. Nothing is changed.
    pub async fn missing_migrations(url: &str, options: PostgresOptions) -> Result<Vec<PostgresMigration>> {
        let (connect, address) = parse(url, options.schema.as_deref())?;
        let sql = Sql::new(checked_schema(options.schema.as_deref())?);
        let missing = Self::detached(in_time(options, async move {
            let mut connection = connect.connect().await.map_err(translate)?;
            let mut transaction = connection.begin_with(READ_COMMITTED).await.map_err(translate)?;
            migrate::missing(&mut transaction, &sql).await
        }));
        missing.await.map_err(|error| naming(&address, &error))
    }

    /// Closes every connection of the ledger's own, after what is in flight has ended.
    pub async fn close(&self) {
        self.inner.connected.close().await;
    }
}

/// The driver's options, and the address for people.
pub(crate) fn parse(url: &str, schema: Option<&str>) -> Result<(PgConnectOptions, String)> {
    let connect = PgConnectOptions::from_str(url).map_err(|_| {
        // What is wrong may be next to a password, so it is not repeated.
        Error::new(CONFIGURATION_INVALID, "the database's address cannot be read")
            .hint("write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE; special characters percent-encoded")
    })?;
    Ok(named_options(connect, schema))
}

/// The driver's options as the ledger's connections have them, and the address for people.
pub(crate) fn named_options(connect: PgConnectOptions, schema: Option<&str>) -> (PgConnectOptions, String) {
    // PgBouncer refuses start-up parameters that it does not know, and no number here has a fraction.
    let connect =
        connect.extra_float_digits(None).application_name(&application_of(schema)).disable_statement_logging();
    let database = connect.get_database().unwrap_or_else(|| connect.get_username());
    let address = format!("postgres://{}:{}/{database}", connect.get_host(), connect.get_port());
    (connect, address)
}

/// A schema's name goes into statements as it is.
pub(crate) fn checked_schema(schema: Option<&str>) -> Result<Option<&str>> {
    let shaped = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    match schema {
        Some(name) if name.len() > 63 || !shaped(name) => {
            Err(Error::new(CONFIGURATION_INVALID, format!("{name:?} is not a schema name"))
                .hint("use 1 to 63 lower-case ASCII letters, digits and _, not beginning with a digit"))
        }
        schema => Ok(schema),
    }
}

/// A failure while a database is opened names it, wherever it came from.
pub(crate) fn naming(address: &str, error: &Error) -> Error {
    let native = error.native();
    let named = Error::new(error.code(), format!("{address}: {}", error.detail())).hint(error.next_step());
    let named = match native {
        Some(native) => named.native_code(native),
        None => named,
    };
    named.caused_by(error.share())
}

/// What an opened database is used with.
struct OpenState {
    keyring: Keyring,
    now: Timestamp,
    history: ClockHistory,
    track: PositionTracker,
}

/// Migrates, loads the keys and hears the server's time, on a connection of its own and in one transaction: a session
/// may be lent.
async fn prepare(connect: PgConnectOptions, options: PostgresOptions) -> Result<OpenState> {
    let sql = Sql::new(options.schema.as_deref());
    let opening = async {
        let mut connection = connect.connect().await.map_err(translate)?;
        let mut transaction = connection.begin_with(READ_COMMITTED).await.map_err(translate)?;
        // Before anything is made: a ledger that is gone must not come back as an empty one.
        if let Some(refused) = position::setback(&mut transaction, &sql, &options).await? {
            return Err(refused);
        }
        let (keyring, now) = make_ready(&mut transaction, &sql, &options).await?;
        let durable = row::query(&sql.durability).fetch_one(&mut *transaction).await.map_err(translate)?;
        if !row::only::<bool>(&durable)? {
            tracing::warn!(
                "synchronous_commit or fsync is off on this database: what was acknowledged may be lost, and performed again"
            );
        }
        let history = read_history(&mut transaction, &sql.clock_history).await?;
        let state = position::state(&mut transaction, &sql).await?;
        transaction.commit().await.map_err(translate)?;
        Ok(OpenState { keyring, now, history, track: remembered(&state, &options)? })
    };
    in_time(options.clone(), opening).await
}

/// Remembers the position of a ledger that was just opened.
fn remembered(state: &LedgerState, options: &PostgresOptions) -> Result<PositionTracker> {
    let no_generation = || Error::new(PROGRAMMING_INVARIANT_VIOLATED, "the ledger has no generation");
    let present = state.position().ok_or_else(no_generation)?;
    let file = options.position.as_ref().map(PositionFile::at);
    if let Some(file) = &file
        && file.read()? != Some(present)
    {
        file.raise(&present)?;
    }
    Ok(PositionTracker::new(file, present))
}

/// Brings the schema to this version, with a key and a generation.
pub(crate) async fn make_ready(
    transaction: &mut PgConnection,
    sql: &Sql,
    options: &PostgresOptions,
) -> Result<(Keyring, Timestamp)> {
    migrate::migrate(transaction, sql, options.schema.as_deref(), options.clock.now()).await?;
    let found = row::query(&sql.clock).fetch_one(&mut *transaction).await.map_err(translate)?;
    let now = match options.time {
        Time::Server => Timestamp::from_micros(row::only(&found)?),
        Time::Clock => options.clock.now(),
    };
    let keyring = load_keyring(transaction, sql, options, now).await?;
    if position::state(transaction, sql).await?.generations.is_empty() {
        // Another process that starts now waits here, and then finds what was begun.
        position::raise_mark(transaction, sql, 0, now).await?;
        if position::state(transaction, sql).await?.generations.is_empty() {
            position::begin_generation(transaction, sql, Generation(options.random.bytes()), now, None).await?;
        }
    }
    Ok((keyring, now))
}

/// Begins a new generation of the ledger in this database, if it is not the one that was last seen.
pub(crate) async fn accept(url: &str, options: PostgresOptions, who: &str, why: &str) -> Result<Option<Error>> {
    let (connect, address) = parse(url, options.schema.as_deref())?;
    let sql = Sql::new(checked_schema(options.schema.as_deref())?);
    let (who, why) = (who.to_owned(), why.to_owned());
    let accepted = Postgres::detached(in_time(options.clone(), async move {
        let mut connection = connect.connect().await.map_err(translate)?;
        let mut transaction = connection.begin_with(READ_COMMITTED).await.map_err(translate)?;
        let Some(refused) = position::setback(&mut transaction, &sql, &options).await? else {
            return Ok(None);
        };
        make_ready(&mut transaction, &sql, &options).await?;
        let file = options.position.as_ref().map(PositionFile::at);
        let last = file.as_ref().and_then(|file| file.read().ok().flatten()).map_or(0, |position| position.mark);
        let now = options.clock.now();
        position::raise_mark(&mut transaction, &sql, last, now).await?;
        let generation = Generation(options.random.bytes());
        position::begin_generation(&mut transaction, &sql, generation, now, Some((&who, &why))).await?;
        row::query(&sql.accept_copy).execute(&mut *transaction).await.map_err(translate)?;
        let state = position::state(&mut transaction, &sql).await?;
        transaction.commit().await.map_err(translate)?;
        if let (Some(file), Some(position)) = (file, state.position()) {
            file.accept(&position)?;
        }
        Ok(Some(refused))
    }));
    let accepted = accepted.await.map_err(|error| naming(&address, &error))?;
    Ok(accepted.map(|refused| naming(&address, &refused)))
}

/// For as long as the database may take to answer.
async fn in_time<T>(options: PostgresOptions, work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::select! {
        done = work => done,
        () = options.clock.sleep(options.answer_wait) => {
            Err(Error::new(DATABASE_UNAVAILABLE, "the database did not answer in time"))
        }
    }
}

async fn load_keyring(
    connection: &mut PgConnection,
    sql: &Sql,
    options: &PostgresOptions,
    now: Timestamp,
) -> Result<Keyring> {
    let mut keys = read_keys(connection, sql).await?;
    let in_use = key_ids_in_use(connection, sql).await?;
    // A key in the place of one that is gone would make every duplicate a conflict.
    if keys.is_empty() && in_use.is_empty() {
        let mut secret = [0; 32];
        secret[..16].copy_from_slice(&options.random.bytes());
        secret[16..].copy_from_slice(&options.random.bytes());
        let add = row::query(&sql.add_key).bind(1_i64).bind(secret.as_slice()).bind(now.as_micros());
        add.execute(&mut *connection).await.map_err(translate)?;
        // A new database: its time begins here.
        write_history(connection, sql, ClockHistory { confirmed: now, candidate: None }).await?;
        keys = read_keys(connection, sql).await?;
    }
    Keyring::complete(keys, &in_use)
}

/// The keys that the oldest and the newest operations were made with; all of them would take a scan.
async fn key_ids_in_use(connection: &mut PgConnection, sql: &Sql) -> Result<Vec<KeyId>> {
    let rows = row::query(&sql.key_ids_in_use).fetch_all(connection).await.map_err(translate)?;
    rows.iter().map(|found| key_id(row::only(found)?)).collect()
}

fn key_id(stored: i64) -> Result<KeyId> {
    let unreadable = || Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a stored fingerprint key cannot be read");
    u32::try_from(stored).map(KeyId).map_err(|_| unreadable())
}

async fn read_keys(connection: &mut PgConnection, sql: &Sql) -> Result<Vec<FingerprintKey>> {
    let unreadable = || Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a stored fingerprint key cannot be read");
    let rows = row::query(&sql.keys).fetch_all(connection).await.map_err(translate)?;
    rows.iter()
        .map(|found| {
            let id = key_id(row::get(found, "id")?)?;
            let secret: &[u8] = row::get(found, "secret")?;
            Ok(FingerprintKey::new(id, secret.try_into().map_err(|_| unreadable())?))
        })
        .collect()
}
