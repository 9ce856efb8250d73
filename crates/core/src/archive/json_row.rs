//! A stored row under the names of its columns.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::row::{Cell, Column, ColumnType, ColumnValue, Columns, WrongType};
use crate::time::Timestamp;

use super::damaged;

/// The name of a column in JSON: `operation_id` is `operationId`.
fn member(column: &str) -> String {
    let mut words = column.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at(1);
        name + &initial.to_ascii_uppercase() + rest
    })
}

/// The row as JSON; what is absent is left out.
pub(super) fn write<const COLUMNS: usize>(columns: &[Column; COLUMNS], cells: [Cell<'_>; COLUMNS]) -> Value {
    let shown = columns.iter().zip(cells).filter_map(|(column, cell)| {
        let value = match (cell, column.holds) {
            (Cell::Null, _) => return None,
            (Cell::Int(micros), ColumnType::Time) => json!(Timestamp::from_micros(micros)),
            (Cell::Int(number), _) => json!(number),
            (Cell::Text(text), ColumnType::Json) => serde_json::from_str(&text).unwrap_or_else(|_| json!(text)),
            (Cell::Text(text), _) => json!(text),
            (Cell::Blob(bytes), ColumnType::Bytes) => match std::str::from_utf8(&bytes) {
                Ok(text) => json!({ "text": text }),
                Err(_) => json!({ "base64": STANDARD.encode(bytes) }),
            },
            (Cell::Blob(bytes), _) => json!(hex(&bytes)),
        };
        Some((member(column.name), value))
    });
    Value::Object(shown.collect())
}

/// A row that was read.
pub(super) struct Row(Vec<Option<JsonCell>>);

enum JsonCell {
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
}

impl Columns for Row {
    fn int(&self, at: usize) -> ColumnValue<i64> {
        match self.0.get(at) {
            Some(Some(JsonCell::Int(value))) => Ok(Some(*value)),
            Some(None) => Ok(None),
            Some(Some(_)) | None => Err(WrongType),
        }
    }
    fn text(&self, at: usize) -> ColumnValue<&str> {
        match self.0.get(at) {
            Some(Some(JsonCell::Text(text))) => Ok(Some(text)),
            Some(None) => Ok(None),
            Some(Some(_)) | None => Err(WrongType),
        }
    }
    fn blob(&self, at: usize) -> ColumnValue<&[u8]> {
        match self.0.get(at) {
            Some(Some(JsonCell::Blob(bytes))) => Ok(Some(bytes)),
            Some(None) => Ok(None),
            Some(Some(_)) | None => Err(WrongType),
        }
    }
}

/// Reads what [`write`] wrote.
pub(super) fn read(columns: &[Column], text: &str) -> Result<Row> {
    let members: Map<String, Value> =
        serde_json::from_str(text).map_err(|_| damaged("its content is not an object"))?;
    let cells = columns.iter().map(|column| {
        let name = member(column.name);
        match members.get(&name) {
            None => Ok(None),
            Some(value) => {
                read_one(value, column.holds).map(Some).ok_or_else(|| damaged(&format!("{name} cannot be read")))
            }
        }
    });
    cells.collect::<Result<Vec<_>>>().map(Row)
}

fn read_one(value: &Value, holds: ColumnType) -> Option<JsonCell> {
    Some(match holds {
        ColumnType::Text => JsonCell::Text(value.as_str()?.to_owned()),
        ColumnType::Json => JsonCell::Text(value.to_string()),
        ColumnType::Number => JsonCell::Int(value.as_i64()?),
        ColumnType::Time => JsonCell::Int(Timestamp::parse(value.as_str()?)?.as_micros()),
        ColumnType::Hex => JsonCell::Blob(unhex(value.as_str()?)?),
        ColumnType::Bytes => match (value.get("text"), value.get("base64")) {
            (Some(text), None) => JsonCell::Blob(text.as_str()?.as_bytes().to_vec()),
            (None, Some(encoded)) => JsonCell::Blob(STANDARD.decode(encoded.as_str()?).ok()?),
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
