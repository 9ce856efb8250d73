//! What happened: recorded once, the same again accepted, anything else refused.

use serde_json::json;

use crate::fixture::{Granted, Server, Workdir, attempt, claim, merged, payment};
use crate::seen::json_is;

fn show(server: &Server, granted: &Granted) -> serde_json::Value {
    server.get(&format!("/v1/operations/{}", granted.operation)).ok()
}

#[test]
fn a_completion_is_recorded_with_its_evidence_and_the_same_again_is_accepted() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("CASE-1"));
    let done = json!({ "result": { "notice": "NTC-991" }, "evidence": "NTC-991" });
    let first = server.record(&granted, "complete", &done).ok();
    json_is("record_complete", &first);
    assert_eq!(server.record(&granted, "complete", &done).ok(), first);
    json_is("operation_completed", &show(&server, &granted));
}

#[test]
fn another_outcome_than_the_recorded_one_is_refused_and_opens_an_incident() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("CASE-1"));
    server.record(&granted, "complete", &json!({ "result": 1 })).ok();
    let refused = server.record(&granted, "complete", &json!({ "result": 2 }));
    json_is("record_other_outcome", &refused.problem(409, "OUTCOME_CONFLICT"));
    server.record(&granted, "fail", &json!({ "final": true, "code": "NO" })).problem(409, "OUTCOME_CONFLICT");
    assert_eq!(show(&server, &granted)["status"], "COMPLETED");
    server.incident(&granted);
}

#[test]
fn a_retryable_failure_says_when_the_next_attempt_may_start() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("CASE-1"));
    let failure = json!({
        "category": "RATE_LIMITED", "code": "QUOTA_USED_UP", "dependency": "notice-service",
        "retryAfterSeconds": 90, "detail": "429 from the notice service",
    });
    json_is("record_fail_retryable", &server.record(&granted, "fail", &failure).ok());
    json_is("operation_failed_retryable", &show(&server, &granted));
}

#[test]
fn a_final_business_failure_needs_a_code_and_opens_no_incident() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("CASE-1"));
    let nameless = server.record(&granted, "fail", &json!({ "final": true }));
    json_is("record_fail_nameless", &nameless.problem(400, "REQUEST_BODY_INVALID"));
    let answer = json!({ "final": true, "code": "CREDIT_REFUSED", "result": { "limit": 500 } });
    json_is("record_fail_business", &server.record(&granted, "fail", &answer).ok());
    let shown = show(&server, &granted);
    assert!(shown["incident"].is_null(), "{shown}");
}

#[test]
fn a_final_technical_failure_opens_an_incident() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("CASE-1"));
    let failure = json!({ "final": true, "category": "PERMISSION", "detail": "403 from the notice service" });
    json_is("record_fail_technical", &server.record(&granted, "fail", &failure).ok());
    let incident = server.incident(&granted);
    json_is("incident_technical", &server.get(&format!("/v1/incidents/{incident}")).ok());
}

#[test]
fn a_failure_whose_effect_is_not_known_is_unknown_and_one_that_took_hold_is_not_a_failure() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("CASE-1"));
    let applied = json!({ "category": "UNEXPECTED", "sideEffectStatus": "APPLIED" });
    json_is("record_fail_applied", &server.record(&granted, "fail", &applied).problem(400, "REQUEST_BODY_INVALID"));
    let unsure = json!({ "category": "DOWNSTREAM_UNAVAILABLE", "sideEffectStatus": "UNKNOWN" });
    assert_eq!(server.record(&granted, "fail", &unsure).ok()["status"], "UNKNOWN");
    for (field, value) in [("category", "RATE_LIMIT"), ("sideEffectStatus", "MAYBE"), ("code", "lower case")] {
        let wrong = server.record(&granted, "fail", &json!({ field: value })).problem(400, "REQUEST_BODY_INVALID");
        assert!(wrong["detail"].as_str().unwrap().contains(field), "{wrong}");
    }
}

#[test]
fn an_unknown_outcome_opens_an_incident() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("CASE-1"));
    let unsure = json!({ "dependency": "notice-service", "detail": "no answer within 10 s" });
    json_is("record_unknown", &server.record(&granted, "unknown", &unsure).ok());
    json_is("operation_unknown", &show(&server, &granted));
    server.incident(&granted);
}

#[test]
fn a_released_operation_is_granted_again_with_a_higher_fence() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let first = claim("CASE-1");
    let granted = server.granted(&first);
    json_is("record_release", &server.record(&granted, "release", &json!({})).ok());
    let next = server.granted(&merged(&first, &json!({ "attemptId": attempt() })));
    assert_eq!(next.grant["fence"], 2);
    let late = server.record(&granted, "complete", &json!({}));
    json_is("record_superseded", &late.problem(409, "LEASE_SUPERSEDED"));
}

#[test]
fn a_lease_is_renewed_up_to_its_deadline_and_not_after_its_end() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&merged(&claim("CASE-1"), &json!({ "deadline": "10m" })));
    let before = show(&server, &granted);
    let renewed = server.record(&granted, "renew", &json!({})).ok();
    json_is("record_renew", &renewed);
    let until = renewed["leaseUntil"].as_str().unwrap();
    assert!(until >= before["leaseUntil"].as_str().unwrap() && until <= before["deadline"].as_str().unwrap());
    server.record(&granted, "complete", &json!({})).ok();
    json_is("record_renew_ended", &server.record(&granted, "renew", &json!({})).problem(409, "LEASE_ENDED"));
    server.record(&granted, "release", &json!({})).problem(409, "LEASE_ENDED");
}

#[test]
fn a_grant_is_its_holders_alone() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&claim("CASE-1"));
    let with = |fence: u64, attempt_id: &str| Granted {
        operation: granted.operation.clone(),
        grant: json!({ "fence": fence, "attemptId": attempt_id }),
    };
    let mine = granted.grant["attemptId"].as_str().unwrap();
    let rows = [
        (
            1,
            attempt(),
            [("complete", "LEASE_NOT_YOURS"), ("release", "LEASE_NEVER_GRANTED"), ("renew", "LEASE_NEVER_GRANTED")],
        ),
        (
            2,
            mine.into(),
            [("complete", "LEASE_NEVER_GRANTED"), ("release", "LEASE_NEVER_GRANTED"), ("renew", "LEASE_NEVER_GRANTED")],
        ),
        (0, mine.into(), [("complete", "LEASE_NEVER_GRANTED"), ("release", "LEASE_ENDED"), ("renew", "LEASE_ENDED")]),
    ];
    for (fence, attempt_id, calls) in rows {
        for (what, code) in calls {
            server.record(&with(fence, &attempt_id), what, &json!({})).problem(409, code);
        }
    }
    assert_eq!(show(&server, &granted)["status"], "STARTED");
}

#[test]
fn a_financial_or_legal_effect_is_completed_only_with_its_evidence() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let granted = server.granted(&payment("PAY-1"));
    let bare = server.record(&granted, "complete", &json!({ "result": 1 }));
    json_is("record_without_evidence", &bare.problem(422, "EVIDENCE_REQUIRED"));
    server.record(&granted, "complete", &json!({ "result": 1, "evidence": "BANK-1" })).ok();
}

#[test]
fn a_holder_that_falls_silent_leaves_an_unknown_outcome() {
    let dir = Workdir::new();
    let server = dir.serve(&["--sweep-every", "100ms"]);
    let mut silent = claim("CASE-1");
    silent["declare"]["deadline"] = json!("200ms");
    silent["declare"]["lease"] = json!("200ms");
    let granted = server.granted(&silent);
    crate::fixture::until("the sweeper noticed", || show(&server, &granted)["status"] == "UNKNOWN");
    server.incident(&granted);
    // It lives after all, and says so: that settles the question.
    assert_eq!(server.record(&granted, "complete", &json!({ "result": 7 })).ok()["status"], "COMPLETED");
    assert!(show(&server, &granted)["incident"].is_null());
}

#[test]
fn an_attempt_of_a_kind_that_is_gone_still_says_what_happened() {
    let dir = Workdir::with_config("[kind.\"notice.issue\"]\nclass = \"external-command\"\n");
    let claim = merged(&claim("CASE-1"), &json!({ "declare": null }));
    let mut server = dir.serve(&[]);
    let granted = server.granted(&claim);
    server.stop();
    std::fs::write(dir.path("onefold.toml"), "").unwrap();
    let server = dir.serve(&[]);
    let standing = server.record(&granted, "complete", &json!({ "evidence": "NTC-991" })).ok();
    assert_eq!(standing["status"], "COMPLETED", "{standing}");
}

#[test]
fn an_attempt_that_failed_for_good_says_what_must_be_repaired() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    for needs in ["DATA_REPAIR", "PROCESS_MIGRATION"] {
        let granted = server.granted(&claim(needs));
        let failed = json!({ "final": true, "category": "INVALID_WORKER_CONTRACT", "needs": needs });
        server.record(&granted, "fail", &failed).ok();
        let incident = server.get(&format!("/v1/incidents/{}", server.incident(&granted))).ok();
        assert_eq!((&incident["needs"], &incident["safeToRetry"]), (&json!(needs), &json!(true)), "{incident}");
    }
    let granted = server.granted(&claim("OPEN"));
    for wrong in [
        json!({ "category": "RATE_LIMITED", "needs": "DATA_REPAIR" }),
        json!({ "final": true, "code": "NO", "needs": "DATA_REPAIR" }),
        json!({ "final": true, "category": "PERMISSION", "needs": "LUCK" }),
    ] {
        server.record(&granted, "fail", &wrong).problem(400, "REQUEST_BODY_INVALID");
    }
}
