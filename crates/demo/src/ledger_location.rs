//! Where the Onefold side's ledger is: in the run's folder, or in a schema of its own on PostgreSQL.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::error::{CONFIGURATION_INVALID, DATABASE_UNAVAILABLE};
use onefold_core::port::Store;
use onefold_core::{Error, Result};
use onefold_postgres::Postgres;
use onefold_runtime::{SystemClock, SystemRandom};
use onefold_sqlite::Sqlite;
use sqlx::AssertSqlSafe;

/// The variable that hands the address to a worker: arguments are seen by every user of a machine.
const VARIABLE: &str = "ONEFOLD_DATABASE";

const DROP_SCHEMA: &str = include_str!("../queries/drop_schema.sql");

/// Connections of one worker at most; a demo has several.
const CONNECTIONS_MAX: u32 = 4;

/// A store that may be either of the two.
pub trait DemoStore: Store + From<Sqlite> + From<Postgres> {}

impl<S: Store + From<Sqlite> + From<Postgres>> DemoStore for S {}

/// An address with a password in it, which is never shown.
#[derive(Clone)]
pub(super) struct Url(String);

impl Url {
    fn secret(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let after_user = self.0.rsplit_once('@').map_or_else(|| self.0.split("://").last(), |(_, place)| Some(place));
        write!(f, "postgres://{}", after_user.unwrap_or_default())
    }
}

/// Where the ledger is.
#[derive(Debug, Clone)]
pub(super) enum LedgerLocation {
    Folder,
    Postgres { url: Url, schema: String },
}

impl LedgerLocation {
    /// A location that was never used. An SQLite file is not asked for: the run has a folder.
    pub(super) fn new(database: Option<&str>) -> Result<Self> {
        match database {
            None => Ok(Self::Folder),
            Some(text) if text.starts_with("postgres://") || text.starts_with("postgresql://") => Ok(Self::Postgres {
                url: Url(text.to_owned()),
                schema: format!("onefold_demo_{}", uuid::Uuid::new_v4().simple()),
            }),
            Some(_) => Err(Error::new(CONFIGURATION_INVALID, "the demo's own file lies in its folder")
                .hint("leave --database out, keep the file with --keep DIR, or name a postgres:// address")),
        }
    }

    /// The location that a worker is told of.
    pub(super) fn of_worker(schema: Option<String>) -> Result<Self> {
        let Some(schema) = schema else { return Ok(Self::Folder) };
        let url = std::env::var(VARIABLE)
            .map_err(|_| Error::new(CONFIGURATION_INVALID, format!("a worker of the demo needs {VARIABLE}")))?;
        Ok(Self::Postgres { url: Url(url), schema })
    }

    /// What a worker is told, in its arguments.
    pub(super) fn argument(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Folder => None,
            Self::Postgres { schema, .. } => Some(("--ledger-schema", schema)),
        }
    }

    /// What a worker is told in its environment.
    pub(super) fn variable(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Folder => None,
            Self::Postgres { url, .. } => Some((VARIABLE, url.secret())),
        }
    }

    /// Opens the ledger's store; the folder is the run's.
    pub(super) async fn open<S: DemoStore>(&self, folder: &Path) -> Result<S> {
        match self {
            Self::Folder => {
                let options =
                    onefold_sqlite::SqliteOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()));
                let options = onefold_sqlite::SqliteOptions { busy_wait: Duration::from_secs(30), ..options };
                Sqlite::open(folder.join("onefold.db"), options).await.map(S::from)
            }
            Self::Postgres { url, schema } => Self::connect(url, schema).await.map(S::from),
        }
    }

    async fn connect(url: &Url, schema: &str) -> Result<Postgres> {
        let options = onefold_postgres::PostgresOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()));
        let schema = Some(schema.to_owned());
        Postgres::open(
            url.secret(),
            onefold_postgres::PostgresOptions { schema, connections_max: CONNECTIONS_MAX, ..options },
        )
        .await
    }

    /// Leaves nothing behind on a server that is not ours. A folder removes itself.
    pub(super) async fn clear(&self) -> Result<()> {
        let Self::Postgres { url, schema } = self else { return Ok(()) };
        let store = Self::connect(url, schema).await?;
        let dropped = store.transaction(async |connection| {
            let drop = sqlx::raw_sql(AssertSqlSafe(DROP_SCHEMA.replace("{schema}", schema)));
            drop.execute(connection).await.map(|_| ()).map_err(|cause| {
                Error::new(DATABASE_UNAVAILABLE, format!("the schema {schema} could not be dropped")).caused_by(cause)
            })
        });
        dropped.await.map(onefold_core::port::Committed::into_inner)
    }

    /// Where it stays when it is kept.
    pub(super) fn kept_in(&self, folder: &Path) -> String {
        match self {
            Self::Folder => folder.join("onefold.db").display().to_string(),
            Self::Postgres { url, schema } => format!("{url:?}, schema {schema}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_handed_on_in_the_environment_only() {
        let location = LedgerLocation::new(Some("postgres://me:hush@db/app")).unwrap();
        assert_eq!(location.variable(), Some((VARIABLE, "postgres://me:hush@db/app")));
        let (_, schema) = location.argument().unwrap();
        assert!(schema.starts_with("onefold_demo_") && schema.len() < 64, "{schema}");
        assert!(!format!("{location:?} {}", location.kept_in(Path::new("x"))).contains("hush"));
        assert!(LedgerLocation::new(Some("sqlite:x.db")).is_err());
        assert!(LedgerLocation::new(None).unwrap().variable().is_none());
    }
}
