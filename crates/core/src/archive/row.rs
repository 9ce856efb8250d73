//! A stored row under the names of its columns.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::persistence::columns::{Cell, Columns, Found, WrongType};
use crate::time::Timestamp;

use super::damaged;

/// How a column is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type {
    Text,
    Number,
    /// RFC 3339.
    Time,
    Hex,
    /// Text where it is UTF-8, else base64.
    Bytes,
}

use Type::{Bytes as B, Hex as H, Number as N, Text as S, Time as T};

/// A column: its name in JSON, and how it is written.
pub(super) type Column = (&'static str, Type);

/// The columns of [`columns::cells`](crate::persistence::columns::cells).
pub(super) const OPERATION: [Column; 49] = [
    ("tenant", S),
    ("kind", S),
    ("operationId", S),
    ("fingerprint", H),
    ("fingerprintMode", S),
    ("fingerprintKeyId", N),
    ("source", S),
    ("businessKey", S),
    ("correlationId", S),
    ("processId", S),
    ("definitionKey", S),
    ("definitionVersion", S),
    ("processInstanceKey", S),
    ("elementId", S),
    ("jobKey", S),
    ("createdAt", T),
    ("status", S),
    ("class", S),
    ("policy", S),
    ("fence", N),
    ("attemptId", H),
    ("installation", S),
    ("worker", S),
    ("deadline", T),
    ("leaseUntil", T),
    ("attempts", N),
    ("firstAttemptAt", T),
    ("attemptStartedAt", T),
    ("nextAttemptAt", T),
    ("escalateAt", T),
    ("unknownSince", T),
    ("nextAskAt", T),
    ("asks", N),
    ("result", B),
    ("resultType", S),
    ("resultBytes", N),
    ("resultDigest", H),
    ("resultRef", S),
    ("evidenceRef", S),
    ("errorCode", S),
    ("category", S),
    ("dependency", S),
    ("sideEffectStatus", S),
    ("recorded", H),
    ("settledBy", S),
    ("approvedBy", S),
    ("incidentId", S),
    ("updatedAt", T),
    ("completedAt", T),
];

/// The columns of [`columns::attempt_cells`](crate::persistence::columns::attempt_cells).
pub(super) const ATTEMPT: [Column; 17] = [
    ("tenant", S),
    ("kind", S),
    ("operationId", S),
    ("fence", N),
    ("attemptId", H),
    ("worker", S),
    ("startedAt", T),
    ("deadline", T),
    ("lastAliveAt", T),
    ("endedAt", T),
    ("ending", S),
    ("status", S),
    ("errorCode", S),
    ("category", S),
    ("sideEffectStatus", S),
    ("recorded", H),
    ("evidenceRef", S),
];

/// The columns of [`columns::note_cells`](crate::persistence::columns::note_cells).
pub(super) const NOTE: [Column; 8] =
    [("tenant", S), ("kind", S), ("operationId", S), ("at", T), ("who", S), ("what", S), ("why", S), ("fence", N)];

/// The columns of [`columns::dropped_result_cells`](crate::persistence::columns::dropped_result_cells).
pub(super) const RESULT: [Column; 8] = [
    ("tenant", S),
    ("kind", S),
    ("operationId", S),
    ("result", B),
    ("resultType", S),
    ("resultBytes", N),
    ("resultDigest", H),
    ("resultRef", S),
];

/// The row as JSON; what is absent is left out.
pub(super) fn write<const COLUMNS: usize>(columns: &[Column; COLUMNS], cells: [Cell<'_>; COLUMNS]) -> Value {
    let shown = columns.iter().zip(cells).filter_map(|((name, kind), cell)| {
        let value = match (cell, kind) {
            (Cell::Null, _) => return None,
            (Cell::Int(micros), Type::Time) => json!(Timestamp::from_micros(micros)),
            (Cell::Int(number), _) => json!(number),
            (Cell::Text(text), _) => json!(text),
            (Cell::Blob(bytes), Type::Bytes) => match std::str::from_utf8(&bytes) {
                Ok(text) => json!({ "text": text }),
                Err(_) => json!({ "base64": STANDARD.encode(bytes) }),
            },
            (Cell::Blob(bytes), _) => json!(hex(&bytes)),
        };
        Some(((*name).to_owned(), value))
    });
    Value::Object(shown.collect())
}

/// A row that was read, whole or from a column on.
pub(super) struct Row<'a>(std::borrow::Cow<'a, [Option<Read>]>);

#[derive(Clone)]
enum Read {
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
}

impl Row<'_> {
    /// The row behind its key.
    pub(super) fn after_key(&self) -> Row<'_> {
        Row(std::borrow::Cow::Borrowed(self.0.get(3..).unwrap_or_default()))
    }
}

impl Columns for Row<'_> {
    fn int(&self, at: usize) -> Found<i64> {
        match self.0.get(at) {
            Some(Some(Read::Int(value))) => Ok(Some(*value)),
            Some(None) => Ok(None),
            Some(Some(_)) | None => Err(WrongType),
        }
    }
    fn text(&self, at: usize) -> Found<&str> {
        match self.0.get(at) {
            Some(Some(Read::Text(text))) => Ok(Some(text)),
            Some(None) => Ok(None),
            Some(Some(_)) | None => Err(WrongType),
        }
    }
    fn blob(&self, at: usize) -> Found<&[u8]> {
        match self.0.get(at) {
            Some(Some(Read::Blob(bytes))) => Ok(Some(bytes)),
            Some(None) => Ok(None),
            Some(Some(_)) | None => Err(WrongType),
        }
    }
}

/// Reads what [`write`] wrote.
pub(super) fn read(columns: &[Column], text: &str) -> Result<Row<'static>> {
    let members: Map<String, Value> =
        serde_json::from_str(text).map_err(|_| damaged("its content is not an object"))?;
    let cells = columns.iter().map(|(name, kind)| match members.get(*name) {
        None => Ok(None),
        Some(value) => read_one(value, *kind).map(Some).ok_or_else(|| damaged(&format!("{name} cannot be read"))),
    });
    cells.collect::<Result<Vec<_>>>().map(|cells| Row(cells.into()))
}

fn read_one(value: &Value, kind: Type) -> Option<Read> {
    Some(match kind {
        Type::Text => Read::Text(value.as_str()?.to_owned()),
        Type::Number => Read::Int(value.as_i64()?),
        Type::Time => Read::Int(Timestamp::parse(value.as_str()?)?.as_micros()),
        Type::Hex => Read::Blob(unhex(value.as_str()?)?),
        Type::Bytes => match (value.get("text"), value.get("base64")) {
            (Some(text), None) => Read::Blob(text.as_str()?.as_bytes().to_vec()),
            (None, Some(encoded)) => Read::Blob(STANDARD.decode(encoded.as_str()?).ok()?),
            (Some(_), Some(_)) | (None, None) => return None,
        },
    })
}

/// Bytes as lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if digits.len().is_multiple_of(2) { digits.chunks(2).map(pair).collect() } else { None }
}
