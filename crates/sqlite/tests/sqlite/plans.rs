//! How statements find their rows: through an index, never by reading every operation.

use crate::fixture::{Folder, open};

macro_rules! query {
    ($name:literal) => {
        ($name, include_str!(concat!("../../queries/", $name, ".sql")))
    };
}

/// Statements that run often, or under the write lock.
const INDEXED: &[(&str, &str)] = &[
    query!("ledger/find"),
    query!("ledger/update"),
    query!("ledger/overdue"),
    query!("ledger/due"),
    query!("ledger/held"),
    query!("ledger/list_by_business_key"),
    query!("ledger/list_by_process_instance"),
    query!("ledger/find_attempt"),
    query!("ledger/list_attempts"),
    query!("ledger/list_notes"),
    query!("ledger/delete_operations"),
    query!("ledger/delete_attempts"),
    query!("ledger/delete_notes"),
    query!("ledger/list_by_id"),
    query!("ledger/count_unknown"),
    query!("incident/find_open"),
    query!("incident/groups"),
    query!("tell/untold"),
    query!("tell/queued"),
    query!("outbox/find_event"),
    query!("outbox/event_at"),
    query!("outbox/events_between"),
    query!("outbox/asides_due"),
    query!("outbox/delete_asides"),
    query!("outbox/hold_replay"),
    query!("outbox/recent"),
];

/// For people who look for the events of an aggregate with SQL of their own, as source text 002 asks.
const FOR_PEOPLE: [&str; 1] = ["onefold_events_aggregate"];

fn plan(connection: &rusqlite::Connection, sql: &str) -> Vec<String> {
    // No statement here names a type.
    let sql = onefold_core::row::expand(sql, |_| "");
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let parameters = vec![rusqlite::types::Value::Null; statement.parameter_count()];
    let rows = statement.query_map(rusqlite::params_from_iter(parameters), |row| row.get::<_, String>(3)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Whether a line reads a whole table: a scan that is not through a partial index, where settled rows do not stand.
fn reads_everything(line: &str) -> bool {
    let partial = [
        "onefold_operations_lease",
        "onefold_operations_escalate",
        "onefold_operations_ask",
        "onefold_operations_unknown",
    ];
    let scans = ["onefold_operations", "onefold_attempts", "onefold_notes", "onefold_events"]
        .iter()
        .any(|table| line.starts_with(&format!("SCAN {table}")));
    scans && !partial.iter().any(|index| line.ends_with(&format!("INDEX {index}")))
}

#[tokio::test]
async fn frequent_statements_find_their_rows_through_an_index() {
    let folder = Folder::new();
    let _store = open(folder.path()).await.unwrap();
    let connection = rusqlite::Connection::open(folder.path()).unwrap();
    for (name, sql) in INDEXED {
        let plan = plan(&connection, sql);
        assert!(plan.iter().any(|line| line.contains("INDEX") || line.contains("PRIMARY KEY")), "{name}: {plan:#?}");
        assert!(!plan.iter().any(|line| reads_everything(line)), "{name}: {plan:#?}");
    }
}

#[tokio::test]
async fn each_index_is_used_by_the_statement_it_was_made_for() {
    let folder = Folder::new();
    let _store = open(folder.path()).await.unwrap();
    let connection = rusqlite::Connection::open(folder.path()).unwrap();
    let plans: Vec<String> = INDEXED.iter().flat_map(|(_, sql)| plan(&connection, sql)).collect();
    let mut statement =
        connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE 'onefold%'").unwrap();
    let names: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(names.len() >= 8, "{names:?}");
    for name in names.into_iter().filter(|name| !FOR_PEOPLE.contains(&name.as_str())) {
        assert!(plans.iter().any(|line| line.contains(&name)), "{name} is used by no statement: {plans:#?}");
    }
}

#[tokio::test]
async fn the_plain_lists_walk_the_newest_first_and_stop() {
    let folder = Folder::new();
    let _store = open(folder.path()).await.unwrap();
    let connection = rusqlite::Connection::open(folder.path()).unwrap();
    for (name, sql) in [query!("ledger/list"), query!("incident/list")] {
        let plan = plan(&connection, sql);
        assert!(!plan.iter().any(|line| line.contains("TEMP B-TREE")), "{name} sorts: {plan:#?}");
    }
}
