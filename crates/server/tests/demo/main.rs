//! `onefold demo`: its reader sees the promise.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn onefold(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onefold"));
    command.args(args).stdin(Stdio::null());
    command
}

fn output(args: &[&str]) -> Output {
    onefold(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn side<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["sides"].as_array().unwrap().iter().find(|row| row["side"] == name).unwrap()
}

fn count(row: &Value, name: &str) -> u64 {
    row[name].as_u64().unwrap_or_else(|| panic!("{name} is not a count in {row}"))
}

#[test]
fn the_demo_shows_duplicates_without_onefold_none_with_it_and_an_incident_for_every_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let keep = folder.path().join("kept");
    let ran = output(&["demo", "--requests", "300", "--seed", "7", "--json", "--keep", keep.to_str().unwrap()]);
    assert!(ran.status.success(), "{}\n{}", text(&ran.stdout), text(&ran.stderr));
    let report: Value = serde_json::from_slice(&ran.stdout).expect("stdout is one JSON object");
    assert_eq!((&report["passed"], &report["seed"]), (&Value::Bool(true), &Value::from(7)));
    assert_eq!(report["plan"]["requests"], 300);
    assert_eq!([&report["plan"]["sameKey"], &report["plan"]["ask"], &report["plan"]["escalate"]], [100, 100, 100]);

    for name in ["naive", "table"] {
        let row = side(&report, name);
        assert!(count(row, "duplicateEffects") + count(row, "lostEffects") > 0, "{row}");
    }
    let ours = side(&report, "onefold");
    assert_eq!((count(ours, "duplicateEffects"), count(ours, "lostEffects")), (0, 0), "{ours}");
    assert_eq!(count(ours, "unknowns"), count(ours, "incidents"), "{ours}");
    assert!(count(ours, "unknowns") > 0, "some outcome must have been unknown: {ours}");
    assert!(count(ours, "workersKilled") > 0, "{ours}");
    assert!(count(ours, "knownCompleted") >= count(side(&report, "table"), "knownCompleted"), "{report}");
    for row in report["sides"].as_array().unwrap() {
        assert_eq!(count(row, "requests"), 300);
        assert!(count(row, "attempts") >= 300 && count(row, "effects") > 200, "{row}");
        assert!(row["seconds"].as_f64().unwrap() > 0.0);
    }
    the_kept_ledger_agrees(&keep, ours);
}

/// Counts in the kept file itself, past everything that the demo says of it.
fn the_kept_ledger_agrees(folder: &Path, ours: &Value) {
    let ledger = rusqlite::Connection::open(folder.join("onefold.db")).unwrap();
    let of = |sql: &str| -> u64 { ledger.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap().into() };
    let unknown = of("SELECT count(*) FROM onefold_operations WHERE status = 'UNKNOWN'");
    assert_eq!(unknown, count(ours, "unknowns"));
    assert_eq!(of("SELECT count(*) FROM onefold_operations"), 300);
}

#[test]
fn the_same_seed_has_the_same_plan_and_another_seed_another() {
    let temporary = tempfile::tempdir().unwrap();
    let planned = |seed: &str| {
        let mut command = onefold(&["demo", "--seed", seed]);
        let mut running = Killed(command.env("TMPDIR", temporary.path()).stderr(Stdio::piped()).spawn().unwrap());
        let mut said = String::new();
        let mut stderr = running.0.stderr.take().unwrap();
        while !said.contains("retries what looks failed") {
            let mut byte = [0];
            assert_eq!(stderr.read(&mut byte).unwrap(), 1, "the plan is said first: {said}");
            said.push(byte[0].into());
        }
        said
    };
    assert_eq!(planned("11"), planned("11"));
    assert_ne!(planned("11").replace("seed 11", ""), planned("12").replace("seed 12", ""));
}

#[test]
fn what_it_cannot_do_is_refused_with_a_reason() {
    let few = output(&["demo", "--requests", "7"]);
    assert_eq!(few.status.code(), Some(2));
    assert!(text(&few.stderr).contains("7 is not in 200..=50000"), "{}", text(&few.stderr));

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine"), "x").unwrap();
    let full = output(&["demo", "--keep", folder.path().to_str().unwrap()]);
    assert!(!full.status.success());
    assert!(text(&full.stderr).contains("is not empty"), "{}", text(&full.stderr));
    assert!(text(&full.stderr).contains("next: name a folder that is empty"), "{}", text(&full.stderr));
}

#[test]
fn a_reader_that_has_seen_enough_does_not_break_the_demo() {
    let mut demo =
        onefold(&["demo", "--requests", "200"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(demo.stdout.take());
    let ended = demo.wait_with_output().unwrap();
    assert!(matches!(ended.status.code(), Some(0 | 1)), "{:?} {}", ended.status, text(&ended.stderr));
    assert!(!text(&ended.stderr).contains("panicked"), "{}", text(&ended.stderr));
}

#[test]
fn help_does_not_show_what_only_the_demo_runs() {
    let help = text(&output(&["--help"]).stdout);
    assert!(help.contains("demo") && !help.contains("demo-worker") && !help.contains("demo-provider"), "{help}");
}

#[test]
fn an_interrupted_demo_takes_its_processes_and_its_folder_with_it() {
    let temporary = tempfile::tempdir().unwrap();
    let running = onefold(&["demo"]).env("TMPDIR", temporary.path()).stderr(Stdio::null()).spawn().unwrap();
    let mut running = Killed(running);
    until("workers are at work", || processes_in(temporary.path()) >= 6);
    let pid = rustix::process::Pid::from_child(&running.0);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    until("every child is gone", || processes_in(temporary.path()) == 0);
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "the folder is removed");
}

#[test]
fn the_children_of_a_demo_that_was_killed_end_on_their_own() {
    let temporary = tempfile::tempdir().unwrap();
    let running = onefold(&["demo"]).env("TMPDIR", temporary.path()).stderr(Stdio::null()).spawn().unwrap();
    let mut running = Killed(running);
    until("workers are at work", || processes_in(temporary.path()) >= 6);
    running.0.kill().unwrap();
    until("every child is gone", || processes_in(temporary.path()) == 0);
}

/// A child that does not outlive its test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Worker processes whose folder is in this one.
fn processes_in(folder: &Path) -> usize {
    let folder = folder.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| text(line).contains("demo-worker") && text(line).contains(folder)).count()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_mins(1), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
