//! `onefold run`: any command, once; through a server and on the bare file.

use std::process::{Child, Stdio};
use std::time::Duration;

use crate::fixture::{Ran, Server, Workdir, until};

/// Tries a promise both ways a run reaches its ledger.
pub(crate) fn both(promise: impl Fn(&Workdir)) {
    let bare = Workdir::new();
    promise(&bare);
    let dir = Workdir::new();
    let server: Server = dir.serve(&[]);
    promise(&dir);
    // What was recorded went through the server, not past it.
    assert!(server.get("/metrics").text().contains("onefold_claims_total"));
}

/// Runs a shell script under an id.
pub(crate) fn run(dir: &Workdir, id: &str, flags: &[&str], script: &str) -> Ran {
    dir.run(&line(id, flags, script))
}

fn line<'a>(id: &'a str, flags: &[&'a str], script: &'a str) -> Vec<&'a str> {
    [&["run", "--id", id][..], flags, &["--", "sh", "-c", script]].concat()
}

/// The same, not waited for.
pub(crate) fn started(dir: &Workdir, id: &str, flags: &[&str], script: &str) -> Child {
    let mut command = dir.command(&line(id, flags, script));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// How often a script that appends a line to `ran` did so.
pub(crate) fn times(dir: &Workdir) -> usize {
    std::fs::read_to_string(dir.path("ran")).unwrap_or_default().lines().count()
}

pub(crate) fn status(dir: &Workdir, id: &str) -> serde_json::Value {
    dir.run(&["operations", "show", id, "--json"]).json()["operation"].clone()
}

#[test]
fn a_duplicate_gets_the_recorded_output_byte_for_byte_on_the_same_streams() {
    both(|dir| {
        let script = r"echo x >> ran; printf '\000\377out\n\r'; printf '\001\376err' >&2";
        let first = run(dir, "job:1", &[], script);
        assert_eq!((first.code, first.stdout.as_slice()), (Some(0), &b"\x00\xffout\n\r"[..]), "{}", first.err());
        assert!(first.stderr.ends_with(b"\x01\xfeerr"), "{}", first.err());
        let second = run(dir, "job:1", &[], script);
        assert_eq!((second.code, &second.stdout), (Some(0), &first.stdout));
        assert!(second.stderr.starts_with(b"\x01\xfeerr"), "{}", second.err());
        assert!(second.err().contains("(already performed just now; output replayed (ledger "), "{}", second.err());
        assert_eq!(times(dir), 1);
        let shown = status(dir, "job:1");
        assert_eq!((&shown["status"], &shown["evidence"]), (&"COMPLETED".into(), &"exit 0".into()), "{shown}");
    });
}

#[test]
fn a_command_whose_failure_changes_nothing_may_run_again_and_ends_with_its_own_code() {
    both(|dir| {
        let script = "echo x >> ran; [ $(wc -l < ran) -ge 3 ] && echo done || exit 3";
        for (id, flags) in [
            ("job:1", &["--not-applied-exit", "2,3"][..]),
            ("job:2", &["--not-applied-exit", "any"]),
            ("job:3", &["--kind", "sync", "--class", "converging"]),
            ("job:4", &["--kind", "report", "--class", "pure"]),
        ] {
            let _ = std::fs::remove_file(dir.path("ran"));
            assert_eq!([1, 2].map(|_| run(dir, id, flags, script).code), [Some(3), Some(3)], "{id}");
            assert_eq!(run(dir, id, flags, script).done(), "done\n");
            assert_eq!(run(dir, id, flags, script).done(), "done\n");
            assert_eq!(times(dir), 3, "{id}");
        }
    });
}

#[test]
fn a_final_failure_is_replayed_with_its_output_and_its_code() {
    both(|dir| {
        let script = "echo x >> ran; echo no >&2; exit 7";
        for _ in 0..2 {
            let ran = run(dir, "job:1", &["--final-exit", "7"], script);
            assert_eq!(ran.code, Some(7));
            assert!(ran.err().contains("no\n"), "{}", ran.err());
        }
        assert_eq!(times(dir), 1);
        let shown = status(dir, "job:1");
        assert!(shown["status"] == "FAILED_FINAL" && shown["incident"].is_null(), "{shown}");
    });
}

#[test]
fn the_last_of_its_attempts_is_final_and_opens_an_incident() {
    both(|dir| {
        let script = "echo x >> ran; exit 4";
        for _ in 0..4 {
            assert_eq!(run(dir, "job:1", &["--attempts-max", "2", "--not-applied-exit", "any"], script).code, Some(4));
        }
        assert_eq!(times(dir), 2);
        let shown = status(dir, "job:1");
        assert!(shown["status"] == "FAILED_FINAL" && shown["incident"].is_string(), "{shown}");
    });
}

#[test]
fn a_backoff_is_kept_between_attempts() {
    both(|dir| {
        let flags = ["--backoff", "1h", "--no-wait", "--not-applied-exit", "4"];
        let again = || run(dir, "job:1", &flags, "echo x >> ran; exit 4");
        assert_eq!(again().code, Some(4));
        let later = again();
        assert_eq!(later.code, Some(75), "{}", later.err());
        assert!(later.err().contains("it may run again after") && times(dir) == 1, "{}", later.err());
    });
}

#[test]
fn one_id_for_two_commands_is_a_conflict_and_nothing_runs() {
    both(|dir| {
        run(dir, "job:1", &[], "echo one").done();
        let other = run(dir, "job:1", &[], "echo x >> ran");
        assert_eq!((other.code, times(dir)), (Some(65), 0), "{}", other.err());
        assert!(other.err().contains("nothing was run"), "{}", other.err());
    });
}

#[test]
fn two_at_once_run_it_once_and_print_the_same() {
    both(|dir| {
        let script = "echo x >> ran; sleep 1; echo $$";
        let both = [(), ()].map(|()| started(dir, "job:1", &[], script));
        let [one, two] = both.map(|child| Ran::from(child.wait_with_output().unwrap()));
        assert_eq!(one.done(), two.done());
        assert_eq!(times(dir), 1);
    });
}

#[test]
fn who_does_not_wait_is_told_that_it_is_in_flight() {
    both(|dir| {
        let script = "echo x >> ran; while [ ! -e go ]; do sleep 0.05; done";
        let first = started(dir, "job:1", &[], script);
        until("the command runs", || times(dir) == 1);
        let second = run(dir, "job:1", &["--no-wait"], script);
        assert_eq!(second.code, Some(75), "{}", second.err());
        assert!(second.err().contains("in flight; nothing was run (ledger "), "{}", second.err());
        assert_eq!(run(dir, "job:1", &["--wait", "0s"], script).code, Some(75));
        std::fs::write(dir.path("go"), "").unwrap();
        Ran::from(first.wait_with_output().unwrap()).done();
        run(dir, "job:1", &["--no-wait"], script).done();
        assert_eq!(times(dir), 1);
    });
}

#[test]
fn a_command_that_does_not_exist_leaves_its_id_free() {
    both(|dir| {
        let never = dir.run(&["run", "--id", "job:1", "--", "./nosuch"]);
        assert_eq!(never.code, Some(127), "{}", never.err());
        assert!(never.err().contains("COMMAND_NOT_STARTED") && never.err().contains("next: "), "{}", never.err());
        std::fs::write(dir.path("nosuch"), "#!/bin/sh\necho now\n").unwrap();
        std::process::Command::new("chmod").args(["+x"]).arg(dir.path("nosuch")).status().unwrap();
        assert_eq!(dir.run(&["run", "--id", "job:1", "--", "./nosuch"]).done(), "now\n");
    });
}

#[test]
fn output_beyond_its_limit_is_cut_after_a_whole_line_and_its_last_line_says_so() {
    both(|dir| {
        let script = "echo x >> ran; yes 0123456789abcde | head -n 100000; yes 0123456789abcde | head -n 100000 >&2";
        let first = run(dir, "job:1", &[], script);
        assert_eq!(first.stdout.len(), 1_600_000);
        assert!(
            first.err().ends_with("(the output is longer than what is kept of it: a duplicate gets its beginning)\n")
        );
        let again = run(dir, "job:1", &[], script);
        let (shown, last) =
            again.out().trim_end().rsplit_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_eq!(last, "[onefold: the last 551424 of 1600000 bytes were not kept]");
        assert!(shown.lines().all(|line| line == "0123456789abcde"), "a line is cut");
        assert!(again.err().contains("\n[onefold: the last 551424 of 1600000 bytes were not kept]\n"));
        assert!(again.err().ends_with("(the output was longer than what is kept of it)\n"));
        assert_eq!((again.code, times(dir)), (Some(0), 1));
    });
}

#[test]
fn output_is_kept_although_a_grandchild_holds_the_streams_open() {
    both(|dir| {
        let script = "echo out; echo err >&2; sleep 20 &";
        assert_eq!(run(dir, "job:1", &[], script).done(), "out\n");
        let again = run(dir, "job:1", &[], script);
        assert_eq!(again.done(), "out\n");
        assert!(again.err().starts_with("err\n"), "{}", again.err());
    });
}

#[test]
fn standard_input_reaches_the_command() {
    both(|dir| {
        std::fs::write(dir.path("input"), "hello\n").unwrap();
        let input = std::fs::File::open(dir.path("input")).unwrap();
        let ran = dir.command(&["run", "--id", "job:1", "--", "cat"]).stdin(input).output().unwrap();
        assert_eq!(Ran::from(ran).done(), "hello\n");
    });
}

#[test]
fn the_command_finds_its_operation_in_its_environment() {
    both(|dir| {
        let script = "echo $ONEFOLD_ID $ONEFOLD_KEY $ONEFOLD_ATTEMPT $ONEFOLD_FENCE $ONEFOLD_DEADLINE";
        let told = run(dir, "job:1", &["--deadline", "1h"], script).done();
        let words: Vec<&str> = told.split_whitespace().collect();
        assert_eq!(words[..4], ["job:1", "job:1", "1", "1"], "{told}");
        let claimed = dir.run(&["operations", "show", "job:1"]).done();
        assert!(claimed.contains(&format!("deadline {}", words[4])), "{told}{claimed}");
    });
}

#[test]
fn every_attempt_under_same_key_is_given_one_key() {
    both(|dir| {
        let flags = ["--kind", "pay", "--on-unknown", "same_key", "--provider-memory", "24h"];
        let script = "echo $ONEFOLD_KEY $ONEFOLD_ATTEMPT >> ran; [ $(wc -l < ran) -ge 3 ] && echo paid || exit 28";
        for _ in 0..2 {
            let unsure = run(dir, "pay:7", &flags, script);
            assert_eq!(unsure.code, Some(79), "{}", unsure.err());
            assert!(unsure.err().contains("its policy allows another attempt"), "{}", unsure.err());
        }
        assert_eq!(run(dir, "pay:7", &flags, script).done(), "paid\n");
        assert_eq!(std::fs::read_to_string(dir.path("ran")).unwrap(), "pay:7 1\npay:7 2\npay:7 3\n");
    });
}

#[test]
fn a_command_of_ours_works_inside_a_run() {
    let dir = Workdir::new();
    let mut command = dir.command(&line("outer", &[], "\"$0\" run --id inner -- echo inner"));
    let ran: Ran = command.arg(env!("CARGO_BIN_EXE_onefold")).output().unwrap().into();
    assert_eq!(ran.done(), "inner\n");
    assert_eq!(status(&dir, "inner")["status"], "COMPLETED");
}

#[test]
fn output_that_cannot_be_written_is_an_error_although_the_command_is_recorded() {
    both(|dir| {
        let script = "echo x >> ran; echo done";
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ran: Ran = dir.command(&line("job:1", &[], script)).stdout(full).output().unwrap().into();
        assert_eq!(ran.code, Some(74), "{}", ran.err());
        assert!(ran.err().contains("OUTPUT_NOT_WRITTEN") && ran.err().contains("next: "), "{}", ran.err());
        assert_eq!(status(dir, "job:1")["status"], "COMPLETED");
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let again: Ran = dir.command(&line("job:1", &[], script)).stdout(full).output().unwrap().into();
        assert_eq!(again.code, Some(74), "a replay that cannot be written is one too: {}", again.err());
        assert_eq!(run(dir, "job:1", &[], script).done(), "done\n");
        assert_eq!(times(dir), 1);
    });
}

#[test]
fn a_reader_that_has_seen_enough_changes_nothing_about_a_run() {
    let dir = Workdir::new();
    let script = "echo x >> ran; while [ ! -e go ]; do sleep 0.05; done; echo out; echo err >&2";
    let mut child = started(&dir, "job:1", &[], script);
    until("the command runs", || times(&dir) == 1);
    drop((child.stdout.take(), child.stderr.take()));
    std::fs::write(dir.path("go"), "").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(run(&dir, "job:1", &[], script).done(), "out\n");
}

#[test]
fn many_runs_share_a_bare_file() {
    let dir = Workdir::new();
    let ids: Vec<String> = (0..20).map(|index| format!("job:{index}")).collect();
    let script = "echo x >> ran; echo done";
    let running: Vec<Child> = ids.iter().map(|id| started(&dir, id, &[], script)).collect();
    for child in running {
        assert_eq!(Ran::from(child.wait_with_output().unwrap()).done(), "done\n");
    }
    assert_eq!(times(&dir), 20);
    let listed = dir.run(&["operations", "--status", "COMPLETED", "--json"]).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 20);
}

#[test]
fn a_run_records_although_its_server_was_killed() {
    let dir = Workdir::new();
    let mut server = dir.serve(&[]);
    let script = "echo x >> ran; while [ ! -e go ]; do sleep 0.05; done; echo done";
    let running = started(&dir, "job:1", &[], script);
    until("the command runs", || times(&dir) == 1);
    server.kill();
    std::fs::write(dir.path("go"), "").unwrap();
    assert_eq!(Ran::from(running.wait_with_output().unwrap()).done(), "done\n");
    assert_eq!(status(&dir, "job:1")["status"], "COMPLETED");
    assert_eq!(run(&dir, "job:1", &[], script).done(), "done\n");
    assert_eq!(times(&dir), 1);
}

#[test]
fn a_run_that_began_on_the_file_records_through_a_server_that_came_since() {
    let dir = Workdir::new();
    let script = "echo x >> ran; while [ ! -e go ]; do sleep 0.05; done; echo done";
    let running = started(&dir, "job:1", &[], script);
    until("the command runs", || times(&dir) == 1);
    let server = dir.serve(&["--sweep-every", "100ms"]);
    // Long enough for a sweep that would take the lease of somebody alive.
    std::thread::sleep(Duration::from_millis(500));
    std::fs::write(dir.path("go"), "").unwrap();
    assert_eq!(Ran::from(running.wait_with_output().unwrap()).done(), "done\n");
    assert_eq!(server.get("/v1/operations?id=job:1").ok()["items"][0]["status"], "COMPLETED");
}
