//! A schema of its own for every test, on the server that `cargo xtask services` runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use onefold_conformance::Harness;
use onefold_conformance::outbox::fixture::OutboxHarness;
use onefold_core::Result;
use onefold_core::event::NewEvent;
use onefold_core::port::{Clock, Random, StageOrder, Staged, Staging as _};
use onefold_postgres::{Postgres, PostgresOptions, Time};
use onefold_runtime::{SystemClock, SystemRandom};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// The server's address; `cargo xtask test` sets it.
pub(crate) fn url() -> String {
    std::env::var("ONEFOLD_TEST_POSTGRES").expect("ONEFOLD_TEST_POSTGRES names a server: run `cargo xtask test`")
}

/// A schema that nobody has used; gone when the test ends.
pub(crate) struct Schema {
    pub(crate) name: String,
    url: String,
}

/// A number that nothing else in this process has.
fn number() -> u32 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

impl Schema {
    pub(crate) fn new() -> Self {
        Self::at(url())
    }

    /// The same on another server.
    pub(crate) fn at(url: String) -> Self {
        Self { name: format!("test_{}_{}", std::process::id(), number()), url }
    }

    /// The defaults on the system's clock, in this schema.
    pub(crate) fn options(&self) -> PostgresOptions {
        PostgresOptions { schema: Some(self.name.clone()), ..options() }
    }

    /// Opens the store that lives here.
    pub(crate) async fn open(&self) -> Result<Postgres> {
        Postgres::open(&self.url, self.options()).await
    }

    /// The server's address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A plain connection.
    pub(crate) async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.url).await.expect("the server answers")
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        // A test that panics may have left a transaction open, and nobody is there to end it.
        let ended = format!(
            "SELECT pg_terminate_backend(l.pid) FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation \
             WHERE c.relnamespace = to_regnamespace('{}') AND l.pid <> pg_backend_pid()",
            self.name
        );
        run_apart(self.url.clone(), format!("{ended}; DROP SCHEMA IF EXISTS {} CASCADE", self.name));
    }
}

/// A database that nobody has used, with statistics of its own; gone when the test ends.
pub(crate) struct Database {
    name: String,
}

impl Database {
    pub(crate) async fn new() -> Self {
        let name = format!("test_{}_{}", std::process::id(), number());
        let mut connection = PgConnection::connect(&url()).await.expect("the server answers");
        run(&mut connection, &format!("CREATE DATABASE {name}")).await;
        Self { name }
    }

    pub(crate) fn url(&self) -> String {
        let url = url();
        let (server, _) = url.rsplit_once('/').expect("the server's address names a database");
        format!("{server}/{}", self.name)
    }

    /// Connections of stores to it.
    pub(crate) async fn stores(&self) -> i64 {
        let mut connection = PgConnection::connect(&self.url()).await.expect("the server answers");
        let counted = "SELECT count(*) FROM pg_stat_activity \
                       WHERE datname = current_database() AND application_name LIKE 'onefold%'";
        sqlx::query_scalar(counted).fetch_one(&mut connection).await.expect("the server counts")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        run_apart(url(), format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

/// Runs statements on a connection of the test's own.
pub(crate) async fn run(connection: &mut PgConnection, sql: &str) {
    let ran = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await;
    ran.unwrap_or_else(|cause| panic!("{sql}: {cause}"));
}

/// Runs a statement on a thread with a runtime of its own: the caller may be in one, or in a test that panics.
fn run_apart(url: String, sql: String) {
    let running = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let Ok(mut connection) = PgConnection::connect(&url).await else { return };
            let _ = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await;
        });
    });
    let _ = running.join();
}

/// The defaults on the system's clock, with few connections: many tests share a server.
pub(crate) fn options() -> PostgresOptions {
    PostgresOptions {
        connections_max: 4,
        ..PostgresOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()))
    }
}

/// A schema as the suite uses it.
pub(crate) struct PostgresHarness {
    schema: Schema,
}

impl Harness for PostgresHarness {
    type Store = Postgres;

    async fn fresh() -> Self {
        Self { schema: Schema::new() }
    }

    async fn open(&self, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Postgres {
        let options = PostgresOptions { clock, random, time: Time::Clock, ..self.schema.options() };
        Postgres::open(&self.schema.url, options).await.expect("the database opens")
    }
}

impl OutboxHarness for PostgresHarness {
    async fn stage(store: &Postgres, events: Vec<NewEvent>) -> Result<Vec<Staged>> {
        let mut transaction = store.begin().await?;
        let staged = store.stage(&mut transaction, &events, StageOrder::AggregateIsLocked).await?;
        transaction.commit().await?;
        Ok(staged)
    }

    async fn stage_and_roll_back(store: &Postgres, events: Vec<NewEvent>) -> Result<()> {
        let mut transaction = store.begin().await?;
        store.stage(&mut transaction, &events, StageOrder::LockAggregate).await?;
        transaction.rollback().await
    }
}
