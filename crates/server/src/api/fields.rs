//! How fields of a body are read, where the derived way would take more than the description says.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};

/// An object, or nothing. A list would be read as an object whose names were left out, and an empty one as an object
/// without any field.
pub(super) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_any(Object(PhantomData))
}

struct Object<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }
}

/// A list of objects.
pub(super) fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct One<T>(T);

    impl<'de, T: Deserialize<'de>> Deserialize<'de> for One<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let read: Option<T> = object(deserializer)?;
            read.map(Self).ok_or_else(|| D::Error::invalid_type(Unexpected::Unit, &"an object"))
        }
    }

    let read: Vec<One<T>> = Vec::deserialize(deserializer)?;
    Ok(read.into_iter().map(|One(value)| value).collect())
}

/// A whole number. JSON has one sort of number: `44781.0` is the same one as `44781`.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(WholeNumber)
}

/// The same, or nothing.
pub(crate) fn whole_or_none<'de, D: Deserializer<'de>, T: TryFrom<u64>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    struct Number(u64);

    impl<'de> Deserialize<'de> for Number {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            whole(deserializer).map(Self)
        }
    }

    let read: Option<Number> = Option::deserialize(deserializer)?;
    let narrow = |Number(number)| {
        T::try_from(number).map_err(|_| D::Error::invalid_value(Unexpected::Unsigned(number), &"a smaller number"))
    };
    read.map(narrow).transpose()
}

/// Beyond this a double leaves whole numbers out.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

struct WholeNumber;

impl Visitor<'_> for WholeNumber {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        let whole = number.fract() == 0.0 && (0.0..=EXACT_MAX).contains(&number);
        let exact = whole.then(|| format!("{number:.0}").parse().ok()).flatten();
        exact.ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        u64::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fields {
        #[serde(default, deserialize_with = "whole_or_none")]
        number: Option<u64>,
        #[serde(default, deserialize_with = "object")]
        inner: Option<Inner>,
        #[serde(default, deserialize_with = "objects")]
        many: Vec<Inner>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[serde(default)]
        text: Option<String>,
        #[serde(default)]
        raw: Option<Box<serde_json::value::RawValue>>,
    }

    fn read(text: &str) -> Result<Fields, String> {
        serde_json::from_str(text).map_err(|cause| cause.to_string())
    }

    #[test]
    fn a_number_is_whole_however_it_is_written() {
        for text in ["44781", "44781.0", "4.4781e4"] {
            assert_eq!(read(&format!("{{\"number\": {text}}}")).unwrap().number, Some(44_781), "{text}");
        }
        assert_eq!(read(&format!("{{\"number\": {}}}", u64::MAX)).unwrap().number, Some(u64::MAX));
        assert_eq!(read("{\"number\": null}").unwrap().number, None);
        for text in ["44781.5", "-1", "-1.0", "1e300", "\"7\"", "[7]", "true", "{}"] {
            assert!(read(&format!("{{\"number\": {text}}}")).is_err(), "{text}");
        }
    }

    #[test]
    fn an_object_is_not_a_list() {
        for text in ["[]", "[null]", "[\"a\"]", "7", "\"a\"", "true"] {
            assert!(read(&format!("{{\"inner\": {text}}}")).is_err(), "{text}");
            assert!(read(&format!("{{\"many\": [{text}]}}")).is_err(), "{text}");
        }
        assert!(read("{\"inner\": null}").unwrap().inner.is_none());
        assert!(read("{\"many\": [null]}").is_err());
        let inner = read("{\"inner\": {\"text\": \"a\", \"raw\": {\"b\":  1.0}}}").unwrap().inner.unwrap();
        assert_eq!((inner.text.as_deref(), inner.raw.unwrap().get()), (Some("a"), "{\"b\":  1.0}"));
        assert_eq!(read("{\"many\": [{}, {\"text\": \"a\"}]}").unwrap().many.len(), 2);
        assert!(read("{\"inner\": {\"other\": 1}}").is_err());
    }
}
