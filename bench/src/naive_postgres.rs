//! The naive pattern on the same tables: a statement a step, each a commit of its own, from a pool; prepared once.

use std::time::Duration;

use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgPool, SqlSafeStr as _, SqlStr};

const INSERT: &str = include_str!("../../crates/postgres/queries/ledger/insert.sql");
const COMPLETE: &str = "UPDATE onefold_operations SET status = 'COMPLETED', result = $4, result_type = 'application/json', \
     side_effect_status = 'APPLIED', settled_by = 'HOLDER', recorded = $5, updated_at = $6, completed_at = $6 \
     WHERE tenant = $1 AND kind = $2 AND operation_id = $3 AND fence = 1 AND status = 'STARTED'";

/// Callers that share a pool.
pub struct Naive {
    pool: PgPool,
    insert: SqlStr,
    complete: SqlStr,
}

impl Naive {
    /// On a schema whose tables our own store has made, with this many connections.
    pub async fn open(url: &str, schema: &str, connections: u32) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .min_connections(connections)
            .acquire_timeout(Duration::from_secs(120))
            .test_before_acquire(false)
            .connect(url)
            .await
            .expect("the database answers");
        let of = |sql: &str| AssertSqlSafe(sql.replace("onefold_", &format!("{schema}.onefold_"))).into_sql_str();
        let insert = format!("{} ON CONFLICT DO NOTHING", INSERT.trim_end());
        Self { pool, insert: of(&insert), complete: of(COMPLETE) }
    }

    /// One operation: two commits.
    pub async fn operation(&self, id: &str) {
        let inserted = row(sqlx::query(self.insert.clone()), id).execute(&self.pool).await.expect("inserted");
        assert_eq!(inserted.rows_affected(), 1, "{id} exists");
        let complete = sqlx::query(self.complete.clone())
            .bind("default")
            .bind("naive.pay")
            .bind(id)
            .bind(&b"\"NTC-991\""[..])
            .bind(&[7_u8; 16][..])
            .bind(2_i64);
        assert_eq!(complete.execute(&self.pool).await.expect("updated").rows_affected(), 1);
    }
}

type Query = sqlx::query::Query<'static, sqlx::Postgres, sqlx::postgres::PgArguments>;

fn row(query: Query, id: &str) -> Query {
    let texts = |query: Query, count: usize| (0..count).fold(query, |query, _| query.bind(None::<&str>));
    let numbers = |query: Query, count: usize| (0..count).fold(query, |query, _| query.bind(None::<i64>));
    let query = query.bind("default").bind("naive.pay").bind(id).bind(&[1_u8; 32][..]).bind("raw.1").bind(1_i64);
    let query = texts(query.bind("api"), 8).bind(1_i64).bind("STARTED").bind("external-command").bind("escalate");
    let query = query.bind(1_i64).bind(&[2_u8; 16][..]).bind(None::<&str>).bind("host/1");
    let query = query.bind(9_i64).bind(9_i64).bind(1_i64).bind(1_i64).bind(1_i64);
    let query = numbers(query, 4).bind(0_i64).bind(None::<&[u8]>).bind(None::<&str>).bind(None::<i64>);
    let query = texts(query.bind(None::<&[u8]>), 5).bind("NOT_APPLIED").bind(None::<&[u8]>);
    texts(query, 3).bind(1_i64).bind(None::<i64>)
}
