//! Form and rules: each mistake is answered with its place, and a warning comes with the success.

use serde_json::{Value, json};

use crate::service::{Service, submission, with};

fn without(field: &str) -> Value {
    let mut changed = submission();
    changed.as_object_mut().unwrap().remove(field);
    changed
}

#[test]
fn each_mistake_of_form_is_answered_with_its_place() {
    let service = Service::start();
    let item = submission()["evidence"][0].clone();
    let rows = [
        ("missing field", without("subject"), "$.subject"),
        ("wrong type", with("/submittedBy", json!(7)), "$.submittedBy"),
        ("empty title", with("/title", json!(" ")), "$.title"),
        ("bad date form", with("/evidence/0/occurredOn", json!("31.01.2026")), "$.evidence[0].occurredOn"),
        ("too many items", with("/evidence", json!(vec![item; 21])), "$.evidence"),
    ];
    assert_eq!(rows.len(), 5);
    for (name, body, path) in rows {
        let answer = service.submit("k", &body);
        assert_eq!(answer.seen(), (400, "REQUEST_BODY_INVALID".to_owned()), "{name}");
        let violations = answer.body["violations"].as_array().unwrap();
        assert_eq!(violations.len(), 1, "{name}: {violations:?}");
        assert_eq!((&violations[0]["path"], &violations[0]["severity"]), (&json!(path), &json!("ERROR")), "{name}");
        assert_eq!(violations[0]["code"], "REQUEST_BODY_INVALID", "{name}");
    }
    assert_eq!(service.count(), 0);
}

#[test]
fn each_broken_rule_is_answered_with_its_place() {
    let service = Service::start();
    let (evidence, case) = ("EVIDENCE_INVALID", "CASE_VALIDATION_REJECTED");
    let rows = [
        ("in the future", "/evidence/0/occurredOn", json!("2999-01-01"), "$.evidence[0].occurredOn", evidence),
        ("kind of evidence", "/evidence/0/kind", json!("RUMOUR"), "$.evidence[0].kind", evidence),
        ("own case", "/subject", json!("officer-1"), "$.submittedBy", case),
        ("unknown case", "/supplements", json!("CASE-0"), "$.supplements", case),
        ("unknown actor", "/submittedBy", json!("nobody"), "$.submittedBy", case),
    ];
    for (name, at, value, path, code) in rows {
        let answer = service.submit("k", &with(at, value));
        assert_eq!(answer.seen(), (422, "CASE_VALIDATION_REJECTED".to_owned()), "{name}");
        let violations = answer.body["violations"].as_array().unwrap();
        assert_eq!(violations.len(), 1, "{name}: {violations:?}");
        assert_eq!((&violations[0]["path"], &violations[0]["severity"]), (&json!(path), &json!("ERROR")), "{name}");
        assert_eq!(violations[0]["code"], code, "{name}");
    }
    assert_eq!(service.count(), 0);
}

/// 004 §8.2: a row of the text's list each.
#[test]
fn semantic_rules_004_8_2() {
    let service = Service::start();
    let fraud = with("/category", json!("FRAUD"));
    let mut two = fraud.clone();
    two["evidence"] = json!([
        { "id": "E-1", "kind": "DOCUMENT", "occurredOn": "2026-01-31" },
        { "id": "E-2", "kind": "PHOTO", "occurredOn": "2026-01-30" },
    ]);
    let rows = [
        (
            "evidence after the decision",
            with("/decidedOn", json!("2026-01-30")),
            "$.evidence[0].occurredOn",
            "EVIDENCE_INVALID",
        ),
        ("one piece where two are needed", fraud, "$.evidence", "EVIDENCE_INVALID"),
        ("no such category", with("/category", json!("RUMOUR")), "$.category", "CASE_VALIDATION_REJECTED"),
    ];
    for (name, body, path, code) in rows {
        let answer = service.submit("k", &body);
        assert_eq!(answer.seen(), (422, "CASE_VALIDATION_REJECTED".to_owned()), "{name}");
        let violations = answer.body["violations"].as_array().unwrap();
        assert_eq!(violations.len(), 1, "{name}: {violations:?}");
        assert_eq!((&violations[0]["path"], &violations[0]["code"]), (&json!(path), &json!(code)), "{name}");
        assert!(!violations[0]["message"].as_str().unwrap().trim().is_empty(), "{name}");
    }
    assert_eq!(service.count(), 0);
    let same_day = with("/decidedOn", json!("2026-01-31"));
    assert_eq!(service.submit("same-day", &same_day).seen().0, 201, "evidence of the day of the decision counts");
    assert_eq!(service.submit("two", &two).seen().0, 201, "two pieces are enough");
}

#[test]
fn a_problem_points_to_a_page_that_this_service_has() {
    let service = Service::start();
    let answer = service.submit("k", &with("/category", json!("RUMOUR")));
    let page = service.ask("GET", answer.body["type"].as_str().unwrap(), &[], "");
    assert_eq!(page.status, 200, "{:?}", answer.body);
    assert!(page.text.starts_with("# CASE_VALIDATION_REJECTED"), "{}", page.text);
    assert!(answer.body["instance"].as_str().unwrap().starts_with("urn:uuid:"), "{:?}", answer.body);
}

#[test]
fn one_answer_names_every_mistake() {
    let answer = Service::start().submit("k", &json!({ "title": "", "evidence": [{ "id": 1 }, "x"] }));
    let paths: Vec<&str> =
        answer.body["violations"].as_array().unwrap().iter().map(|found| found["path"].as_str().unwrap()).collect();
    assert_eq!(
        paths,
        [
            "$.title",
            "$.subject",
            "$.submittedBy",
            "$.evidence[0].id",
            "$.evidence[0].kind",
            "$.evidence[0].occurredOn",
            "$.evidence[1]"
        ]
    );
}

#[test]
fn a_warning_is_returned_with_the_success_and_with_its_replay() {
    let service = Service::start();
    let old = with("/evidence/0/occurredOn", json!("1999-12-31"));
    let accepted = service.submit("k", &old);
    assert_eq!(accepted.status, 201);
    let warning = &accepted.body["warnings"][0];
    assert_eq!((&warning["path"], &warning["severity"]), (&json!("$.evidence[0].occurredOn"), &json!("WARNING")));
    let again = service.submit("k", &old);
    assert_eq!((again.status, &again.body), (200, &accepted.body));
}
