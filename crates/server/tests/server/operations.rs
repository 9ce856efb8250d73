//! Looking: one operation, lists with every filter, the story, the payload.

use serde_json::{Value, json};

use crate::fixture::{Server, Workdir, claim, claim_of, merged};
use crate::seen::json_is;

/// Six operations that differ in everything a filter can tell apart.
fn populate(server: &Server) {
    let done = server.granted(&merged(&claim("DONE"), &json!({ "businessKey": "CASE-7" })));
    server.record(&done, "complete", &json!({ "result": { "notice": 1 }, "evidence": "NTC-1" })).ok();
    let refused = server.granted(&merged(&claim("REFUSED"), &json!({ "processInstanceKey": "4503" })));
    server.record(&refused, "fail", &json!({ "final": true, "code": "NOTICE_REFUSED" })).ok();
    let later = server.granted(&claim("LATER"));
    server.record(&later, "fail", &json!({ "category": "MAINTENANCE" })).ok();
    server.unknown(&merged(&claim("UNSURE"), &json!({ "businessKey": "CASE-7" })));
    let back = server.granted(&claim("BACK"));
    server.record(&back, "release", &json!({})).ok();
    server.granted(&claim_of("letter.send", "HELD"));
}

fn ids(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

#[test]
fn each_filter_narrows_the_list() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    populate(&server);
    let rows: &[(&str, &[&str])] = &[
        ("", &["HELD", "BACK", "UNSURE", "LATER", "REFUSED", "DONE"]),
        ("?id=LATER", &["LATER"]),
        ("?id=LATER&kind=letter.send", &[]),
        ("?kind=letter.send", &["HELD"]),
        ("?kind=no.such", &[]),
        ("?status=STARTED", &["HELD"]),
        ("?status=COMPLETED", &["DONE"]),
        ("?status=FAILED_FINAL", &["REFUSED"]),
        ("?status=FAILED_RETRYABLE", &["LATER"]),
        ("?status=UNKNOWN", &["UNSURE"]),
        ("?status=RELEASED", &["BACK"]),
        ("?businessKey=CASE-7", &["UNSURE", "DONE"]),
        ("?businessKey=CASE-7&status=UNKNOWN", &["UNSURE"]),
        ("?processInstanceKey=4503", &["REFUSED"]),
        ("?errorCode=NOTICE_REFUSED", &["REFUSED"]),
        ("?errorCode=MAINTENANCE", &["LATER"]),
        ("?since=2020-01-01T00:00:00Z", &["HELD", "BACK", "UNSURE", "LATER", "REFUSED", "DONE"]),
        ("?since=2999-01-01T00:00:00Z", &[]),
        ("?until=2020-01-01T00:00:00Z", &[]),
    ];
    for (query, expected) in rows {
        let list = server.get(&format!("/v1/operations{query}")).ok();
        assert_eq!(ids(&list), *expected, "{query}");
    }
    let middle = server.get("/v1/operations?id=LATER").ok()["items"][0]["createdAt"].as_str().unwrap().to_owned();
    let until = server.get(&format!("/v1/operations?until={middle}")).ok();
    assert_eq!(ids(&until), ["REFUSED", "DONE"]);
    let since = server.get(&format!("/v1/operations?since={middle}")).ok();
    assert_eq!(ids(&since), ["HELD", "BACK", "UNSURE", "LATER"]);
    json_is("operations_list", &server.get("/v1/operations?businessKey=CASE-7").ok());
}

#[test]
fn pages_meet_every_operation_once_while_new_ones_arrive() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    for index in 0..7 {
        server.granted(&claim(&format!("OP-{index}")));
    }
    let mut met = Vec::new();
    let mut path = "/v1/operations?limit=3".to_owned();
    loop {
        let page = server.get(&path).ok();
        met.extend(ids(&page).into_iter().map(str::to_owned));
        server.granted(&claim(&format!("NEW-{}", met.len())));
        let Some(next) = page["next"].as_i64() else { break };
        path = format!("/v1/operations?limit=3&after={next}");
    }
    assert_eq!(met, ["OP-6", "OP-5", "OP-4", "OP-3", "OP-2", "OP-1", "OP-0"]);
}

#[test]
fn the_timeline_tells_the_story_and_who_read_the_result() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&merged(&claim("CASE-1"), &json!({ "worker": "host/1" })));
    server.record(&granted, "complete", &json!({ "result": { "secret": "payload" }, "evidence": "NTC-1" })).ok();
    let path = format!("/v1/operations/{}", granted.operation);
    let before = server.get(&format!("{path}/timeline"));
    assert!(!before.text().contains("payload"), "a payload is read in one place: {}", before.text());
    json_is("operation_timeline", &before.ok());
    json_is("operation_result", &server.get(&format!("{path}/result")).ok());
    let after = server.get(&format!("{path}/timeline")).ok();
    let last = after["events"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["who"], &last["what"]), (&json!("owner"), &json!("read the result")), "{after}");
}

#[test]
fn a_result_beyond_its_limit_is_kept_as_a_digest() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let mut small = claim("CASE-1");
    small["declare"]["resultBytesMax"] = json!(10);
    let granted = server.granted(&small);
    server.record(&granted, "complete", &json!({ "result": "longer than ten bytes", "evidence": "S3/1" })).ok();
    json_is("operation_result_not_kept", &server.get(&format!("/v1/operations/{}/result", granted.operation)).ok());
}

#[test]
fn what_does_not_exist_is_not_found() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let never = "op_bm90aWNlLmlzc3VlAENBU0UtMQ";
    for path in ["", "/timeline", "/result"] {
        server.get(&format!("/v1/operations/{never}{path}")).problem(404, "OPERATION_NOT_FOUND");
    }
    let missing = server.get(&format!("/v1/operations/{never}"));
    json_is("operation_not_found", &missing.json());
    for incident in ["inc_nothing", "x", "%F0%9F%98%80"] {
        server.get(&format!("/v1/incidents/{incident}")).problem(404, "INCIDENT_NOT_FOUND");
        let why = json!({ "why": "because" });
        server.post(&format!("/v1/incidents/{incident}/retry"), &why).problem(404, "INCIDENT_NOT_FOUND");
    }
}
