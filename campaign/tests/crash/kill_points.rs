//! `kill -9` at each named fault point, under each policy.

use crate::fixture::{Provider, Worker};

struct Row {
    point: &'static str,
    policy: &'static str,
    /// Where the operation stands after the restart has settled what the dead life held, and its incident.
    stands: &'static str,
    /// Effects at that moment.
    effects: u64,
    /// What the caller hears when it comes again, and the effects after that.
    again: &'static str,
    effects_in_the_end: u64,
}

const fn row(
    point: &'static str,
    policy: &'static str,
    stands: &'static str,
    effects: u64,
    again: &'static str,
    effects_in_the_end: u64,
) -> Row {
    Row { point, policy, stands, effects, again, effects_in_the_end }
}

/// What is believed after a crash at each point. An effect is never doubled; what cannot be known is reported as unknown.
const ROWS: &[Row] = &[
    row("before-claim-commit", "escalate", "absent", 0, "completed", 1),
    row("before-claim-commit", "same-key", "absent", 0, "completed", 1),
    row("before-claim-commit", "ask", "absent", 0, "completed", 1),
    row("before-claim-commit", "void", "absent", 0, "completed", 1),
    row("after-claim-commit", "escalate", "UNKNOWN fence=1 incident=HOLDER_LOST", 0, "unknown", 0),
    row("after-claim-commit", "same-key", "FAILED_RETRYABLE", 0, "completed", 1),
    row("after-claim-commit", "ask", "RELEASED", 0, "completed", 1),
    row("after-claim-commit", "void", "RELEASED", 0, "completed", 1),
    row("after-effect", "escalate", "UNKNOWN fence=1 incident=HOLDER_LOST", 1, "unknown", 1),
    row("after-effect", "same-key", "FAILED_RETRYABLE", 1, "completed", 1),
    row("after-effect", "ask", "COMPLETED fence=1 incident=none", 1, "completed R-A replayed=true", 1),
    row("after-effect", "void", "COMPLETED fence=1 incident=none", 1, "completed R-A replayed=true", 1),
    row("before-record-commit", "escalate", "UNKNOWN fence=1 incident=HOLDER_LOST", 1, "unknown", 1),
    row("before-record-commit", "same-key", "FAILED_RETRYABLE", 1, "completed", 1),
    row("before-record-commit", "ask", "COMPLETED fence=1 incident=none", 1, "completed R-A replayed=true", 1),
    row("before-record-commit", "void", "COMPLETED fence=1 incident=none", 1, "completed R-A replayed=true", 1),
    row("after-record-commit", "escalate", "COMPLETED fence=1 incident=none", 1, "completed R-A replayed=true", 1),
    row("after-record-commit", "same-key", "COMPLETED fence=1 incident=none", 1, "completed R-A replayed=true", 1),
    row("after-record-commit", "ask", "COMPLETED fence=1 incident=none", 1, "completed R-A replayed=true", 1),
    row("after-record-commit", "void", "COMPLETED fence=1 incident=none", 1, "completed R-A replayed=true", 1),
];

#[test]
fn kill_at_each_named_point_never_doubles_an_effect_and_never_hides_an_unknown() {
    for row in ROWS {
        println!("{} under {}", row.point, row.policy);
        check(row);
    }
}

fn check(row: &Row) {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("onefold.db");
    let provider = Provider::start();
    // The deadline is short because `ask` believes a "no" only after it.
    let options =
        [("--policy", row.policy), ("--installation", "main"), ("--deadline-ms", "1500"), ("--lease-ms", "1500")];
    let fault = format!("{}:1", row.point);
    let mut worker = Worker::start(&db, &provider, &[&options[..], &[("--fault", &fault)]].concat());
    assert_eq!(worker.ask("PERFORM A"), None, "{} under {}: the worker answered", row.point, row.policy);
    assert!(worker.died_by_kill());

    let mut worker = Worker::start(&db, &provider, &options);
    let wanted = format!("SHOW A {}", row.stands);
    worker.ask_until("SHOW A", |shown| shown.starts_with(&wanted));
    assert_eq!(provider.effects("A"), row.effects, "{} under {}", row.point, row.policy);
    let wanted = format!("DONE A {}", row.again);
    worker.ask_until("PERFORM A", |done| done.starts_with(&wanted));
    assert_eq!(provider.effects("A"), row.effects_in_the_end, "{} under {}", row.point, row.policy);
}

#[test]
fn every_fault_point_has_its_rows() {
    for point in onefold::store::FaultPoint::LEDGER {
        assert_eq!(ROWS.iter().filter(|row| row.point == point.as_str()).count(), 4, "{point:?}");
    }
}
