//! A schema of its own on the server that the environment names.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// The server's address; `cargo xtask test` sets it.
fn url() -> String {
    std::env::var("ONEFOLD_TEST_POSTGRES").expect("ONEFOLD_TEST_POSTGRES names a server: run `cargo xtask test`")
}

/// A schema that nobody has used; gone when the test ends.
pub(crate) struct Schema {
    name: String,
}

impl Schema {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self { name: format!("servers_{}_{number}", std::process::id()) }
    }

    /// A server of this schema with a folder of its own.
    pub(crate) fn serve(&self, data: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_served"));
        command.env("ONEFOLD_DATABASE", url()).current_dir(data.parent().unwrap());
        command.args(["serve", "--listen", "127.0.0.1:0", "--json", "--log", "error", "--schema", &self.name]);
        command.args(["--database-connections", "6", "--sweep-every", "100ms", "--data-dir"]).arg(data);
        command
    }

    /// Commits so many events of a few aggregates, as any other program would.
    pub(crate) fn stage(&self, count: usize) {
        let schema = &self.name;
        let sql = format!(
            "SELECT {schema}.onefold_stage('case', 'CASE-' || n % 5, 'case.submitted', 1, '{{}}') \
             FROM generate_series(1, {count}) AS n"
        );
        Self::run(&sql);
    }

    /// A schema for tables of a team's own.
    pub(crate) fn app(&self) -> String {
        format!("{}_app", self.name)
    }

    /// Runs statements.
    pub(crate) fn run(sql: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut connection = PgConnection::connect(&url()).await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
        });
    }

    /// The number that a statement answers with.
    pub(crate) fn number(sql: &str) -> i64 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut connection = PgConnection::connect(&url()).await.unwrap();
            sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&mut connection).await.unwrap()
        })
    }

    /// Does something while nobody else can write an operation.
    pub(crate) fn locked(&self, during: &mut dyn FnMut()) {
        let sql = format!("LOCK TABLE {}.onefold_operations IN EXCLUSIVE MODE", self.name);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut connection = PgConnection::connect(&url()).await.unwrap();
            let mut transaction = connection.begin().await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await.unwrap();
            during();
            transaction.rollback().await.unwrap();
        });
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let sql = format!("DROP SCHEMA IF EXISTS {0} CASCADE; DROP SCHEMA IF EXISTS {0}_app CASCADE", self.name);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let Ok(mut connection) = PgConnection::connect(&url()).await else { return };
            let _ = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await;
        });
    }
}
