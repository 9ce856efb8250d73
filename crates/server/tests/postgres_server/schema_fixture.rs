//! A schema of its own for every test, and a role that may do no more than it must.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use crate::fixture::Workdir;

/// Long enough to be found wherever it leaks.
pub(crate) const PASSWORD: &str = "hush-8d1f6c20a7";

/// First in a transaction that changes what a role may do on the database: PostgreSQL does not put those in order.
pub(crate) const ALONE: &str = "SELECT pg_advisory_xact_lock(706070)";

/// The server's address, of someone who may make roles; `cargo xtask test` sets it.
pub(crate) fn url() -> String {
    std::env::var("ONEFOLD_TEST_POSTGRES").expect("ONEFOLD_TEST_POSTGRES names a server: run `cargo xtask test`")
}

/// `HOST:PORT` and database of the server.
fn place() -> (String, String) {
    let url = url();
    let rest = url.split_once("://").unwrap().1;
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    let (host, database) = place.split_once('/').expect("ONEFOLD_TEST_POSTGRES names a database");
    let host = if host.contains(':') { host.to_owned() } else { format!("{host}:5432") };
    (host, database.split('?').next().unwrap().to_owned())
}

/// A schema that nobody has used and its role; gone when the test ends.
pub(crate) struct Schema {
    /// Of schema and role. Begins with the database's: roles are seen in every database of a server.
    pub(crate) name: String,
}

impl Schema {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (_, database) = place();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{database}_{}_{number}", std::process::id());
        execute(&format!(
            "{ALONE}; CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'; GRANT CREATE ON DATABASE {database} TO {name}"
        ));
        Self { name }
    }

    /// Where the database is, as this role.
    pub(crate) fn url(&self) -> String {
        self.url_at(&place().0)
    }

    /// The same, with something else in the server's place.
    pub(crate) fn url_at(&self, host: &str) -> String {
        format!("postgres://{}:{PASSWORD}@{host}/{}", self.name, place().1)
    }

    /// Where the server is.
    pub(crate) fn host() -> String {
        place().0
    }

    /// A folder whose commands use this schema.
    pub(crate) fn dir(&self) -> Workdir {
        self.dir_at(&self.url())
    }

    /// The same through another address.
    pub(crate) fn dir_at(&self, url: &str) -> Workdir {
        Workdir::with_environment(vec![("ONEFOLD_DATABASE", url.to_owned()), ("ONEFOLD_SCHEMA", self.name.clone())])
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let name = &self.name;
        let sql = format!("{}; {ALONE}; DROP OWNED BY {name} CASCADE; DROP ROLE {name}", ended(name));
        if std::thread::panicking() {
            // What a failed test leaves behind must not hide why it failed.
            let _ = std::panic::catch_unwind(|| execute(&sql));
        } else {
            execute(&sql);
        }
    }
}

/// Ends every connection of a role, and waits until they are gone: one that is only told to end may still serve.
fn ended(role: &str) -> String {
    format!("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = '{role}'")
}

/// Ends every connection that a schema's servers have; answers how many there were.
pub(crate) fn terminate(schema: &Schema) -> i64 {
    count(&format!("SELECT count(*) FROM ({}) AS ended", ended(&schema.name)))
}

/// Runs statements as the user that the variable names.
pub(crate) fn execute(sql: &str) {
    connected(async |mut connection| {
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.map(drop)
    });
}

/// The number that a statement answers with.
pub(crate) fn count(sql: &str) -> i64 {
    connected(async |mut connection| {
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).fetch_one(&mut connection).await?.try_get(0)
    })
}

/// On a thread with a runtime of its own: the tests have none.
fn connected<T: Send>(work: impl AsyncFnOnce(PgConnection) -> Result<T, sqlx::Error> + Send) -> T {
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { work(PgConnection::connect(&url()).await?).await }).expect("the server answers")
        });
        asking.join().unwrap()
    })
}
