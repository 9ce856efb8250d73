//! Programs that change aggregates and stage events by SQL alone, in their own transactions.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgPool};

use crate::fixture::Dice;
use crate::relays::url;

const WRITERS: u64 = 8;
const AGGREGATES: u64 = 1_000;

/// Some writers, and how far they have come.
pub(crate) struct Writers {
    pool: PgPool,
    schema: String,
    events: u64,
    written: AtomicU64,
    allowed: AtomicU64,
}

/// What was committed: the event's id, and which of its aggregate's changes it tells of.
pub(crate) struct Written(HashMap<String, u64>);

impl Written {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Which change of its aggregate an event tells of.
    pub(crate) fn number(&self, id: &str) -> u64 {
        *self.0.get(id).unwrap_or_else(|| panic!("event {id} was never committed"))
    }
}

impl Writers {
    /// With a table of aggregates beside the outbox.
    pub(crate) async fn new(schema: &str, events: u64) -> Self {
        let pool = PgPoolOptions::new().max_connections(8).connect(&url()).await.unwrap();
        let tables = format!(
            "CREATE TABLE {schema}.cases (id text PRIMARY KEY, changes bigint NOT NULL);
             CREATE TABLE {schema}.visits (id bigint GENERATED ALWAYS AS IDENTITY);
             INSERT INTO {schema}.cases SELECT 'CASE-' || n, 0 FROM generate_series(0, {}) AS n",
            AGGREGATES - 1
        );
        sqlx::raw_sql(AssertSqlSafe(tables)).execute(&pool).await.unwrap();
        Self { pool, schema: schema.to_owned(), events, written: AtomicU64::new(0), allowed: AtomicU64::new(0) }
    }

    /// Transactions so far.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }

    /// Up to this many, about.
    pub(crate) fn allow(&self, transactions: u64) {
        self.allowed.store(transactions, Ordering::SeqCst);
    }

    /// When the first and the last lease of a lane end.
    pub(crate) async fn leases(&self) -> (i64, i64) {
        let sql = format!("SELECT min(lease_until), max(lease_until) FROM {}.onefold_relay_lanes", self.schema);
        sqlx::query_as(AssertSqlSafe(sql)).fetch_one(&self.pool).await.unwrap()
    }

    /// Writes until all events are committed.
    pub(crate) async fn run(self: Arc<Self>) -> Written {
        let writers = (0..WRITERS).map(|writer| {
            let this = Arc::clone(&self);
            tokio::spawn(async move { this.write(dice_of(writer)).await })
        });
        let mut written = HashMap::new();
        for writer in writers.collect::<Vec<_>>() {
            written.extend(writer.await.unwrap());
        }
        Written(written)
    }

    async fn write(&self, mut dice: Dice) -> Vec<(String, u64)> {
        let mut written = Vec::new();
        while (written.len() as u64) < self.events / WRITERS {
            if self.written() >= self.allowed.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            }
            written.extend(self.transaction(&mut dice).await);
            self.written.fetch_add(1, Ordering::SeqCst);
        }
        written
    }

    /// The transaction's number is taken before the aggregate is locked, as it is in life; one in twenty rolls back.
    async fn transaction(&self, dice: &mut Dice) -> Option<(String, u64)> {
        let (schema, case) = (&self.schema, format!("CASE-{}", dice.below(AGGREGATES)));
        let mut tx = self.pool.begin().await.unwrap();
        let visit = format!("INSERT INTO {schema}.visits DEFAULT VALUES");
        sqlx::query(AssertSqlSafe(visit)).execute(&mut *tx).await.unwrap();
        let change = format!("UPDATE {schema}.cases SET changes = changes + 1 WHERE id = $1 RETURNING changes");
        let number: i64 = sqlx::query_scalar(AssertSqlSafe(change)).bind(&case).fetch_one(&mut *tx).await.unwrap();
        let stage = format!("SELECT {schema}.onefold_stage('case', $1, 'case.submitted', 1, $2)::text");
        let payload = format!("{{\"caseId\":\"{case}\",\"change\":{number}}}");
        let id: String =
            sqlx::query_scalar(AssertSqlSafe(stage)).bind(&case).bind(payload).fetch_one(&mut *tx).await.unwrap();
        if dice.below(20) == 0 {
            tx.rollback().await.unwrap();
            return None;
        }
        tx.commit().await.unwrap();
        Some((id, number.unsigned_abs()))
    }
}

/// Dice of its own for each writer, from the one seed.
fn dice_of(writer: u64) -> Dice {
    let mut dice = Dice::seeded("a writer");
    (0..writer * 1_000).for_each(|_| _ = dice.below(2));
    dice
}
