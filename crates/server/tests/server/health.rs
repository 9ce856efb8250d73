//! Alive, ready, measured, and small.

use serde_json::json;

use crate::fixture::{Workdir, attempt, claim, merged, until};
use crate::seen::{json_is, text_is};
use crate::wire::Call;

#[test]
fn health_and_readiness_are_told_to_anyone() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    for path in ["/health", "/ready"] {
        let answer = server.send(&Call::get(path));
        let mut body = answer.ok();
        body["instance"] = json!("[instance]");
        json_is("health", &body);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
}

#[test]
fn every_answer_carries_the_callers_correlation_id() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let call = Call::post("/v1/claims", &claim("CASE-1")).token(&server.token).header("x-correlation-id", "CASE-7");
    assert_eq!(server.send(&call).header("x-correlation-id"), Some("CASE-7"));
    let shown = server.get("/v1/operations?id=CASE-1").ok();
    assert_eq!(shown["items"][0]["correlationId"], "CASE-7");
    let refused = server.send(&Call::get("/v1/operations").header("x-correlation-id", "CASE-8"));
    assert_eq!(refused.header("x-correlation-id"), Some("CASE-8"));
}

#[test]
fn a_log_line_names_the_request_the_operation_and_a_pseudonym_of_the_actor() {
    let dir = Workdir::new();
    let server = dir.serve(&["--log-format", "json"]);
    let granted = server.granted(&claim("CASE-1"));
    let body = json!({ "fence": 7, "attemptId": attempt() });
    let path = format!("/v1/operations/{}/release", granted.operation);
    let call = Call::post(&path, &body).token(&server.token).header("x-correlation-id", "CASE-7");
    server.send(&call).problem(409, "LEASE_NEVER_GRANTED");
    let line = || server.log().lines().find(|line| line.contains("LEASE_NEVER_GRANTED")).map(str::to_owned);
    until("it is logged", || line().is_some());
    let line: serde_json::Value = serde_json::from_str(&line().unwrap()).unwrap();
    assert_eq!((&line["level"], &line["error_class"]), (&json!("WARN"), &json!("CONFLICT")), "{line}");
    let request = &line["span"];
    assert_eq!((&request["correlation_id"], &request["operation_id"]), (&json!("CASE-7"), &json!("CASE-1")), "{line}");
    assert_eq!(request["request_id"].as_str().unwrap().len(), 36, "{line}");
    assert_eq!(request["attempt"], 7, "{line}");
    assert_ne!(request["actor"].as_str().unwrap(), "owner", "{line}");
}

#[test]
fn a_log_line_of_a_claim_names_what_it_is_for() {
    let dir = Workdir::new();
    let server = dir.serve(&["--log-format", "json"]);
    let origin = json!({ "businessKey": "CASE-9", "processInstanceKey": "2251799813685249", "elementId": "Notify" });
    // A kind that was never declared is refused, and the refusal is logged.
    let body = merged(&merged(&claim("OP-1"), &origin), &json!({ "declare": null, "kind": "unheard.of" }));
    server.post("/v1/claims", &body).problem(422, "KIND_UNKNOWN");
    let line = || server.log().lines().find(|line| line.contains("KIND_UNKNOWN")).map(str::to_owned);
    until("it is logged", || line().is_some());
    let line: serde_json::Value = serde_json::from_str(&line().unwrap()).unwrap();
    let said = ["operation_id", "business_key", "process_instance_key", "element_id"].map(|field| &line["span"][field]);
    assert_eq!(said, ["OP-1", "CASE-9", "2251799813685249", "Notify"], "{line}");
}

#[test]
fn metrics_count_what_was_asked_and_answered() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let first = claim("CASE-1");
    let granted = server.granted(&first);
    server.record(&granted, "complete", &json!({})).ok();
    server.claim(&merged(&first, &json!({ "attemptId": attempt() })));
    server.unknown(&claim("CASE-2"));
    server.get("/nowhere");
    let answer = server.get("/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    let text = answer.text();
    let lines = [
        "onefold_claims_total{kind=\"notice.issue\",answer=\"granted\"} 2",
        "onefold_claims_total{kind=\"notice.issue\",answer=\"replay\"} 1",
        "onefold_unknown_outcomes{category=\"DOWNSTREAM_TIMEOUT\"} 1",
        "onefold_open_incidents{category=\"DOWNSTREAM_TIMEOUT\"} 1",
        "onefold_open_incidents{category=\"PERMISSION\"} 0",
        "onefold_http_requests_total{route=\"/v1/claims\",status=\"200\",error_code=\"none\"} 3",
        "onefold_http_requests_total{route=\"none\",status=\"404\",error_code=\"ROUTE_NOT_FOUND\"} 1",
    ];
    for line in lines {
        assert!(text.lines().any(|seen| seen == line), "{line}\n{text}");
    }
    for metric in ["onefold_dedup_hits_total", "onefold_dedup_misses_total", "onefold_processing_seconds"] {
        assert!(text.contains(metric), "{metric}\n{text}");
    }
    assert!(!text.contains("CASE-1"), "an id is never a label:\n{text}");
}

#[test]
fn every_error_links_its_page() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let problem = server.get("/v1/operations/op_x").json();
    let page = server.get(problem["type"].as_str().unwrap());
    assert_eq!(page.status, 200);
    text_is("error_page", &server.get("/errors/lease-superseded").text());
    json_is("error_page_missing", &server.get("/errors/no-such-code").problem(404, "ROUTE_NOT_FOUND"));
}

#[test]
fn a_server_that_is_asked_to_stop_ends_well_and_its_note_goes() {
    let dir = Workdir::new();
    let mut server = dir.serve(&[]);
    assert!(dir.path("onefold.db.server").exists());
    server.granted(&claim("CASE-1"));
    assert_eq!(server.stop(), Some(0), "{}", server.log());
    assert!(!dir.path("onefold.db.server").exists());
}

#[test]
fn an_idle_server_has_less_than_20_mb_of_its_own() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    until("it is ready", || server.send(&Call::get("/ready")).status == 200);
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    // Pages of the program itself are the file's, and a test's program is many times as large as a released one.
    let resident = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 20_000, "{kilobytes} kB");
    println!("{kilobytes} kB");
}

#[test]
fn retention_is_applied_when_an_administrator_asks() {
    let dir = Workdir::with_config(
        "[kind.\"notice.issue\"]\nclass = \"external-command\"\nretention = { id = \"1ms\", redelivery = \"1ms\" }\n",
    );
    let server = dir.serve(&[]);
    let bare = |id: &str| merged(&claim(id), &json!({ "declare": null }));
    let granted = server.granted(&bare("CASE-1"));
    server.record(&granted, "complete", &json!({})).ok();
    until("it is past its retention", || server.post("/v1/prune", &json!({ "dryRun": true })).ok()["operations"] == 1);
    json_is("prune_dry_run", &server.post("/v1/prune", &json!({ "dryRun": true })).ok());
    json_is("prune", &server.post("/v1/prune", &json!({ "dryRun": false })).ok());
    server.get(&format!("/v1/operations/{}", granted.operation)).problem(404, "OPERATION_NOT_FOUND");
}
