//! A body that the route must not take for the one that was sent before.

use bytes::Bytes;
use onefold_core::fingerprint::Mode;
use serde_json::{Value, json};

/// A body that differs in what the route compares; none where it compares nothing that this body has.
pub(super) fn other_body(body: &Bytes, compared: &Mode) -> Option<Bytes> {
    match compared {
        Mode::Raw | Mode::Canonical => Some(changed(body)),
        Mode::Fields(pointers) => {
            let mut whole: Value = serde_json::from_slice(body).ok()?;
            let place = pointers.iter().find(|pointer| whole.pointer(pointer).is_some())?;
            let value = whole.pointer_mut(place)?;
            *value = another(value);
            Some(whole.to_string().into())
        }
    }
}

/// One more member where it is a JSON object.
fn changed(body: &Bytes) -> Bytes {
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::Object(mut members)) => {
            members.insert("onefoldTry".to_owned(), "another body".into());
            Value::Object(members).to_string().into()
        }
        Ok(other) => json!([other]).to_string().into(),
        Err(_) => [body.as_ref(), b" another body"].concat().into(),
    }
}

/// Another value of the same type.
fn another(value: &Value) -> Value {
    match value {
        Value::Null => json!("another"),
        Value::Bool(value) => json!(!value),
        Value::Number(number) => number.as_i64().map_or_else(|| json!(0), |number| json!(number.wrapping_add(1))),
        Value::String(text) => json!(format!("{text} (another)")),
        Value::Array(items) => {
            let mut items = items.clone();
            items.push(json!("another"));
            Value::Array(items)
        }
        Value::Object(members) => {
            let mut members = members.clone();
            members.insert("onefoldTry".to_owned(), json!("another body"));
            Value::Object(members)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_body_is_of_the_same_sort_and_not_the_same() {
        let rows = [
            ("{\"a\": 1}", "{\"a\":1,\"onefoldTry\":\"another body\"}"),
            ("7", "[7]"),
            ("a=1", "a=1 another body"),
            ("", " another body"),
        ];
        for (body, other) in rows {
            assert_eq!(other_body(&Bytes::from(body), &Mode::Raw).unwrap(), other);
        }
    }

    #[test]
    fn where_fields_are_compared_one_of_them_is_changed() {
        let mode = Mode::fields(["/amount", "/to/iban"]).unwrap();
        let rows = [
            ("{\"amount\": 7, \"note\": \"x\"}", Some("{\"amount\":8,\"note\":\"x\"}")),
            ("{\"to\": {\"iban\": \"DE1\"}}", Some("{\"to\":{\"iban\":\"DE1 (another)\"}}")),
            ("{\"amount\": null}", Some("{\"amount\":\"another\"}")),
            ("{\"note\": \"x\"}", None),
            ("a=1", None),
        ];
        for (body, other) in rows {
            assert_eq!(other_body(&Bytes::from(body), &mode).as_deref(), other.map(str::as_bytes), "{body}");
        }
    }
}
