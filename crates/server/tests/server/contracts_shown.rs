//! What `onefold events` prints, and how it ends.

use crate::fixture::Workdir;
use crate::seen::text_is;

const SCHEMA: &str = r#"{ "type": "object", "required": ["caseId"], "properties": { "caseId": { "type": "string", "description": "Which case." } } }"#;

const DECLARED: &str = r#"
[[event]]
type = "case.submitted"
aggregate = "case"
ordering_key = "/caseId"
key_fields = ["/caseId"]
versions = { 1 = "events/case.submitted.v1.json" }
owner = "case team"
expects = "open the case; the same id again changes nothing"
source = "https://cases.example"

[[event]]
type = "order.paid"
aggregate = "order"
versions = { 1 = { type = "object" }, 2 = { type = "object" } }
compatibility = "full"
owner = "orders"
"#;

fn declared() -> Workdir {
    let dir = Workdir::with_config(DECLARED);
    std::fs::create_dir(dir.path("events")).unwrap();
    std::fs::write(dir.path("events/case.submitted.v1.json"), SCHEMA).unwrap();
    dir
}

#[test]
fn contracts_are_shown_to_people() {
    let dir = declared();
    text_is("events_list", &dir.run(&["events"]).done());
    text_is("events_show", &dir.run(&["events", "show", "case.submitted"]).done());
    text_is("events_none", &Workdir::new().run(&["events", "list"]).done());
    assert_eq!(dir.run(&["events", "--json"]).json()["items"][1]["versions"]["2"]["type"], "object");
    assert_eq!(dir.run(&["events", "show", "order.paid", "--json"]).json()["compatibility"], "full");
    let unknown = dir.run(&["events", "show", "case.submited"]);
    assert_eq!(unknown.code, Some(66));
    assert!(unknown.err().contains("did you mean case.submitted?"), "{}", unknown.err());
    assert!(!dir.path("onefold.db").exists(), "no ledger is opened");
}

#[test]
fn pages_are_compared_with_the_contracts_and_an_incompatible_change_is_found() {
    let dir = declared();
    let missing = dir.run(&["events", "check"]);
    assert_eq!(missing.code, Some(1));
    text_is("events_missing", &missing.out());
    text_is("events_written", &dir.run(&["events", "check", "--write"]).done());
    text_is("events_hold", &dir.run(&["events", "check"]).done());
    assert!(dir.path("docs/events/case/submitted.md").exists());
    let narrower = SCHEMA.replace("[\"caseId\"]", "[\"caseId\", \"note\"]");
    std::fs::write(dir.path("events/case.submitted.v1.json"), narrower).unwrap();
    let released = std::fs::read_to_string(dir.path("docs/events/case/submitted.v1.json")).unwrap();
    for args in [&["events", "check"][..], &["events", "check", "--write"]] {
        let refused = dir.run(args);
        assert_eq!(refused.code, Some(1), "{args:?}");
        text_is("events_incompatible", &refused.out());
    }
    assert_eq!(std::fs::read_to_string(dir.path("docs/events/case/submitted.v1.json")).unwrap(), released);
    let json = dir.run(&["events", "check", "--json"]);
    assert_eq!(json.code, Some(1));
    let found: serde_json::Value = serde_json::from_str(&json.out()).unwrap();
    assert_eq!(found["findings"][0]["problem"], "INCOMPATIBLE", "{found}");
    std::fs::write(dir.path("events/case.submitted.v1.json"), SCHEMA).unwrap();
    std::fs::write(dir.path("docs/events/case/submitted.md"), "my own words").unwrap();
    std::fs::write(dir.path("docs/events/case/closed.md"), "gone").unwrap();
    let stale = dir.run(&["events", "check", "--dir", "docs/events"]);
    assert_eq!(stale.code, Some(1));
    text_is("events_stale", &stale.out());
}

#[test]
fn a_mistake_in_a_contract_is_shown_where_it_stands() {
    let dir = Workdir::with_config(DECLARED);
    let refused = dir.run(&["events", "check"]);
    assert_eq!(refused.code, Some(78));
    assert!(
        refused.err().contains("onefold.toml:7:18:") && refused.err().contains("cannot be read"),
        "{}",
        refused.err()
    );
    let typo = "[[relay]]\nname = \"a\"\nevents = [\"case.submited\"]\nto = { webhook = \"https://p.example/h\", secret_file = \"k\" }\n";
    let dir = Workdir::with_config(&format!("{}{typo}", crate::outbox::EVENTS));
    let refused = dir.run(&["events"]);
    assert_eq!(refused.code, Some(78));
    assert!(refused.err().contains("did you mean `case.submitted`?"), "{}", refused.err());
}
