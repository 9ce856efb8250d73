//! How single values are written: one reader for TOML and JSON, each mistake with what to write instead.

use serde::de::{Deserialize, Deserializer, Visitor};

/// Between what is wrong and what to write instead, in a message that passes through a parser.
const HINT: char = '\u{1f}';

/// A parser's error with a hint, which [`split`] finds again.
pub(crate) fn wrong<E: serde::de::Error>(what: &str, hint: &str) -> E {
    E::custom(format_args!("{what}{HINT}{hint}"))
}

/// A rule's error as a parser's.
pub(crate) fn from_rule<E: serde::de::Error>(error: &onefold_core::Error) -> E {
    wrong(error.detail(), error.next_step())
}

/// What is wrong, and what to write instead.
pub(crate) fn split(message: &str) -> (&str, Option<&str>) {
    message.split_once(HINT).map_or((message, None), |(what, hint)| (what, Some(hint)))
}

/// A text, or what is wrong with it.
fn text<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    read: impl FnOnce(&str) -> Result<T, D::Error>,
) -> Result<Option<T>, D::Error> {
    Option::<String>::deserialize(deserializer)?.map(|text| read(&text)).transpose()
}

/// A text that `read` understands, or a mistake at the position of this text, also in a list.
pub(crate) fn word<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    read: impl FnOnce(&str) -> Result<T, (String, String)>,
) -> Result<T, D::Error> {
    struct Word<F>(F);

    impl<T, F: FnOnce(&str) -> Result<T, (String, String)>> Visitor<'_> for Word<F> {
        type Value = T;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a text")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            (self.0)(text).map_err(|(what, hint)| wrong(&what, &hint))
        }
    }

    deserializer.deserialize_str(Word(read))
}

/// A duration, as `10s`.
pub mod duration {
    use std::time::Duration;

    use onefold_core::time::{format_duration, parse_duration};
    use serde::{Deserializer, Serializer};

    /// What to write.
    pub(crate) const WRITE: &str = "write \"250ms\", \"10s\", \"5m\", \"24h\" or \"30d\"";

    /// Reads one.
    pub(crate) fn parse<E: serde::de::Error>(text: &str) -> Result<Duration, E> {
        parse_duration(text).ok_or_else(|| super::wrong(&format!("{text:?} is not a duration"), WRITE))
    }

    /// Reads one that may be left out.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        super::text(deserializer, parse)
    }

    /// Writes it as it is read.
    #[allow(clippy::ref_option, reason = "serde's signature")]
    pub fn serialize<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        match duration {
            None => serializer.serialize_none(),
            Some(duration) => serializer.collect_str(&format_duration(*duration)),
        }
    }
}

/// A list of durations, as `["1m", "5m"]`.
pub mod durations {
    use std::time::Duration;

    use onefold_core::time::{format_duration, parse_duration};
    use serde::{Deserialize as _, Deserializer, Serializer};

    /// Reads a list that is not empty.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Duration>, D::Error> {
        let steps = Vec::<String>::deserialize(deserializer)?;
        let read: Option<Vec<Duration>> = steps.iter().map(|step| parse_duration(step)).collect();
        read.filter(|read| !read.is_empty())
            .ok_or_else(|| super::wrong("this is not a list of durations", "write [\"1m\", \"5m\", \"15m\"]"))
    }

    /// Writes it as it is read.
    pub fn serialize<S: Serializer>(steps: &[Duration], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(steps.iter().map(|step| format_duration(*step)))
    }
}

/// The class of an effect, as `external-command`.
pub mod class {
    use onefold_core::effect::EffectClass;
    use serde::{Deserializer, Serializer};

    /// Reads one.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<EffectClass>, D::Error> {
        super::text(deserializer, |text| EffectClass::parse(text).map_err(|error| super::from_rule(&error)))
    }

    /// Writes it as it is read.
    #[allow(clippy::ref_option, reason = "serde's signature")]
    pub fn serialize<S: Serializer>(class: &Option<EffectClass>, serializer: S) -> Result<S::Ok, S::Error> {
        match class {
            None => serializer.serialize_none(),
            Some(class) => serializer.collect_str(class),
        }
    }
}

/// What of a request is compared: `"raw"`, `"canonical"` or `{ fields = ["/amount"] }`.
pub mod fingerprint {
    use onefold_core::fingerprint::Mode;
    use serde::ser::SerializeMap as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use serde_json::Value;

    const WRITE: &str = "use \"raw\", \"canonical\", or { fields = [\"/amount\"] }";

    /// Reads one.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Mode>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(None),
            Value::String(name) if name == "raw" => Ok(Some(Mode::Raw)),
            Value::String(name) if name == "canonical" => Ok(Some(Mode::Canonical)),
            Value::Object(table) if table.len() == 1 => {
                let fields = table.get("fields").and_then(Value::as_array);
                let names: Option<Vec<&str>> = fields.and_then(|fields| fields.iter().map(Value::as_str).collect());
                let mode = names.and_then(|names| Mode::fields(names).ok());
                mode.map(Some).ok_or_else(|| super::wrong("these fields cannot be compared", WRITE))
            }
            Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                Err(super::wrong("this is not a fingerprint mode", WRITE))
            }
        }
    }

    /// Writes it as it is read.
    #[allow(clippy::ref_option, reason = "serde's signature")]
    pub fn serialize<S: Serializer>(mode: &Option<Mode>, serializer: S) -> Result<S::Ok, S::Error> {
        match mode {
            None => serializer.serialize_none(),
            Some(Mode::Raw) => serializer.serialize_str("raw"),
            Some(Mode::Canonical) => serializer.serialize_str("canonical"),
            Some(Mode::Fields(fields)) => {
                let mut table = serializer.serialize_map(Some(1))?;
                table.serialize_entry("fields", &**fields)?;
                table.end()
            }
        }
    }
}

/// Retry rows by failure category, as `rate_limited`.
pub mod category {
    use onefold_core::retry::Category;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// A category as configuration writes it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub struct CategoryKey(pub Category);

    impl<'de> Deserialize<'de> for CategoryKey {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let name = String::deserialize(deserializer)?;
            let known = Category::ALL.iter().copied();
            let written = |category: Category| category.as_str().to_lowercase();
            known.clone().find(|category| written(*category) == name).map(Self).ok_or_else(|| {
                let names: Vec<String> = known.map(written).collect();
                super::wrong(
                    &format!("{name:?} is not a failure category"),
                    &format!("use one of {}", names.join(", ")),
                )
            })
        }
    }

    impl Serialize for CategoryKey {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(&self.0.as_str().to_lowercase())
        }
    }
}

/// How many calls may begin in a time, as `50/s`.
pub mod rate {
    use serde::{Deserializer, Serializer};

    use crate::dependency::Rate;

    /// Reads one.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rate>, D::Error> {
        super::text(deserializer, |text| {
            Rate::parse(text).ok_or_else(|| {
                super::wrong(&format!("{text:?} is not a rate"), "write \"50/s\", \"600/m\" or \"9000/h\"")
            })
        })
    }

    /// Writes it as it is read.
    #[allow(clippy::ref_option, reason = "serde's signature")]
    pub fn serialize<S: Serializer>(rate: &Option<Rate>, serializer: S) -> Result<S::Ok, S::Error> {
        match rate {
            None => serializer.serialize_none(),
            Some(rate) => serializer.collect_str(rate),
        }
    }
}

/// A duration that is not left out.
pub mod required_duration {
    use std::time::Duration;

    use onefold_core::time::format_duration;
    use serde::{Deserialize as _, Deserializer, Serializer};

    /// Reads one.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        super::duration::parse(&String::deserialize(deserializer)?)
    }

    /// Writes it as it is read.
    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_duration(*duration))
    }
}

/// What statuses mean, as `{ 402 = "final" }`.
pub mod answers {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use crate::http::StatusMeaning;

    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    struct Status(u16);

    impl<'de> Deserialize<'de> for Status {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            let status = text.parse().ok().filter(|status| (200..=599).contains(status));
            let wrong = || super::wrong(&format!("{text:?} is not a status of an answer"), "write 402 = \"final\"");
            status.map(Self).ok_or_else(wrong)
        }
    }

    /// Reads them.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<u16, StatusMeaning>, D::Error> {
        let read = BTreeMap::<Status, StatusMeaning>::deserialize(deserializer)?;
        Ok(read.into_iter().map(|(Status(status), meaning)| (status, meaning)).collect())
    }

    /// Writes them as they are read.
    pub fn serialize<S: Serializer>(answers: &BTreeMap<u16, StatusMeaning>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(answers.iter().map(|(status, meaning)| (status.to_string(), meaning)))
    }
}

/// The code of an error, as `IDEMPOTENCY_KEY_REUSED`. A file names one of the registry; Rust may give its own.
pub mod code {
    use onefold_core::error::{ALL, Code};
    use serde::{Deserialize as _, Deserializer, Serializer};

    /// Reads one.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Code, D::Error> {
        let name = String::deserialize(deserializer)?;
        ALL.iter().copied().find(|code| code.as_str() == name).ok_or_else(|| {
            super::wrong(&format!("{name:?} is not an error code"), "use one that `onefold errors` lists")
        })
    }

    /// Writes it as it is read.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub fn serialize<S: Serializer>(code: &Code, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(code.as_str())
    }
}

/// A text or a list of texts.
pub mod one_or_more {
    use std::fmt;

    use serde::de::value::SeqAccessDeserializer;
    use serde::de::{Deserialize as _, Deserializer, SeqAccess, Visitor};
    use serde::{Serialize as _, Serializer};

    struct OneOrMore;

    impl<'de> Visitor<'de> for OneOrMore {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or a list of texts")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<String>, E> {
            Ok(vec![text.to_owned()])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<String>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }

    /// Reads them.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
        deserializer.deserialize_any(OneOrMore)
    }

    /// Writes them as a list.
    pub fn serialize<S: Serializer>(texts: &[String], serializer: S) -> Result<S::Ok, S::Error> {
        texts.serialize(serializer)
    }
}
