//! How statements find their rows: through an index, whatever the planner believes of a table that was never analysed.

use std::path::Path;
use std::sync::Arc;

use onefold_conformance::fixture::record_of;
use onefold_conformance::kinds::escalates;
use onefold_conformance::ledger::outcomes::{completed, retryable, unknown};
use onefold_core::effect::KindSpec;
use onefold_core::ledger::{Claim, Lease, ReleaseReason, ReleaseRequest, RenewRequest};
use onefold_core::port::{LedgerWrite as _, Step, StepAnswer};
use onefold_core::retry::Category;
use onefold_core::row::{self, ColumnType, expand};
use onefold_postgres::{Postgres, PostgresOptions};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _, SqlSafeStr as _};

use crate::asking::{claim_of, claims, until};
use crate::fixture::{Database, Schema, options, run};

/// Every statement, by its file, with its columns and the newest functions.
async fn statements(connection: &mut PgConnection) -> Vec<(String, String)> {
    let newest = "SELECT max(version)::text FROM onefold_migrations";
    let newest: String = sqlx::query_scalar(newest).fetch_one(connection).await.unwrap();
    let type_name = |holds| match holds {
        ColumnType::Text | ColumnType::Json => "text",
        ColumnType::Number | ColumnType::Time => "bigint",
        ColumnType::Hex | ColumnType::Bytes => "bytea",
    };
    let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries");
    let mut all = Vec::new();
    for folder in std::fs::read_dir(&queries).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.strip_prefix(&queries).unwrap().with_extension("").display().to_string();
            let sql = expand(&std::fs::read_to_string(path).unwrap(), type_name);
            all.push((name, sql.replace("{version}", &newest)));
        }
    }
    all.sort();
    assert!(all.len() > 40, "{} statements", all.len());
    all
}

/// A connection that finds the tables of a fresh store.
async fn beside_a_store() -> (Schema, PgConnection) {
    let schema = Schema::new();
    schema.open().await.unwrap().close().await;
    let mut connection = schema.connect().await;
    run(&mut connection, &format!("SET search_path = {}", schema.name)).await;
    (schema, connection)
}

#[tokio::test]
async fn every_statement_can_be_prepared() {
    let (_schema, mut connection) = beside_a_store().await;
    for (name, sql) in statements(&mut connection).await {
        // Two statements around the name of a schema that is not there yet.
        if name == "installation/schema" {
            continue;
        }
        // Names of a team's own table are filled in; `own_table` runs them.
        if ["own_table/take", "own_table/mark", "own_table/count"].contains(&name.as_str()) {
            continue;
        }
        // A backup fills in the names of tables and columns; any table of ours will do.
        let sql = sql.replace(":table", "onefold_notes").replace(":columns", "tenant").replace(":values", "$1::text[]");
        let prepared = (&mut connection).prepare(AssertSqlSafe(sql).into_sql_str()).await;
        assert!(prepared.is_ok(), "{name}: {:?}", prepared.err());
    }
}

#[tokio::test]
async fn every_column_of_the_schema_is_in_the_table_of_columns() {
    let (schema, mut connection) = beside_a_store().await;
    for (table, columns) in [
        ("onefold_operations", &row::operation::ALL[..]),
        ("onefold_attempts", &row::attempt::ALL),
        ("onefold_notes", &row::note::ALL),
        ("onefold_incidents", &row::incident::ALL),
    ] {
        let stored = "SELECT column_name::text FROM information_schema.columns
            WHERE table_schema = $1 AND table_name = $2 AND column_name <> 'seq' ORDER BY 1";
        let stored = sqlx::query_scalar(stored).bind(&schema.name).bind(table);
        let stored: Vec<String> = stored.fetch_all(&mut connection).await.unwrap();
        let mut known: Vec<_> = columns.iter().map(|column| column.name).collect();
        known.sort_unstable();
        assert_eq!(stored, known, "{table}");
    }
}

/// Statements that run in a transaction of the store's own, with its settings, and the indexes that they use. What runs
/// inside a function has no plan that can be looked at from here; the test below counts how its tables are read.
const TUNED: &[(&str, &[&str])] = &[
    ("ledger/find", &["onefold_operations_key"]),
    ("ledger/lock", &["onefold_operations_key"]),
    ("ledger/lock_free", &["onefold_operations_key"]),
    ("ledger/update", &["onefold_operations_key"]),
    ("ledger/add_leases", &["onefold_operations_key"]),
    ("ledger/expired_leases", &["onefold_leases_pkey", "onefold_operations_seq"]),
    ("ledger/overdue", &["onefold_operations_escalate", "onefold_operations_ask"]),
    ("ledger/held", &["onefold_leases_pkey", "onefold_operations_seq"]),
    ("ledger/take_due", &["onefold_operations_ask", "onefold_operations_key"]),
    ("ledger/find_attempt", &["onefold_attempts_pkey"]),
    ("ledger/delete_operations", &["onefold_operations_key"]),
    ("ledger/delete_attempts", &["onefold_attempts_pkey"]),
    ("ledger/delete_notes", &["onefold_notes_key"]),
    ("ledger/expired_ids", &["onefold_operations_created"]),
    ("ledger/expired_results", &["onefold_operations_created"]),
    ("ledger/count_unknown", &["onefold_operations_unknown"]),
    ("incident/find_open", &["onefold_incidents_one_open"]),
    ("incident/delete", &["onefold_incidents_closed"]),
    ("outbox/poll_events", &["onefold_events_lane"]),
    ("outbox/poll_places", &["onefold_events_lane"]),
    ("outbox/event_at", &["onefold_events_seq"]),
    ("outbox/find_event", &["onefold_events_id"]),
    ("outbox/move_cursor", &["onefold_relay_lanes_pkey"]),
    ("outbox/settle_lane", &["onefold_relay_lanes_pkey"]),
    ("outbox/hold_lanes", &["onefold_relay_lanes_pkey"]),
    ("outbox/blocked", &["onefold_events_aside_order"]),
    ("outbox/asides_due", &["onefold_events_aside_order", "onefold_events_seq"]),
    ("outbox/relays", &["onefold_events_lane"]),
    ("outbox/delete_events", &["onefold_events_seq"]),
    ("outbox/adopt_events", &["onefold_events_lane"]),
];

/// Statements that run by themselves.
const BARE: &[(&str, &[&str])] = &[
    ("ledger/settle_one", &["onefold_operations_key"]),
    ("ledger/list_by_id", &["onefold_operations_key"]),
    ("ledger/list_attempts", &["onefold_attempts_pkey"]),
    ("ledger/list_notes", &["onefold_notes_key"]),
];

/// Settled operations of one kind, as many as there are after a while.
const FILL: &str = "INSERT INTO onefold_operations (tenant, kind, operation_id, fingerprint, created_at, status, fence,
        attempt_id, worker, deadline, lease_until, terms, completed_at)
    SELECT 'default', 'notice.issue', 'A-' || g, '', g, 'COMPLETED', 1, '', 'host/1', g, g, '[]', g
    FROM generate_series(1, 20000) g";

/// The plan for values that are not known yet.
async fn plan(connection: &mut PgConnection, sql: &str) -> String {
    run(connection, &format!("PREPARE planned AS {sql}")).await;
    let counted = "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'planned'";
    let parameters: i32 = sqlx::query_scalar(counted).fetch_one(&mut *connection).await.unwrap();
    let nulls = vec!["NULL"; usize::try_from(parameters).unwrap()].join(", ");
    let values = if nulls.is_empty() { nulls } else { format!("({nulls})") };
    let explain = AssertSqlSafe(format!("EXPLAIN EXECUTE planned{values}"));
    let lines = sqlx::query(explain).persistent(false).fetch_all(&mut *connection).await.unwrap();
    run(connection, "DEALLOCATE planned").await;
    lines.iter().map(|line| line.get::<String, _>(0)).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn frequent_statements_find_their_rows_through_their_index() {
    let (_schema, mut connection) = beside_a_store().await;
    let all = statements(&mut connection).await;
    for table in TABLES {
        run(&mut connection, &format!("ALTER TABLE {table} SET (autovacuum_enabled = off)")).await;
    }
    run(&mut connection, "SET plan_cache_mode = force_generic_plan").await;
    run(&mut connection, "ALTER TABLE onefold_events SET (autovacuum_enabled = off)").await;
    for fill in ["SELECT 1", FILL, FILL_EVENTS] {
        run(&mut connection, fill).await;
        for (statements, tuned) in [(BARE, false), (TUNED, true)] {
            run(&mut connection, "BEGIN").await;
            if tuned {
                let settings =
                    "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off";
                run(&mut connection, settings).await;
            }
            for (name, indexes) in statements {
                let (_, sql) = all.iter().find(|(file, _)| file == name).unwrap_or_else(|| panic!("{name} is gone"));
                let plan = plan(&mut connection, sql).await;
                assert!(!plan.contains("Seq Scan on onefold_"), "{name}:\n{plan}");
                for index in *indexes {
                    assert!(plan.contains(index), "{name} without {index}:\n{plan}");
                }
            }
            run(&mut connection, "ROLLBACK").await;
        }
    }
}

/// The tables that grow with operations.
const TABLES: [&str; 5] =
    ["onefold_operations", "onefold_leases", "onefold_attempts", "onefold_notes", "onefold_incidents"];

/// Events that nobody has published, in all lanes.
const FILL_EVENTS: &str = "INSERT INTO onefold_events (id, tenant, aggregate_type, aggregate_id, event_type,
        schema_version, payload, content_type)
    SELECT gen_random_uuid(), 'default', 'case', 'CASE-' || g % 500, 'case.submitted', 1, '', 'application/json'
    FROM generate_series(1, 20000) g";

/// How often each of them was read from one end to the other, and how often operations through an index.
async fn scans(connection: &mut PgConnection) -> (Vec<i64>, i64) {
    let sql = "SELECT coalesce(seq_scan, 0), coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = $1";
    let mut read = Vec::new();
    let mut through_index = 0;
    for table in TABLES {
        let found = sqlx::query(sql).bind(table).fetch_one(&mut *connection).await.unwrap();
        read.push(found.get(0));
        through_index = if table == TABLES[0] { found.get(1) } else { through_index };
    }
    (read, through_index)
}

fn presented(lease: &Lease, terms: &Arc<KindSpec>) -> (RenewRequest, ReleaseRequest) {
    let (key, fence, attempt_id) = (lease.key.clone(), lease.fence, lease.attempt_id);
    let renew = RenewRequest { key: key.clone(), fence, attempt_id, terms: Arc::clone(terms) };
    let reason = ReleaseReason::NothingSent;
    (renew, ReleaseRequest { key, fence, attempt_id, terms: Arc::clone(terms), reason })
}

/// Claims a batch and records it; every tenth one with some of everything else between.
async fn operate(claiming: &Postgres, recording: &Postgres, terms: &Arc<KindSpec>, number: usize, batch: usize) {
    let requests: Vec<_> = (0..batch).map(|id| claim_of(claiming, terms, &format!("OP-{number:05}-{id:03}"))).collect();
    let mut leases = Vec::new();
    for answer in claims(claiming, &requests).await.unwrap() {
        let Ok(Claim::Granted(lease)) = answer else { panic!("{answer:?}") };
        leases.push(lease);
    }
    let mixed = number.is_multiple_of(10);
    if mixed {
        let renewals = leases.iter().map(|lease| Step::Renew(presented(lease, terms).0)).collect();
        answered(recording, renewals).await;
        let lost: Vec<_> = requests.iter().take(20).map(|request| Step::Claim(Box::new(request.clone()))).collect();
        answered(claiming, lost).await;
    }
    let records = leases.iter().enumerate().map(|(at, lease)| match at {
        0..8 if mixed => Step::Release(presented(lease, terms).1),
        8..16 if mixed => record_of(terms, lease, unknown(Category::DownstreamTimeout)),
        16..24 if mixed => record_of(terms, lease, retryable(Category::DownstreamTimeout)),
        _ => record_of(terms, lease, completed(b"{\"notice\":\"N-1\"}")),
    });
    answered(recording, records.collect()).await;
    if mixed {
        let duplicates = leases.iter().map(|lease| claim_of(claiming, terms, lease.key.id.as_str()));
        answered(claiming, duplicates.map(|request| Step::Claim(Box::new(request))).collect()).await;
    }
}

async fn answered(store: &Postgres, steps: Vec<Step>) -> Vec<StepAnswer> {
    store.act(Arc::new(steps)).await.unwrap().into_iter().map(|answer| answer.expect("an answer")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_thousand_operations_on_a_table_that_nobody_analysed_read_it_never_as_a_whole() {
    const OPERATIONS: usize = 50_000;
    let database = Database::new().await;
    let options = || PostgresOptions { connections_max: 2, ..options() };
    let store = Postgres::open(&database.url(), options()).await.unwrap();
    // It did not grant what it records, so it reads, locks and decides.
    let elsewhere = Postgres::open(&database.url(), options()).await.unwrap();
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    for table in TABLES {
        run(&mut connection, &format!("ALTER TABLE {table} SET (autovacuum_enabled = off)")).await;
    }
    run(&mut connection, "SELECT pg_stat_force_next_flush()").await;
    let (before, _) = scans(&mut connection).await;
    let terms = escalates();
    let (mut done, mut number) = (0, 0);
    while done < OPERATIONS {
        let batch = if number % 2 == 0 { 256 } else { 128 };
        let recording = if number % 3 == 0 { &elsewhere } else { &store };
        operate(&store, recording, &terms, number, batch).await;
        done += batch;
        number += 1;
    }
    // A backend tells what it counted when it ends, at the latest.
    store.close().await;
    elsewhere.close().await;
    until("the stores' connections have ended", async || (database.stores().await == 0).then_some(())).await;
    let (after, through_index) = scans(&mut connection).await;
    assert!(through_index > 50_000, "{through_index} reads through an index were told");
    assert_eq!(after, before, "{TABLES:?}, {through_index} reads of operations through an index");
    // An index that is read for anything else than what it was made for reads too much.
    let misread = "SELECT count(*) FROM pg_stat_user_indexes WHERE relname = 'onefold_operations' AND idx_scan > 0
        AND indexrelname NOT IN ('onefold_operations_key', 'onefold_operations_seq')";
    let misread: i64 = sqlx::query_scalar(misread).fetch_one(&mut connection).await.unwrap();
    assert_eq!(misread, 0, "indexes of maintenance were read");
    let analysed = "SELECT count(*) FROM pg_stat_user_tables WHERE analyze_count + autoanalyze_count > 0";
    let analysed: i64 = sqlx::query_scalar(analysed).fetch_one(&mut connection).await.unwrap();
    assert_eq!(analysed, 0, "nobody analysed a table");
}
