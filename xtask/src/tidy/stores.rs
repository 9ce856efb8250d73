//! The store crates have the same file names, so that they can be read side by side.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::Tree;

const SQLITE: &str = "crates/sqlite/";
const POSTGRES: &str = "crates/postgres/";
/// Change data capture is PostgreSQL's alone.
const CDC: &str = "cdc";
/// The highest time seen is kept in the file; a server has a clock. A backup of any store is kept in a file. With one
/// writer, an event's number is its place in the order of commits.
const SQLITE_ONLY: &[&str] = &[
    "queries/backup/add_column.sql",
    "queries/installation/lower_clock.sql",
    "queries/installation/raise_clock.sql",
    "queries/outbox/add_page.sql",
    "queries/outbox/delete_asides.sql",
    "queries/outbox/events_between.sql",
    "queries/outbox/lane_passed.sql",
    "queries/outbox/last_seq.sql",
    "queries/outbox/prunable.sql",
    "queries/outbox/send_aside.sql",
    "queries/outbox/seq_before.sql",
    "queries/outbox/recent.sql",
    "queries/outbox/stopped.sql",
    "queries/outbox/waiting.sql",
    "src/log_sync.rs",
    "src/rows.rs",
];
/// Rows are locked one by one, an operation may be another transaction's, several servers start at once, a session may
/// be lent, an answer may be lost, a round trip costs, and so does an index of a column that a completion changes. Events
/// are read between snapshots, in lanes that processes share.
const POSTGRES_ONLY: &[&str] = &[
    "queries/own_table/columns.sql",
    "queries/own_table/count.sql",
    "queries/own_table/mark.sql",
    "queries/own_table/take.sql",
    "queries/backup/find_leases.sql",
    "queries/backup/in_use.sql",
    "queries/backup/look_again.sql",
    "queries/backup/raise_sequence.sql",
    "queries/incident/lock_subject.sql",
    "queries/installation/durability.sql",
    "queries/installation/lock_clock_history.sql",
    "queries/installation/migrations_lock.sql",
    "queries/installation/position_begun.sql",
    "queries/installation/schema.sql",
    "queries/installation/schema_absent.sql",
    "queries/installation/session.sql",
    "queries/ledger/act.sql",
    "queries/ledger/add_leases.sql",
    "queries/ledger/attempts_of.sql",
    "queries/ledger/expired_leases.sql",
    "queries/ledger/insert_if_free.sql",
    "queries/ledger/insert_one.sql",
    "queries/ledger/lock.sql",
    "queries/ledger/lock_free.sql",
    "queries/ledger/notes_of.sql",
    "queries/ledger/performed.sql",
    "queries/ledger/settle_one.sql",
    "queries/ledger/take_due.sql",
    "queries/ledger/try_lock.sql",
    "queries/outbox/adopt_events.sql",
    "queries/outbox/count_relays.sql",
    "queries/outbox/cursors.sql",
    "queries/outbox/decide_aside.sql",
    "queries/outbox/leave_relay.sql",
    "queries/outbox/lock_aggregates.sql",
    "queries/outbox/lock_asides.sql",
    "queries/outbox/lock_relays.sql",
    "queries/outbox/poll_events.sql",
    "queries/outbox/poll_places.sql",
    "queries/outbox/rebase_relay.sql",
    "queries/outbox/renew_lanes.sql",
    "queries/outbox/server.sql",
    "queries/outbox/staged.sql",
    "queries/outbox/txid_from.sql",
    "queries/outbox/want_lanes.sql",
    "src/ledger/fast_path.rs",
    "src/ledger/lost_commit.rs",
    "src/session.rs",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let sqlite = files(tree, SQLITE);
    let postgres = files(tree, POSTGRES);
    if sqlite.is_empty() || postgres.is_empty() {
        return Vec::new();
    }
    let only_sqlite = sqlite.difference(&postgres).filter(|file| !SQLITE_ONLY.contains(file));
    let only_sqlite = only_sqlite.map(|file| alone(SQLITE, file, POSTGRES));
    let only_postgres = postgres.difference(&sqlite).filter(|file| !is_cdc(file) && !POSTGRES_ONLY.contains(file));
    only_sqlite.chain(only_postgres.map(|file| alone(POSTGRES, file, SQLITE))).collect()
}

fn files<'a>(tree: &'a Tree, store: &str) -> BTreeSet<&'a str> {
    let inside = tree.files.iter().filter_map(|file| file.path.strip_prefix(store));
    inside.filter(|path| path.starts_with("src/") || path.starts_with("queries/")).collect()
}

fn is_cdc(path: &str) -> bool {
    path.split(['/', '.']).any(|name| name == CDC)
}

fn alone(store: &str, file: &str, other: &str) -> Finding {
    Finding {
        path: format!("{store}{file}"),
        line: 1,
        what: format!("there is no {other}{file}"),
        fix: "give both stores the same file names",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(files: &[&str]) -> Vec<String> {
        let files: Vec<(&str, &str)> = files.iter().map(|path| (*path, "")).collect();
        check(&Tree::of(&files)).into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn a_file_that_only_one_store_has_is_reported() {
        let files = [
            "crates/sqlite/src/lib.rs",
            "crates/sqlite/src/ledger.rs",
            "crates/postgres/src/lib.rs",
            "crates/postgres/queries/claim.sql",
        ];
        assert_eq!(paths(&files), ["crates/sqlite/src/ledger.rs", "crates/postgres/queries/claim.sql"]);
    }

    #[test]
    fn change_data_capture_is_postgres_alone() {
        let files = [
            "crates/sqlite/src/lib.rs",
            "crates/postgres/src/lib.rs",
            "crates/postgres/src/cdc.rs",
            "crates/postgres/src/cdc/slot.rs",
        ];
        assert_eq!(paths(&files), [""; 0]);
    }

    #[test]
    fn tests_and_migrations_may_differ() {
        let files = ["crates/sqlite/src/lib.rs", "crates/postgres/src/lib.rs", "crates/postgres/tests/a.rs"];
        assert_eq!(paths(&files), [""; 0]);
    }

    #[test]
    fn one_store_has_nothing_to_differ_from() {
        assert_eq!(paths(&["crates/sqlite/src/lib.rs"]), [""; 0]);
    }
}
