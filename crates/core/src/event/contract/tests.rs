//! What a contract refuses, and what it says.

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::error::EVENT_TYPE_UNKNOWN;
use crate::event::testing::event;
use crate::event::{EventContracts, NewEvent};

const SCHEMA: &str = r##"{
    "type": "object",
    "required": ["caseId", "amount"],
    "properties": {
        "caseId": { "type": "string" },
        "amount": { "type": "integer", "minimum": 1 },
        "channel": { "enum": ["web", "post"] },
        "note": { "type": ["string", "null"], "pattern": "^[a-z ]*$" },
        "lines": { "type": "array", "maxItems": 2, "items": { "$ref": "#/$defs/line" } },
        "labels": { "type": "object", "additionalProperties": { "type": "string" } }
    },
    "additionalProperties": false,
    "$defs": { "line": { "type": "object", "required": ["sku"], "properties": { "sku": { "type": "string" } } } }
}"##;

const CONTRACT: EventContract = EventContract::new("case.submitted", 1)
    .aggregate("case")
    .owner("case team")
    .ordering_key("/caseId")
    .key_fields(&["/caseId"])
    .schema(SCHEMA);

fn with(payload: impl Into<Bytes>) -> NewEvent {
    NewEvent { payload: payload.into(), ..event("CASE-7", b"{}") }
}

fn json_event(payload: &Value) -> NewEvent {
    with(payload.to_string())
}

#[test]
fn a_payload_that_breaks_its_contract_is_refused_with_places_and_without_values() {
    let contract = CONTRACT.compile().unwrap();
    let good = json!({ "caseId": "CASE-7", "amount": 3, "channel": "web", "note": null, "lines": [{ "sku": "a" }], "labels": { "x": "y" } });
    contract.check(&json_event(&good)).unwrap();
    let changed = |change: Value| {
        let mut payload = good.clone();
        payload.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        payload
    };
    let rows = [
        (json!({ "caseId": "CASE-7" }), "the payload: the property \"amount\" is missing"),
        (json!(["m4rk3r"]), "the payload: is not of type object"),
        (changed(json!({ "amount": "m4rk3r" })), "/amount: is not of type integer"),
        (changed(json!({ "amount": 0 })), "/amount: breaks \"minimum\" of the schema"),
        (changed(json!({ "channel": "m4rk3r" })), "/channel: is not one of the allowed values"),
        (changed(json!({ "note": 7 })), "/note: is not of type null or string"),
        (changed(json!({ "note": "M4rk3r" })), "/note: breaks \"pattern\" of the schema"),
        (changed(json!({ "m4rk3r": "m4rk3r" })), "the payload: has a property that is not allowed"),
        (changed(json!({ "lines": [{ "sku": "a" }, { "m4rk3r": 1 }] })), "/lines/1: the property \"sku\" is missing"),
        (changed(json!({ "lines": [{ "sku": 4_111_111 }] })), "/lines/0/sku: is not of type string"),
        (changed(json!({ "labels": { "m4rk3r": 7 } })), "/labels/*: is not of type string"),
        (changed(json!({ "caseId": "m4rk3r" })), "/caseId: the ordering key is not the aggregate's id"),
    ];
    for (payload, says) in rows {
        let error = contract.check(&json_event(&payload)).unwrap_err();
        assert_eq!(error.code(), EVENT_CONTRACT_INVALID);
        assert_eq!(error.detail().split_once("version 1: ").unwrap().1.split("; ").next().unwrap(), says, "{payload}");
        let all = format!("{error:?} {:?}", error.violations());
        assert!(!all.contains("m4rk3r") && !all.contains("M4rk3r") && !all.contains("4111111"), "{all}");
    }
    let error = contract.check(&json_event(&changed(json!({ "lines": [{ "sku": 1 }] })))).unwrap_err();
    assert_eq!(error.violations()[0].path, "$.lines[0].sku");
}

#[test]
fn many_violations_are_told_up_to_a_limit() {
    let schema = r#"{ "properties": { "lines": { "items": { "type": "string" } } } }"#;
    let contract = CONTRACT.schema(schema).compile().unwrap();
    let error = contract.check(&json_event(&json!({ "caseId": "CASE-7", "lines": vec![0; 1000] }))).unwrap_err();
    assert_eq!(error.violations().len(), 5);
}

#[test]
fn what_is_not_json_or_of_another_version_or_aggregate_is_refused() {
    let contract = CONTRACT.compile().unwrap();
    let good = json_event(&json!({ "caseId": "CASE-7", "amount": 3 }));
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let refused = |event: &NewEvent| contract.check(event).unwrap_err();
    for payload in ["", "m4rk3r", "{\"caseId\": m4rk3r}", &deep] {
        let error = refused(&with(payload.to_owned()));
        assert!(error.detail().contains("is not JSON: line 1, column"), "{error}");
        assert!(!format!("{error:?}").contains("m4rk3r"), "{error:?}");
    }
    let text = NewEvent { content_type: Arc::from("text/plain"), ..good.clone() };
    assert!(refused(&text).detail().contains("content type is not JSON"));
    let cloud = NewEvent { content_type: Arc::from("application/vnd.case+json; charset=utf-8"), ..good.clone() };
    contract.check(&cloud).unwrap();
    let next = refused(&NewEvent { schema_version: 2, ..good.clone() });
    assert_eq!((next.code(), next.detail()), (EVENT_VERSION_UNSUPPORTED, "event type case.submitted has no version 2"));
    let mut other = good.clone();
    other.aggregate.aggregate_type = AggregateType::parse("order").unwrap();
    assert!(refused(&other).detail().ends_with("its aggregate is \"case\", not \"order\""));
    let free = CONTRACT.schema("true").compile().unwrap();
    let missing = free.check(&json_event(&json!({ "caseId": null }))).unwrap_err();
    assert!(
        missing.detail().ends_with("/caseId: the ordering key is missing; /caseId: the key field is missing"),
        "{missing}"
    );
    let number = NewEvent {
        aggregate: crate::event::Aggregate { id: Arc::from("7"), ..good.aggregate },
        ..json_event(&json!({ "caseId": 7 }))
    };
    free.check(&number).unwrap();
}

#[test]
fn staging_needs_a_contract_and_publishing_one_if_any_is_known() {
    let event = json_event(&json!({ "caseId": "CASE-7", "amount": 3 }));
    let none = EventContracts::default();
    assert_eq!(none.check(&event).unwrap_err().code(), EVENT_TYPE_UNKNOWN);
    none.judge(&event).unwrap();
    let known = EventContracts::of([CONTRACT]).unwrap();
    known.check(&event).unwrap();
    known.judge(&event).unwrap();
    let others =
        EventContracts::of([EventContract::new("case.closed", 1).aggregate("case").owner("case team").schema("true")]);
    assert_eq!(others.unwrap().judge(&event).unwrap_err().code(), EVENT_TYPE_UNKNOWN);
    let twice = EventContracts::of([CONTRACT, CONTRACT]).unwrap_err();
    assert!(twice.detail().contains("two contracts"), "{twice}");
}

#[test]
fn a_contract_that_promises_nothing_definite_is_refused_with_its_field() {
    let big: &'static str = Box::leak(format!("{{\"description\": \"{}\"}}", "x".repeat(70_000)).into_boxed_str());
    let deep: &'static str = Box::leak(format!("{}true{}", "{\"not\":".repeat(70), "}".repeat(70)).into_boxed_str());
    let fields: &'static [&'static str] = &["/a"; 17];
    let rows = [
        (EventContract::new("case submitted", 1).aggregate("case").owner("x").schema("true"), "type: "),
        (EventContract::new("case..submitted", 1).aggregate("case").owner("x").schema("true"), "type: "),
        (EventContract::new(".submitted", 1).aggregate("case").owner("x").schema("true"), "type: "),
        (CONTRACT.aggregate(""), "aggregate: "),
        (CONTRACT.owner(" "), "owner: it has no owner"),
        (CONTRACT.source("two words"), "source: it is not a URI reference"),
        (CONTRACT.dataschema("a\nb"), "dataschema: "),
        (CONTRACT.expects("\u{7}"), "expects: "),
        (CONTRACT.schema(""), "versions.1: there is no schema"),
        (CONTRACT.schema("{"), "versions.1: the schema is not JSON: line 1"),
        (CONTRACT.schema(r#"{ "type": "strng" }"#), "versions.1: /type is not JSON Schema"),
        (CONTRACT.schema(r#"{ "pattern": "(?=a)" }"#), "versions.1: /pattern is not JSON Schema"),
        (CONTRACT.schema(big), "versions.1: the schema has"),
        (CONTRACT.schema(deep), "versions.1: the schema has more than 64 levels"),
        (CONTRACT.earlier(&[(1, "true")]), "version 1 is declared twice"),
        (CONTRACT.ordering_key("caseId"), "ordering_key: it is not a JSON pointer"),
        (CONTRACT.key_fields(&["/a", ""]), "key_fields.1: it is not a JSON pointer"),
        (CONTRACT.key_fields(fields), "key_fields: 17 fields"),
    ];
    for (contract, says) in rows {
        let error = contract.compile().unwrap_err();
        assert_eq!(error.code(), DECLARATION_INVALID, "{error}");
        assert!(error.detail().contains(says), "{says}: {error}");
    }
    assert_eq!(CONTRACT.ordering_key("case.id").compile().unwrap_err().next_step(), "write \"/case/id\"");
}

#[test]
fn a_schema_that_refers_to_another_document_is_refused_before_anything_is_fetched() {
    for target in ["https://example.com/x.json", "file:///etc/passwd", "other.json", "/x#/a"] {
        let schema: &'static str =
            Box::leak(json!({ "properties": { "a": { "$ref": target } } }).to_string().into_boxed_str());
        let error = CONTRACT.schema(schema).compile().unwrap_err();
        assert!(error.detail().contains("/properties/a/$ref refers to another document"), "{error}");
    }
    let data = r#"{ "properties": { "$ref": { "type": "string" } }, "default": { "$ref": "https://example.com" } }"#;
    CONTRACT.schema(data).compile().unwrap();
    let endless = CONTRACT.schema(r##"{ "$ref": "#" }"##).compile().unwrap();
    endless.check(&json_event(&json!({ "caseId": "CASE-7" }))).unwrap();
}
