//! What sort of effect a kind has: declared once, held to from then on.

use serde_json::json;

use crate::fixture::{Workdir, attempt, claim, claim_of, merged};
use crate::seen::json_is;

const CONFIG: &str = r#"
[dependency.notice-service]

[kind."notice.issue-formal"]
class = "external-command"
deadline = "20s"
depends_on = "notice-service"
retry.rate_limited = { schedule = ["40m"], because = "the quota is small" }
"#;

#[test]
fn a_kind_is_pinned_by_its_first_claim_across_a_restart() {
    let dir = Workdir::new();
    let mut server = dir.serve(&[]);
    let mut first = claim("CASE-1");
    first["declare"] = json!({ "class": "external-command", "deadline": "45s", "dependsOn": "notice-service" });
    server.granted(&first);
    assert_eq!(server.stop(), Some(0), "{}", server.log());
    let server = dir.serve(&[]);
    let bare = merged(&claim("CASE-2"), &json!({ "declare": null }));
    let answer = server.claim(&bare);
    let seconds = answer["deadlineInSeconds"].as_f64().unwrap();
    assert!((40.0..=45.0).contains(&seconds), "{answer}");
    let shown = server.get("/v1/operations?id=CASE-2").ok();
    assert_eq!(shown["items"][0]["onUnknown"], "escalate", "{shown}");
    let laxer = merged(&claim("CASE-3"), &json!({ "declare": { "class": "converging" } }));
    json_is("kind_mismatch", &server.post("/v1/claims", &laxer).problem(409, "KIND_MISMATCH"));
    let longer = merged(&claim("CASE-3"), &json!({ "declare": { "class": "external-command", "deadline": "46s" } }));
    json_is("kind_mismatch_deadline", &server.post("/v1/claims", &longer).problem(409, "KIND_MISMATCH"));
}

#[test]
fn a_kind_that_nobody_declared_is_unknown() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let bare = merged(&claim("CASE-1"), &json!({ "declare": null }));
    json_is("kind_unknown", &server.post("/v1/claims", &bare).problem(422, "KIND_UNKNOWN"));
}

#[test]
fn a_kind_of_the_configuration_needs_no_declaration_and_wins() {
    let dir = Workdir::with_config(CONFIG);
    let server = dir.serve(&[]);
    let bare = merged(&claim_of("notice.issue-formal", "CASE-1"), &json!({ "declare": null }));
    let granted = server.granted(&bare);
    let failed = server.record(&granted, "fail", &json!({ "category": "RATE_LIMITED" })).ok();
    assert_eq!(failed["status"], "FAILED_RETRYABLE");
    let waiting = server.claim(&merged(&bare, &json!({ "attemptId": crate::fixture::attempt() })));
    assert!((2300..=2880).contains(&waiting["retryAfterSeconds"].as_u64().unwrap()), "{waiting}");
    let other = merged(&bare, &json!({ "declare": { "class": "pure" } }));
    server.post("/v1/claims", &other).problem(409, "KIND_MISMATCH");
}

#[test]
fn a_reason_that_was_demanded_is_shown_where_its_consequence_is() {
    let dir = Workdir::with_config(&format!(
        "{CONFIG}\n[kind.\"reminder.send\"]\nclass = \"human-notification\"\n{}",
        "on_unknown = { accept_duplicate = \"a second reminder harms nobody\" }\n"
    ));
    let server = dir.serve(&[]);
    let bare = merged(&claim_of("reminder.send", "CASE-1"), &json!({ "declare": null }));
    let lost = server.granted(&bare);
    server.record(&lost, "unknown", &json!({ "category": "DOWNSTREAM_TIMEOUT" })).ok();
    let reason = "a second effect is accepted (a second reminder harms nobody)";
    let shown = dir.run(&["operations", "show", "CASE-1"]).done();
    assert!(shown.contains(reason), "{shown}");
    let listed = server.get("/v1/operations?id=CASE-1").ok();
    let policy = "accept_duplicate because a second reminder harms nobody";
    assert_eq!(listed["items"][0]["onUnknown"], policy, "{listed}");
    let config = dir.run(&["config"]).done();
    assert!(config.contains(policy) && config.contains("the quota is small"), "{config}");
    let config = dir.run(&["config", "--json"]).json();
    let because = |kind: &str| config["kinds"].as_array().unwrap().iter().find(|shown| shown["kind"] == kind).unwrap();
    assert_eq!(because("reminder.send")["onUnknown"], policy);
    assert_eq!(because("notice.issue-formal")["retry"]["rate_limited"]["because"], "the quota is small");
}

#[test]
fn a_reason_in_other_words_is_the_same_kind() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let declared = |id: &str, because: &str| {
        let declare = json!({ "class": "human-notification", "onUnknown": { "acceptDuplicate": because } });
        merged(&claim_of("reminder.send", id), &json!({ "declare": declare }))
    };
    server.granted(&declared("CASE-1", "a second reminder harms nobody"));
    server.granted(&declared("CASE-2", "nobody minds a second one"));
    server.post("/v1/claims", &declared("CASE-3", " ")).problem(422, "DECLARATION_INVALID");
}

#[test]
fn a_declaration_that_cannot_hold_is_refused_and_not_pinned() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let rows = [
        (json!({ "class": "harmless" }), "DECLARATION_INVALID"),
        (json!({ "class": "financial-or-legal", "onUnknown": "rerun" }), "POLICY_NOT_ALLOWED"),
        (json!({ "class": "external-command", "onUnknown": "ask" }), "DECLARATION_INVALID"),
        (json!({ "class": "external-command", "onUnknown": "void" }), "DECLARATION_INVALID"),
        (json!({ "class": "external-command", "onUnknown": "same_key" }), "DECLARATION_INVALID"),
        (json!({ "class": "external-command", "onUnknown": "hope" }), "DECLARATION_INVALID"),
        (json!({ "class": "external-command", "onUnknown": {} }), "DECLARATION_INVALID"),
        (json!({ "class": "external-command", "deadline": "soon" }), "DECLARATION_INVALID"),
        (json!({ "class": "external-command", "deadline": "0s" }), "DECLARATION_INVALID"),
        (json!({ "class": "external-command", "deadline": "99999d" }), "DECLARATION_INVALID"),
        (json!({ "class": "external-command", "backoff": [] }), "DECLARATION_INVALID"),
    ];
    for (declare, code) in rows {
        let answer = server.post("/v1/claims", &merged(&claim("CASE-1"), &json!({ "declare": declare })));
        answer.problem(422, code);
    }
    server.granted(&claim("CASE-1"));
}

#[test]
fn a_class_that_converges_is_granted_again_after_an_unknown_outcome() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let first =
        merged(&claim_of("user.sync", "U-1"), &json!({ "declare": { "class": "converging", "backoff": ["0ms"] } }));
    let granted = server.granted(&first);
    assert_eq!(server.record(&granted, "unknown", &json!({})).ok()["status"], "FAILED_RETRYABLE");
    crate::fixture::until("it is granted again", || {
        server.claim(&merged(&first, &json!({ "attemptId": crate::fixture::attempt() })))["claim"] == "granted"
    });
}

#[test]
fn a_kind_that_another_process_pinned_is_known_to_a_running_server() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    // As if the server could not be found: the run opens the file itself, and pins a kind of its own.
    let (note, aside) = (dir.path("onefold.db.server"), dir.path("aside"));
    std::fs::rename(&note, &aside).unwrap();
    dir.run(&["run", "--id", "BACKUP-1", "--kind", "backup", "--", "true"]).done();
    std::fs::rename(&aside, &note).unwrap();
    let found = server.get("/v1/operations?id=BACKUP-1").ok();
    let path = format!("/v1/operations/{}/renew", found["items"][0]["operation"].as_str().unwrap());
    server.post(&path, &json!({ "fence": 9, "attemptId": attempt() })).problem(409, "LEASE_NEVER_GRANTED");
}
