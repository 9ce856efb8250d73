//! `onefold run` when it is unknown whether the command did its work.

use serde_json::json;

use crate::fixture::{Ran, Workdir};
use crate::run::{both, run, status, times};

fn assert_unknown(ran: &Ran) {
    assert_eq!(ran.code, Some(79), "{}{}", ran.out(), ran.err());
    assert!(ran.err().contains("onefold incidents resolve"), "the verb is named: {}", ran.err());
}

fn incident(dir: &Workdir, id: &str) -> String {
    let shown = status(dir, id);
    assert_eq!(shown["status"], "UNKNOWN", "{shown}");
    shown["incident"].as_str().unwrap().to_owned()
}

/// What was cut off is told as such: no dependency was slow, and no process of ours crashed.
fn assert_told_as_killed(dir: &Workdir, id: &str) {
    let shown = dir.run(&["incidents", "show", &incident(dir, id), "--json"]).json();
    assert_eq!(
        (&shown["errorCode"], &shown["category"]),
        (&json!("COMMAND_KILLED"), &json!("COMMAND_KILLED")),
        "{shown}"
    );
}

#[test]
fn a_command_past_its_deadline_is_asked_to_end_and_its_outcome_is_unknown() {
    both(|dir| {
        let script = "echo x >> ran; trap 'echo told > told; exit 1' TERM; sleep 100 & wait";
        let ended = run(dir, "job:1", &["--deadline", "1s"], script);
        assert_unknown(&ended);
        assert!(ended.err().contains("ended at its deadline"), "{}", ended.err());
        assert!(dir.path("told").exists(), "SIGTERM came first");
        let again = run(dir, "job:1", &["--deadline", "1s"], script);
        assert_unknown(&again);
        assert!(again.err().contains(&incident(dir, "job:1")), "{}", again.err());
        assert_told_as_killed(dir, "job:1");
        assert_eq!(times(dir), 1);
    });
}

#[test]
fn a_command_that_ignores_being_asked_is_killed() {
    let dir = Workdir::new();
    let ended = run(&dir, "job:1", &["--deadline", "500ms"], "trap '' TERM; while :; do sleep 0.2; done");
    assert_unknown(&ended);
    incident(&dir, "job:1");
}

#[test]
fn a_command_that_a_signal_ended_is_unknown() {
    both(|dir| {
        let killed = run(dir, "job:1", &[], "echo x >> ran; kill -9 $$");
        assert_unknown(&killed);
        assert!(killed.err().contains("ended by signal 9"), "{}", killed.err());
        assert_told_as_killed(dir, "job:1");
    });
}

#[test]
fn a_failed_command_may_have_taken_hold_and_is_not_run_again() {
    both(|dir| {
        for class in ["external-command", "financial-or-legal", "human-notification"] {
            let _ = std::fs::remove_file(dir.path("ran"));
            let (id, flags) = (format!("job:{class}"), ["--kind", class, "--class", class]);
            let script = "echo charged >> ran; exit 28";
            let ended = run(dir, &id, &flags, script);
            assert_unknown(&ended);
            assert!(ended.err().contains("the command ended with exit code 28"), "{}", ended.err());
            assert!(ended.err().contains("--not-applied-exit"), "{}", ended.err());
            assert_unknown(&run(dir, &id, &flags, script));
            incident(dir, &id);
            assert_eq!(times(dir), 1, "{class}: charged twice");
        }
    });
}

#[test]
fn a_command_that_publishes_says_for_how_long_the_broker_remembers_a_key() {
    let dir = Workdir::new();
    let class = ["--kind", "event", "--class", "message-publish"];
    let refused = run(&dir, "job:1", &class, "echo x >> ran");
    assert_eq!((refused.code, times(&dir)), (Some(65), 0), "{}", refused.err());
    assert!(refused.err().contains("--on-unknown same_key --provider-memory 24h"), "{}", refused.err());
    let key = ["--on-unknown", "same_key", "--provider-memory", "24h"];
    assert_eq!(run(&dir, "job:1", &[&class[..], &key].concat(), "echo x >> ran").code, Some(0));
    assert_eq!(times(&dir), 1);
}

#[test]
fn a_command_is_unknown_when_it_fails_unless_a_flag_says_otherwise() {
    let dir = Workdir::new();
    assert_unknown(&run(&dir, "job:1", &[], "exit 1"));
    assert_unknown(&run(&dir, "job:2", &["--not-applied-exit", "6,7", "--final-exit", "3"], "exit 28"));
    assert_eq!(run(&dir, "job:3", &["--not-applied-exit", "6,7", "--final-exit", "3"], "exit 7").code, Some(7));
    assert_eq!(run(&dir, "job:4", &["--not-applied-exit", "6,7", "--final-exit", "3"], "exit 3").code, Some(3));
    assert_eq!(status(&dir, "job:3")["status"], "FAILED_RETRYABLE");
    assert_eq!(status(&dir, "job:4")["status"], "FAILED_FINAL");
    for flags in [&["--not-applied-exit", "0"][..], &["--not-applied-exit", "7", "--final-exit", "7"]] {
        let refused = run(&dir, "job:5", flags, "echo x >> ran");
        assert_eq!((refused.code, times(&dir)), (Some(78), 0), "{}", refused.err());
    }
}

#[test]
fn it_runs_again_after_a_person_said_that_it_did_not_happen() {
    both(|dir| {
        let script = "echo x >> ran; [ $(wc -l < ran) -ge 2 ] && echo done || kill -9 $$";
        assert_unknown(&run(dir, "job:1", &[], script));
        let incident = incident(dir, "job:1");
        let settle = |more: &[&str]| {
            let line = [&["incidents", "resolve", &incident, "--did-not-happen", "--why", "looked"][..], more].concat();
            dir.run(&line)
        };
        let early = settle(&[]);
        assert_eq!(early.code, Some(1), "{}{}", early.out(), early.err());
        settle(&["--force"]).done();
        assert_eq!(run(dir, "job:1", &[], script).done(), "done\n");
        assert_eq!(times(dir), 2);
    });
}

#[test]
fn what_a_person_found_to_have_taken_hold_is_not_run_again() {
    both(|dir| {
        let script = "echo x >> ran; kill -9 $$";
        assert_unknown(&run(dir, "job:1", &[], script));
        let found = ["incidents", "resolve", &incident(dir, "job:1"), "--took-hold", "LOG-7", "--why", "looked"];
        dir.run(&found).done();
        let again = run(dir, "job:1", &[], script);
        assert_eq!((again.code, times(dir)), (Some(0), 1), "{}", again.err());
        assert!(again.err().contains("its output is not kept"), "{}", again.err());
    });
}

#[test]
fn a_command_that_converges_runs_again_by_itself() {
    both(|dir| {
        let flags = ["--kind", "sync", "--class", "converging"];
        let script = "echo x >> ran; [ $(wc -l < ran) -ge 2 ] && echo done || kill -9 $$";
        let killed = run(dir, "job:1", &flags, script);
        assert_eq!(killed.code, Some(79), "{}", killed.err());
        assert!(killed.err().contains("its policy allows another attempt"), "{}", killed.err());
        assert_eq!(run(dir, "job:1", &flags, script).done(), "done\n");
        assert_eq!(times(dir), 2);
    });
}
