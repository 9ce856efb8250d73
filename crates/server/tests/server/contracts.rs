//! Contracts of events over the API and in relays: what breaks one is refused, or parked where it came by SQL.

use serde_json::{Value, json};

use crate::fixture::{Workdir, merged, until};
use crate::outbox::{EVENTS, FIRST, SECOND, event};
use crate::receiver::{Receiver, SECRET, loopback};
use crate::seen::json_is;

fn decided(payload: &Value) -> Value {
    merged(&event(FIRST, "CASE-7"), &json!({ "type": "case.decided", "payload": payload }))
}

#[test]
fn an_event_that_breaks_its_contract_is_refused_with_places_and_without_values() {
    let dir = Workdir::with_config(EVENTS);
    let server = dir.serve(&[]);
    let stage = |event: &Value| server.post("/v1/events", event);
    let broken = json!({ "caseId": "m4rk3r", "amount": "m4rk3r", "m4rk3r": 1 });
    let problem = stage(&decided(&broken)).problem(400, "EVENT_CONTRACT_INVALID");
    assert!(!problem.to_string().contains("m4rk3r"), "{problem}");
    json_is("event_contract_broken", &problem);
    let unknown = merged(&event(FIRST, "CASE-7"), &json!({ "type": "case.unheard-of" }));
    json_is("event_type_unknown", &stage(&unknown).problem(422, "EVENT_TYPE_UNKNOWN"));
    let version = merged(&event(FIRST, "CASE-7"), &json!({ "schemaVersion": 3 }));
    json_is("event_version_unknown", &stage(&version).problem(400, "EVENT_VERSION_UNSUPPORTED"));
    let other = merged(&event(FIRST, "CASE-7"), &json!({ "aggregateType": "order" }));
    stage(&other).problem(400, "EVENT_CONTRACT_INVALID");
    server.get(&format!("/v1/events/{FIRST}")).problem(404, "EVENT_NOT_FOUND");
    stage(&decided(&json!({ "caseId": "CASE-7", "decision": { "by": "E-1" } }))).ok();
}

#[test]
fn a_server_without_contracts_stages_nothing() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let problem = server.post("/v1/events", &event(FIRST, "CASE-7")).problem(422, "EVENT_TYPE_UNKNOWN");
    assert!(problem["next"].as_str().unwrap().contains("[[event]]"), "{problem}");
}

#[test]
fn what_came_by_sql_and_breaks_its_contract_is_parked_until_the_contract_or_the_payload_is_fixed() {
    let receiver = Receiver::start(loopback(), 204);
    let relay = format!(
        "[[relay]]\nname = \"cases\"\nevents = [\"case.*\"]\nbegin = \"oldest\"\n\
         to = {{ webhook = \"http://{}/hook\", secret_file = \"hook.secret\" }}\n",
        receiver.at
    );
    let dir = Workdir::with_config(&format!("{EVENTS}{relay}"));
    std::fs::write(dir.path("hook.secret"), SECRET).unwrap();
    let server = dir.serve(&[]);
    let db = dir.path("onefold.db");
    crate::relays::stage(&db, "case.decided", "CASE-7", "{\"caseId\": \"CASE-8\", \"amount\": \"m4rk3r\"}");
    crate::relays::stage(&db, "case.submitted", "CASE-9", "{}");
    crate::relays::stage(&db, "case.unheard-of", "CASE-10", "{}");
    until("the good one arrives, the others wait for a person", || {
        receiver.taken().len() == 1 && server.get("/v1/events/parked").ok()["items"].as_array().unwrap().len() == 2
    });
    let parked = server.get("/v1/events/parked").ok();
    let item =
        |code: &str| parked["items"].as_array().unwrap().iter().find(|item| item["code"] == code).unwrap().clone();
    let (broken, unknown) = (item("EVENT_CONTRACT_INVALID"), item("EVENT_TYPE_UNKNOWN"));
    assert!(broken["reason"].as_str().unwrap().contains("/amount: is not of type integer"), "{broken}");
    assert!(!parked.to_string().contains("m4rk3r"), "{parked}");
    assert_eq!(server.get("/v1/incidents").ok()["items"].as_array().unwrap().len(), 2);
    // What is edited is held to the contract too.
    let edit = |payload: Value| {
        let id = broken["event"].as_str().unwrap();
        server.post(&format!("/v1/events/{id}/edit"), &json!({ "why": "x", "payload": payload }))
    };
    edit(json!({ "caseId": "CASE-8" })).problem(400, "EVENT_CONTRACT_INVALID");
    // A contract that is declared later is known after a reload.
    let more = "[[event]]\ntype = \"case.unheard-of\"\naggregate = \"case\"\nowner = \"x\"\nversions = { 1 = {} }\n";
    std::fs::write(dir.path("onefold.toml"), format!("{EVENTS}{relay}{more}")).unwrap();
    server.reload();
    until("the new type is staged", || {
        let staged = merged(&event(SECOND, "CASE-11"), &json!({ "type": "case.unheard-of" }));
        server.post("/v1/events", &staged).status == 200
    });
    let id = unknown["event"].as_str().unwrap();
    server.post(&format!("/v1/events/{id}/release"), &json!({ "why": "declared now" })).ok();
    until("both of the new type arrive", || receiver.taken().len() == 3);
}
