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
