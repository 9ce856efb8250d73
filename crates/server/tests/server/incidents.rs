//! The work list, and what a person decides about it.

use serde_json::{Value, json};

use crate::fixture::{Server, Workdir, attempt, claim, claim_of, merged};
use crate::seen::json_is;

fn verb(server: &Server, incident: &str, verb: &str, body: &Value) -> crate::wire::Answer {
    server.post(&format!("/v1/incidents/{incident}/{verb}"), &merged(&json!({ "why": "looked it up" }), body))
}

#[test]
fn incidents_are_listed_grouped_and_shown() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let first = server.unknown(&claim("CASE-1"));
    server.unknown(&claim("CASE-2"));
    server.unknown(&claim_of("letter.send", "CASE-3"));
    json_is("incidents_list", &server.get("/v1/incidents").ok());
    json_is("incidents_groups", &server.get("/v1/incidents/groups").ok());
    json_is("incident_unknown", &server.get(&format!("/v1/incidents/{first}")).ok());
    let of_kind = server.get("/v1/incidents?kind=letter.send").ok();
    assert_eq!(of_kind["items"].as_array().unwrap().len(), 1);
    verb(&server, &first, "resolve", &json!({ "failed": "GAVE_UP" })).ok();
    assert_eq!(server.get("/v1/incidents").ok()["items"].as_array().unwrap().len(), 2);
    let closed = server.get("/v1/incidents?closed=true").ok();
    assert_eq!(closed["items"].as_array().unwrap().len(), 3);
    json_is("incident_closed", &server.get(&format!("/v1/incidents/{first}")).ok());
}

#[test]
fn pages_of_incidents_meet_each_once() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let mut opened: Vec<String> = (0..5).map(|index| server.unknown(&claim(&format!("CASE-{index}")))).collect();
    let first = server.get("/v1/incidents?limit=3").ok();
    let second = server.get(&format!("/v1/incidents?limit=3&after={}", first["next"])).ok();
    let items = [&first, &second].map(|page| page["items"].as_array().unwrap().clone()).concat();
    let met: Vec<&str> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
    opened.reverse();
    assert_eq!(met, opened);
    assert!(second["next"].is_null(), "{second}");
}

#[test]
fn what_took_hold_is_replayed_from_then_on() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claim = claim("CASE-1");
    let incident = server.unknown(&claim);
    let found = json!({ "tookHold": { "reference": "NTC-991", "result": { "notice": "NTC-991" } } });
    json_is("resolve_took_hold", &verb(&server, &incident, "resolve", &found).ok());
    let answer = server.claim(&merged(&claim, &json!({ "attemptId": attempt() })));
    assert_eq!(answer["outcome"]["result"], json!({ "notice": "NTC-991" }), "{answer}");
    assert_eq!(answer["outcome"]["evidence"], "NTC-991");
    verb(&server, &incident, "resolve", &json!({ "failed": "NO" })).problem(409, "RESOLUTION_REFUSED");
}

#[test]
fn did_not_happen_is_believed_only_when_nothing_can_still_arrive_or_with_force() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claim = claim("CASE-1");
    let incident = server.unknown(&claim);
    let early = verb(&server, &incident, "resolve", &json!({ "didNotHappen": {} }));
    json_is("resolve_did_not_happen_early", &early.problem(409, "RESOLUTION_REFUSED"));
    let forced = verb(&server, &incident, "resolve", &json!({ "didNotHappen": { "force": true } }));
    json_is("resolve_did_not_happen_force", &forced.ok());
    let next = server.granted(&merged(&claim, &json!({ "attemptId": attempt() })));
    assert_eq!(next.grant["fence"], 2);
}

#[test]
fn a_failure_that_a_person_found_is_final() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claim = claim("CASE-1");
    let incident = server.unknown(&claim);
    json_is("resolve_failed", &verb(&server, &incident, "resolve", &json!({ "failed": "NOTICE_REFUSED" })).ok());
    let answer = server.claim(&merged(&claim, &json!({ "attemptId": attempt() })));
    assert_eq!(answer["outcome"]["code"], "NOTICE_REFUSED", "{answer}");
}

#[test]
fn a_retry_is_refused_where_an_attempt_may_have_taken_hold_and_allowed_where_none_did() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let unsure = server.unknown(&claim("UNSURE"));
    json_is("retry_refused", &verb(&server, &unsure, "retry", &json!({})).problem(409, "RESOLUTION_REFUSED"));
    let safe = claim("SAFE");
    let granted = server.granted(&safe);
    server.record(&granted, "fail", &json!({ "final": true, "category": "PERMISSION" })).ok();
    let incident = server.incident(&granted);
    json_is("retry_allowed", &verb(&server, &incident, "retry", &json!({})).ok());
    server.granted(&merged(&safe, &json!({ "attemptId": attempt() })));
}

#[test]
fn asking_is_refused_where_nobody_can_be_asked() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let incident = server.unknown(&claim("CASE-1"));
    json_is("ask_refused", &verb(&server, &incident, "ask", &json!({})).problem(409, "RESOLUTION_REFUSED"));
}

#[test]
fn a_verb_needs_a_reason_and_is_refused_when_the_operation_moved_on() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let incident = server.unknown(&claim("CASE-1"));
    let failed = json!({ "failed": "GAVE_UP" });
    let path = format!("/v1/incidents/{incident}/resolve");
    json_is("verb_without_why", &server.post(&path, &failed).problem(400, "REQUEST_BODY_INVALID"));
    verb(&server, &incident, "resolve", &json!({ "failed": "X", "why": " " })).problem(400, "LIMIT_EXCEEDED");
    verb(&server, &incident, "resolve", &json!({ "failed": "X", "why": "w".repeat(501) }))
        .problem(400, "LIMIT_EXCEEDED");
    for stale in [json!({ "fence": 7 }), json!({ "status": "COMPLETED" })] {
        verb(&server, &incident, "resolve", &merged(&failed, &stale)).problem(409, "RESOLUTION_REFUSED");
    }
    for none_or_two in [json!({}), json!({ "failed": "X", "tookHold": {} })] {
        verb(&server, &incident, "resolve", &none_or_two).problem(400, "REQUEST_BODY_INVALID");
    }
    let bulk = verb(&server, &incident, "resolve", &merged(&failed, &json!({ "filter": { "kind": "notice.issue" } })));
    bulk.problem(400, "REQUEST_BODY_INVALID");
    let dry = verb(&server, &incident, "resolve", &merged(&failed, &json!({ "dryRun": true }))).ok();
    assert_eq!((&dry["dryRun"], &dry["status"]), (&json!(true), &json!("FAILED_FINAL")), "{dry}");
    let moved_on = merged(&failed, &json!({ "dryRun": true, "fence": 7 }));
    verb(&server, &incident, "resolve", &moved_on).problem(409, "RESOLUTION_REFUSED");
    verb(&server, &incident, "resolve", &merged(&failed, &json!({ "fence": 1, "status": "UNKNOWN" }))).ok();
}

#[test]
fn many_are_settled_after_a_dry_run_that_changes_nothing() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    for id in ["CASE-1", "CASE-2"] {
        server.unknown(&claim(id));
    }
    let granted = server.granted(&claim("SAFE"));
    server.record(&granted, "fail", &json!({ "final": true, "category": "PERMISSION" })).ok();
    let filter = json!({ "filter": { "kind": "notice.issue" }, "why": "the register says so" });
    let took_hold = merged(&filter, &json!({ "tookHold": { "reference": "REGISTER" } }));
    let dry = server.post("/v1/incidents/resolve", &merged(&took_hold, &json!({ "dryRun": true }))).ok();
    json_is("bulk_dry_run", &dry);
    assert_eq!(server.get("/v1/operations?status=UNKNOWN").ok()["items"].as_array().unwrap().len(), 2);
    json_is("bulk_resolve", &server.post("/v1/incidents/resolve", &took_hold).ok());
    assert_eq!(server.get("/v1/operations?status=COMPLETED").ok()["items"].as_array().unwrap().len(), 2);
    json_is("bulk_retry", &server.post("/v1/incidents/retry", &filter).ok());
    assert!(server.get("/v1/incidents").ok()["items"].as_array().unwrap().is_empty());
    let nameless = server.post("/v1/incidents/retry", &json!({ "why": "all of them" }));
    json_is("bulk_without_filter", &nameless.problem(400, "REQUEST_BODY_INVALID"));
    let seen = merged(&took_hold, &json!({ "fence": 1 }));
    server.post("/v1/incidents/resolve", &seen).problem(400, "REQUEST_BODY_INVALID");
}

#[test]
fn a_filter_that_names_nothing_is_refused_and_settles_nothing() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    for id in ["CASE-1", "CASE-2"] {
        server.unknown(&claim(id));
    }
    let filters = [
        json!([]),
        json!([null]),
        json!(["notice.issue"]),
        json!([null, null]),
        json!({}),
        json!({ "kind": null }),
        json!({ "group": "" }),
        json!({ "group": " " }),
        json!({ "kind": "" }),
        json!({ "kinds": "notice.issue" }),
        json!("notice.issue"),
        json!(true),
        json!(null),
    ];
    for filter in filters {
        for (verb, found) in [("resolve", json!({ "failed": "GAVE_UP" })), ("retry", json!({})), ("ask", json!({}))] {
            let body = merged(&found, &json!({ "why": "all of them", "filter": filter }));
            let refused = server.post(&format!("/v1/incidents/{verb}"), &body);
            let (status, code) =
                if filter["kind"] == "" { (422, "DECLARATION_INVALID") } else { (400, "REQUEST_BODY_INVALID") };
            refused.problem(status, code);
        }
    }
    // A reason is asked for before anything is looked for.
    for (verb, found) in [("resolve", json!({ "failed": "GAVE_UP" })), ("retry", json!({})), ("ask", json!({}))] {
        let body = merged(&found, &json!({ "why": " ", "filter": { "kind": "no.such" } }));
        server.post(&format!("/v1/incidents/{verb}"), &body).problem(400, "LIMIT_EXCEEDED");
    }
    // What is found out is an object too: a list would mean whatever its places happen to be.
    for found in [json!({ "didNotHappen": [] }), json!({ "didNotHappen": [true] }), json!({ "tookHold": [] })] {
        let body = merged(&found, &json!({ "why": "all of them", "filter": { "kind": "notice.issue" } }));
        server.post("/v1/incidents/resolve", &body).problem(400, "REQUEST_BODY_INVALID");
    }
    assert_eq!(server.get("/v1/incidents").ok()["items"].as_array().unwrap().len(), 2);
    assert_eq!(server.get("/v1/operations?status=UNKNOWN").ok()["items"].as_array().unwrap().len(), 2);
}

#[test]
fn what_took_hold_without_a_result_is_replayed_as_not_kept() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claim = claim("CASE-1");
    let incident = server.unknown(&claim);
    verb(&server, &incident, "resolve", &json!({ "tookHold": { "reference": "NTC-991" } })).ok();
    let outcome = server.claim(&merged(&claim, &json!({ "attemptId": attempt() })))["outcome"].clone();
    assert_eq!((&outcome["status"], &outcome["evidence"]), (&"COMPLETED".into(), &"NTC-991".into()));
    assert!(outcome["result"].is_null(), "{outcome}");
    assert_eq!(outcome["resultNotKept"]["reference"], "NTC-991", "{outcome}");
}
