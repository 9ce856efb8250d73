//! What was acknowledged stays, and a ledger that lost it is refused until a person accepts it.

use std::path::Path;

use serde_json::{Value, json};

use crate::fixture::{Server, Workdir, attempt, claim, merged, until};

fn complete(server: &Server, id: &str, result: &Value) -> Value {
    let claim = claim(id);
    let granted = server.granted(&claim);
    server.record(&granted, "complete", &json!({ "result": result })).ok();
    claim
}

/// The mark that is remembered beside the database.
fn mark(dir: &Workdir) -> u64 {
    let text = std::fs::read_to_string(dir.path("onefold.db.position")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["mark"].as_u64().unwrap()
}

#[test]
fn a_stopped_server_leaves_the_whole_ledger_in_its_file() {
    let (dir, elsewhere) = (Workdir::new(), Workdir::new());
    let mut server = dir.serve(&[]);
    let claim = complete(&server, "CASE-1", &json!(7));
    assert_eq!(server.stop(), Some(0), "{}", server.log());
    assert_eq!(std::fs::metadata(dir.path("onefold.db-wal")).map_or(0, |wal| wal.len()), 0);
    std::fs::copy(dir.path("onefold.db"), elsewhere.path("onefold.db")).unwrap();
    let server = elsewhere.serve(&[]);
    let replay = server.claim(&merged(&claim, &json!({ "attemptId": attempt() })));
    assert_eq!((&replay["claim"], &replay["outcome"]["result"]), (&json!("replay"), &json!(7)));
}

#[test]
fn a_command_leaves_the_whole_ledger_in_the_file_too() {
    let (dir, elsewhere) = (Workdir::new(), Workdir::new());
    dir.run(&["run", "--id", "once", "--", "echo", "done"]).done();
    std::fs::copy(dir.path("onefold.db"), elsewhere.path("onefold.db")).unwrap();
    let again = elsewhere.run(&["run", "--id", "once", "--", "echo", "done"]);
    assert!(again.err().contains("already performed"), "{}", again.err());
}

#[test]
fn a_ledger_without_its_log_is_refused_until_a_person_accepts_it() {
    let dir = Workdir::new();
    let mut server = dir.serve(&[]);
    let claim = complete(&server, "CASE-1", &json!(7));
    let before = mark(&dir);
    until("it is remembered", || mark(&dir) > before);
    server.kill();
    std::fs::remove_file(dir.path("onefold.db-wal")).unwrap();
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["run", "--id", "x", "--", "true"]] {
        let refused = dir.run(command);
        assert_eq!(refused.code, Some(69), "{command:?} {}", refused.err());
        assert!(refused.err().contains("LEDGER_WENT_BACK"), "{command:?} {}", refused.err());
        assert!(refused.err().contains("accept-restored"), "{command:?} {}", refused.err());
    }
    let accepted = dir.run(&["accept-restored", "--why", "the log is lost", "--json"]).json();
    assert_eq!(accepted["accepted"], true, "{accepted}");
    let server = dir.serve(&[]);
    let again = server.claim(&merged(&claim, &json!({ "attemptId": attempt() })));
    assert_eq!(again["claim"], "granted", "what is missing is performed again");
    drop(server);
    assert_eq!(dir.run(&["accept-restored", "--why", "again", "--json"]).json()["accepted"], false);
}

fn change(database: &Path, sql: &str) {
    assert_eq!(rusqlite::Connection::open(database).unwrap().execute(sql, []).unwrap(), 1);
}

#[test]
fn a_result_that_was_changed_on_the_disk_is_told_and_never_replayed_or_performed() {
    let dir = Workdir::new();
    let mut server = dir.serve(&[]);
    let claim = complete(&server, "CASE-1", &json!({ "amount": 100 }));
    let reference = server.get("/v1/operations?id=CASE-1").ok()["items"][0]["operation"].as_str().unwrap().to_owned();
    server.stop();
    change(&dir.path("onefold.db"), "UPDATE onefold_operations SET result = CAST('{\"amount\":900}' AS BLOB)");
    let server = dir.serve(&[]);
    let again = merged(&claim, &json!({ "attemptId": attempt() }));
    for _ in 0..2 {
        let problem = server.post("/v1/claims", &again).problem(503, "RESULT_DAMAGED");
        assert!(!problem.to_string().contains("900"), "{problem}");
    }
    server.get(&format!("/v1/operations/{reference}/result")).problem(503, "RESULT_DAMAGED");
    assert_eq!(server.get(&format!("/v1/operations/{reference}")).ok()["status"], "COMPLETED");
    until("it is logged", || server.log().contains("stored result is damaged"));
    drop(server);
    change(&dir.path("onefold.db"), "UPDATE onefold_operations SET result = CAST('{\"amount\":100}' AS BLOB)");
    let server = dir.serve(&[]);
    assert_eq!(server.claim(&again)["outcome"]["result"], json!({ "amount": 100 }), "as it was recorded");
}
