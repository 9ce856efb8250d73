//! A schema of its own for every test, on the server that `cargo xtask services` runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use onefold_conformance::Harness;
use onefold_conformance::scene::Scene;
use onefold_core::Result;
use onefold_core::ports::{Clock, Random};
use onefold_postgres::{Options, Postgres, Time};
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

impl Schema {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self { name: format!("test_{}_{number}", std::process::id()), url: url() }
    }

    /// The defaults on the system's clock, in this schema.
    pub(crate) fn options(&self) -> Options {
        Options {
            schema: Some(self.name.clone()),
            connections_max: 4,
            ..Options::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()))
        }
    }

    /// Opens the store that lives here.
    pub(crate) async fn open(&self) -> Result<Postgres> {
        Postgres::open(&self.url, self.options()).await
    }

    /// A plain connection.
    pub(crate) async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.url).await.expect("the server answers")
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let (url, name) = (self.url.clone(), self.name.clone());
        // A thread with a runtime of its own: this may run inside one, or while a test panics.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let Ok(mut connection) = PgConnection::connect(&url).await else { return };
                let sql = format!("DROP SCHEMA IF EXISTS {name} CASCADE");
                let _ = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await;
            });
        });
        let _ = dropping.join();
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
        let options = Options { clock, random, time: Time::Clock, ..self.schema.options() };
        Postgres::open(&self.schema.url, options).await.expect("the database opens")
    }
}

/// A scene on a schema.
pub(crate) type SchemaScene = Scene<PostgresHarness>;
