//! What the benchmarks of the outbox share: events, ours, and the patterns that they are compared with.

pub mod debezium;
pub mod hand_written;
pub mod kafka;
pub mod latency;
pub mod ours;
pub mod skip_locked;

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, PgPool};

/// What every event carries, some 200 bytes of JSON with its id around it.
pub const FILLING: &str = "a notice of breach was issued to the tenant and has to be acknowledged within fourteen days; \
     until then every reminder names it, and the case waits";

/// A pool that keeps its connections, named after its side: their processor time is asked for by that name.
pub async fn pool(url: &str, name: &str, connections: u32) -> PgPool {
    let options: PgConnectOptions = url.parse().expect("an address");
    PgPoolOptions::new()
        .max_connections(connections)
        .min_connections(connections)
        .acquire_timeout(Duration::from_secs(120))
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_with(options.application_name(name))
        .await
        .expect("the database answers")
}

/// Runs statements that name no value of anybody's.
pub async fn run_sql(pool: &PgPool, sql: String) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await.expect("the statement is run");
}

/// Processor time of the server's processes that serve this name, of those that are there now.
pub async fn backend_time(pool: &PgPool, name: &str) -> Duration {
    let pids: Vec<i32> = sqlx::query_scalar("SELECT pid FROM pg_stat_activity WHERE application_name = $1")
        .bind(name)
        .fetch_all(pool)
        .await
        .expect("the server's processes");
    pids.iter().map(|pid| crate::machine::cpu_time(&pid.to_string())).sum()
}

/// Aggregates that events are of.
pub const AGGREGATES: usize = 1_000;

/// Stages so many events in one commit, by SQL alone.
pub async fn stage_ours(admin: &PgPool, schema: &str, events: usize) {
    let sql = format!(
        "INSERT INTO {schema}.onefold_events (id, schema_version, tenant, aggregate_type, aggregate_id, event_type, \
         payload, content_type) SELECT gen_random_uuid(), 1, 'default', 'case', {}, 'case.submitted', {}, \
         'application/json' FROM generate_series(1, {events}) AS n",
        case_sql(),
        payload_sql()
    );
    run_sql(admin, sql).await;
}

/// The aggregate of the event number `n`.
pub fn case_sql() -> String {
    format!("'case-' || (n % {AGGREGATES})")
}

/// Its payload.
pub fn payload_sql() -> String {
    format!("convert_to('{{\"caseId\":\"' || {} || '\",\"text\":\"{FILLING}\"}}', 'UTF8')", case_sql())
}
