//! SIGSTOP for longer than the lease: the holder wakes up late.

use crate::fixture::{Provider, Worker};
use rustix::process::Signal;

const SHORT: [(&str, &str); 2] = [("--lease-ms", "100"), ("--deadline-ms", "600000")];

#[test]
fn a_holder_that_slept_through_its_lease_still_settles_while_it_holds_the_fence() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("onefold.db");
    let provider = Provider::start();
    let mut sleeper = Worker::start(&db, &provider, &[&SHORT[..], &[("--gate", "yes")]].concat());
    let mut watcher = Worker::start(&db, &provider, &SHORT);
    sleeper.order("PERFORM A");
    sleeper.hear("EFFECT A").unwrap();
    sleeper.signal(Signal::STOP);
    watcher.ask_until("SHOW A", |shown| shown.starts_with("SHOW A UNKNOWN fence=1 incident=HOLDER_LOST"));

    sleeper.signal(Signal::CONT);
    sleeper.order("GO A");
    assert_eq!(sleeper.hear("DONE A").unwrap(), "DONE A completed R-A replayed=false");
    assert!(watcher.ask("SHOW A").unwrap().starts_with("SHOW A COMPLETED fence=1 incident=none"));
    assert_eq!(watcher.ask("PERFORM A").unwrap(), "DONE A completed R-A replayed=true");
    assert_eq!(provider.effects("A"), 1);
}

#[test]
fn a_holder_that_slept_until_another_was_granted_opens_duplicate_suspected() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("onefold.db");
    let provider = Provider::start();
    let rerun = [("--policy", "rerun")];
    let mut sleeper = Worker::start(&db, &provider, &[&SHORT[..], &rerun, &[("--gate", "yes")]].concat());
    let mut watcher = Worker::start(&db, &provider, &[&SHORT[..], &rerun].concat());
    sleeper.order("PERFORM A");
    sleeper.hear("EFFECT A").unwrap();
    sleeper.signal(Signal::STOP);
    watcher.ask_until("PERFORM A", |done| done.starts_with("DONE A completed"));
    let shown = watcher.ask("SHOW A").unwrap();
    assert!(shown.starts_with("SHOW A COMPLETED fence=2 incident=none"), "{shown}");

    sleeper.signal(Signal::CONT);
    sleeper.order("GO A");
    let late = sleeper.hear("DONE A").unwrap();
    assert!(late.starts_with("DONE A error LEASE_SUPERSEDED"), "{late}");
    let shown = watcher.ask("SHOW A").unwrap();
    assert!(shown.starts_with("SHOW A COMPLETED fence=2 incident=DUPLICATE_SUSPECTED"), "{shown}");
    assert_eq!(provider.effects("A"), 2, "the second effect is real, and it is shown");
}
