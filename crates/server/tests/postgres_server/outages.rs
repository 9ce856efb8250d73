//! Connections that end and a database that is away: answers that help, and a server that goes on.

use std::process::Stdio;

use serde_json::json;

use crate::database_proxy::DatabaseProxy;
use crate::fixture::{Ran, attempt, claim, merged, until};
use crate::schema_fixture::{PASSWORD, Schema, terminate};
use crate::wire::Call;

#[test]
fn a_server_serves_on_after_its_connections_were_terminated() {
    let schema = Schema::new();
    let dir = schema.dir();
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("CASE-1"));
    for round in 0..5 {
        assert!(terminate(&schema) > 0, "round {round}: the server has connections");
        server.granted(&claim(&format!("ROUND-{round}")));
    }
    assert!(terminate(&schema) > 0);
    server.record(&granted, "complete", &json!({ "result": 7 })).ok();
    assert!(!server.log().contains(PASSWORD), "{}", server.log());
}

#[test]
fn a_run_whose_database_went_away_keeps_its_outcome_until_it_is_back() {
    let schema = Schema::new();
    let proxy = DatabaseProxy::before(Schema::host());
    let dir = schema.dir_at(&schema.url_at(&proxy.address.to_string()));
    let script = "echo x >> ran; while [ ! -e go ]; do sleep 0.05; done; echo done";
    let line = ["run", "--id", "job:1", "--", "sh", "-c", script];
    let running = dir.command(&line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the command runs", || dir.path("ran").exists());

    proxy.shut();
    std::fs::write(dir.path("go"), "").unwrap();
    let ended = Ran::from(running.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(80), "{}", ended.err());
    assert!(ended.err().contains("OUTCOME_NOT_RECORDED") && !ended.err().contains(PASSWORD), "{}", ended.err());

    proxy.open();
    let shown = dir.run(&["operations", "show", "job:1", "--json"]);
    assert_eq!(shown.json()["operation"]["status"], "COMPLETED", "{}", shown.err());
    assert!(dir.run(&line).done().ends_with("done\n"));
    assert_eq!(std::fs::read_to_string(dir.path("ran")).unwrap(), "x\n");
}

#[test]
fn a_server_whose_database_is_away_is_not_ready_says_so_and_comes_back() {
    let schema = Schema::new();
    let proxy = DatabaseProxy::before(Schema::host());
    let dir = schema.dir_at(&schema.url_at(&proxy.address.to_string()));
    let server = dir.serve(&[]);
    let first = claim("CASE-1");
    let granted = server.granted(&first);

    proxy.shut();
    let ready = server.send(&Call::get("/ready"));
    ready.problem(503, "DATABASE_UNAVAILABLE");
    assert_eq!(server.send(&Call::get("/health")).status, 200, "a restart would not fix it");
    let claimed = server.post("/v1/claims", &claim("CASE-2"));
    assert_eq!(claimed.status, 503, "{}", claimed.text());
    for said in [ready.text(), claimed.text(), server.log()] {
        let leaked = [PASSWORD, schema.name.as_str(), &proxy.address.to_string()].map(|part| said.contains(part));
        assert!(!leaked[0], "{said}");
        // A problem goes to strangers, and says nothing of where the database is either.
        assert!(said == server.log() || leaked == [false; 3], "{said}");
    }

    proxy.open();
    until("it is ready again", || server.send(&Call::get("/ready")).status == 200);
    server.record(&granted, "complete", &json!({ "result": 7 })).ok();
    let again = merged(&first, &json!({ "attemptId": attempt() }));
    assert_eq!(server.claim(&again)["outcome"]["result"], 7);
    server.granted(&claim("CASE-3"));
}
