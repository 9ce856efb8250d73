//! Every statement, from its named file, with its tables in the schema that was chosen.

use std::sync::Arc;

use onefold_core::row::{ColumnType, expand};
use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use crate::migrate;

macro_rules! queries {
    ($($name:ident = $file:literal;)+) => {
        /// The statements of one schema.
        pub(crate) struct Sql {
            $(pub(crate) $name: SqlStr,)+
        }

        impl Sql {
            /// The statements on the tables of this schema, or of the connection's own search path.
            pub(crate) fn new(schema: Option<&str>) -> Self {
                Self { $($name: qualified(include_str!(concat!("../queries/", $file, ".sql")), schema),)+ }
            }
        }

        /// Each statement with its file's name, so that a test can prepare them all.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str)] = &[$(($file, include_str!(concat!("../queries/", $file, ".sql")))),+];
    };
}

/// The statement with its columns, and its tables in this schema. Only tables and functions begin with `onefold_` in a
/// statement, and a schema's name is checked before it comes here.
fn qualified(sql: &str, schema: Option<&str>) -> SqlStr {
    let sql = with_columns(sql);
    let sql: Arc<str> = match schema {
        None => sql.into(),
        Some(schema) => sql.replace("onefold_", &format!("\"{schema}\".onefold_")).into(),
    };
    AssertSqlSafe(sql).into_sql_str()
}

/// A statement on somebody else's table: what stands in angle brackets is what is given for it. What is given is not
/// looked at again, whatever it holds.
pub(crate) fn named(template: &SqlStr, places: &[(&str, String)]) -> SqlStr {
    let mut sql = String::new();
    let mut rest = template.as_str();
    while let Some(start) = rest.find('<') {
        let place = rest[start + 1..].split_once('>');
        let given = place.and_then(|(name, after)| Some((places.iter().find(|(known, _)| *known == name)?, after)));
        sql.push_str(&rest[..start]);
        let (text, after) = given.map_or(("<", &rest[start + 1..]), |((_, text), after)| (text.as_str(), after));
        sql.push_str(text);
        rest = after;
    }
    sql.push_str(rest);
    AssertSqlSafe(sql).into_sql_str()
}

/// The statement with its lists of columns, and the functions that were made for them.
pub(crate) fn with_columns(sql: &str) -> String {
    expand(sql, type_name).replace("{version}", &migrate::newest().to_string())
}

/// What PostgreSQL calls what a column holds.
fn type_name(holds: ColumnType) -> &'static str {
    match holds {
        ColumnType::Text | ColumnType::Json => "text",
        ColumnType::Number | ColumnType::Time => "bigint",
        ColumnType::Hex | ColumnType::Bytes => "bytea",
    }
}

queries! {
    find = "ledger/find";
    lock = "ledger/lock";
    lock_free = "ledger/lock_free";
    try_lock = "ledger/try_lock";
    insert = "ledger/insert";
    performed = "ledger/performed";
    insert_if_absent = "ledger/insert_if_absent";
    insert_if_free = "ledger/insert_if_free";
    update = "ledger/update";
    insert_one = "ledger/insert_one";
    settle = "ledger/settle";
    settle_one = "ledger/settle_one";
    act = "ledger/act";
    add_leases = "ledger/add_leases";
    expired_leases = "ledger/expired_leases";
    overdue = "ledger/overdue";
    held = "ledger/held";
    due = "ledger/due";
    take_due = "ledger/take_due";
    list = "ledger/list";
    list_by_id = "ledger/list_by_id";
    list_by_business_key = "ledger/list_by_business_key";
    list_by_process_instance = "ledger/list_by_process_instance";
    expired_ids = "ledger/expired_ids";
    expired_results = "ledger/expired_results";
    delete_operations = "ledger/delete_operations";
    delete_attempts = "ledger/delete_attempts";
    delete_notes = "ledger/delete_notes";
    keep_attempt = "ledger/keep_attempt";
    find_attempt = "ledger/find_attempt";
    list_attempts = "ledger/list_attempts";
    add_note = "ledger/add_note";
    list_notes = "ledger/list_notes";
    count_unknown = "ledger/count_unknown";
    attempts_of = "ledger/attempts_of";
    notes_of = "ledger/notes_of";
    closed_incidents = "incident/closed_of";
    find_open_incident = "incident/find_open";
    lock_subject = "incident/lock_subject";
    write_incident = "incident/write";
    list_incidents = "incident/list";
    incident_groups = "incident/groups";
    count_open_incidents = "incident/count_open";
    delete_incidents = "incident/delete";
    pinned_kinds = "shared/kinds";
    pin_kind = "shared/pin_kind";
    find_kind = "shared/find_kind";
    tokens = "shared/tokens";
    put_token = "shared/put_token";
    drop_token = "shared/drop_token";
    take_turn = "tell/take_turn";
    untold = "tell/untold";
    queue = "tell/queue";
    queued = "tell/queued";
    delivered = "tell/delivered";
    forget_closed = "tell/forget_closed";
    unpublished = "outbox/unpublished";
    add_audit = "outbox/add_audit";
    adopt_events = "outbox/adopt_events";
    asides_due = "outbox/asides_due";
    asides_of = "outbox/asides_of";
    blocked_aggregates = "outbox/blocked";
    count_aside = "outbox/count_aside";
    count_relays = "outbox/count_relays";
    lane_cursors = "outbox/cursors";
    decide_aside = "outbox/decide_aside";
    delete_events = "outbox/delete_events";
    delete_pages = "outbox/delete_pages";
    events_at = "outbox/event_at";
    find_event = "outbox/find_event";
    find_relay = "outbox/find_relay";
    hold_lanes = "outbox/hold_lanes";
    leave_lanes = "outbox/leave_lanes";
    leave_relay = "outbox/leave_relay";
    lock_aggregates = "outbox/lock_aggregates";
    lock_asides = "outbox/lock_asides";
    lock_relays = "outbox/lock_relays";
    move_cursors = "outbox/move_cursor";
    open_asides = "outbox/open_asides";
    poll_events = "outbox/poll_events";
    poll_places = "outbox/poll_places";
    put_asides = "outbox/put_aside";
    put_lanes = "outbox/put_lane";
    put_relay = "outbox/put_relay";
    rebase_relay = "outbox/rebase_relay";
    list_relays = "outbox/relays";
    renew_lanes = "outbox/renew_lanes";
    retire_relay = "outbox/retire_relay";
    outbox_server = "outbox/server";
    settle_lanes = "outbox/settle_lane";
    stage_events = "outbox/stage";
    staged_events = "outbox/staged";
    start_lanes = "outbox/start_lanes";
    txid_from = "outbox/txid_from";
    want_lanes = "outbox/want_lanes";
    event_span = "outbox/event_span";
    replay_events = "outbox/replay_events";
    count_replay = "outbox/count_replay";
    add_replay = "outbox/add_replay";
    count_replays = "outbox/count_replays";
    hold_replay = "outbox/hold_replay";
    find_replay = "outbox/find_replay";
    list_replays = "outbox/replays";
    settle_replay = "outbox/settle_replay";
    cancel_replay = "outbox/cancel_replay";
    audit_replay = "outbox/audit_replay";
    own_table_columns = "own_table/columns";
    take_own_rows = "own_table/take";
    mark_own_rows = "own_table/mark";
    count_own_rows = "own_table/count";
    keys = "installation/keys";
    add_key = "installation/add_key";
    clock = "installation/clock";
    clock_history = "installation/clock_history";
    lock_clock_history = "installation/lock_clock_history";
    confirm_time = "installation/confirm_time";
    columns = "backup/columns";
    find_leases = "backup/find_leases";
    mark_copy = "backup/mark_copy";
    in_use = "backup/in_use";
    key_ids_in_use = "installation/key_ids_in_use";
    generations = "installation/generations";
    begin_generation = "installation/begin_generation";
    position_begun = "installation/position_begun";
    position = "installation/position";
    raise_mark = "installation/raise_mark";
    accept_copy = "installation/accept_copy";
    take_room = "installation/take_room";
    give_room_back = "installation/give_room_back";
    session = "installation/session";
    durability = "installation/durability";
    schema_absent = "installation/schema_absent";
    migrations_table = "installation/migrations_table";
    migrations_begun = "installation/migrations_begun";
    migrations_lock = "installation/migrations_lock";
    migrations = "installation/migrations";
    tables = "installation/tables";
    add_migration = "installation/add_migration";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_in_the_schema_that_was_chosen() {
        assert!(Sql::new(Some("ours")).find.as_str().contains("JOIN \"ours\".onefold_operations AS o"));
        assert!(Sql::new(None).find.as_str().contains("JOIN onefold_operations AS o"));
    }

    #[test]
    fn nothing_but_tables_begins_as_they_do() {
        for (file, sql) in ALL {
            for place in sql.match_indices("onefold_").map(|(at, _)| &sql[at..]) {
                let table = [
                    "operations",
                    "leases",
                    "attempts",
                    "notes",
                    "incidents",
                    "keys",
                    "kinds",
                    "tokens",
                    "told",
                    "turns",
                    "migrations",
                    "clock",
                    "claim",
                    "settle",
                    "generations",
                    "position",
                    "room",
                    "events",
                    "relay",
                    "outbox",
                    "passed",
                    "wants",
                    "replays",
                ];
                assert!(table.iter().any(|table| place.starts_with(&format!("onefold_{table}"))), "{file}: {place}");
            }
        }
    }
}
