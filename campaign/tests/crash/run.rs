//! `onefold run` under `kill -9`, on the bare file and through a living server.
//!
//! The lease is one second, so that the next run soon knows that the holder is gone; it waits for that by itself.

use std::path::Path;
use std::process::Child;

use crate::command::{Story, incidents};
use crate::lossy_proxy::{LossyProxy, RunningProxy, Withheld};
use crate::server::{Server, died_by_kill, wait_for};

/// When the run dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    BeforeClaim,
    AfterClaim,
    DuringCommand,
    BeforeRecord,
    AfterRecord,
}

/// What is believed afterwards, and what the next run does.
struct Row {
    moment: Moment,
    class: &'static str,
    /// Runs of the command when the run has died, and after the next run.
    runs: (usize, usize),
    /// Whether the next run refuses, because a person has to look.
    unknown: bool,
}

const fn row(moment: Moment, class: &'static str, runs: (usize, usize), unknown: bool) -> Row {
    Row { moment, class, runs, unknown }
}

const ESCALATES: &str = "external-command";
const REPEATABLE: &str = "converging";

const ROWS: [Row; 10] = [
    row(Moment::BeforeClaim, ESCALATES, (0, 1), false),
    row(Moment::AfterClaim, ESCALATES, (0, 0), true),
    row(Moment::DuringCommand, ESCALATES, (1, 1), true),
    row(Moment::BeforeRecord, ESCALATES, (1, 1), true),
    row(Moment::AfterRecord, ESCALATES, (1, 1), false),
    row(Moment::BeforeClaim, REPEATABLE, (0, 1), false),
    row(Moment::AfterClaim, REPEATABLE, (0, 1), false),
    row(Moment::DuringCommand, REPEATABLE, (1, 2), false),
    row(Moment::BeforeRecord, REPEATABLE, (1, 2), false),
    row(Moment::AfterRecord, REPEATABLE, (1, 1), false),
];

#[test]
fn a_run_that_dies_on_the_bare_file_is_repeated_only_where_its_class_allows() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("onefold.db");
    check(&db, |row, story| {
        let fault = match row.moment {
            Moment::BeforeClaim => "before-claim-commit:1",
            Moment::AfterClaim => "after-claim-commit:1",
            Moment::DuringCommand => return die_during_the_command(story),
            Moment::BeforeRecord => "before-record-commit:1",
            Moment::AfterRecord => "after-record-commit:1",
        };
        story.open_gate();
        assert!(died_by_kill(&mut story.run(Some(fault), &[])), "{}", story.id);
    });
}

#[test]
fn a_run_that_dies_beside_a_living_server_is_repeated_only_where_its_class_allows() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("onefold.db");
    let proxy = LossyProxy::bind();
    let (hosts, through) = (proxy.address.clone(), format!("http://{}", proxy.address));
    let server = Server::start(&db, None, &["--hosts", &hosts, "--sweep-every", "100ms"]);
    let running = proxy.to(&server.address);
    check(&db, |row, story| {
        let keep = match row.moment {
            Moment::BeforeClaim => Withheld::Request("/v1/claims"),
            Moment::AfterClaim => Withheld::Answer("/v1/claims"),
            Moment::DuringCommand => return die_during_the_command(story),
            Moment::BeforeRecord => Withheld::Request("/complete"),
            Moment::AfterRecord => Withheld::Answer("/complete"),
        };
        story.open_gate();
        die_while_withheld(story, &running, keep, &through);
    });
}

fn die_during_the_command(story: &Story) {
    let run = story.run(None, &[]);
    story.wait_until_it_runs();
    kill(run);
    // The command outlives its run; that is why nobody may run it again.
    story.open_gate();
}

fn die_while_withheld(story: &Story, running: &RunningProxy, keep: Withheld, through: &str) {
    running.withhold(keep);
    let run = story.run(None, &["--server", through]);
    running.wait();
    kill(run);
}

fn kill(mut run: Child) {
    run.kill().unwrap();
    assert!(died_by_kill(&mut run));
}

/// Lets every run die, then lets the next runs come all at once.
fn check(db: &Path, die: impl Fn(&Row, &Story)) {
    let stories: Vec<(&Row, Story)> = ROWS
        .iter()
        .map(|row| {
            let story = Story::new(db, &format!("{:?}-{}", row.moment, row.class), row.class);
            die(row, &story);
            assert_eq!(story.runs(), row.runs.0, "{} at its death", story.id);
            (row, story)
        })
        .collect();
    let next: Vec<Child> = stories.iter().map(|(_, story)| story.run(None, &[])).collect();
    for ((row, story), next) in stories.iter().zip(next) {
        stands(row, story, &next.wait_with_output().unwrap());
    }
    for (row, story) in &stories {
        stands(row, story, &story.run(None, &[]).wait_with_output().unwrap());
    }
    let mut unknown: Vec<&str> =
        stories.iter().filter(|(row, _)| row.unknown).map(|(_, story)| story.id.as_str()).collect();
    unknown.sort_unstable();
    assert_eq!(incidents(db, &[]), unknown, "one open incident for each, and no other");
}

fn stands(row: &Row, story: &Story, output: &std::process::Output) {
    if row.unknown {
        story.assert_unknown(output);
    } else {
        story.assert_done(output);
    }
    assert_eq!(story.runs(), row.runs.1, "{} after the next run", story.id);
    let status = if row.unknown { "UNKNOWN" } else { "COMPLETED" };
    assert_eq!(story.operation()["status"], status, "{}", story.id);
}

#[test]
fn of_two_runs_the_survivor_waits_and_then_says_unknown() {
    for serving in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("onefold.db");
        let _server = serving.then(|| Server::start(&db, None, &["--sweep-every", "100ms"]));
        let story = Story::new(&db, "two", ESCALATES);
        let first = story.run(None, &[]);
        story.wait_until_it_runs();
        let survivor = story.run(None, &["--deadline", "10m"]);
        let (heard, survivor) = hears_of_waiting(survivor);
        assert!(heard.contains("in flight; waiting"), "{heard}");
        kill(first);
        let output = survivor.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(79), "{output:?}");
        assert_eq!(story.runs(), 1, "the survivor runs nothing by itself");
        assert_eq!(story.operation()["status"], "UNKNOWN");
        assert_eq!(incidents(&db, &[]), ["two"]);
        story.open_gate();
    }
}

/// The first line that a run says on stderr.
fn hears_of_waiting(mut run: Child) -> (String, Child) {
    use std::io::Read as _;
    let stderr = run.stderr.as_mut().unwrap();
    let mut line = Vec::new();
    let mut byte = [0];
    while line.last() != Some(&b'\n') && stderr.read(&mut byte).unwrap() > 0 {
        line.push(byte[0]);
    }
    (String::from_utf8(line).unwrap(), run)
}

#[test]
fn a_run_outlives_its_server_at_every_point_and_runs_the_command_once() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("onefold.db");
    for point in ["before-claim-commit", "after-claim-commit", "before-record-commit", "after-record-commit"] {
        let server = Server::start(&db, Some(&format!("{point}:1")), &[]);
        let story = Story::new(&db, point, ESCALATES);
        story.open_gate();
        let output = story.run(None, &[]).wait_with_output().unwrap();
        assert!(server.died_by_kill(), "{point}");
        story.assert_done(&output);
        story.assert_done(&story.run(None, &[]).wait_with_output().unwrap());
        assert_eq!(story.runs(), 1, "{point}");
        let operation = story.operation();
        assert_eq!((operation["status"].as_str(), operation["fence"].as_u64()), (Some("COMPLETED"), Some(1)));
    }
    assert_eq!(incidents(&db, &["--closed"]), [""; 0], "none is open, and none ever was");
}

#[test]
fn a_run_keeps_its_lease_when_its_server_is_killed_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("onefold.db");
    let sweeping = ["--sweep-every", "100ms"];
    let server = Server::start(&db, None, &sweeping);
    let story = Story::new(&db, "long", ESCALATES).with_lease("9s");
    let run = story.run(None, &[]);
    story.wait_until_it_runs();
    let before = story.operation()["leaseUntil"].clone();
    server.kill();
    let _server = Server::start(&db, None, &sweeping);
    wait_for("a renewal", || (story.operation()["leaseUntil"] != before).then_some(()));
    story.open_gate();
    story.assert_done(&run.wait_with_output().unwrap());
    let operation = story.operation();
    assert_eq!((operation["status"].as_str(), operation["fence"].as_u64()), (Some("COMPLETED"), Some(1)));
    assert_eq!(incidents(&db, &["--closed"]), [""; 0], "none is open, and none ever was");
}
