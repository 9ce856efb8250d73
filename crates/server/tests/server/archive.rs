//! Retention from the shell: what is deleted is in the archive, the archive is read back, and a clock that jumped deletes
//! nothing.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};

use crate::fixture::{Workdir, claim, merged};
use crate::seen::text_is;

const SHORT: &str = "[kind.\"notice.issue\"]\nclass = \"external-command\"\nretention = { id = \"1ms\" }\n";

/// A ledger with an operation that was unknown, was resolved by a person, and may be forgotten.
fn settled() -> Workdir {
    let dir = Workdir::with_config(SHORT);
    let mut server = dir.serve(&[]);
    let incident = server.unknown(&claim("CASE-1"));
    let took_hold = ["incidents", "resolve", &incident, "--took-hold", "doc/7", "--why", "the list shows it"];
    dir.run(&took_hold).done();
    server.record(&server.granted(&claim("CASE-2")), "complete", &json!({ "result": { "n": 7 } })).ok();
    assert_eq!(server.stop(), Some(0));
    dir
}

fn operations(dir: &Workdir) -> usize {
    dir.run(&["operations", "--json"]).json()["items"].as_array().unwrap().len()
}

fn files(dir: &Workdir) -> Vec<PathBuf> {
    std::fs::read_dir(dir.path("kept")).unwrap().map(|file| file.unwrap().path()).collect()
}

fn names(read: &Value) -> Vec<&str> {
    let mut names: Vec<&str> =
        read["records"].as_array().unwrap().iter().map(|record| record["record"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn what_a_prune_deletes_is_read_back_from_its_archive() {
    let dir = settled();
    let story = dir.run(&["operations", "show", "CASE-1", "--json"]).json();
    assert_eq!(dir.run(&["prune", "--archive", "kept", "--json"]).json()["operations"], 2);
    assert_eq!(operations(&dir), 0);
    let read = dir.run(&["archive", "show", "kept", "--json"]).json();
    assert_eq!((&read["damaged"], &read["unfinished"]), (&json!([]), &json!([])));
    let names = names(&read);
    assert_eq!(names.iter().filter(|name| **name == "operation").count(), 2, "{names:?}");
    assert!(names.contains(&"incident") && names.contains(&"note"), "{names:?}");
    let one = dir.run(&["archive", "show", "kept", "CASE-1", "--json"]).json();
    let operation = &one["records"][0]["content"];
    assert_eq!(operation["operationId"], "CASE-1");
    assert_eq!(
        (&operation["createdAt"], &operation["evidenceRef"]),
        (&story["operation"]["createdAt"], &json!("doc/7"))
    );
    let other = dir.run(&["archive", "show", "kept", "CASE-2"]).done();
    assert!(other.contains("COMPLETED, 7 bytes of application/json"), "{other}");
    let absent = dir.run(&["archive", "show", "kept", "CASE-3"]);
    assert_eq!((absent.code, absent.err().contains("OPERATION_NOT_FOUND")), (Some(66), true), "{}", absent.err());
}

#[test]
fn a_damaged_line_is_told_and_the_others_are_shown() {
    let dir = settled();
    dir.run(&["prune", "--archive", "kept"]).done();
    let file = files(&dir).pop().unwrap();
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, whole.replacen("CASE-2", "CASE-9", 1)).unwrap();
    let changed = dir.run(&["archive", "show", file.to_str().unwrap()]);
    assert_eq!(changed.code, Some(65), "{}", changed.err());
    assert!(changed.err().contains("its content is not what was written"), "{}", changed.err());
    assert!(changed.out().contains("CASE-1") && !changed.out().contains("CASE-9"), "{}", changed.out());
    std::fs::write(&file, &whole[..whole.len() - 5]).unwrap();
    assert_eq!(dir.run(&["archive", "show", "kept"]).code, Some(65), "a cut line");
    std::fs::write(dir.path("kept/.x.jsonl.unfinished"), "{").unwrap();
    std::fs::write(&file, &whole).unwrap();
    let unfinished = dir.run(&["archive", "show", "kept"]);
    assert!(unfinished.err().contains("was not deleted"), "{}", unfinished.err());
    assert_eq!(unfinished.code, Some(0));
}

#[test]
fn the_api_archives_what_it_deletes() {
    let dir = settled();
    let server = dir.serve(&["--archive", "kept"]);
    assert_eq!(server.post("/v1/prune", &json!({ "dryRun": false })).ok()["operations"], 2);
    let read = dir.run(&["archive", "show", "kept", "--json"]).json();
    assert_eq!(names(&read).iter().filter(|name| **name == "operation").count(), 2, "{read}");
}

/// A prune into `kept` that the system kills as soon as it writes a file beyond this many bytes.
fn prune_killed_at(dir: &Workdir, bytes: u64) -> ExitStatus {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -c 0; read go; exec \"$0\" prune --archive kept"]);
    command.arg(env!("CARGO_BIN_EXE_onefold")).current_dir(dir.folder());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let limit = Rlimit { current: Some(bytes), maximum: None };
    prlimit(Some(Pid::from_child(&child)), Resource::Fsize, limit).unwrap();
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    child.wait().unwrap()
}

#[test]
fn a_prune_that_is_killed_in_the_middle_of_its_archive_file_has_deleted_nothing() {
    const OPERATIONS: usize = 8;
    let dir = Workdir::with_config(SHORT);
    let mut server = dir.serve(&[]);
    for number in 0..OPERATIONS {
        let granted = server.granted(&claim(&format!("CASE-{number}")));
        server.record(&granted, "complete", &json!({ "result": "x".repeat(50_000) })).ok();
    }
    assert_eq!(server.stop(), Some(0));
    for bytes in [100_000, 250_000, 400_000] {
        assert_eq!(prune_killed_at(&dir, bytes).signal(), Some(Signal::XFSZ.as_raw()), "{bytes}");
        let [torn] = &files(&dir)[..] else { panic!("{:?}", files(&dir)) };
        assert_eq!(torn.metadata().unwrap().len(), bytes, "killed in the middle of it");
        let read = dir.run(&["archive", "show", "kept", "--json"]).json();
        assert_eq!(
            (&read["records"], &read["damaged"]),
            (&json!([]), &json!([])),
            "{bytes}: half a file is not an archive"
        );
        assert_eq!(read["unfinished"].as_array().unwrap().len(), 1, "{read}");
        assert_eq!(operations(&dir), OPERATIONS, "{bytes}");
    }
    assert_eq!(dir.run(&["prune", "--archive", "kept", "--json"]).json()["operations"], OPERATIONS);
    assert_eq!(operations(&dir), 0);
    let read = dir.run(&["archive", "show", "kept", "--json"]).json();
    assert_eq!((&read["damaged"], &read["unfinished"]), (&json!([]), &json!([])));
    assert_eq!(names(&read).iter().filter(|name| **name == "operation").count(), OPERATIONS);
}

/// The clock is moved by what the ledger remembers of it: 60 days less is the same as a clock 60 days ahead.
#[test]
fn a_clock_that_jumped_ahead_deletes_nothing_until_it_is_confirmed() {
    let dir = settled();
    let ledger = rusqlite::Connection::open(dir.path("onefold.db")).unwrap();
    let day: i64 = 86_400_000_000;
    ledger.execute("UPDATE onefold_clock SET confirmed = confirmed - 60 * ?1", [day]).unwrap();
    for prune in [&["prune"][..], &["prune", "--dry-run"], &["prune", "--json"]] {
        let refused = dir.run(prune);
        assert_eq!(refused.code, Some(69), "{}", refused.err());
        assert!(
            refused.err().contains("CLOCK_NOT_CONFIRMED") && refused.err().contains("set the clock"),
            "{}",
            refused.err()
        );
    }
    let server = dir.serve(&[]);
    server.post("/v1/prune", &json!({ "dryRun": false })).problem(503, "CLOCK_NOT_CONFIRMED");
    let again = merged(&claim("CASE-2"), &json!({ "attemptId": crate::fixture::attempt() }));
    assert_eq!(server.claim(&again)["claim"], "replay");
    drop(server);
    assert_eq!(operations(&dir), 2);
    // The same time was seen by an earlier start.
    ledger.execute("UPDATE onefold_clock SET candidate = candidate - ?1 / 24", [day]).unwrap();
    assert_eq!(dir.run(&["prune", "--json"]).json()["operations"], 2);
}

#[test]
fn an_archive_is_shown_as_a_table() {
    let dir = settled();
    dir.run(&["prune", "--archive", "kept"]).done();
    let shown = dir.run(&["archive", "show", "kept"]).done();
    let first: Vec<&str> = shown.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(first, ["record", "kind", "operation", "at", "what"]);
    text_is("archive_of_nothing", &{
        std::fs::create_dir(dir.path("empty")).unwrap();
        dir.run(&["archive", "show", "empty"]).done()
    });
}
