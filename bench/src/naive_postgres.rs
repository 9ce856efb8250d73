//! The naive pattern on the same tables: insert and update, each a commit of its own, from a pool; prepared once.
//! Ours tells an operation's story from its row; the naive pattern keeps a table of events for that, written in the
//! same transaction.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgPool, SqlSafeStr as _, SqlStr};

const INSERT: &str = "INSERT INTO onefold_operations (tenant, kind, operation_id, fingerprint, created_at, status, \
     fence, attempt_id, worker, deadline, lease_until, terms) VALUES ($1, $2, $3, $4, 1, 'STARTED', 1, $5, 'host/1', 9, 9, \
     '[\"raw.1\",1,\"api\",\"external-command\",\"escalate\"]') ON CONFLICT DO NOTHING";
const COMPLETE: &str = "UPDATE onefold_operations SET status = 'COMPLETED', result = $4, result_type = 'application/json', \
     recorded = $5, completed_at = $6 \
     WHERE tenant = $1 AND kind = $2 AND operation_id = $3 AND fence = 1 AND status = 'STARTED'";

const TIMELINE: &str = "CREATE TABLE onefold_events (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
     tenant text NOT NULL, kind text NOT NULL, operation_id text COLLATE \"C\" NOT NULL, at bigint NOT NULL, \
     who text NOT NULL, what text NOT NULL); CREATE INDEX ON onefold_events (operation_id)";
const TELL: &str =
    "INSERT INTO onefold_events (tenant, kind, operation_id, at, who, what) VALUES ($1, $2, $3, $4, $5, $6)";

/// Callers that share a pool.
pub struct Naive {
    pool: PgPool,
    insert: SqlStr,
    complete: SqlStr,
    tell: SqlStr,
    story: Story,
}

/// Whether an operation's story is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Story {
    /// An event a step, in the step's transaction.
    Told,
    /// None at all.
    Untold,
}

impl Naive {
    /// On a schema whose tables our own store has made, with this many connections.
    pub async fn open(url: &str, schema: &str, connections: u32, story: Story) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .min_connections(connections)
            .acquire_timeout(Duration::from_secs(120))
            .test_before_acquire(false)
            .connect(url)
            .await
            .expect("the database answers");
        let of = |sql: &str| AssertSqlSafe(sql.replace("onefold_", &format!("{schema}.onefold_"))).into_sql_str();
        if story == Story::Told {
            sqlx::raw_sql(of(TIMELINE)).execute(&pool).await.expect("a table of events");
        }
        Self { pool, insert: of(INSERT), complete: of(COMPLETE), tell: of(TELL), story }
    }

    /// One operation: two commits.
    pub async fn perform(self: Arc<Self>, id: String) {
        let claim = sqlx::query(self.insert.clone()).bind("default").bind("naive.pay").bind(&*id);
        self.step(&id, "claimed", claim.bind(&[1_u8; 32][..]).bind(&[2_u8; 16][..])).await;
        let complete = sqlx::query(self.complete.clone())
            .bind("default")
            .bind("naive.pay")
            .bind(&*id)
            .bind(&b"\"NTC-991\""[..])
            .bind(&[7_u8; 16][..])
            .bind(2_i64);
        self.step(&id, "completed", complete).await;
    }

    async fn step(&self, id: &str, what: &str, statement: Query) {
        if self.story == Story::Untold {
            let written = statement.execute(&self.pool).await.expect("written");
            return assert_eq!(written.rows_affected(), 1, "{id}: {what}");
        }
        let mut transaction = self.pool.begin().await.expect("begun");
        let written = statement.execute(&mut *transaction).await.expect("written");
        assert_eq!(written.rows_affected(), 1, "{id}: {what}");
        let tell = sqlx::query(self.tell.clone()).bind("default").bind("naive.pay").bind(id);
        tell.bind(2_i64).bind("host/1").bind(what).execute(&mut *transaction).await.expect("told");
        transaction.commit().await.expect("committed");
    }
}

type Query = sqlx::query::Query<'static, sqlx::Postgres, sqlx::postgres::PgArguments>;
