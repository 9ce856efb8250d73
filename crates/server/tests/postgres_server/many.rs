//! Several servers on one database are one ledger.

use serde_json::json;

use crate::fixture::{Server, Workdir, attempt, claim, claim_of, merged, until};
use crate::receiver::{ReceivedMessage, Receiver, declare, loopback};
use crate::schema_fixture::Schema;
use crate::wire::Call;

/// Two machines' folders, each with a server on one schema.
fn two(schema: &Schema) -> [(Workdir, Server); 2] {
    [(); 2].map(|()| {
        let dir = schema.dir();
        let server = dir.serve(&["--sweep-every", "200ms"]);
        (dir, server)
    })
}

#[test]
fn a_grant_of_one_server_is_seen_recorded_and_replayed_by_another() {
    let schema = Schema::new();
    let [(_, one), (_, other)] = &two(&schema);
    let first = claim("CASE-1");
    let granted = one.granted(&first);
    let second = merged(&first, &json!({ "attemptId": attempt() }));
    assert_eq!(other.claim(&second)["claim"], "inFlight");
    other.record(&granted, "complete", &json!({ "result": 7 })).ok();
    for server in [one, other] {
        assert_eq!(server.claim(&second)["outcome"]["result"], 7);
    }
}

#[test]
fn a_kind_that_one_server_pinned_is_known_by_another() {
    let schema = Schema::new();
    let [(_, one), (_, other)] = &two(&schema);
    let mut bare = claim_of("late.kind", "CASE-1");
    bare.as_object_mut().unwrap().remove("declare");
    other.post("/v1/claims", &bare).problem(422, "KIND_UNKNOWN");
    one.granted(&claim_of("late.kind", "CASE-2"));
    other.granted(&bare);
    let contradicts = merged(&claim_of("late.kind", "CASE-3"), &json!({ "declare": { "class": "converging" } }));
    other.post("/v1/claims", &contradicts).problem(409, "KIND_MISMATCH");
}

#[test]
fn a_token_made_beside_one_server_is_let_in_and_taken_away_by_another() {
    let schema = Schema::new();
    let [(dir, one), (_, other)] = &two(&schema);
    assert_ne!(one.token, other.token, "each server's first token is its own");
    other.send(&Call::get("/v1/operations").token(&one.token)).problem(401, "AUTHENTICATION_REQUIRED");
    let made = dir.run(&["token", "add", "night-shift", "--role", "operator", "--json"]).json();
    let secret = made["token"].as_str().unwrap();
    let status = || other.send(&Call::get("/v1/operations").token(secret)).status;
    until("the token is known", || status() == 200);
    dir.run(&["token", "remove", "night-shift"]).done();
    until("the token is refused", || status() == 401);
}

#[test]
fn servers_with_one_token_file_let_the_same_caller_in() {
    let schema = Schema::new();
    let dir = schema.dir();
    let token = dir.path("shared.token");
    let serve = |folder: &str| dir.serve(&["--data-dir", folder, "--token-file", token.to_str().unwrap()]);
    let (one, other) = (serve("a"), serve("b"));
    assert_eq!(one.token, other.token);
    assert_eq!(other.send(&Call::get("/v1/operations").token(&one.token)).status, 200);
}

#[test]
fn a_second_server_in_one_folder_is_refused_and_the_first_serves_on() {
    let schema = Schema::new();
    let dir = schema.dir();
    let server = dir.serve(&[]);
    let refused = dir.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.code, Some(69), "{}", refused.err());
    assert!(refused.err().contains("DATABASE_IN_USE") && refused.err().contains("--data-dir"), "{}", refused.err());
    server.granted(&claim("CASE-1"));
}

#[test]
fn a_command_is_run_once_whichever_server_it_goes_through() {
    let schema = Schema::new();
    let servers = two(&schema);
    let count = servers[0].0.path("count");
    let script = format!("echo ran >> {}; sleep 1; echo once", count.display());
    let outputs: Vec<String> = std::thread::scope(|scope| {
        let runs = servers.iter().flat_map(|(dir, _)| [dir; 3]).map(|dir| {
            let script = &script;
            scope.spawn(move || dir.run(&["run", "--id", "nightly", "--", "sh", "-c", script]).done())
        });
        // All of them are started before the first is waited for.
        let runs: Vec<_> = runs.collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(outputs, ["once\n"; 6]);
    assert_eq!(std::fs::read_to_string(count).unwrap(), "ran\n");
}

#[test]
fn what_a_caller_of_a_dead_server_held_is_settled_by_another_after_its_lease() {
    let schema = Schema::new();
    let [(_here, mut one), (_there, other)] = two(&schema);
    let declare = json!({ "declare": { "class": "external-command", "deadline": "1s", "lease": "1s" } });
    let granted = one.granted(&merged(&claim_of("short.lease", "CASE-1"), &declare));
    one.kill();
    let path = format!("/v1/operations/{}", granted.operation);
    until("the lease is settled", || other.get(&path).ok()["status"] == "UNKNOWN");
    assert!(!other.incident(&granted).is_empty());
}

#[test]
fn an_incident_is_told_by_one_of_several_servers() {
    let schema = Schema::new();
    let receiver = Receiver::start(loopback(), 204);
    let servers = [(); 3].map(|()| {
        let dir = schema.dir();
        declare(dir.folder(), receiver.at, "group_for = \"0ms\"\n");
        let server = dir.serve(&["--sweep-every", "50ms"]);
        (dir, server)
    });
    for (index, (_, server)) in servers.iter().enumerate() {
        server.unknown(&claim(&format!("CASE-{index}")));
        until("it is told", || receiver.taken().len() > index);
    }
    let told: Vec<Vec<String>> = receiver.taken().iter().map(ReceivedMessage::operations).collect();
    assert_eq!(told, [["CASE-0"], ["CASE-1"], ["CASE-2"]].map(|one| one.map(str::to_owned)), "each once");
    assert!(receiver.taken().iter().all(ReceivedMessage::signed));
}
