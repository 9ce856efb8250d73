//! A payload as a contract sees it.

use serde_json::Value;

use super::wrong;
use crate::error::{EVENT_CONTRACT_INVALID, Result, Severity, Violation};
use crate::event::NewEvent;

/// The payload as JSON, or why it is not.
pub(super) fn json(event: &NewEvent) -> Result<Value, String> {
    let media_type = event.content_type.split(';').next().unwrap_or_default().trim();
    if media_type != "application/json" && !media_type.ends_with("+json") {
        return Err("its content type is not JSON, and a contract is a JSON Schema".to_owned());
    }
    serde_json::from_slice(&event.payload)
        .map_err(|cause| format!("the payload is not JSON: line {}, column {}", cause.line(), cause.column()))
}

/// A place in a payload as it is shown: the payload itself has no name.
pub(super) fn shown(pointer: &str) -> &str {
    if pointer.is_empty() { "the payload" } else { pointer }
}

/// The same as a problem lists them.
pub(super) fn as_findings(violations: Vec<(String, String)>) -> Vec<Violation> {
    let path = |pointer: &str| {
        pointer.split('/').skip(1).fold("$".to_owned(), |path, part| {
            if part.bytes().all(|byte| byte.is_ascii_digit()) {
                format!("{path}[{part}]")
            } else {
                format!("{path}.{part}")
            }
        })
    };
    let finding =
        |(at, what): (String, String)| Violation::new(path(&at), EVENT_CONTRACT_INVALID, what, Severity::Error);
    violations.into_iter().map(finding).collect()
}

/// A field of a payload, as a JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PayloadPointer(String);

impl PayloadPointer {
    /// Bytes that a pointer may have.
    const BYTES_MAX: usize = 256;

    /// Reads `/caseId` or `/case/id`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let shaped = text.len() > 1 && text.starts_with('/') && !text.chars().any(char::is_control);
        if shaped && text.len() <= Self::BYTES_MAX {
            return Ok(Self(text.to_owned()));
        }
        let named: String = text.trim_start_matches('/').chars().take(40).filter(|c| !c.is_control()).collect();
        let hint = if named.is_empty() { "caseId".to_owned() } else { named.replace('.', "/") };
        Err(wrong("it is not a JSON pointer", format!("write \"/{hint}\"")))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a payload has this field, with a value.
    pub(super) fn is_set(&self, payload: &Value) -> bool {
        payload.pointer(&self.0).is_some_and(|value| !value.is_null())
    }

    /// How the field differs from the aggregate's id.
    pub(super) fn differs_from(&self, payload: &Value, aggregate_id: &str) -> Option<&'static str> {
        let same = match payload.pointer(&self.0) {
            None | Some(Value::Null) => return Some("the ordering key is missing"),
            Some(Value::String(text)) => text == aggregate_id,
            Some(Value::Number(number)) => number.to_string() == aggregate_id,
            Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => false,
        };
        (!same).then_some("the ordering key is not the aggregate's id")
    }
}
