//! The store made unwritable between effect and record.

use std::io::Write as _;

use crate::fixture::{Provider, Worker};

const IMPATIENT: [(&str, &str); 4] =
    [("--gate", "yes"), ("--busy-ms", "100"), ("--record-for-ms", "300"), ("--installation", "main")];

/// Runs an effect, then lets the record fail while another connection holds the write transaction.
fn outcome_that_could_not_be_recorded(db: &std::path::Path, provider: &Provider) {
    let mut worker = Worker::start(db, provider, &IMPATIENT);
    worker.order("PERFORM A");
    worker.hear("EFFECT A").unwrap();
    let blocker = rusqlite::Connection::open(db).unwrap();
    blocker.busy_timeout(std::time::Duration::from_mins(1)).unwrap();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    worker.order("GO A");
    let heard = worker.hear("DONE A").unwrap();
    assert!(heard.starts_with("DONE A error OUTCOME_NOT_RECORDED operation op_"), "{heard}");
    worker.kill();
    blocker.execute_batch("ROLLBACK").unwrap();
}

#[test]
fn an_outcome_that_could_not_be_recorded_is_recorded_by_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("onefold.db");
    let provider = Provider::start();
    outcome_that_could_not_be_recorded(&db, &provider);

    let mut worker = Worker::spawn(&db, &provider, &IMPATIENT);
    assert_eq!(worker.hear("STARTED").unwrap(), "STARTED journal=1 damaged=0 settled=0");
    assert!(worker.ask("SHOW A").unwrap().starts_with("SHOW A COMPLETED fence=1 incident=none"));
    assert_eq!(worker.ask("PERFORM A").unwrap(), "DONE A completed R-A replayed=true");
    assert_eq!(provider.effects("A"), 1);
}

#[test]
fn a_torn_last_journal_line_is_ignored_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("onefold.db");
    let provider = Provider::start();
    outcome_that_could_not_be_recorded(&db, &provider);
    let journal = folder.path().join("onefold.db.journal");
    let whole = std::fs::read(&journal).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&journal).unwrap();
    file.write_all(&whole[..whole.len() / 2]).unwrap();
    drop(file);

    let mut worker = Worker::spawn(&db, &provider, &IMPATIENT);
    assert_eq!(worker.hear("STARTED").unwrap(), "STARTED journal=1 damaged=1 settled=0");
    assert!(worker.ask("SHOW A").unwrap().starts_with("SHOW A COMPLETED fence=1 incident=none"));
    assert_eq!(provider.effects("A"), 1);
}
