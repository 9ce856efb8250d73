//! The outbox that teams write themselves: a row with a status, an index for the relay and one for people.

use sqlx::{AssertSqlSafe, PgConnection, PgPool, SqlSafeStr as _, SqlStr};

use super::{FILLING, pool, run_sql};

const TABLES: &str = "
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE {schema}.cases (id text PRIMARY KEY, opened_at timestamptz NOT NULL DEFAULT now());
";
const OUTBOX: &str = "
CREATE TABLE {schema}.outbox_events (
    id uuid PRIMARY KEY,
    aggregate_type text NOT NULL,
    aggregate_id text NOT NULL,
    event_type text NOT NULL,
    payload text NOT NULL,
    headers text,
    created_at timestamptz NOT NULL DEFAULT now(),
    published_at timestamptz,
    status text NOT NULL DEFAULT 'NEW',
    attempts integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON {schema}.outbox_events (status, next_attempt_at, created_at);
CREATE INDEX ON {schema}.outbox_events (aggregate_type, aggregate_id, created_at);
";
const CASE: &str = "INSERT INTO {schema}.cases (id) VALUES ($1)";
const EVENT: &str = "INSERT INTO {schema}.outbox_events (id, aggregate_type, aggregate_id, event_type, payload) \
     VALUES ($1, 'case', $2, 'case.submitted', $3)";
const NOTIFY: &str = "SELECT pg_notify('outbox', $1)";

/// What a transaction tells the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling {
    /// Nothing: the change alone.
    Nothing,
    /// A row of the outbox.
    Row,
    /// A row, and a relay is notified.
    RowAndNotify,
}

/// Writers that share a pool.
pub struct HandWritten {
    pool: PgPool,
    event: SqlStr,
    schema: String,
    telling: Telling,
}

impl HandWritten {
    /// On a schema of its own.
    pub async fn open(url: &str, schema: &str, connections: u32, telling: Telling) -> Self {
        let pool = pool(url, schema, connections).await;
        make_cases(&pool, schema).await;
        run_sql(&pool, of(OUTBOX, schema)).await;
        let event = AssertSqlSafe(of(EVENT, schema)).into_sql_str();
        Self { pool, event, schema: schema.to_owned(), telling }
    }

    /// A change with its event, in one commit.
    pub async fn submit(&self, case: String) {
        let mut tx = self.pool.begin().await.expect("begun");
        open_case(&mut tx, &self.schema, &case).await;
        if self.telling != Telling::Nothing {
            let payload = format!("{{\"caseId\":\"{case}\",\"text\":\"{FILLING}\"}}");
            let event = sqlx::query(self.event.clone()).bind(uuid::Uuid::new_v4()).bind(&case).bind(payload);
            event.execute(&mut *tx).await.expect("written");
        }
        if self.telling == Telling::RowAndNotify {
            sqlx::query(NOTIFY).bind(&case).execute(&mut *tx).await.expect("notified");
        }
        tx.commit().await.expect("committed");
    }
}

/// The table of the business.
pub async fn make_cases(pool: &PgPool, schema: &str) {
    run_sql(pool, of(TABLES, schema)).await;
}

/// The business's own change.
pub async fn open_case(connection: &mut PgConnection, schema: &str, case: &str) {
    let sql = AssertSqlSafe(of(CASE, schema));
    sqlx::query(sql).bind(case).execute(connection).await.expect("written");
}

fn of(sql: &str, schema: &str) -> String {
    sql.replace("{schema}", schema)
}
