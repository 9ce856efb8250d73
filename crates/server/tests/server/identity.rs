//! Who is let in, and what they may do.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::fixture::{Server, Workdir, claim, merged, payment, until};
use crate::seen::{json_is, text_is};
use crate::wire::{Answer, Call};

/// Makes a token; answers with its secret once the server knows it.
fn token(dir: &Workdir, server: &Server, name: &str, role: &str, tenant: &str) -> String {
    let made = dir.run(&["token", "add", name, "--role", role, "--tenant", tenant, "--json"]).json();
    let secret = made["token"].as_str().unwrap().to_owned();
    until("the token is known", || server.send(&Call::get("/v1/operations").token(&secret)).status == 200);
    secret
}

fn post_as(server: &Server, token: &str, path: &str, body: &Value) -> Answer {
    server.send(&Call::post(path, body).token(token))
}

#[test]
fn a_caller_without_a_token_is_told_so_and_nothing_else() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    // What the server's first words point at.
    assert_eq!(server.send(&Call::get("/openapi.json")).status, 200);
    let paths = ["/v1/operations", "/metrics", "/nowhere", "/v1/incidents", "/errors", "/runbooks"];
    for path in paths {
        let missing = server.send(&Call::get(path));
        missing.problem(401, "AUTHENTICATION_REQUIRED");
        assert_eq!(missing.header("www-authenticate"), Some("Bearer"));
        server.send(&Call::get(path).token("wrong")).problem(401, "AUTHENTICATION_REQUIRED");
    }
    json_is("token_missing", &server.send(&Call::get("/metrics")).json());
    json_is("token_wrong", &server.send(&Call::get("/metrics").token("wrong")).json());
    let odd = [
        "",
        "Bearer",
        "Bearer ",
        "bearer x",
        "Basic b3duZXI6eA==",
        "Bearer \u{e4}",
        &format!("Bearer {}", "x".repeat(9000)),
    ]
    .map(|value| server.send(&Call::get("/metrics").header("authorization", value)).status);
    assert_eq!(odd, [401; 7]);
    assert!(!server.log().contains(&server.token), "a token is never logged");
}

#[test]
fn a_role_may_what_the_table_says() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let done = server.granted(&claim("DONE"));
    server.record(&done, "complete", &json!({})).ok();
    let incident = server.unknown(&claim("UNSURE"));
    let result = format!("/v1/operations/{}/result", done.operation);
    let complete = format!("/v1/operations/{}/complete", done.operation);
    let resolve = format!("/v1/incidents/{incident}/resolve");
    let retry = format!("/v1/incidents/{incident}/retry");
    let why = json!({ "why": "because" });
    let calls = [
        ("look", Call::get("/v1/operations")),
        ("look", Call::get("/v1/incidents")),
        ("look", Call::get("/v1/incidents/groups")),
        ("look", Call::get("/metrics")),
        ("act", Call::post("/v1/claims", &claim("NEW"))),
        ("act", Call::post("/v1/claims/batch", &json!({ "claims": [] }))),
        ("act", Call::post(&complete, &done.grant)),
        ("decide", Call::get(&result)),
        ("decide", Call::post(&resolve, &merged(&why, &json!({ "didNotHappen": {} })))),
        ("decide", Call::post(&retry, &why)),
        ("decide", Call::post("/v1/incidents/ask", &merged(&why, &json!({ "filter": { "kind": "none" } })))),
        ("administer", Call::post("/v1/prune", &json!({ "dryRun": true }))),
    ];
    let table = [
        ("reader", &["look"][..]),
        ("caller", &["look", "act"]),
        ("operator", &["look", "act", "decide"]),
        ("administrator", &["look", "act", "decide", "administer"]),
    ];
    for (role, allowed) in table {
        let secret = token(&dir, &server, &format!("a-{role}"), role, "default");
        for (index, (needs, call)) in calls.iter().enumerate() {
            let answer = server.send(&call.clone().token(&secret));
            if allowed.contains(needs) {
                assert_ne!(answer.status, 403, "{role} call {index}: {}", answer.text());
            } else {
                answer.problem(403, "AUTHORIZATION_DENIED");
            }
        }
    }
    let reader = token(&dir, &server, "someone", "reader", "default");
    json_is("role_denied", &server.send(&Call::get(&result).token(&reader)).json());
}

#[test]
fn a_token_is_added_and_removed_while_the_server_runs() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let secret = token(&dir, &server, "night-shift", "operator", "default");
    dir.run(&["token", "remove", "night-shift"]).done();
    until("the token is refused", || server.send(&Call::get("/v1/operations").token(&secret)).status == 401);
    let database = std::fs::read(dir.path("onefold.db")).unwrap();
    let found = database.windows(secret.len()).any(|window| window == secret.as_bytes());
    assert!(!found, "only a digest is kept");
}

#[test]
fn the_first_token_is_its_owners_alone_and_may_be_exchanged_while_the_server_runs() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let file = dir.path("onefold.token");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::write(&file, "another-token-of-mine\n").unwrap();
    let call = |token: &str| server.send(&Call::get("/v1/operations").token(token)).status;
    until("the new token is known", || call("another-token-of-mine") == 200);
    assert_eq!(call(&server.token), 401);
}

#[test]
fn another_tenants_operation_is_not_found() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let ours = claim("CASE-1");
    let granted = server.granted(&ours);
    let incident = server.unknown(&claim("CASE-2"));
    let theirs = token(&dir, &server, "them", "administrator", "other");
    for path in ["", "/timeline", "/result"] {
        let path = format!("/v1/operations/{}{path}", granted.operation);
        server.send(&Call::get(&path).token(&theirs)).problem(404, "OPERATION_NOT_FOUND");
    }
    let list = |path: &str| server.send(&Call::get(path).token(&theirs)).ok();
    assert_eq!(list("/v1/operations")["items"], json!([]));
    assert_eq!(list("/v1/incidents?closed=true")["items"], json!([]));
    assert_eq!(list("/v1/incidents/groups")["groups"], json!([]));
    server.send(&Call::get(&format!("/v1/incidents/{incident}")).token(&theirs)).problem(404, "INCIDENT_NOT_FOUND");
    let failed = json!({ "failed": "NO", "why": "because" });
    post_as(&server, &theirs, &format!("/v1/incidents/{incident}/resolve"), &failed).problem(404, "INCIDENT_NOT_FOUND");
    let bulk = merged(&failed, &json!({ "filter": { "kind": "notice.issue" } }));
    assert_eq!(post_as(&server, &theirs, "/v1/incidents/resolve", &bulk).ok()["answers"], json!([]));
    let complete = format!("/v1/operations/{}/complete", granted.operation);
    post_as(&server, &theirs, &complete, &granted.grant).problem(409, "LEASE_NEVER_GRANTED");
    // Their own operation of the same name is another one.
    assert_eq!(post_as(&server, &theirs, "/v1/claims", &ours).ok()["claim"], "granted");
    assert_eq!(server.get(&format!("/v1/operations/{}", granted.operation)).ok()["status"], "STARTED");
}

#[test]
fn a_foreign_host_or_origin_is_refused_even_with_a_token() {
    let dir = Workdir::new();
    let server = dir.serve(&["--hosts", "ledger.internal"]);
    let call =
        |name: &str, value: &str| server.send(&Call::get("/v1/operations").token(&server.token).header(name, value));
    json_is("host_foreign", &call("host", "evil.example").problem(403, "REQUEST_ORIGIN_REFUSED"));
    json_is("origin_foreign", &call("origin", "https://evil.example").problem(403, "REQUEST_ORIGIN_REFUSED"));
    call("origin", "null").problem(403, "REQUEST_ORIGIN_REFUSED");
    call("host", "").problem(403, "REQUEST_ORIGIN_REFUSED");
    let health = server.send(&Call::get("/health").header("host", "evil.example"));
    health.problem(403, "REQUEST_ORIGIN_REFUSED");
    for (name, value) in [
        ("host", "ledger.internal".to_owned()),
        ("host", format!("localhost:{}", server.address.port())),
        ("origin", server.url()),
    ] {
        assert_eq!(call(name, &value).status, 200, "{name} {value}");
    }
}

#[test]
fn an_address_that_others_can_reach_needs_named_tokens() {
    let dir = Workdir::new();
    let refused = dir.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, Some(78), "{}", refused.err());
    assert!(refused.err().contains("onefold token add NAME --role operator"), "{}", refused.err());
    let made = dir.run(&["token", "add", "someone", "--role", "caller", "--json"]).json();
    // Now it listens; names other than its address are those of `hosts`.
    let server = dir.serve_at("0.0.0.0:0", &["--hosts", "ledger.internal"]);
    let call = Call::get("/v1/operations").token(made["token"].as_str().unwrap());
    assert_eq!(server.send(&call.clone().header("host", "ledger.internal")).status, 200);
    server.send(&call.header("host", "evil.example")).problem(403, "REQUEST_ORIGIN_REFUSED");
}

#[test]
fn a_financial_or_legal_effect_did_not_happen_only_when_two_people_say_so() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claim = payment("PAY-1");
    let incident = server.unknown(&claim);
    let [alice, bob] = ["alice", "bob"].map(|name| token(&dir, &server, name, "operator", "default"));
    let path = format!("/v1/incidents/{incident}/resolve");
    let body = json!({ "didNotHappen": { "force": true }, "why": "the bank has no such transfer" });
    let first = post_as(&server, &alice, &path, &body).ok();
    json_is("resolve_needs_second_person", &first);
    assert_eq!(post_as(&server, &alice, &path, &body).ok()["verb"], "NEEDS_SECOND_PERSON");
    assert_eq!(server.claim(&merged(&claim, &json!({ "attemptId": crate::fixture::attempt() })))["claim"], "unknown");
    assert_eq!(post_as(&server, &bob, &path, &body).ok()["verb"], "DONE");
    let operation = first["operation"].as_str().unwrap();
    let story = server.get(&format!("/v1/operations/{operation}/timeline")).ok();
    let lines: Vec<String> = story["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| format!("{}: {}", event["who"], event["what"]))
        .collect();
    text_is("two_people_timeline", &lines.join("\n"));
}
