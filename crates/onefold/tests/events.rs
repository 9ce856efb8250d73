//! The example of the outbox guide has a page, and that page is the one of its contract.

use onefold::outbox::{Compatibility, EventContract};
use onefold::testing::hold_event_pages;

const CASE_SUBMITTED: EventContract = EventContract::new("case.submitted", 1)
    .aggregate("case")
    .owner("case team")
    .ordering_key("/caseId")
    .key_fields(&["/caseId"])
    .expects("open the case; the same id again changes nothing")
    .schema(
        r#"{
            "type": "object",
            "description": "A case was handed in.",
            "required": ["caseId"],
            "properties": { "caseId": { "type": "string", "description": "Which case." } }
        }"#,
    );

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/events");

#[test]
fn the_pages_of_events_are_those_of_their_contracts() {
    hold_event_pages(FOLDER, [CASE_SUBMITTED]);
}

#[test]
fn a_test_finds_a_missing_page_and_an_incompatible_change() {
    let told = |contract: EventContract| {
        let held = std::panic::catch_unwind(|| hold_event_pages(FOLDER, [contract])).unwrap_err();
        held.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    let narrower = CASE_SUBMITTED.schema(r#"{ "type": "object", "required": ["caseId", "note"] }"#);
    assert!(told(narrower).contains("is required by the new schema"), "{}", told(narrower));
    let next = EventContract::new("case.closed", 1).aggregate("case").owner("case team").schema("true");
    assert!(told(next).contains("case/closed.md: there is no such file"), "{}", told(next));
    let free = narrower.compatibility(Compatibility::None);
    assert!(told(free).contains("version 1 was released and changed"), "{}", told(free));
}
