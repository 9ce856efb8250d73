//! What was planted is found in no problem that hides its detail, no incident, no metric and no log line.

use onefold_core::error::{self as codes, ALL, Code, Visibility};
use serde_json::{Value, json};

use crate::fixture::{Granted, Server, Workdir, attempt, claim, merged, payment, until};
use crate::leaks_constructed::CONSTRUCTED;
use crate::wire::Call;

/// What every planted word begins with; each place has a word of its own.
const MARK: &str = "m4rk3r";

/// Names and values that a client itself got wrong, which its answer may repeat: what it called a field, a kind, a path.
const ECHOED: [&str; 11] = [
    "m4rk3r-host",
    "m4rk3r-field-value",
    "m4rk3r-field",
    "m4rk3r-type",
    "m4rk3r-query",
    "m4rk3r-media",
    "m4rk3r-path",
    "m4rk3r-incident",
    "m4rk3r-kind",
    "m4rk3r-class",
    "m4rk3r-id",
];

/// A running server, and what the calls below are about.
struct LeakFixture {
    dir: Workdir,
    server: Server,
    /// May look and no more.
    reader: String,
    /// Of another tenant.
    stranger: String,
    open: Granted,
    done: Granted,
    released: Granted,
    unsure: String,
    payment: Granted,
}

/// A claim with a planted word in every field that holds content.
fn planted(id: &str) -> Value {
    // Names are shown to people, so only what looks like a secret, a payload or a person is taken out of them.
    let more = json!({
        "request": { "iban": "m4rk3r-request" },
        "businessKey": "BKEY-1 password=m4rk3r-business",
        "worker": "m4rk3r-worker@host-7.example.com",
        "processInstanceKey": "PIK-7 {\"iban\": \"m4rk3r-instance\"}",
        "elementId": "Bearer m4rk3r-element",
        "declare": { "class": "external-command", "dependsOn": "notice-service secret=m4rk3r-depends" },
    });
    merged(&claim(id), &more)
}

/// What a caller says of a failure, with what it should not have said.
fn said() -> Value {
    let detail = "refused with password=m4rk3r-password and Bearer m4rk3r-bearer by mail of m4rk3r-mail@example.com: \
                  value 'm4rk3r-quoted' {\"iban\": \"m4rk3r-payload\"}";
    json!({ "dependency": "notice-service token=m4rk3r-dependency", "detail": detail })
}

impl LeakFixture {
    fn new() -> Self {
        let dir = Workdir::with_config(crate::outbox::EVENTS);
        let server = dir.serve(&["--log", "debug", "--body-bytes-max", "1048576"]);
        let token = |name: &str, role: &str, tenant: &str| {
            let made = dir.run(&["token", "add", name, "--role", role, "--tenant", tenant, "--json"]).json();
            made["token"].as_str().unwrap().to_owned()
        };
        let (reader, stranger) = (token("looks", "reader", "default"), token("far", "operator", "elsewhere"));
        for secret in [&reader, &stranger] {
            until("the token is known", || server.send(&Call::get("/v1/operations").token(secret)).status == 200);
        }
        let open = server.granted(&planted("OPEN"));
        let done = server.granted(&planted("DONE"));
        let result = json!({ "result": { "card": "m4rk3r-result" }, "evidence": "m4rk3r-evidence" });
        server.record(&done, "complete", &result).ok();
        let released = server.granted(&planted("RELEASED"));
        server.record(&released, "release", &json!({})).ok();
        server.granted(&planted("RELEASED"));
        let failed = server.granted(&planted("FAILED"));
        let more = json!({ "final": true, "category": "PERMISSION", "result": "m4rk3r-failed" });
        server.record(&failed, "fail", &merged(&said(), &more)).ok();
        let unsure = server.granted(&planted("UNSURE"));
        server.record(&unsure, "unknown", &said()).ok();
        let unsure = server.incident(&unsure);
        // Why a duplicate is accepted is a text that a person writes into a declaration.
        let declare = json!({
            "class": "human-notification", "attemptsMax": 1,
            "onUnknown": { "acceptDuplicate": "password=m4rk3r-because" },
        });
        let letter = server.granted(&merged(&planted("LETTER"), &json!({ "kind": "letter.send", "declare": declare })));
        server.record(&letter, "unknown", &said()).ok();
        server.incident(&letter);
        let payment = server.granted(&payment("PAID"));
        Self { dir, server, reader, stranger, open, done, released, unsure, payment }
    }

    /// The codes that calls of a client reach, and the call that reaches each.
    fn calls(&self) -> Vec<(Code, Call)> {
        let post = |path: &str, body: &Value| Call::post(path, body).token(&self.server.token);
        let get = |path: &str| Call::get(path).token(&self.server.token);
        let claims = |change: Value| post("/v1/claims", &merged(&planted("NEW"), &change));
        let record = |granted: &Granted, what: &str, more: &Value| {
            post(&format!("/v1/operations/{}/{what}", granted.operation), &merged(&granted.grant, more))
        };
        let verb = |what: &str| format!("/v1/incidents/{}/{what}", self.unsure);
        let other = json!({ "attemptId": attempt(), "result": "m4rk3r-other" });
        let digest = json!({ "request": null, "requestDigest": "m4rk" });
        let strict = json!({ "kind": "k", "declare": { "class": "financial-or-legal", "onUnknown": "rerun" } });
        vec![
            (codes::AUTHENTICATION_REQUIRED, Call::get("/v1/operations").token("m4rk3r-token")),
            (codes::AUTHENTICATION_REQUIRED, Call::get("/metrics").header("authorization", "Basic m4rk3r-basic")),
            (codes::AUTHORIZATION_DENIED, Call::post("/v1/prune", &json!({ "dryRun": true })).token(&self.reader)),
            (codes::REQUEST_ORIGIN_REFUSED, get("/v1/operations").header("host", "m4rk3r-host")),
            (codes::REQUEST_BODY_INVALID, claims(json!({ "m4rk3r-field": "m4rk3r-field-value" }))),
            (codes::REQUEST_BODY_INVALID, claims(json!({ "id": ["m4rk3r-type"] }))),
            (codes::REQUEST_INVALID, get("/v1/operations?status=m4rk3r-query")),
            (codes::REQUEST_TOO_LARGE, claims(json!({ "request": "m4rk3r-large ".repeat(90_000) }))),
            (codes::MEDIA_TYPE_UNSUPPORTED, claims(json!({})).header("content-type", "text/m4rk3r-media")),
            (codes::ROUTE_NOT_FOUND, get("/m4rk3r-path")),
            (codes::METHOD_NOT_ALLOWED, Call::new("PUT", "/v1/claims").token(&self.server.token)),
            (codes::INCIDENT_NOT_FOUND, get("/v1/incidents/m4rk3r-incident")),
            (
                codes::OPERATION_NOT_FOUND,
                Call::get(&format!("/v1/operations/{}", self.done.operation)).token(&self.stranger),
            ),
            (codes::KIND_UNKNOWN, claims(json!({ "kind": "m4rk3r-kind", "declare": null }))),
            (codes::KIND_MISMATCH, claims(json!({ "declare": { "class": "pure" } }))),
            (codes::DECLARATION_INVALID, claims(json!({ "kind": "k", "declare": { "class": "m4rk3r-class" } }))),
            (codes::POLICY_NOT_ALLOWED, claims(strict)),
            (codes::OPERATION_ID_INVALID, claims(json!({ "id": "m4rk3r-id\n" }))),
            (codes::FINGERPRINT_INVALID, claims(digest)),
            (codes::LIMIT_EXCEEDED, claims(json!({ "worker": "m4rk3r-worker".repeat(100) }))),
            (
                codes::OPERATION_CONFLICT,
                post("/v1/claims", &merged(&planted("DONE"), &json!({ "request": "m4rk3r-2" }))),
            ),
            (codes::LEASE_NOT_YOURS, record(&self.open, "complete", &other)),
            (codes::LEASE_NEVER_GRANTED, record(&self.open, "complete", &json!({ "fence": 7, "result": "m4rk3r-3" }))),
            (codes::LEASE_SUPERSEDED, record(&self.released, "complete", &json!({ "result": "m4rk3r-late" }))),
            (codes::LEASE_ENDED, record(&self.done, "renew", &json!({}))),
            (codes::OUTCOME_CONFLICT, record(&self.done, "complete", &json!({ "result": "m4rk3r-second" }))),
            (codes::EVIDENCE_REQUIRED, record(&self.payment, "complete", &json!({ "result": "m4rk3r-bare" }))),
            (codes::RESOLUTION_REFUSED, post(&verb("retry"), &json!({ "why": "m4rk3r-why" }))),
        ]
    }

    /// The codes of the outbox that calls of a client reach, for an event that is staged and not set aside.
    fn event_calls(&self) -> Vec<(Code, Call)> {
        let post = |path: &str, body: &Value| Call::post(path, body).token(&self.server.token);
        let id = attempt();
        let staged = merged(&crate::outbox::event(&id, "CASE-7"), &json!({ "payload": { "card": "m4rk3r-event" } }));
        self.server.post("/v1/events", &staged).ok();
        let stage = |change: Value| post("/v1/events", &merged(&staged, &change));
        let edit = json!({ "payload": "m4rk3r-edit", "why": "m4rk3r-why" });
        let broken = json!({
            "type": "case.decided",
            "payload": { "caseId": "m4rk3r-key", "amount": "m4rk3r-amount", "m4rk3r-name": 1, "decision": { "by": null } },
        });
        vec![
            (codes::EVENT_ID_REUSED, stage(json!({ "payload": "m4rk3r-reused" }))),
            (codes::EVENT_TOO_LARGE, stage(json!({ "payload": "m4rk3r-payload".repeat(40_000) }))),
            (codes::EVENT_HEADER_INVALID, stage(json!({ "headers": { "host": "m4rk3r-header" } }))),
            (codes::EVENT_TYPE_UNKNOWN, stage(json!({ "type": "case.unheard-of", "payload": "m4rk3r-untyped" }))),
            (codes::EVENT_VERSION_UNSUPPORTED, stage(json!({ "schemaVersion": 7, "payload": "m4rk3r-version" }))),
            (codes::EVENT_CONTRACT_INVALID, stage(broken.clone())),
            (codes::EVENT_CONTRACT_INVALID, stage(json!({ "type": "case.decided", "payload": "m4rk3r-text" }))),
            (codes::EVENT_MOVED_ON, post(&format!("/v1/events/{id}/edit"), &edit)),
            (codes::EVENT_NOT_FOUND, post(&format!("/v1/events/{}/edit", attempt()), &edit)),
            (codes::RELAY_NOT_FOUND, post("/v1/relays/nobody/start", &json!({ "why": "m4rk3r-why" }))),
            (codes::REPLAY_UNBOUNDED, post("/v1/relays/cases/replays", &json!({ "why": "m4rk3r-why" }))),
            (codes::REPLAY_NOT_FOUND, post("/v1/replays/rpl_7/cancel", &json!({ "why": "m4rk3r-why" }))),
        ]
    }

    /// The codes that only a broken database reaches.
    fn break_the_database(&self) -> Vec<(Code, Value)> {
        let other = rusqlite::Connection::open(self.dir.path("onefold.db")).unwrap();
        let claim = || self.server.post("/v1/claims", &planted("BROKEN"));
        other.execute_batch("ALTER TABLE onefold_operations RENAME TO m4rk3r_table").unwrap();
        let gone = claim().problem(500, "PROGRAMMING_INVARIANT_VIOLATED");
        other.execute_batch("ALTER TABLE m4rk3r_table RENAME TO onefold_operations").unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let busy = claim().problem(503, "DATABASE_BUSY");
        other.execute_batch("ROLLBACK").unwrap();
        vec![(codes::PROGRAMMING_INVARIANT_VIOLATED, gone), (codes::DATABASE_BUSY, busy)]
    }

    /// Whatever the server shows to those who may not read payloads.
    fn shown(&self) -> Vec<(String, String)> {
        let listed = self.server.get("/v1/incidents?closed=true").ok();
        let mut paths: Vec<String> =
            ["/v1/incidents?closed=true", "/v1/incidents/groups", "/metrics"].map(String::from).into();
        for incident in listed["items"].as_array().unwrap() {
            paths.push(format!("/v1/incidents/{}", incident["id"].as_str().unwrap()));
        }
        assert!(paths.len() >= 5, "{listed}");
        let shown = |path: String| {
            let text = self.server.send(&Call::get(&path).token(&self.reader)).text();
            (path, text)
        };
        paths.into_iter().map(shown).collect()
    }
}

#[test]
fn nothing_that_was_planted_is_found() {
    let fixture = LeakFixture::new();
    let mut provoked: Vec<(Code, Value)> = Vec::new();
    for (code, call) in fixture.calls().into_iter().chain(fixture.event_calls()) {
        let body = fixture.server.send(&call).json();
        assert_eq!(body["code"], code.as_str(), "{body}");
        provoked.push((code, body));
    }
    provoked.extend(fixture.break_the_database());
    for (code, body) in &provoked {
        let hides = code.descriptor().visibility != Visibility::External;
        // A client is told what is wrong with what it sent; a payload or a secret is in no answer, whatever its code.
        let told = ECHOED.iter().fold(body.to_string(), |text, word| text.replace(word, ""));
        assert!(!(if hides { body.to_string() } else { told }).contains(MARK), "{body}");
    }
    for (path, text) in fixture.shown() {
        // Evidence is a reference that someone gave for people; it is a line of the story.
        assert!(!text.replace("m4rk3r-evidence", "").contains(MARK), "{path}: {text}");
    }
    // Evidence and why are references that people gave for people; payloads and secrets are nowhere.
    let timeline = fixture.server.get(&format!("/v1/operations/{}/timeline", fixture.done.operation)).ok();
    // What its caller calls an operation, its case and its process is shown as it was given: it is searched by that.
    let timeline = timeline["events"].to_string();
    assert!(!timeline.replace("m4rk3r-evidence", "").contains(MARK), "{timeline}");
    let log = fixture.server.log();
    assert!(log.contains("PROGRAMMING_INVARIANT_VIOLATED") && log.contains("DATABASE_BUSY"), "{log}");
    for line in log.lines() {
        assert!(!line.contains(MARK) && !line.contains(&fixture.server.token), "{line}");
        assert!(!line.contains(&fixture.reader) && !line.contains(&fixture.stranger), "{line}");
    }
    let mut met: Vec<&str> = provoked.iter().map(|(code, _)| code.as_str()).collect();
    met.extend(CONSTRUCTED.iter().map(|code| code.as_str()));
    met.sort_unstable();
    met.dedup();
    let mut all: Vec<&str> = ALL.iter().map(|code| code.as_str()).collect();
    all.sort_unstable();
    assert_eq!(met, all, "every code is provoked here or constructed in `leaks_constructed`");
    let twice = provoked.iter().find(|(code, _)| CONSTRUCTED.contains(code));
    assert!(twice.is_none(), "provoked and constructed: {twice:?}");
}
