//! Which changes of a schema may be made.

use serde_json::{Value, json};

use super::{SchemaChangeEffect as Effect, schema_changes};
use crate::event::Compatibility as Rule;

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// What a change is judged as: nothing, or the worst of what was found.
fn worst(old: &Value, new: &Value, rule: Rule) -> Option<Effect> {
    schema_changes(old, new, rule).into_iter().map(|change| change.effect).min()
}

/// What, the old and the new schema, and what it is judged as, backward and forward.
type ChangeRow = (&'static str, Value, Value, Option<Effect>, Option<Effect>);

const BREAKS: Option<Effect> = Some(Effect::Breaks);
const UNDECIDED: Option<Effect> = Some(Effect::Undecided);

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn a_change_is_judged_for_those_who_read_old_and_for_those_who_read_new_payloads() {
    let base = object(&json!({ "id": { "type": "string" } }), &["id"]);
    let id = |schema: Value| object(&json!({ "id": schema }), &["id"]);
    let text = json!({ "type": "string" });
    let closed =
        json!({ "type": "object", "properties": { "id": text }, "required": ["id"], "additionalProperties": false });
    let closed_more = json!({ "type": "object", "properties": { "id": text, "b": text }, "required": ["id"], "additionalProperties": false });
    let defined = |of: Value| json!({ "$defs": { "id": of }, "type": "object", "properties": { "id": { "$ref": "#/$defs/id" } }, "required": ["id"] });
    let nested =
        |of: Value| object(&json!({ "at": { "type": "array", "items": object(&json!({ "x": of }), &[]) } }), &[]);
    let rows: Vec<ChangeRow> = vec![
        ("nothing", base.clone(), base.clone(), None, None),
        (
            "a title",
            base.clone(),
            json!({ "title": "A case", "type": "object", "properties": { "id": text }, "required": ["id"] }),
            None,
            None,
        ),
        ("a new optional property", base.clone(), object(&json!({ "id": text, "note": text }), &["id"]), None, None),
        (
            "a new required property",
            base.clone(),
            object(&json!({ "id": text, "note": text }), &["id", "note"]),
            BREAKS,
            None,
        ),
        ("a property is no longer required", base.clone(), object(&json!({ "id": text }), &[]), None, BREAKS),
        ("a property is gone", base.clone(), object(&json!({}), &[]), None, BREAKS),
        ("a property is gone from a closed schema", closed_more.clone(), closed.clone(), BREAKS, None),
        ("a property is new in a closed schema", closed.clone(), closed_more, None, BREAKS),
        ("a schema is closed", base.clone(), closed, None, None),
        ("another type", base.clone(), id(json!({ "type": "integer" })), BREAKS, BREAKS),
        ("a wider type", id(json!({ "type": "integer" })), id(json!({ "type": "number" })), None, BREAKS),
        ("a further type", base.clone(), id(json!({ "type": ["string", "null"] })), None, BREAKS),
        ("a type where there was none", id(json!({})), base.clone(), BREAKS, None),
        ("a further value", id(json!({ "enum": ["a"] })), id(json!({ "enum": ["a", "b"] })), None, BREAKS),
        ("a constant among values", id(json!({ "const": "a" })), id(json!({ "enum": ["a", "b"] })), None, BREAKS),
        ("values where there were none", base.clone(), id(json!({ "type": "string", "enum": ["a"] })), BREAKS, None),
        (
            "a longer text",
            id(json!({ "type": "string", "maxLength": 5 })),
            id(json!({ "type": "string", "maxLength": 9 })),
            None,
            BREAKS,
        ),
        ("a least length of nothing", base.clone(), id(json!({ "type": "string", "minLength": 0 })), None, None),
        (
            "a higher least number",
            id(json!({ "type": "number", "minimum": 0 })),
            id(json!({ "type": "number", "minimum": 1 })),
            BREAKS,
            None,
        ),
        (
            "a bound that is left out of it",
            id(json!({ "type": "number", "minimum": 0 })),
            id(json!({ "type": "number", "exclusiveMinimum": 0 })),
            BREAKS,
            None,
        ),
        ("a pattern", base.clone(), id(json!({ "type": "string", "pattern": "^C" })), BREAKS, None),
        (
            "another pattern",
            id(json!({ "type": "string", "pattern": "^C" })),
            id(json!({ "type": "string", "pattern": "^D" })),
            UNDECIDED,
            UNDECIDED,
        ),
        (
            "another format",
            id(json!({ "type": "string", "format": "date" })),
            id(json!({ "type": "string", "format": "time" })),
            UNDECIDED,
            UNDECIDED,
        ),
        ("a choice", base.clone(), id(json!({ "anyOf": [text, { "type": "null" }] })), UNDECIDED, UNDECIDED),
        ("the same choice", id(json!({ "anyOf": [text] })), id(json!({ "anyOf": [text] })), None, None),
        ("a reference for a copy", base.clone(), defined(text.clone()), None, None),
        ("what a reference leads to", defined(text.clone()), defined(json!({ "type": "integer" })), BREAKS, BREAKS),
        ("deep inside", nested(text.clone()), nested(json!({ "type": "integer" })), BREAKS, BREAKS),
        ("unique items", json!({ "type": "array" }), json!({ "type": "array", "uniqueItems": true }), BREAKS, None),
        ("everything is allowed", base.clone(), json!(true), None, BREAKS),
        ("nothing is allowed", base.clone(), json!(false), BREAKS, None),
        ("all of it in parts", base.clone(), json!({ "allOf": [base] }), None, UNDECIDED),
    ];
    for (what, old, new, backward, forward) in rows {
        assert_eq!(
            worst(&old, &new, Rule::Backward),
            backward,
            "{what}, backward: {:?}",
            schema_changes(&old, &new, Rule::Backward)
        );
        assert_eq!(
            worst(&old, &new, Rule::Forward),
            forward,
            "{what}, forward: {:?}",
            schema_changes(&old, &new, Rule::Forward)
        );
        let full = [backward, forward].into_iter().flatten().min();
        assert_eq!(worst(&old, &new, Rule::Full), full, "{what}, full");
        assert_eq!(worst(&old, &new, Rule::None), None, "{what}, none");
    }
}

#[test]
fn a_finding_says_where_and_what() {
    let old = object(&json!({ "id": { "type": "string" } }), &["id"]);
    let new = object(&json!({ "id": { "type": "integer" }, "note": {} }), &["id", "note"]);
    let told: Vec<String> = schema_changes(&old, &new, Rule::Backward)
        .into_iter()
        .map(|change| format!("{}: {}", change.at, change.what))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    /properties/note: is required by the new schema and not by the old one
    /properties/id: the old schema allows string, the new one does not
    ");
}

#[test]
fn a_schema_that_refers_to_itself_is_compared_once() {
    let tree =
        |of: &str| json!({ "type": "object", "properties": { "name": { "type": of }, "child": { "$ref": "#" } } });
    assert_eq!(worst(&tree("string"), &tree("string"), Rule::Full), None);
    assert_eq!(worst(&tree("string"), &tree("integer"), Rule::Full), BREAKS);
    let endless = json!({ "$ref": "#" });
    assert_eq!(worst(&endless, &json!({ "type": "string" }), Rule::Backward), UNDECIDED);
    assert_eq!(worst(&json!({ "type": "string" }), &endless, Rule::Backward), None);
}

#[test]
fn keys_of_types_and_of_names_are_not_mixed_up() {
    let of = |of: Value| json!({ "type": "object", "properties": { "required": of } });
    assert_eq!(worst(&of(json!({ "type": "string" })), &of(json!({ "type": "string" })), Rule::Full), None);
    assert_eq!(worst(&of(json!({ "type": "string" })), &of(json!({ "type": "null" })), Rule::Full), BREAKS);
}
