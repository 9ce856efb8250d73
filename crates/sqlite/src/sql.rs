//! Every statement, from its named file, with its lists of columns.

use std::sync::LazyLock;

use onefold_core::row::{ColumnType, expand};

macro_rules! queries {
    ($($name:ident = $file:literal;)+) => {
        $(pub(crate) static $name: LazyLock<String> =
            LazyLock::new(|| with_columns(include_str!(concat!("../queries/", $file, ".sql"))));)+

        /// Each statement with its file's name, so that a test can prepare them all.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &LazyLock<String>)] = &[$(($file, &$name)),+];
    };
}

fn with_columns(sql: &str) -> String {
    expand(sql, type_name)
}

/// What SQLite calls what a column holds.
fn type_name(holds: ColumnType) -> &'static str {
    match holds {
        ColumnType::Text | ColumnType::Json => "TEXT",
        ColumnType::Number | ColumnType::Time => "INTEGER",
        ColumnType::Hex | ColumnType::Bytes => "BLOB",
    }
}

/// The rows of a table; `:table` and `:columns` are its own.
pub(crate) const ROWS: &str = include_str!("../queries/backup/rows.sql");
/// How many there are.
pub(crate) const COUNT_ROWS: &str = include_str!("../queries/backup/count.sql");
/// Empties a table.
pub(crate) const CLEAR: &str = include_str!("../queries/backup/clear.sql");
/// A column of a table that only the other store has.
pub(crate) const ADD_COLUMN: &str = include_str!("../queries/backup/add_column.sql");
/// A row of a table; `:values` are its parameters.
pub(crate) const INSERT_ROW: &str = include_str!("../queries/backup/insert.sql");

queries! {
    FIND = "ledger/find";
    INSERT = "ledger/insert";
    INSERT_IF_ABSENT = "ledger/insert_if_absent";
    UPDATE = "ledger/update";
    SETTLE = "ledger/settle";
    OVERDUE = "ledger/overdue";
    HELD = "ledger/held";
    DUE = "ledger/due";
    LIST = "ledger/list";
    LIST_BY_ID = "ledger/list_by_id";
    LIST_BY_BUSINESS_KEY = "ledger/list_by_business_key";
    LIST_BY_PROCESS_INSTANCE = "ledger/list_by_process_instance";
    EXPIRED_IDS = "ledger/expired_ids";
    EXPIRED_RESULTS = "ledger/expired_results";
    DELETE_OPERATIONS = "ledger/delete_operations";
    DELETE_ATTEMPTS = "ledger/delete_attempts";
    DELETE_NOTES = "ledger/delete_notes";
    KEEP_ATTEMPT = "ledger/keep_attempt";
    FIND_ATTEMPT = "ledger/find_attempt";
    LIST_ATTEMPTS = "ledger/list_attempts";
    ADD_NOTE = "ledger/add_note";
    LIST_NOTES = "ledger/list_notes";
    COUNT_UNKNOWN = "ledger/count_unknown";
    FIND_OPEN_INCIDENT = "incident/find_open";
    CLOSED_INCIDENTS = "incident/closed_of";
    WRITE_INCIDENT = "incident/write";
    LIST_INCIDENTS = "incident/list";
    INCIDENT_GROUPS = "incident/groups";
    COUNT_OPEN_INCIDENTS = "incident/count_open";
    DELETE_INCIDENTS = "incident/delete";
    PINNED_KINDS = "shared/kinds";
    PIN_KIND = "shared/pin_kind";
    FIND_KIND = "shared/find_kind";
    TOKENS = "shared/tokens";
    PUT_TOKEN = "shared/put_token";
    DROP_TOKEN = "shared/drop_token";
    TAKE_TURN = "tell/take_turn";
    UNTOLD = "tell/untold";
    QUEUE = "tell/queue";
    QUEUED = "tell/queued";
    DELIVERED = "tell/delivered";
    FORGET_CLOSED = "tell/forget_closed";
    KEYS = "installation/keys";
    ADD_KEY = "installation/add_key";
    CLOCK = "installation/clock";
    RAISE_CLOCK = "installation/raise_clock";
    LOWER_CLOCK = "installation/lower_clock";
    CLOCK_HISTORY = "installation/clock_history";
    CONFIRM_TIME = "installation/confirm_time";
    KEY_IDS_IN_USE = "installation/key_ids_in_use";
    GENERATIONS = "installation/generations";
    BEGIN_GENERATION = "installation/begin_generation";
    POSITION = "installation/position";
    RAISE_MARK = "installation/raise_mark";
    ACCEPT_COPY = "installation/accept_copy";
    TAKE_ROOM = "installation/take_room";
    GIVE_ROOM_BACK = "installation/give_room_back";
    COLUMNS = "backup/columns";
    MARK_COPY = "backup/mark_copy";
    MIGRATIONS_TABLE = "installation/migrations_table";
    MIGRATIONS = "installation/migrations";
    TABLES = "installation/tables";
    MIGRATIONS_BEGUN = "installation/migrations_begun";
    ADD_MIGRATION = "installation/add_migration";
    STAGE = "outbox/stage";
    FIND_EVENT = "outbox/find_event";
    EVENTS_BETWEEN = "outbox/events_between";
    EVENT_AT = "outbox/event_at";
    LAST_SEQ = "outbox/last_seq";
    SEQ_BEFORE = "outbox/seq_before";
    FIND_RELAY = "outbox/find_relay";
    RELAYS = "outbox/relays";
    PUT_RELAY = "outbox/put_relay";
    PUT_LANE = "outbox/put_lane";
    HOLD_LANES = "outbox/hold_lanes";
    LEAVE_LANES = "outbox/leave_lanes";
    MOVE_CURSOR = "outbox/move_cursor";
    SETTLE_LANE = "outbox/settle_lane";
    LANE_PASSED = "outbox/lane_passed";
    ADD_PAGE = "outbox/add_page";
    PUT_ASIDE = "outbox/put_aside";
    ASIDES_OF = "outbox/asides_of";
    OPEN_ASIDES = "outbox/open_asides";
    ASIDES_DUE = "outbox/asides_due";
    BLOCKED = "outbox/blocked";
    COUNT_ASIDE = "outbox/count_aside";
    WAITING = "outbox/waiting";
    STOPPED = "outbox/stopped";
    RECENT = "outbox/recent";
    SEND_ASIDE = "outbox/send_aside";
    UNPUBLISHED = "outbox/unpublished";
    START_LANES = "outbox/start_lanes";
    RETIRE_RELAY = "outbox/retire_relay";
    ADD_AUDIT = "outbox/add_audit";
    PRUNABLE = "outbox/prunable";
    DELETE_EVENTS = "outbox/delete_events";
    DELETE_ASIDES = "outbox/delete_asides";
    DELETE_PAGES = "outbox/delete_pages";
    EVENT_SPAN = "outbox/event_span";
    REPLAY_EVENTS = "outbox/replay_events";
    COUNT_REPLAY = "outbox/count_replay";
    ADD_REPLAY = "outbox/add_replay";
    COUNT_REPLAYS = "outbox/count_replays";
    HOLD_REPLAY = "outbox/hold_replay";
    FIND_REPLAY = "outbox/find_replay";
    REPLAYS = "outbox/replays";
    SETTLE_REPLAY = "outbox/settle_replay";
    CANCEL_REPLAY = "outbox/cancel_replay";
    AUDIT_REPLAY = "outbox/audit_replay";
}
