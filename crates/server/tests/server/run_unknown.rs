//! `onefold run` when nobody knows whether the command did its work.

use crate::run::{both, run, status, times};
use crate::stage::{Ran, Stage};

fn assert_unknown(ran: &Ran) {
    assert_eq!(ran.code, Some(79), "{}{}", ran.out(), ran.err());
    assert!(ran.err().contains("onefold incidents resolve"), "the verb is named: {}", ran.err());
}

fn incident(stage: &Stage, id: &str) -> String {
    let shown = status(stage, id);
    assert_eq!(shown["status"], "UNKNOWN", "{shown}");
    shown["incident"].as_str().unwrap().to_owned()
}

#[test]
fn a_command_past_its_deadline_is_asked_to_end_and_its_outcome_is_unknown() {
    both(|stage| {
        let script = "echo x >> ran; trap 'echo told > told; exit 1' TERM; sleep 100 & wait";
        let ended = run(stage, "job:1", &["--deadline", "1s"], script);
        assert_unknown(&ended);
        assert!(ended.err().contains("ended at its deadline"), "{}", ended.err());
        assert!(stage.path("told").exists(), "SIGTERM came first");
        let again = run(stage, "job:1", &["--deadline", "1s"], script);
        assert_unknown(&again);
        assert!(again.err().contains(&incident(stage, "job:1")), "{}", again.err());
        assert_eq!(times(stage), 1);
    });
}

#[test]
fn a_command_that_ignores_being_asked_is_killed() {
    let stage = Stage::new();
    let ended = run(&stage, "job:1", &["--deadline", "500ms"], "trap '' TERM; while :; do sleep 0.2; done");
    assert_unknown(&ended);
    incident(&stage, "job:1");
}

#[test]
fn a_command_that_a_signal_ended_is_unknown() {
    both(|stage| {
        let killed = run(stage, "job:1", &[], "echo x >> ran; kill -9 $$");
        assert_unknown(&killed);
        assert!(killed.err().contains("ended by signal 9"), "{}", killed.err());
        incident(stage, "job:1");
    });
}

#[test]
fn it_runs_again_after_a_person_said_that_it_did_not_happen() {
    both(|stage| {
        let script = "echo x >> ran; [ $(wc -l < ran) -ge 2 ] && echo done || kill -9 $$";
        assert_unknown(&run(stage, "job:1", &[], script));
        let incident = incident(stage, "job:1");
        let settle = |more: &[&str]| {
            let line = [&["incidents", "resolve", &incident, "--did-not-happen", "--why", "looked"][..], more].concat();
            stage.run(&line)
        };
        let early = settle(&[]);
        assert_eq!(early.code, Some(1), "{}{}", early.out(), early.err());
        settle(&["--force"]).done();
        assert_eq!(run(stage, "job:1", &[], script).done(), "done\n");
        assert_eq!(times(stage), 2);
    });
}

#[test]
fn what_a_person_found_to_have_taken_hold_is_not_run_again() {
    both(|stage| {
        let script = "echo x >> ran; kill -9 $$";
        assert_unknown(&run(stage, "job:1", &[], script));
        let found = ["incidents", "resolve", &incident(stage, "job:1"), "--took-hold", "LOG-7", "--why", "looked"];
        stage.run(&found).done();
        let again = run(stage, "job:1", &[], script);
        assert_eq!((again.code, times(stage)), (Some(0), 1), "{}", again.err());
        assert!(again.err().contains("its output is not kept"), "{}", again.err());
    });
}

#[test]
fn a_command_that_converges_runs_again_by_itself() {
    both(|stage| {
        let flags = ["--kind", "sync", "--class", "converging"];
        let script = "echo x >> ran; [ $(wc -l < ran) -ge 2 ] && echo done || kill -9 $$";
        let killed = run(stage, "job:1", &flags, script);
        assert_eq!(killed.code, Some(79), "{}", killed.err());
        assert!(killed.err().contains("its class allows another attempt"), "{}", killed.err());
        assert_eq!(run(stage, "job:1", &flags, script).done(), "done\n");
        assert_eq!(times(stage), 2);
    });
}
