//! The JSON of a declaration: the keys of TOML in camelCase, and the same struct.

use std::fmt;

use onefold_core::error::DECLARATION_INVALID;
use onefold_core::{Error, Result};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::KindDeclaration;
use crate::values::split;

/// A declaration as JSON brought it, not checked yet: an object whose keys are written as in TOML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonDeclaration(Map<String, Value>);

impl JsonDeclaration {
    /// What it declares of a kind. Addresses come from configuration only.
    pub fn kind(&self) -> Result<KindDeclaration> {
        KindDeclaration::deserialize(Value::Object(self.0.clone()))
            .map_err(|cause| self.wrong(&cause.to_string()))?
            .without_addresses()
    }

    /// A mistake, with its key.
    fn wrong(&self, message: &str) -> Error {
        let alone = |key: &str, value: &Value| Value::Object(Map::from_iter([(key.to_owned(), value.clone())]));
        let guilty = self.0.iter().find(|(key, value)| {
            KindDeclaration::deserialize(alone(key, value)).is_err_and(|cause| cause.to_string() == message)
        });
        let (what, hint) = split(message);
        let what = match guilty {
            Some((key, _)) if !what.starts_with("unknown field") => format!("declare.{}: {what}", camel(key)),
            Some(_) | None => format!("declare: {}", quoted_camel(what)),
        };
        let error = Error::new(DECLARATION_INVALID, what);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl KindDeclaration {
    /// As a claim sends it.
    pub fn to_json(&self) -> Value {
        camel_keys(serde_json::json!(self))
    }
}

/// `attempts_max` as `attemptsMax`.
fn camel(key: &str) -> String {
    let mut words = key.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        name + &head.to_uppercase() + tail
    })
}

/// `attemptsMax` as `attempts_max`; what is not camelCase is not a key.
fn snake(key: &str) -> Option<String> {
    if key.contains('_') {
        return None;
    }
    Some(key.chars().fold(String::new(), |mut name, c| {
        if c.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
        name
    }))
}

/// A parser's message with the keys in backticks as JSON writes them.
fn quoted_camel(message: &str) -> String {
    let parts = message.split('`').enumerate();
    let shown: Vec<String> = parts.map(|(at, part)| if at % 2 == 1 { camel(part) } else { part.to_owned() }).collect();
    shown.join("`")
}

fn camel_keys(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, value)| (camel(&key), camel_keys(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(camel_keys).collect()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other,
    }
}

impl<'de> Deserialize<'de> for JsonDeclaration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor).map(Self)
    }
}

/// An object; each key once, in camelCase.
struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        use serde::de::Error as _;
        let mut read = Map::new();
        while let Some((key, SnakeValue(value))) = map.next_entry::<String, SnakeValue>()? {
            let name = snake(&key).ok_or_else(|| {
                A::Error::custom(format_args!("unknown field `{key}`; did you mean `{}`?", camel(&key)))
            })?;
            if read.insert(name, value).is_some() {
                return Err(A::Error::custom(format_args!("duplicate field `{key}`")));
            }
        }
        Ok(read)
    }
}

/// A value whose keys are written as in TOML.
struct SnakeValue(Value);

impl<'de> Deserialize<'de> for SnakeValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(Self)
    }
}

/// Beyond this a double leaves whole numbers out.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Value, E> {
        Ok(yes.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    /// JSON has one sort of number: `5.0` is the same one as `5`.
    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        let whole = number.fract() == 0.0 && (0.0..=EXACT_MAX).contains(&number);
        let exact = whole.then(|| format!("{number:.0}").parse::<u64>().ok()).flatten();
        Ok(exact.map_or_else(|| number.into(), Value::from))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(SnakeValue(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        ObjectVisitor.visit_map(map).map(Value::Object)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use onefold_core::effect::{KindSpec, Policy};

    use super::*;

    fn read(json: &str) -> Result<KindSpec> {
        let declaration: JsonDeclaration = serde_json::from_str(json).unwrap();
        Ok(declaration.kind()?.check("k")?.terms)
    }

    #[test]
    fn a_declaration_means_its_terms_and_survives_being_pinned_and_sent() {
        let json = r#"{"class":"external-command","onUnknown":{"sameKey":"Idempotency-Key","providerMemory":"24h"},"deadline":"10s","backoff":["0ms"],"attemptsMax":9.0,"retry":{"rateLimited":{"schedule":["1m"],"because":"a quota"}},"retention":{"id":"30d"},"fingerprint":{"fields":["/a"]}}"#;
        let declared = read(json).unwrap();
        assert_eq!(declared.contract.policy(), &Policy::SameKey { provider_memory: Duration::from_hours(24) });
        assert_eq!((declared.deadline_for, declared.retry.attempts_max), (Duration::from_secs(10), 9));
        let kind = serde_json::from_str::<JsonDeclaration>(json).unwrap().kind().unwrap();
        let again = KindDeclaration::stored(&kind.to_text()).unwrap();
        assert_eq!(again.check("k").unwrap().terms, declared);
        let sent: JsonDeclaration = serde_json::from_value(kind.to_json()).unwrap();
        assert_eq!(sent.kind().unwrap(), kind);
    }

    #[test]
    fn what_a_claim_may_not_declare_is_refused_with_what_it_may() {
        let rows = [
            (r#"{"class":"magic"}"#, "use one of"),
            (r#"{"class":"external-command","onUnknown":"ask"}"#, "configuration"),
            (r#"{"class":"external-command","onUnknown":{"ask":"GET http://x/{id}"}}"#, "configuration"),
            (r#"{"class":"external-command","onUnknown":{"void":"DELETE http://x/{key}"}}"#, "configuration"),
            (r#"{"class":"external-command","onUnknown":"guess"}"#, "escalate"),
            (r#"{"class":"external-command","onUnknown":"same_key"}"#, "provider_memory"),
            (r#"{"class":"financial-or-legal","onUnknown":"rerun"}"#, "allowed"),
            (r#"{"class":"pure","deadline":"soon"}"#, "write"),
            (r#"{"class":"pure","backoff":[]}"#, "write"),
            (r#"{"deadline":"1s"}"#, "external-command"),
        ];
        for (json, hint) in rows {
            let error = read(json).unwrap_err();
            assert!(error.next_step().contains(hint), "{json}: {error}");
        }
    }

    #[test]
    fn a_mistake_names_its_key_as_json_writes_it() {
        let rows = [
            (r#"{"class":"pure","providerMemory":"1h"}"#, "unknown field `providerMemory`"),
            (r#"{"class":"pure","escalateWithin":"soon"}"#, "declare.escalateWithin: \"soon\" is not a duration"),
            (r#"{"class":"pure","attemptsMax":"two"}"#, "declare.attemptsMax: invalid type"),
            (r#"{"class":"pure","attemptsMax":-1}"#, "declare.attemptsMax: invalid value"),
        ];
        for (json, shown) in rows {
            let error = read(json).unwrap_err();
            assert!(error.detail().contains(shown), "{json}: {error}");
        }
        for json in [r#"{"attempts_max":1}"#, r#"{"class":"pure","class":"local"}"#, "[]", "7", r#""pure""#] {
            assert!(serde_json::from_str::<JsonDeclaration>(json).is_err(), "{json}");
        }
    }
}
