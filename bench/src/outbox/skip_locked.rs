//! The relay that teams write themselves, tuned: a partial index, 1,000 rows taken with SKIP LOCKED, marked with one
//! UPDATE, one commit a batch.

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, PgPool, Row as _, SqlSafeStr as _, SqlStr};

use super::{pool, run_sql};

const TABLES: &str = "
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE {schema}.outbox (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    aggregate_type text NOT NULL,
    aggregate_id text NOT NULL,
    event_type text NOT NULL,
    payload bytea NOT NULL,
    headers text NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    published_at timestamptz
);
CREATE INDEX ON {schema}.outbox (seq) WHERE published_at IS NULL;
";
const TAKE: &str = "SELECT seq, id::text, aggregate_type, aggregate_id, event_type, payload, headers FROM {schema}.outbox \
     WHERE published_at IS NULL ORDER BY seq LIMIT 1000 FOR UPDATE SKIP LOCKED";
const MARK: &str = "UPDATE {schema}.outbox SET published_at = now() WHERE seq = ANY($1)";

/// One relay.
pub struct SkipLocked {
    pool: PgPool,
    take: SqlStr,
    mark: SqlStr,
}

impl SkipLocked {
    /// On a schema of its own.
    pub async fn open(url: &str, schema: &str) -> Self {
        let pool = pool(url, schema, 1).await;
        run_sql(&pool, TABLES.replace("{schema}", schema)).await;
        let of = |sql: &str| AssertSqlSafe(sql.replace("{schema}", schema)).into_sql_str();
        Self { take: of(TAKE), mark: of(MARK), pool }
    }

    /// Publishes this many to a target that takes everything at once.
    pub async fn drain(&self, events: usize) -> Duration {
        let began = Instant::now();
        let mut published = 0;
        while published < events {
            published += self.batch().await;
        }
        began.elapsed()
    }

    async fn batch(&self) -> usize {
        let mut tx = self.pool.begin().await.expect("begun");
        let rows = sqlx::query(self.take.clone()).fetch_all(&mut *tx).await.expect("taken");
        // What would be sent is read, as a publisher does.
        let sent: usize = rows.iter().map(|row| row.get::<&[u8], _>("payload").len()).sum();
        assert!(sent > 0, "the relay ran dry");
        let seqs: Vec<i64> = rows.iter().map(|row| row.get("seq")).collect();
        sqlx::query(self.mark.clone()).bind(&seqs).execute(&mut *tx).await.expect("marked");
        tx.commit().await.expect("committed");
        seqs.len()
    }
}
