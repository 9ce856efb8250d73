//! `onefold run` and the signals that ask it to end: the command is told, and nothing ends in silence.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::{Ran, Workdir, until};
use crate::run::{both, run, started, status, times};

const SIGNALS: [Signal; 4] = [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT];

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_signal_reaches_the_command_and_its_outcome_is_recorded_as_unknown() {
    both(|dir| {
        for signal in SIGNALS {
            let _ = std::fs::remove_file(dir.path("ran"));
            let id = format!("job:{}", signal.as_raw());
            let running = started(dir, &id, &[], "echo x >> ran; exec sleep 100");
            until("the command runs", || times(dir) == 1);
            send(&running, signal);
            let ended = Ran::from(running.wait_with_output().unwrap());
            assert_eq!(ended.code, Some(79), "{signal:?}: {}", ended.err());
            assert!(ended.err().contains(&format!("ended by signal {}", signal.as_raw())), "{}", ended.err());
            let shown = status(dir, &id);
            assert!(shown["status"] == "UNKNOWN" && shown["incident"].is_string(), "{signal:?}: {shown}");
        }
    });
}

#[test]
fn a_command_that_ends_well_after_a_signal_is_recorded_as_it_ended() {
    let dir = Workdir::new();
    for signal in SIGNALS {
        let _ = std::fs::remove_file(dir.path("ran"));
        let (id, name) = (format!("job:{}", signal.as_raw()), signal.as_raw());
        let script = format!("trap 'echo told; exit 0' {name}; echo x >> ran; while :; do sleep 0.05; done");
        let running = started(&dir, &id, &[], &script);
        until("the command runs", || times(&dir) == 1);
        send(&running, signal);
        assert_eq!(Ran::from(running.wait_with_output().unwrap()).done(), "told\n", "{signal:?}");
        assert_eq!(status(&dir, &id)["status"], "COMPLETED");
    }
}

#[test]
fn a_run_that_waits_ends_at_a_signal_and_says_that_nothing_was_run() {
    let dir = Workdir::new();
    let script = "echo x >> ran; while [ ! -e go ]; do sleep 0.05; done";
    let first = started(&dir, "job:1", &[], script);
    until("the command runs", || times(&dir) == 1);
    for signal in SIGNALS {
        let mut waiting = started(&dir, "job:1", &[], script);
        let mut said = String::new();
        let mut stderr = std::io::BufReader::new(waiting.stderr.take().unwrap());
        std::io::BufRead::read_line(&mut stderr, &mut said).unwrap();
        assert!(said.contains("waiting"), "{said}");
        send(&waiting, signal);
        std::io::Read::read_to_string(&mut stderr, &mut said).unwrap();
        assert_eq!(waiting.wait().unwrap().code(), Some(128 + signal.as_raw()), "{said}");
        assert!(said.contains("nothing was run"), "{said}");
    }
    std::fs::write(dir.path("go"), "").unwrap();
    Ran::from(first.wait_with_output().unwrap()).done();
    assert_eq!((run(&dir, "job:1", &[], script).code, times(&dir)), (Some(0), 1));
}
