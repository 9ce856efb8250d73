//! May I perform? Each of the six answers, one by one and in a batch.

use serde_json::{Value, json};

use crate::fixture::{Workdir, attempt, claim, claim_of, merged};
use crate::seen::json_is;

/// The same claim by somebody else.
fn again(claim: &Value) -> Value {
    merged(claim, &json!({ "attemptId": attempt() }))
}

#[test]
fn the_first_claim_is_granted() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let answer = server.claim(&claim("CASE-1"));
    json_is("claim_granted", &answer);
    assert!(answer["deadlineInSeconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_same_attempt_id_again_is_the_same_grant() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claim = claim("CASE-1");
    let first = server.claim(&claim);
    let second = server.claim(&claim);
    for field in ["claim", "operation", "fence", "attempt", "deadline", "providerKey"] {
        assert_eq!(first[field], second[field], "{field}");
    }
}

#[test]
fn a_duplicate_claim_is_answered_with_the_recorded_result() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claim = claim("CASE-1");
    let granted = server.granted(&claim);
    let result = json!({ "notice": "NTC-991", "amount": 12.50, "text": "ä\u{1F600}" });
    server.record(&granted, "complete", &json!({ "result": result, "evidence": "NTC-991" })).ok();
    let answer = server.claim(&again(&claim));
    assert_eq!(answer["outcome"]["result"], result);
    json_is("claim_replay_completed", &answer);
}

#[test]
fn a_result_is_replayed_byte_for_byte() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claim = claim("CASE-1");
    let granted = server.granted(&claim);
    // Numbers that a parser would bend, an order that a map would change, spaces that nobody needs.
    let raw = r#"{"z": 1e2, "a":0.10,  "big": 123456789012345678901234567890}"#;
    let body = format!(
        r#"{{"fence": {}, "attemptId": {}, "result": {raw}}}"#,
        granted.grant["fence"], granted.grant["attemptId"]
    );
    let path = format!("/v1/operations/{}/complete", granted.operation);
    server.send(&crate::wire::Call::new("POST", &path).token(&server.token).body(body.as_bytes())).ok();
    let answer = server.post("/v1/claims", &again(&claim));
    assert!(answer.text().contains(&format!("\"result\":{raw}")), "{}", answer.text());
}

#[test]
fn a_duplicate_of_a_final_failure_is_answered_with_its_code() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claim = claim("CASE-1");
    let granted = server.granted(&claim);
    server.record(&granted, "fail", &json!({ "final": true, "code": "NOTICE_REFUSED" })).ok();
    json_is("claim_replay_failed", &server.claim(&again(&claim)));
}

#[test]
fn a_claim_while_another_holds_the_lease_is_told_to_come_back() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claim = claim("CASE-1");
    server.granted(&claim);
    let answer = server.claim(&again(&claim));
    json_is("claim_in_flight", &answer);
    assert!((1..=60).contains(&answer["retryAfterSeconds"].as_u64().unwrap()), "{answer}");
}

#[test]
fn one_id_for_two_requests_is_a_conflict() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claim = claim("CASE-1");
    server.granted(&claim);
    let other = merged(&again(&claim), &json!({ "request": { "case": "CASE-2" } }));
    json_is("claim_conflict", &server.claim(&other));
}

#[test]
fn a_claim_of_an_unknown_outcome_names_its_incident() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claim = claim("CASE-1");
    let incident = server.unknown(&claim);
    let answer = server.claim(&again(&claim));
    json_is("claim_unknown", &answer);
    assert_eq!(answer["incident"], incident);
}

#[test]
fn a_claim_before_its_backoff_is_over_waits() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claim = claim("CASE-1");
    let granted = server.granted(&claim);
    server.record(&granted, "fail", &json!({ "category": "RATE_LIMITED", "retryAfterSeconds": 3000 })).ok();
    let answer = server.claim(&again(&claim));
    json_is("claim_waiting", &answer);
    assert!((2000..=3600).contains(&answer["retryAfterSeconds"].as_u64().unwrap()), "{answer}");
}

#[test]
fn a_batch_is_answered_in_order_each_claim_by_itself() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let (done, unknown) = (claim("DONE"), claim("UNKNOWN"));
    let granted = server.granted(&done);
    server.record(&granted, "complete", &json!({ "result": 7 })).ok();
    server.unknown(&unknown);
    let held = claim("HELD");
    server.granted(&held);
    let claims = json!([
        claim("NEW"),
        again(&done),
        again(&held),
        again(&unknown),
        merged(&again(&held), &json!({ "request": "another" })),
        merged(&claim("UNDECLARED"), &json!({ "kind": "never.declared", "declare": null })),
        claim("NEWER"),
    ]);
    let answer = server.post("/v1/claims/batch", &json!({ "claims": claims })).ok();
    json_is("claim_batch", &answer);
    assert_eq!(server.post("/v1/claims/batch", &json!({ "claims": [] })).ok(), json!({ "answers": [] }));
    let many: Vec<Value> = (0..257).map(|index| claim(&format!("MANY-{index}"))).collect();
    server.post("/v1/claims/batch", &json!({ "claims": many })).problem(400, "LIMIT_EXCEEDED");
}

#[test]
fn the_same_new_id_many_times_in_one_batch_is_granted_once() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let claims: Vec<Value> = (0..50).map(|_| claim("CASE-1")).collect();
    let answer = server.post("/v1/claims/batch", &json!({ "claims": claims })).ok();
    let answers = answer["answers"].as_array().unwrap();
    assert_eq!(answers.iter().filter(|answer| answer["claim"] == "granted").count(), 1, "{answer}");
    assert_eq!(answers.iter().filter(|answer| answer["claim"] == "inFlight").count(), 49, "{answer}");
}

#[test]
fn a_digest_stands_for_the_request_and_one_of_them_is_needed() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let mut claim = claim("CASE-1");
    claim["request"].take();
    let with = |digest: &str| merged(&again(&claim), &json!({ "requestDigest": digest }));
    server.granted(&with("0123456789abcdef"));
    assert_eq!(server.claim(&with("0123456789abcdef"))["claim"], "inFlight");
    assert_eq!(server.claim(&with("fedcba9876543210"))["claim"], "conflict");
    json_is("claim_digest_short", &server.post("/v1/claims", &with("short")).problem(422, "FINGERPRINT_INVALID"));
    json_is("claim_neither", &server.post("/v1/claims", &claim).problem(400, "REQUEST_BODY_INVALID"));
    let both = merged(&with("0123456789abcdef"), &json!({ "request": {} }));
    json_is("claim_both", &server.post("/v1/claims", &both).problem(400, "REQUEST_BODY_INVALID"));
}

#[test]
fn one_request_in_another_spelling_is_the_same_request() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let spelled = |request: &str| {
        let body = merged(&claim_of("notice.issue", "CASE-1"), &json!({ "request": "HERE" })).to_string();
        crate::wire::Call::new("POST", "/v1/claims")
            .token(&server.token)
            .body(body.replace("\"HERE\"", request).as_bytes())
    };
    assert_eq!(server.send(&spelled(r#"{"a":1,"b":2}"#)).ok()["claim"], "granted");
    assert_eq!(server.send(&spelled(r#"{ "b": 2.0, "a": 1 }"#)).ok()["claim"], "inFlight");
}
