//! Retention from the shell: what is deleted is in the archive, the archive is read back, and a clock that jumped deletes
//! nothing.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::seen::text_is;
use crate::stage::{Stage, claim, merged};

const SHORT: &str = "[kind.\"notice.issue\"]\nclass = \"external-command\"\nretention = { id = \"1ms\" }\n";

/// A ledger with an operation that was unknown, was resolved by a person, and may be forgotten.
fn settled() -> Stage {
    let stage = Stage::with_config(SHORT);
    let mut server = stage.serve(&[]);
    let incident = server.unknown(&claim("CASE-1"));
    let took_hold = ["incidents", "resolve", &incident, "--took-hold", "doc/7", "--why", "the list shows it"];
    stage.run(&took_hold).done();
    server.record(&server.granted(&claim("CASE-2")), "complete", &json!({ "result": { "n": 7 } })).ok();
    assert_eq!(server.stop(), Some(0));
    stage
}

fn operations(stage: &Stage) -> usize {
    stage.run(&["operations", "--json"]).json()["items"].as_array().unwrap().len()
}

fn files(stage: &Stage) -> Vec<PathBuf> {
    std::fs::read_dir(stage.path("kept")).unwrap().map(|file| file.unwrap().path()).collect()
}

fn names(read: &Value) -> Vec<&str> {
    let mut names: Vec<&str> =
        read["records"].as_array().unwrap().iter().map(|record| record["record"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn what_a_prune_deletes_is_read_back_from_its_archive() {
    let stage = settled();
    let story = stage.run(&["operations", "show", "CASE-1", "--json"]).json();
    assert_eq!(stage.run(&["prune", "--archive", "kept", "--json"]).json()["operations"], 2);
    assert_eq!(operations(&stage), 0);
    let read = stage.run(&["archive", "show", "kept", "--json"]).json();
    assert_eq!((&read["damaged"], &read["unfinished"]), (&json!([]), &json!([])));
    let names = names(&read);
    assert_eq!(names.iter().filter(|name| **name == "operation").count(), 2, "{names:?}");
    assert!(names.contains(&"incident") && names.contains(&"note"), "{names:?}");
    let one = stage.run(&["archive", "show", "kept", "CASE-1", "--json"]).json();
    let operation = &one["records"][0]["content"];
    assert_eq!(operation["operationId"], "CASE-1");
    assert_eq!(
        (&operation["createdAt"], &operation["evidenceRef"]),
        (&story["operation"]["createdAt"], &json!("doc/7"))
    );
    let other = stage.run(&["archive", "show", "kept", "CASE-2"]).done();
    assert!(other.contains("COMPLETED, 7 bytes of application/json"), "{other}");
    let absent = stage.run(&["archive", "show", "kept", "CASE-3"]);
    assert_eq!((absent.code, absent.err().contains("OPERATION_NOT_FOUND")), (Some(66), true), "{}", absent.err());
}

#[test]
fn a_damaged_line_is_told_and_the_others_are_shown() {
    let stage = settled();
    stage.run(&["prune", "--archive", "kept"]).done();
    let file = files(&stage).pop().unwrap();
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, whole.replacen("CASE-2", "CASE-9", 1)).unwrap();
    let changed = stage.run(&["archive", "show", file.to_str().unwrap()]);
    assert_eq!(changed.code, Some(65), "{}", changed.err());
    assert!(changed.err().contains("its content is not what was written"), "{}", changed.err());
    assert!(changed.out().contains("CASE-1") && !changed.out().contains("CASE-9"), "{}", changed.out());
    std::fs::write(&file, &whole[..whole.len() - 5]).unwrap();
    assert_eq!(stage.run(&["archive", "show", "kept"]).code, Some(65), "a cut line");
    std::fs::write(stage.path("kept/.x.jsonl.unfinished"), "{").unwrap();
    std::fs::write(&file, &whole).unwrap();
    let unfinished = stage.run(&["archive", "show", "kept"]);
    assert!(unfinished.err().contains("was not deleted"), "{}", unfinished.err());
    assert_eq!(unfinished.code, Some(0));
}

#[test]
fn the_api_archives_what_it_deletes() {
    let stage = settled();
    let server = stage.serve(&["--archive", "kept"]);
    assert_eq!(server.post("/v1/prune", &json!({ "dryRun": false })).ok()["operations"], 2);
    let read = stage.run(&["archive", "show", "kept", "--json"]).json();
    assert_eq!(names(&read).iter().filter(|name| **name == "operation").count(), 2, "{read}");
}

/// The clock is moved by what the ledger remembers of it: 60 days less is the same as a clock 60 days ahead.
#[test]
fn a_clock_that_jumped_ahead_deletes_nothing_until_it_is_confirmed() {
    let stage = settled();
    let ledger = rusqlite::Connection::open(stage.path("onefold.db")).unwrap();
    let day: i64 = 86_400_000_000;
    ledger.execute("UPDATE onefold_clock SET confirmed = confirmed - 60 * ?1", [day]).unwrap();
    for prune in [&["prune"][..], &["prune", "--dry-run"], &["prune", "--json"]] {
        let refused = stage.run(prune);
        assert_eq!(refused.code, Some(69), "{}", refused.err());
        assert!(
            refused.err().contains("CLOCK_NOT_CONFIRMED") && refused.err().contains("set the clock"),
            "{}",
            refused.err()
        );
    }
    let server = stage.serve(&[]);
    server.post("/v1/prune", &json!({ "dryRun": false })).problem(503, "CLOCK_NOT_CONFIRMED");
    let again = merged(&claim("CASE-2"), &json!({ "attemptId": crate::stage::attempt() }));
    assert_eq!(server.claim(&again)["claim"], "replay");
    drop(server);
    assert_eq!(operations(&stage), 2);
    // The same time was seen by an earlier start.
    ledger.execute("UPDATE onefold_clock SET candidate = candidate - ?1 / 24", [day]).unwrap();
    assert_eq!(stage.run(&["prune", "--json"]).json()["operations"], 2);
}

#[test]
fn an_archive_is_shown_as_a_table() {
    let stage = settled();
    stage.run(&["prune", "--archive", "kept"]).done();
    let shown = stage.run(&["archive", "show", "kept"]).done();
    let first: Vec<&str> = shown.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(first, ["record", "kind", "operation", "at", "what"]);
    text_is("archive_of_nothing", &{
        std::fs::create_dir(stage.path("empty")).unwrap();
        stage.run(&["archive", "show", "empty"]).done()
    });
}
