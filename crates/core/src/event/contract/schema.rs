//! A JSON Schema that judges payloads. It refers to nothing outside itself.

use std::collections::BTreeSet;
use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::payload;
use super::wrong;
use crate::error::Result;

/// A schema, compiled.
pub(super) struct PayloadSchema {
    validator: Validator,
    /// The names that it gives to properties. Other names come from a payload and are not repeated.
    names: BTreeSet<String>,
}

impl fmt::Debug for PayloadSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PayloadSchema").field("names", &self.names).finish_non_exhaustive()
    }
}

/// Bytes that a schema may have as JSON.
pub(super) const BYTES_MAX: usize = 64 * 1024;
/// Levels that it may have.
const DEPTH_MAX: usize = 64;

/// Reads the text of a schema.
pub(super) fn read(text: &str) -> Result<Value> {
    if text.trim().is_empty() {
        return Err(wrong("there is no schema", "write the JSON Schema of a payload; `true` allows every payload"));
    }
    if text.len() > BYTES_MAX {
        return Err(too_large(text.len()));
    }
    serde_json::from_str(text).map_err(|cause| {
        let what = format!("the schema is not JSON: line {}, column {}", cause.line(), cause.column());
        wrong(what, "write it as JSON")
    })
}

fn too_large(bytes: usize) -> crate::Error {
    wrong(format!("the schema has {bytes} bytes, and {BYTES_MAX} are allowed"), "leave out what payloads do not need")
}

impl PayloadSchema {
    /// Violations that are told of one payload.
    pub(super) const VIOLATIONS_MAX: usize = 5;

    /// Checks a schema and compiles it.
    pub(super) fn compile(schema: &Value) -> Result<Self> {
        let bytes = schema.to_string().len();
        if bytes > BYTES_MAX {
            return Err(too_large(bytes));
        }
        if depth(schema) > DEPTH_MAX {
            let what = format!("the schema has more than {DEPTH_MAX} levels");
            return Err(wrong(what, "name parts of it in $defs and refer to them"));
        }
        if let Some(at) = outside(schema, "") {
            let what = format!("{at} refers to another document, which is never fetched");
            return Err(wrong(what, "copy what it needs into $defs and refer to \"#/$defs/NAME\""));
        }
        // Patterns are matched in linear time, whatever a payload holds.
        let options = jsonschema::options().offline().with_pattern_options(PatternOptions::regex());
        let validator = options.build(schema).map_err(|cause| {
            let place = cause.instance_path().as_str();
            let what = format!("{} is not JSON Schema: {cause}", payload::shown(place));
            wrong(what, "see https://json-schema.org; patterns have no look-around and no back-references")
        })?;
        let mut names = BTreeSet::new();
        name_properties(schema, &mut names);
        Ok(Self { validator, names })
    }

    /// What a payload breaks: where, as a JSON pointer, and what, without its values.
    pub(super) fn violations(&self, payload: &Value) -> Vec<(String, String)> {
        if self.validator.is_valid(payload) {
            return Vec::new();
        }
        let errors = self.validator.iter_errors(payload).take(Self::VIOLATIONS_MAX);
        errors.map(|error| (self.place(payload, error.instance_path().as_str()), told(error.kind()))).collect()
    }

    /// A place in a payload. A property that the schema does not name is `*`: its name is data.
    fn place(&self, payload: &Value, pointer: &str) -> String {
        let mut place = String::new();
        let mut at = Some(payload);
        for part in pointer.split('/').skip(1) {
            let name = part.replace("~1", "/").replace("~0", "~");
            let known = matches!(at, Some(Value::Array(_))) || self.names.contains(&name);
            place.push('/');
            place.push_str(if known { part } else { "*" });
            at = match at {
                Some(Value::Object(fields)) => fields.get(&name),
                Some(Value::Array(items)) => name.parse::<usize>().ok().and_then(|place| items.get(place)),
                _ => None,
            };
        }
        place
    }
}

/// What is wrong, in words that hold nothing of the payload.
fn told(kind: &ValidationErrorKind) -> String {
    if let ValidationErrorKind::Required { property } = kind {
        return format!("the property {property} is missing");
    }
    if let ValidationErrorKind::Type { kind } = kind {
        return match kind {
            TypeKind::Single(wanted) => format!("is not of type {wanted}"),
            TypeKind::Multiple(wanted) => {
                let wanted: Vec<String> = wanted.iter().map(|one| one.to_string()).collect();
                format!("is not of type {}", wanted.join(" or "))
            }
        };
    }
    match kind.keyword() {
        "additionalProperties" | "unevaluatedProperties" => "has a property that is not allowed".to_owned(),
        "falseSchema" => "is not allowed".to_owned(),
        "enum" | "const" => "is not one of the allowed values".to_owned(),
        keyword => format!("breaks {keyword:?} of the schema"),
    }
}

/// Levels of a value.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// Keywords whose values are data, not schemas.
const DATA: [&str; 4] = ["enum", "const", "default", "examples"];

/// Where a schema refers to something outside itself.
fn outside(value: &Value, at: &str) -> Option<String> {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(place, item)| outside(item, &format!("{at}/{place}")))
        }
        Value::Object(fields) => fields.iter().find_map(|(name, field)| {
            let place = format!("{at}/{name}");
            let refers = ["$ref", "$dynamicRef", "$recursiveRef"].contains(&name.as_str());
            if let Value::String(target) = field {
                return (refers && !target.starts_with('#')).then_some(place);
            }
            if DATA.contains(&name.as_str()) { None } else { outside(field, &place) }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Every name that a schema gives to a property.
fn name_properties(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| name_properties(item, names)),
        Value::Object(fields) => {
            if let Some(Value::Object(properties)) = fields.get("properties") {
                names.extend(properties.keys().cloned());
            }
            fields
                .iter()
                .filter(|(name, _)| !DATA.contains(&name.as_str()))
                .for_each(|(_, field)| name_properties(field, names));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
