//! What a person without a token can read, and that every link leads there.

use onefold_core::error::ALL;
use onefold_core::incident::RUNBOOKS;
use serde_json::json;

use crate::fixture::{Workdir, claim, merged, until};
use crate::wire::Call;

#[test]
fn error_pages_and_runbooks_are_readable_without_a_token_and_nothing_else_is() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    for code in ALL {
        let page = server.send(&Call::get(&format!("/errors/{}", code.kebab())));
        assert_eq!(page.status, 200, "{code}");
        assert!(page.text().starts_with(&format!("# {code}\n")), "{code}: {}", page.text());
    }
    for name in RUNBOOKS {
        let page = server.send(&Call::get(&format!("/runbooks/{name}")));
        assert_eq!((page.status, page.header("content-type")), (200, Some("text/markdown; charset=utf-8")), "{name}");
        assert_eq!(page.text(), dir.run(&["explain", name]).done(), "{name}");
    }
    for closed in ["/runbooks/../v1/operations", "/runbooks/..%2Fv1", "/runbooks/x/y", "/errors/", "/runbooks/none"] {
        assert_eq!(server.send(&Call::get(closed)).status, 404, "{closed}");
    }
    for closed in ["/v1/incidents", "/metrics", "/errors", "/runbooks"] {
        assert_eq!(server.send(&Call::get(closed)).status, 401, "{closed}");
    }
}

#[test]
fn the_links_of_the_banner_of_an_incident_and_of_a_problem_answer() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    assert_eq!(server.send(&Call::get("/openapi.json")).status, 200, "the banner points there");
    let incident = server.unknown(&claim("CASE-1"));
    let shown = server.get(&format!("/v1/incidents/{incident}")).ok();
    let page = server.send(&Call::get(shown["runbook"].as_str().unwrap()));
    assert!(page.status == 200 && page.text().starts_with("# Unknown outcome"), "{}", page.text());
    let problem = server.send(&Call::get("/v1/operations")).problem(401, "AUTHENTICATION_REQUIRED");
    let page = server.send(&Call::get(problem["type"].as_str().unwrap()));
    assert!(page.status == 200 && !page.text().contains("onefold token"), "{}", page.text());
    assert!(problem["next"].as_str().unwrap().contains("onefold token"), "our own server says where its token is");
}

#[test]
fn an_incident_shows_its_operation_its_age_and_its_story_first() {
    let dir = Workdir::new();
    let server = dir.serve(&["--sweep-every", "100ms"]);
    let incident =
        server.unknown(&merged(&claim("CASE-1"), &json!({ "businessKey": "BKEY-1", "worker": "host-7/42" })));
    let shown = server.get(&format!("/v1/incidents/{incident}")).ok();
    assert!(shown["operation"].as_str().unwrap().starts_with("op_") && shown["ageSeconds"].is_u64(), "{shown}");
    let story = shown["timeline"].as_array().unwrap();
    assert!(story.iter().any(|line| line["who"] == "host-7/42"), "{shown}");
    let operation = server.get(&format!("/v1/operations/{}", shown["operation"].as_str().unwrap())).ok();
    assert_eq!(operation["id"], "CASE-1");
    assert!(shown["suggestedAction"].as_str().unwrap().contains("nothing is performed before you decide"), "{shown}");
    for args in [vec!["incidents"], vec!["incidents", "show", &incident]] {
        let said = dir.run(&args).done();
        for part in ["CASE-1", "BKEY-1", "age:", "host-7/42", "check first:", "retry safe:", "then:"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(said.contains("onefold explain unknown-outcome"), "{said}");
        assert!(!said.contains("tried again"), "{said}");
    }
}

#[test]
fn advice_follows_the_operation_after_the_incident_was_opened() {
    let dir = Workdir::new();
    let server = dir.serve(&["--sweep-every", "100ms"]);
    let declare = json!({ "class": "converging", "lease": "200ms", "deadline": "200ms", "backoff": ["0ms"] });
    let sync = merged(&claim("CASE-1"), &json!({ "kind": "user.sync", "declare": declare }));
    let silent = server.granted(&sync);
    let again = || merged(&sync, &json!({ "attemptId": crate::fixture::attempt(), "deadline": "1h" }));
    let mut next = again();
    until("another holder is granted", || {
        next = again();
        server.claim(&next)["claim"] == "granted"
    });
    server.record(&silent, "complete", &json!({})).problem(409, "LEASE_SUPERSEDED");
    let incident = server.incident(&silent);
    let advice =
        || server.get(&format!("/v1/incidents/{incident}")).ok()["suggestedAction"].as_str().unwrap().to_owned();
    assert!(advice().starts_with("wait until the attempt in flight ends"), "{}", advice());
    let held = crate::fixture::Granted {
        operation: silent.operation.clone(),
        grant: json!({ "fence": 2, "attemptId": next["attemptId"] }),
    };
    server.record(&held, "complete", &json!({})).ok();
    assert!(advice().contains("confirm with `took hold`"), "{}", advice());
}

#[test]
fn a_problem_names_its_occurrence_and_a_base_that_was_configured() {
    let dir = Workdir::new();
    let server = dir.serve(&[]);
    let twice = [0, 1].map(|_| server.get("/v1/incidents/none").problem(404, "INCIDENT_NOT_FOUND"));
    assert_ne!(twice[0]["instance"], twice[1]["instance"]);
    let instance = twice[0]["instance"].as_str().unwrap().strip_prefix("urn:uuid:").unwrap();
    assert!(server.log().contains(instance), "the log line has the same id: {}", server.log());
    assert_eq!(twice[0]["type"], "/errors/incident-not-found");
    let dir = Workdir::with_config("errors_base = \"https://docs.example.com/errors/\"\n");
    let server = dir.serve(&[]);
    let problem = server.get("/v1/incidents/none").problem(404, "INCIDENT_NOT_FOUND");
    assert_eq!(problem["type"], "https://docs.example.com/errors/incident-not-found");
    let dir = Workdir::with_config("errors_base = \"docs\"\n");
    let ran = dir.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(ran.code == Some(78) && ran.err().contains("errors_base"), "{}", ran.err());
}
