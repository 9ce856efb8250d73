//! The outbox over the API: staging, looking, and what a person decides about events and relays.

use onefold_core::error::RELAY_STOPPED;
use serde_json::{Value, json};

use crate::fixture::{Server, Workdir, merged, until};
use crate::relay_fixture::{Lease, RelayFixture};
use crate::seen::json_is;
use crate::wire::{Answer, Call};

pub(crate) const FIRST: &str = "0198f2a4-5b8e-7c3a-9d21-6f0e4b1a2c3d";
pub(crate) const SECOND: &str = "0198f2a4-5b8e-7c3a-9d21-6f0e4b1a2c3e";
pub(crate) const UNKNOWN: &str = "0198f2a4-5b8e-7c3a-9d21-000000000000";

/// The contracts of what is staged here; `case.decided` is the strict one.
pub(crate) const EVENTS: &str = r#"
[[event]]
type = "case.submitted"
aggregate = "case"
owner = "case team"
versions = { 1 = {}, 2 = {} }

[[event]]
type = "case.closed"
aggregate = "case"
owner = "case team"
versions = { 1 = {} }

[[event]]
type = "case.decided"
aggregate = "case"
owner = "decisions"
ordering_key = "/caseId"
key_fields = ["/decision/by"]
versions = { 1 = { type = "object", required = ["caseId"], properties = { caseId = { type = "string" }, amount = { type = "integer" }, decision = { type = "object" } } } }
"#;

pub(crate) fn event(id: &str, aggregate: &str) -> Value {
    json!({
        "id": id, "aggregateType": "case", "aggregateId": aggregate, "type": "case.submitted", "schemaVersion": 1,
        "payload": { "caseId": aggregate }, "headers": { "x-region": "north" }, "correlationId": "TRACE-1",
    })
}

fn stage(server: &Server, event: &Value) -> Answer {
    server.post("/v1/events", event)
}

fn decide(server: &Server, id: &str, verb: &str, body: &Value) -> Answer {
    server.post(&format!("/v1/events/{id}/{verb}"), &merged(&json!({ "why": "looked it up" }), body))
}

/// Makes a token; answers with its secret once the server knows it.
pub(crate) fn token(dir: &Workdir, server: &Server, role: &str, tenant: &str) -> String {
    let name = format!("{role}-of-{tenant}");
    let made = dir.run(&["token", "add", &name, "--role", role, "--tenant", tenant, "--json"]).json();
    let secret = made["token"].as_str().unwrap().to_owned();
    until("the token is known", || server.send(&Call::get("/v1/relays").token(&secret)).status == 200);
    secret
}

/// A server whose relay `cases` was refused the first event of CASE-7; the second waits behind it.
pub(crate) fn with_parked(lease: Lease) -> (Workdir, Server, RelayFixture) {
    let dir = Workdir::with_config(EVENTS);
    let server = dir.serve(&[]);
    let relay = RelayFixture::declared(&dir.path("onefold.db"), "cases", "case.*");
    stage(&server, &event(FIRST, "CASE-7")).ok();
    stage(&server, &event(SECOND, "CASE-7")).ok();
    relay.refuse_all("the schema says no", lease);
    (dir, server, relay)
}

fn status_of(server: &Server, id: &str) -> String {
    let found = server.get(&format!("/v1/events/{id}")).ok();
    found["setAside"][0]["status"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn an_event_is_staged_once_however_often_it_is_sent() {
    let dir = Workdir::with_config(EVENTS);
    let server = dir.serve(&[]);
    json_is("event_staged", &stage(&server, &event(FIRST, "CASE-7")).ok());
    json_is("event_staged_earlier", &stage(&server, &event(FIRST, "CASE-7")).ok());
    for other in [
        json!({ "payload": { "caseId": "CASE-8" } }),
        json!({ "type": "case.closed" }),
        json!({ "aggregateId": "CASE-8" }),
        json!({ "schemaVersion": 2 }),
    ] {
        let refused = stage(&server, &merged(&event(FIRST, "CASE-7"), &other));
        refused.problem(409, "EVENT_ID_REUSED");
    }
    let reused = stage(&server, &merged(&event(FIRST, "CASE-7"), &json!({ "payload": 7 })));
    json_is("event_id_reused", &reused.problem(409, "EVENT_ID_REUSED"));
    let small = json!({ "headers": {}, "correlationId": null, "payload": null });
    let second = stage(&server, &merged(&event(SECOND, "CASE-7"), &small)).ok();
    assert_eq!(second["staged"], "NOW", "{second}");
}

#[test]
fn a_staged_event_survives_a_kill_and_is_shown_without_its_payload() {
    let dir = Workdir::with_config(EVENTS);
    let mut server = dir.serve(&[]);
    stage(&server, &event(FIRST, "CASE-7")).ok();
    server.kill();
    let server = dir.serve(&[]);
    json_is("event_shown", &server.get(&format!("/v1/events/{FIRST}")).ok());
    server.get(&format!("/v1/events/{UNKNOWN}")).problem(404, "EVENT_NOT_FOUND");
    json_is("event_bad_id", &server.get("/v1/events/7").problem(400, "REQUEST_INVALID"));
    let said = server.get(&format!("/v1/events/{FIRST}?payload=true")).text();
    assert!(!said.contains("caseId"), "a payload is never shown: {said}");
}

#[test]
fn an_event_that_no_target_could_be_sent_is_refused_with_its_place() {
    let dir = Workdir::with_config(EVENTS);
    let server = dir.serve(&[]);
    let rows = [
        (400, "REQUEST_BODY_INVALID", "id", json!({ "id": "7" })),
        (400, "REQUEST_BODY_INVALID", "aggregateType", json!({ "aggregateType": "two words" })),
        (400, "REQUEST_BODY_INVALID", "type", json!({ "type": "case.*" })),
        (400, "REQUEST_BODY_INVALID", "schemaVersion", json!({ "schemaVersion": 2_147_483_648_u64 })),
        (400, "REQUEST_BODY_INVALID", "", json!({ "schemaVersion": -1 })),
        (400, "REQUEST_BODY_INVALID", "nosuch", json!({ "nosuch": 1 })),
        (400, "REQUEST_BODY_INVALID", "", json!({ "headers": ["x-region"] })),
        (422, "EVENT_HEADER_INVALID", "Host", json!({ "headers": { "Host": "x" } })),
        (422, "EVENT_HEADER_INVALID", "ce_id", json!({ "headers": { "ce_id": "x" } })),
        (422, "EVENT_HEADER_INVALID", "x-region", json!({ "headers": { "x-region": "a\nb" } })),
        (422, "EVENT_HEADER_INVALID", "aggregate id", json!({ "aggregateId": "" })),
        (422, "EVENT_HEADER_INVALID", "aggregate id", json!({ "aggregateId": "a\u{7}" })),
        (422, "EVENT_HEADER_INVALID", "aggregate id", json!({ "aggregateId": "C".repeat(257) })),
        (422, "EVENT_HEADER_INVALID", "correlation id", json!({ "correlationId": "C".repeat(257) })),
        (413, "EVENT_TOO_LARGE", "payload", json!({ "payload": "C".repeat(512 * 1024) })),
        (413, "EVENT_TOO_LARGE", "headers", json!({ "headers": { "x": "C".repeat(16 * 1024) } })),
    ];
    for (status, code, place, wrong) in rows {
        let problem = stage(&server, &merged(&event(FIRST, "CASE-7"), &wrong)).problem(status, code);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(place), "{place}: {problem}");
    }
    for missing in ["id", "aggregateType", "aggregateId", "type", "schemaVersion", "payload"] {
        let mut without = event(FIRST, "CASE-7");
        without.as_object_mut().unwrap().remove(missing);
        let problem = stage(&server, &without).problem(400, "REQUEST_BODY_INVALID");
        assert!(problem["detail"].as_str().unwrap().contains(missing), "{problem}");
    }
    server.get(&format!("/v1/events/{FIRST}")).problem(404, "EVENT_NOT_FOUND");
}

#[test]
fn a_refused_event_is_listed_with_those_behind_it_and_tried_again_when_released() {
    let (_dir, server, _relay) = with_parked(Lease::Running);
    json_is("events_parked", &server.get("/v1/events/parked").ok());
    json_is("event_parked", &server.get(&format!("/v1/events/{FIRST}")).ok());
    let first = server.get("/v1/events/parked?limit=1").ok();
    assert_eq!((first["items"].as_array().unwrap().len(), &first["more"]), (1, &json!(true)));
    assert!(server.get("/v1/events/parked?relay=others").ok()["items"].as_array().unwrap().is_empty());
    assert_eq!(server.get("/v1/incidents?subject=EVENT").ok()["items"].as_array().unwrap().len(), 1);
    json_is("event_released", &decide(&server, FIRST, "release", &json!({})).ok());
    assert_eq!(status_of(&server, FIRST), "WAITING");
    assert!(server.get("/v1/incidents?subject=EVENT").ok()["items"].as_array().unwrap().is_empty());
    for query in ["limit=0", "limit=1001", "limit=x", "nosuch=1"] {
        server.get(&format!("/v1/events/parked?{query}")).problem(400, "REQUEST_INVALID");
    }
    server.get("/v1/events/parked?relay=two%20words").problem(422, "DECLARATION_INVALID");
}

#[test]
fn skip_and_edit_wait_until_no_relay_can_still_send_it() {
    let (_dir, server, _relay) = with_parked(Lease::Running);
    let early = decide(&server, FIRST, "skip", &json!({})).problem(409, "EVENT_IN_FLIGHT");
    assert!(early["retryAfterSeconds"].as_u64().is_some_and(|wait| wait > 3_000), "{early}");
    json_is("event_in_flight", &masked_wait(&early));
    decide(&server, FIRST, "edit", &json!({ "payload": {} })).problem(409, "EVENT_IN_FLIGHT");
    assert_eq!(status_of(&server, FIRST), "PARKED", "a refused decision changes nothing");
}

/// The wait is also in the text of what to do next.
fn masked_wait(problem: &Value) -> Value {
    let wait = problem["retryAfterSeconds"].to_string();
    let next = problem["next"].as_str().unwrap().replace(&wait, "[seconds]");
    merged(problem, &json!({ "next": next }))
}

#[test]
fn a_skipped_event_has_ended() {
    let (_dir, server, _relay) = with_parked(Lease::Over);
    json_is("event_skipped", &decide(&server, FIRST, "skip", &json!({ "relay": "cases" })).ok());
    for verb in ["release", "skip"] {
        decide(&server, FIRST, verb, &json!({})).problem(409, "EVENT_MOVED_ON");
    }
    json_is("event_moved_on", &decide(&server, FIRST, "release", &json!({})).json());
    let left = server.get("/v1/events/parked").ok();
    assert_eq!(left["items"][0]["event"], SECOND, "{left}");
}

#[test]
fn an_edited_event_keeps_what_was_staged() {
    let (_dir, server, _relay) = with_parked(Lease::Over);
    let staged = server.get(&format!("/v1/events/{FIRST}")).ok()["payloadDigest"].clone();
    let edited = decide(&server, FIRST, "edit", &json!({ "payload": { "caseId": "CASE-7", "fixed": true } })).ok();
    json_is("event_edited", &edited);
    let found = server.get(&format!("/v1/events/{FIRST}")).ok();
    assert_eq!((&found["payloadDigest"], &found["setAside"][0]["status"]), (&staged, &json!("WAITING")));
    let bytes = json!({ "payloadBase64": "AAEC", "contentType": "application/octet-stream" });
    decide(&server, FIRST, "edit", &bytes).problem(400, "EVENT_CONTRACT_INVALID");
    let json = json!({ "payloadBase64": "e30=", "contentType": "application/vnd.case+json" });
    let again = decide(&server, FIRST, "edit", &json).ok();
    assert_ne!(again["setAside"][0]["editedDigest"], edited["setAside"][0]["editedDigest"]);
    decide(&server, FIRST, "edit", &json!({ "payloadBase64": "e30=" })).ok();
}

#[test]
fn a_decision_that_is_malformed_is_refused_with_its_place() {
    let (_dir, server, _relay) = with_parked(Lease::Over);
    for verb in ["release", "skip", "edit"] {
        let payload = if verb == "edit" { json!({ "payload": 1 }) } else { json!({}) };
        let call = |more: &Value| decide(&server, FIRST, verb, &merged(&payload, more));
        call(&json!({ "why": " " })).problem(400, "LIMIT_EXCEEDED");
        call(&json!({ "why": "w".repeat(501) })).problem(400, "LIMIT_EXCEEDED");
        call(&json!({ "why": null })).problem(400, "REQUEST_BODY_INVALID");
        call(&json!({ "nosuch": 1 })).problem(400, "REQUEST_BODY_INVALID");
        let relay = call(&json!({ "relay": "two words" })).problem(400, "REQUEST_BODY_INVALID");
        assert!(relay["detail"].as_str().unwrap().starts_with("relay: "), "{relay}");
        call(&json!({ "relay": "others" })).problem(409, "EVENT_MOVED_ON");
        decide(&server, UNKNOWN, verb, &payload).problem(404, "EVENT_NOT_FOUND");
        decide(&server, "7", verb, &payload).problem(400, "REQUEST_INVALID");
    }
    let rows = [
        ("one new payload", json!({})),
        ("one new payload", json!({ "payload": 1, "payloadBase64": "e30=" })),
        ("contentType", json!({ "payload": 1, "contentType": "text/plain" })),
        ("payloadBase64", json!({ "payloadBase64": "e30" })),
        ("payloadBase64", json!({ "payloadBase64": "AAEC" })),
    ];
    for (place, wrong) in rows {
        let problem = decide(&server, FIRST, "edit", &wrong).problem(422, "VALIDATION_REJECTED");
        assert!(problem["detail"].as_str().unwrap().contains(place), "{problem}");
    }
    let large = json!({ "payload": "C".repeat(512 * 1024) });
    decide(&server, FIRST, "edit", &large).problem(413, "EVENT_TOO_LARGE");
    let header = json!({ "payloadBase64": "AAEC", "contentType": "a\nb" });
    decide(&server, FIRST, "edit", &header).problem(422, "EVENT_HEADER_INVALID");
    assert_eq!(status_of(&server, FIRST), "PARKED");
}

#[test]
fn relays_are_listed_started_rebased_and_retired() {
    let (_dir, server, relay) = with_parked(Lease::Over);
    stage(&server, &event(UNKNOWN, "CASE-8")).ok();
    let listed = server.get("/v1/relays").ok();
    let age = listed["relays"][0]["oldestAgeSeconds"].as_f64().unwrap();
    assert!((0.0..180.0).contains(&age), "{listed}");
    let mut shown = listed.clone();
    shown["relays"][0]["oldestAgeSeconds"] = json!("[seconds]");
    json_is("relays", &shown);
    relay.stop(RELAY_STOPPED);
    assert_eq!(server.get("/v1/relays").ok()["relays"][0]["stopped"], "RELAY_STOPPED");
    let verb = |verb: &str, body: &Value| server.post(&format!("/v1/relays/cases/{verb}"), body);
    let why = json!({ "why": "the target was fixed" });
    json_is("relay_started", &verb("start", &why).ok());
    assert!(server.get("/v1/relays").ok()["relays"][0]["stopped"].is_null());
    for begin in ["now", "2026-11-15T08:00:00Z", "oldest"] {
        json_is("relay_rebased", &verb("rebase", &merged(&why, &json!({ "begin": begin }))).ok());
    }
    assert_eq!(server.get("/v1/relays").ok()["relays"][0]["waiting"], 3, "everything kept is published again");
    json_is("relay_retired", &verb("retire", &why).ok());
    assert!(server.get("/v1/relays").ok()["relays"][0]["retiredAt"].is_string());
    for begin in [json!({}), json!({ "begin": "yesterday" }), json!({ "begin": "NOW" }), json!({ "begin": 1 })] {
        let problem = verb("rebase", &merged(&why, &begin)).problem(400, "REQUEST_BODY_INVALID");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("begin") || begin["begin"].is_number(), "{problem}");
    }
    for (name, more) in [("start", json!({})), ("retire", json!({})), ("rebase", json!({ "begin": "now" }))] {
        verb(name, &more).problem(400, "REQUEST_BODY_INVALID");
        verb(name, &merged(&more, &json!({ "why": "" }))).problem(400, "LIMIT_EXCEEDED");
        verb(name, &merged(&more, &json!({ "why": "x", "nosuch": 1 }))).problem(400, "REQUEST_BODY_INVALID");
        for nobody in ["nobody", "two%20words"] {
            let body = merged(&why, &more);
            server.post(&format!("/v1/relays/{nobody}/{name}"), &body).problem(404, "RELAY_NOT_FOUND");
        }
    }
}

#[test]
fn a_role_may_of_the_outbox_what_the_table_says() {
    let (dir, server, _relay) = with_parked(Lease::Over);
    let why = json!({ "why": "because" });
    let of_event = |verb: &str, more: &Value| Call::post(&format!("/v1/events/{FIRST}/{verb}"), &merged(&why, more));
    let of_relay = |verb: &str, more: &Value| Call::post(&format!("/v1/relays/cases/{verb}"), &merged(&why, more));
    let calls = [
        ("look", Call::get("/v1/relays")),
        ("look", Call::get("/v1/events/parked")),
        ("look", Call::get(&format!("/v1/events/{FIRST}"))),
        ("act", Call::post("/v1/events", &event(UNKNOWN, "CASE-8"))),
        ("decide", of_event("release", &json!({}))),
        ("decide", of_event("skip", &json!({}))),
        ("decide", of_event("edit", &json!({ "payload": 1 }))),
        ("decide", of_relay("start", &json!({}))),
        ("administer", of_relay("rebase", &json!({ "begin": "now" }))),
        ("administer", of_relay("retire", &json!({}))),
    ];
    let table = [
        ("reader", &["look"][..]),
        ("caller", &["look", "act"]),
        ("operator", &["look", "act", "decide"]),
        ("administrator", &["look", "act", "decide", "administer"]),
    ];
    for (role, allowed) in table {
        let secret = token(&dir, &server, role, "default");
        for (index, (needs, call)) in calls.iter().enumerate() {
            let answer = server.send(&call.clone().token(&secret));
            if allowed.contains(needs) {
                assert_ne!(answer.status, 403, "{role} call {index}: {}", answer.text());
            } else {
                answer.problem(403, "AUTHORIZATION_DENIED");
            }
        }
    }
}

#[test]
fn another_tenants_events_are_not_found_and_not_decided() {
    let (dir, server, relay) = with_parked(Lease::Over);
    let theirs = token(&dir, &server, "administrator", "other");
    let send = |call: Call| server.send(&call.token(&theirs));
    send(Call::get(&format!("/v1/events/{FIRST}"))).problem(404, "EVENT_NOT_FOUND");
    for (verb, more) in [("release", json!({})), ("skip", json!({})), ("edit", json!({ "payload": 1 }))] {
        let body = merged(&json!({ "why": "because" }), &more);
        send(Call::post(&format!("/v1/events/{FIRST}/{verb}"), &body)).problem(404, "EVENT_NOT_FOUND");
    }
    assert!(send(Call::get("/v1/events/parked?limit=1")).ok()["items"].as_array().unwrap().is_empty());
    send(Call::post("/v1/events", &event(FIRST, "CASE-7"))).problem(409, "EVENT_ID_REUSED");
    send(Call::post("/v1/events", &event(UNKNOWN, "CASE-7"))).ok();
    relay.refuse_all("no", Lease::Over);
    let listed = send(Call::get("/v1/events/parked?limit=1")).ok();
    assert_eq!((&listed["items"][0]["event"], &listed["more"]), (&json!(UNKNOWN), &json!(false)));
    server.get(&format!("/v1/events/{UNKNOWN}")).problem(404, "EVENT_NOT_FOUND");
    assert_eq!(send(Call::get("/v1/relays")).ok()["relays"][0]["name"], "cases", "relays serve every tenant");
}
