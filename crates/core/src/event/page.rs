//! The page of an event type for those who read it, made from its contract.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::contract::{Compatibility, CompiledContract};
use super::name::EventType;

/// Where the page of a type is, below the folder of pages: `case.submitted` is `case/submitted.md`.
pub fn event_page_path(event_type: &EventType) -> String {
    format!("{}.md", stem(event_type))
}

/// Where the schema of a version is kept beside its page: `case/submitted.v1.json`.
pub fn schema_file_path(event_type: &EventType, version: u32) -> String {
    format!("{}.v{version}.json", stem(event_type))
}

fn stem(event_type: &EventType) -> String {
    event_type.as_str().replacen('.', "/", 1)
}

/// The schema of a version as its file holds it.
pub(super) fn schema_text(schema: &Value) -> String {
    format!("{:#}\n", sorted(schema))
}

/// The same value with the names of objects in order, whatever features `serde_json` was built with.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let fields: BTreeMap<&String, &Value> = fields.iter().collect();
            Value::Object(fields.into_iter().map(|(name, field)| (name.clone(), sorted(field))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The page of a contract.
pub fn event_page(contract: &CompiledContract) -> String {
    let (terms, event_type) = (contract.terms(), contract.event_type());
    let mut page = format!(
        "# {event_type}\n\nMade from the event's contract: change that, then `onefold events check --write`.\n\n"
    );
    let versions: Vec<String> = terms.versions.keys().map(u32::to_string).collect();
    let ordering = match &terms.ordering_key {
        Some(pointer) => format!("`{pointer}` of the payload, which is the aggregate's id"),
        None => "the aggregate's id".to_owned(),
    };
    let key_fields: Vec<String> = terms.key_fields.iter().map(|field| format!("`{field}`")).collect();
    let rows = [
        ("aggregate", format!("`{}`", terms.aggregate)),
        ("owner", cell(&terms.owner)),
        ("versions", versions.join(", ")),
        ("compatibility", format!("{}: {}", terms.compatibility, promise(terms.compatibility))),
        ("ordering key", ordering),
        ("key fields", if key_fields.is_empty() { "none".to_owned() } else { key_fields.join(", ") }),
        ("`source`", format!("`{}`", contract.source().unwrap_or(&format!("/{{tenant}}/{}", terms.aggregate)))),
        (
            "`dataschema`",
            format!("`{}`", terms.dataschema.as_deref().unwrap_or(&format!("/events/{event_type}/{{version}}"))),
        ),
    ];
    page.push_str("| | |\n|---|---|\n");
    for (name, value) in rows {
        let _ = writeln!(page, "| {name} | {value} |");
    }
    if let Some(expects) = &terms.expects {
        let _ = write!(page, "\n## What a consumer does\n\n{}\n", expects.trim());
    }
    for (version, schema) in terms.versions.iter().rev() {
        let file = schema_file_path(event_type, *version);
        let file = file.rsplit('/').next().unwrap_or_default();
        let _ = write!(page, "\n## Version {version}\n\n");
        if let Some(about) = schema.get("description").and_then(Value::as_str) {
            let _ = write!(page, "{}\n\n", cell(about));
        }
        page.push_str(&fields(&sorted(schema)));
        let _ = writeln!(page, "Schema: [{file}]({file})");
    }
    page
}

/// What a rule promises to consumers.
fn promise(rule: Compatibility) -> &'static str {
    match rule {
        Compatibility::Backward => "a consumer with the newest schema reads every event",
        Compatibility::Forward => "a consumer with an earlier schema reads newer events",
        Compatibility::Full => "a consumer with any schema reads every event",
        Compatibility::None => "versions have nothing to do with each other",
    }
}

/// The properties of a schema as a table; nothing where it names none.
fn fields(schema: &Value) -> String {
    let mut rows = Vec::new();
    list_fields(schema, "", &mut rows);
    if rows.is_empty() {
        return String::new();
    }
    format!("| field | type | required | what it is |\n|---|---|---|---|\n{}\n", rows.concat())
}

fn list_fields(schema: &Value, at: &str, rows: &mut Vec<String>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = |name: &str| {
        let listed = schema.get("required").and_then(Value::as_array);
        listed.is_some_and(|listed| listed.iter().any(|one| one.as_str() == Some(name)))
    };
    for (name, property) in properties {
        let place = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        let about = property.get("description").and_then(Value::as_str).unwrap_or_default();
        let needed = if required(name) { "yes" } else { "no" };
        rows.push(format!("| `{}` | {} | {needed} | {} |\n", cell(&place), cell(&sort(property)), cell(about)));
        list_fields(property, &place, rows);
    }
}

/// What a property is, in a few words.
fn sort(property: &Value) -> String {
    if let Some(one) = property.get("const") {
        return format!("`{one}`");
    }
    if let Some(Value::Array(values)) = property.get("enum") {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        return values.join(" or ");
    }
    if let Some(target) = property.get("$ref").and_then(Value::as_str) {
        return target.rsplit('/').next().unwrap_or(target).to_owned();
    }
    let named = match property.get("type") {
        Some(Value::String(one)) => one.clone(),
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    };
    match property.get("format").and_then(Value::as_str) {
        Some(format) => format!("{named} ({format})"),
        None => named,
    }
}

/// Text that fits into a cell of a table.
fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventContract;

    const CONTRACT: EventContract = EventContract::new("case.submitted", 2)
        .aggregate("case")
        .owner("case team")
        .ordering_key("/caseId")
        .key_fields(&["/caseId"])
        .expects("open the case; the same id again changes nothing")
        .schema(
            r#"{ "description": "A citizen | company handed a case in.", "type": "object", "required": ["caseId"], "properties": {
                "caseId": { "type": "string", "description": "Which case." },
                "channel": { "enum": ["web", "post"] },
                "by": { "type": "object", "properties": { "at": { "type": "string", "format": "date-time" } } } } }"#,
        )
        .earlier(&[(1, "true")]);

    #[test]
    fn a_page_says_what_a_reader_needs() {
        insta::assert_snapshot!(event_page(&CONTRACT.compile().unwrap()), @r#"
        # case.submitted

        Made from the event's contract: change that, then `onefold events check --write`.

        | | |
        |---|---|
        | aggregate | `case` |
        | owner | case team |
        | versions | 1, 2 |
        | compatibility | backward: a consumer with the newest schema reads every event |
        | ordering key | `/caseId` of the payload, which is the aggregate's id |
        | key fields | `/caseId` |
        | `source` | `/{tenant}/case` |
        | `dataschema` | `/events/case.submitted/{version}` |

        ## What a consumer does

        open the case; the same id again changes nothing

        ## Version 2

        A citizen \| company handed a case in.

        | field | type | required | what it is |
        |---|---|---|---|
        | `/by` | object | no |  |
        | `/by/at` | string (date-time) | no |  |
        | `/caseId` | string | yes | Which case. |
        | `/channel` | `"web"` or `"post"` | no |  |

        Schema: [submitted.v2.json](submitted.v2.json)

        ## Version 1

        Schema: [submitted.v1.json](submitted.v1.json)
        "#);
    }

    #[test]
    fn a_page_is_in_the_folder_of_its_domain() {
        let path = |event_type: &str| event_page_path(&EventType::parse(event_type).unwrap());
        assert_eq!(path("case.submitted"), "case/submitted.md");
        assert_eq!(path("case.file.added"), "case/file.added.md");
        assert_eq!(path("started"), "started.md");
        assert_eq!(schema_file_path(&EventType::parse("case.submitted").unwrap(), 3), "case/submitted.v3.json");
    }
}
