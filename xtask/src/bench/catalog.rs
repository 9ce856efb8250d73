//! Every benchmark of the report: what it compares with what, and what its curves mean.

use super::Run;
use crate::args::{Size, Store};

/// One row of the report.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    /// Where it is not the benchmark's default.
    pub(super) store: Option<Store>,
    pub(super) ours: &'static str,
    pub(super) peer: &'static str,
    pub(super) curves: Option<Curves>,
}

/// What the points of a benchmark are.
#[derive(Debug)]
pub(super) struct Curves {
    pub(super) title: &'static str,
    pub(super) across: &'static str,
    pub(super) up: &'static str,
    pub(super) shown: Shown,
    /// The series' names and what they are called on the page; the first is ours.
    pub(super) series: &'static [(&'static str, &'static str)],
}

/// How points are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// As a plot, and as a table below it.
    Plotted,
    /// As a table: there is only one value across.
    Tabled,
}

impl Entry {
    /// The run that its row is made from.
    pub(super) fn run(&self, size: Size) -> Run {
        Run { name: self.name.to_owned(), size, store: self.store }
    }
}

const CALLERS: &str = "callers at once";
const OPERATIONS: &str = "operations a second";
const ROWS: &str = "rows in the ledger when the measurement begins";
const COST: &str = "microseconds an operation, 64 callers";

/// In the order of the page.
pub(super) const ENTRIES: [Entry; 10] = [
    Entry {
        name: "ledger-sqlite",
        store: None,
        ours: "claim and complete on SQLite, 64 callers",
        peer: "one commit per step: one connection behind a mutex, the same schema",
        curves: Some(Curves {
            title: "Callers against operations a second, on SQLite",
            across: CALLERS,
            up: OPERATIONS,
            shown: Shown::Plotted,
            series: &[
                ("ours", "Onefold"),
                ("one-commit-per-step", "one commit per step"),
                ("agent-effects-sqlite", "agent-effects-sqlite 0.2"),
            ],
        }),
    },
    Entry {
        name: "ledger-postgres",
        store: None,
        ours: "claim and complete on PostgreSQL, 64 callers",
        peer: "one commit per step: insert and update from a pool of 32 connections, the same table, no timeline",
        curves: Some(Curves {
            title: "Callers against operations a second, on PostgreSQL",
            across: CALLERS,
            up: OPERATIONS,
            shown: Shown::Plotted,
            series: &[
                ("ours", "Onefold"),
                ("one-commit-per-step", "one commit per step"),
                ("one-commit-per-step-with-timeline", "the same with a timeline"),
            ],
        }),
    },
    Entry {
        name: "replay",
        store: None,
        ours: "duplicates answered from the record, SQLite, 64 callers",
        peer: "fresh operations of ours",
        curves: None,
    },
    Entry {
        name: "growth",
        store: None,
        ours: "operations with 1,000,000 rows in the ledger, SQLite, rising ids",
        peer: "the same with 1,000 rows; the ratio is the rise of the cost",
        curves: Some(Curves {
            title: "Rows against the cost of an operation, on SQLite",
            across: ROWS,
            up: COST,
            shown: Shown::Plotted,
            series: &[("rising", "rising ids"), ("random", "random ids")],
        }),
    },
    Entry {
        name: "growth",
        store: Some(Store::Postgres),
        ours: "operations with 10,000,000 rows in the ledger, PostgreSQL, rising ids",
        peer: "the same with 1,000 rows; the ratio is the rise of the cost",
        curves: Some(Curves {
            title: "Rows against the cost of an operation, on PostgreSQL",
            across: ROWS,
            up: COST,
            shown: Shown::Plotted,
            series: &[
                ("rising", "rising ids"),
                ("random", "random ids"),
                ("rising-after-checkpoint", "rising, after a checkpoint"),
                ("random-after-checkpoint", "random, after a checkpoint"),
            ],
        }),
    },
    Entry {
        name: "api",
        store: None,
        ours: "claim and complete over HTTP, 64 connections, the server in a process of its own",
        peer: "the library with 64 callers in its process",
        curves: None,
    },
    Entry {
        name: "gateway",
        store: None,
        ours: "requests with fresh keys through the gateway, 64 connections, a trivial upstream",
        peer: "Restate with one durable step, its Rust SDK",
        curves: Some(Curves {
            title: "Requests a second through the gateway and its peers",
            across: "connections",
            up: "requests a second",
            shown: Shown::Tabled,
            series: &[
                ("ours", "Onefold"),
                ("restate-rust", "Restate, Rust SDK"),
                ("restate-node", "Restate, Node SDK"),
                ("straight", "straight to the upstream"),
            ],
        }),
    },
    Entry {
        name: "stage",
        store: None,
        ours: "a business transaction on PostgreSQL with `stage`, 64 writers",
        peer: "the same with a hand-written row of an outbox and its two indexes",
        curves: Some(Curves {
            title: "Writers against transactions a second",
            across: "writers at once",
            up: "transactions a second",
            shown: Shown::Tabled,
            series: &[
                ("ours", "Onefold"),
                ("hand-written", "hand-written row"),
                ("no-event", "no event at all"),
                ("with-notify", "hand-written row and NOTIFY"),
            ],
        }),
    },
    Entry {
        name: "relay",
        store: None,
        ours: "300,000 events of some 200 bytes drained to a target that takes everything at once, the harder of two settings",
        peer: "SKIP LOCKED and UPDATE: a partial index, 1,000 a batch",
        curves: Some(Curves {
            title: "Published events beside the backlog against events drained a second",
            across: "events that were published long ago",
            up: "events a second",
            shown: Shown::Tabled,
            series: &[("ours", "Onefold"), ("skip-locked", "SKIP LOCKED and UPDATE")],
        }),
    },
    Entry {
        name: "relay-kafka",
        store: None,
        ours: "100,000 events from their commit to Kafka's acknowledgements",
        peer: "the same client, which has the events in memory and only sends",
        curves: Some(Curves {
            title: "Events a second into Kafka",
            across: "processes",
            up: "events a second",
            shown: Shown::Tabled,
            series: &[("ours", "Onefold"), ("client-alone", "the client alone"), ("debezium", "Debezium Server 3.6")],
        }),
    },
];

/// What the report would leave out: benchmarks that no entry tells about.
pub(super) fn untold(names: &[String]) -> Vec<&str> {
    let told = |name: &str| ENTRIES.iter().any(|entry| entry.name == name);
    names.iter().map(String::as_str).filter(|name| !told(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_is_told_about() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let names = super::super::names(root).unwrap();
        assert_eq!(untold(&names), [""; 0]);
        for entry in &ENTRIES {
            assert!(names.iter().any(|name| name == entry.name), "there is no benchmark {}", entry.name);
        }
    }

    #[test]
    fn a_benchmark_without_an_entry_is_named() {
        assert_eq!(untold(&["replay".to_owned(), "nightly".to_owned()]), ["nightly"]);
    }

    #[test]
    fn each_entry_has_figures_of_its_own() {
        let mut kept: Vec<String> = ENTRIES.iter().map(|entry| entry.run(Size::Measured).kept_as()).collect();
        kept.sort();
        kept.dedup();
        assert_eq!(kept.len(), ENTRIES.len());
    }
}
