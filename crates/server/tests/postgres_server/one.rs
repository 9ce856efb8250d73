//! A server on PostgreSQL is the server that users know.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::fixture::{Workdir, attempt, claim, merged};
use crate::schema_fixture::{PASSWORD, Schema, execute};
use crate::wire::Call;

#[test]
fn a_server_starts_answers_and_keeps_its_files_in_a_folder_that_is_its_owners_alone() {
    let schema = Schema::new();
    let dir = schema.dir();
    let mut server = dir.serve(&[]);
    assert_eq!(server.send(&Call::get("/ready")).status, 200);
    let mode = |name: &str| std::fs::metadata(dir.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("onefold-data"), mode("onefold-data/onefold.token")), (0o700, 0o600));
    assert_eq!(server.stop(), Some(0));
    let left: Vec<String> = std::fs::read_dir(dir.folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("server-"))
        .collect();
    assert_eq!(left, ["onefold-data"], "no file of SQLite's is made");
    assert!(!server.log().contains(PASSWORD), "{}", server.log());
}

#[test]
fn an_operation_is_granted_once_recorded_and_replayed() {
    let schema = Schema::new();
    let dir = schema.dir();
    let server = dir.serve(&[]);
    let first = claim("CASE-1");
    let granted = server.granted(&first);
    let other = merged(&first, &json!({ "attemptId": attempt() }));
    assert_eq!(server.claim(&other)["claim"], "inFlight");
    assert_eq!(server.claim(&first)["claim"], "granted", "a lost answer is given again");
    server.record(&granted, "complete", &json!({ "result": { "notice": "NTC-1" }, "evidence": "NTC-1" })).ok();
    let replay = server.claim(&other);
    assert_eq!((&replay["claim"], &replay["outcome"]["result"]), (&json!("replay"), &json!({ "notice": "NTC-1" })));
    let changed = merged(&other, &json!({ "request": { "case": "another" } }));
    assert_eq!(server.claim(&changed)["claim"], "conflict");
    let incident = server.unknown(&claim("CASE-2"));
    assert!(server.get("/v1/incidents").text().contains(&incident));
}

#[test]
fn an_acknowledged_record_and_a_living_lease_outlive_their_server() {
    let schema = Schema::new();
    let dir = schema.dir();
    let mut server = dir.serve(&[]);
    let (done, held) = (claim("DONE"), claim("HELD"));
    server.record(&server.granted(&done), "complete", &json!({ "result": 7 })).ok();
    let granted = server.granted(&held);
    server.kill();
    let server = dir.serve(&[]);
    assert_eq!(server.claim(&done)["outcome"]["result"], 7);
    assert_eq!(server.claim(&merged(&held, &json!({ "attemptId": attempt() })))["claim"], "inFlight");
    server.record(&granted, "complete", &json!({})).ok();
}

#[test]
fn a_role_that_may_only_read_and_write_serves_a_schema_that_another_migrated() {
    let (schema, guest) = (Schema::new(), Schema::new());
    schema.dir().run(&["migrate"]).done();
    let (name, role) = (&schema.name, &guest.name);
    execute(&format!("GRANT USAGE ON SCHEMA {name} TO {role}"));
    execute(&format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {name} TO {role}"));
    let dir = Workdir::with_environment(vec![("ONEFOLD_DATABASE", guest.url()), ("ONEFOLD_SCHEMA", name.clone())]);
    let server = dir.serve(&[]);
    server.record(&server.granted(&claim("CASE-1")), "complete", &json!({ "result": 7 })).ok();
    server.unknown(&claim("CASE-2"));
    dir.run(&["token", "add", "someone", "--role", "reader"]).done();
    dir.run(&["prune"]).done();
}
