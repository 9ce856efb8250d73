//! Canonical JSON (RFC 8785), refusing what has no single meaning.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::{Error, FINGERPRINT_INVALID, Result};

use super::number;

/// The canonical bytes of a request, with what they round.
pub(super) fn form(input: &[u8]) -> Result<Vec<u8>> {
    read(input)?.form(Value::clone)
}

/// A request, read.
pub(super) struct Reading {
    value: Value,
    /// The same with the exact decimal in the place of every number that a double rounds, where there is one.
    exact: Option<Value>,
}

/// Reads JSON; a repeated name or an integer beyond 2^53 is refused.
pub(super) fn read(input: &[u8]) -> Result<Reading> {
    let exact = match number::exact(input)? {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(parse(&text)?),
    };
    Ok(Reading { value: parse(input)?, exact })
}

impl Reading {
    /// The RFC 8785 form of what is chosen. Where that rounds a number, a second line has the exact decimals: what
    /// differs there is another request.
    pub(super) fn form(&self, choose: impl Fn(&Value) -> Value) -> Result<Vec<u8>> {
        let value = choose(&self.value);
        let mut form = write(&value)?;
        if let Some(exact) = self.exact.as_ref().map(choose).filter(|exact| *exact != value) {
            form.push(b'\n');
            form.extend(write(&exact)?);
        }
        Ok(form)
    }
}

fn parse(input: &[u8]) -> Result<Value> {
    serde_json::from_slice::<Strict>(input).map(|strict| strict.0).map_err(|cause| invalid(cause.to_string()))
}

fn write(value: &Value) -> Result<Vec<u8>> {
    serde_json_canonicalizer::to_vec(value).map_err(|cause| invalid(cause.to_string()))
}

pub(super) fn invalid(why: impl fmt::Display) -> Error {
    Error::new(FINGERPRINT_INVALID, format!("the request has no canonical JSON: {why}"))
}

/// A JSON value in which every name occurs once.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Strict(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((name, Strict(value))) = map.next_entry::<String, Strict>()? {
            if members.contains_key(&name) {
                return Err(serde::de::Error::custom("a name occurs twice in one object"));
            }
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_spacing_and_number_spelling_do_not_count() {
        let forms = ["{\"b\":1.0,\"a\":\"x\"}", "{ \"a\" : \"\\u0078\", \"b\" : 1 }"];
        assert_eq!(form(forms[0].as_bytes()).unwrap(), form(forms[1].as_bytes()).unwrap());
    }

    #[test]
    fn repeated_names_and_integers_beyond_2_53_are_refused() {
        for bad in [
            r#"{"a":1,"a":2}"#,
            r#"{"x":{"a":1,"a":1}}"#,
            "9007199254740993",
            "[-9007199254740993]",
            "123456789012345678901234567890",
            "no json",
            "",
            "{\"open\":\"",
        ] {
            assert_eq!(form(bad.as_bytes()).unwrap_err().code(), FINGERPRINT_INVALID, "{bad}");
        }
        for good in ["9007199254740992", "1e30", "\"9007199254740993\"", "{\"a\":\"\\\"9007199254740993\"}", "-0"] {
            assert!(form(good.as_bytes()).is_ok(), "{good}");
        }
    }

    #[test]
    fn numbers_that_a_double_rounds_to_one_are_kept_apart() {
        let pairs = [
            ("1234567890123456.78", "1234567890123456.75"),
            ("912345678901234.56", "912345678901234.57"),
            ("0.1", "0.10000000000000000001"),
            ("1e30", "1.00000000000000000001e30"),
            ("0", "1e-400"),
        ];
        for (one, other) in pairs {
            for around in ["{}", "[1, {}]", "{\"a\": {}}"] {
                let form = |number: &str| form(around.replacen("{}", number, 1).as_bytes()).unwrap();
                assert_ne!(form(one), form(other), "{one} and {other} in {around}");
            }
        }
        let spellings = ["{\"b\":1,\"a\":1234567890123456.780}", "{ \"a\" : 1234567890123456780e-3, \"b\": 1.0 }"];
        assert_eq!(form(spellings[0].as_bytes()).unwrap(), form(spellings[1].as_bytes()).unwrap());
        let texts = ["1234567890123456.78", "\"0.123456789012345678e16\""];
        assert_ne!(form(texts[0].as_bytes()).unwrap(), form(texts[1].as_bytes()).unwrap(), "a text is not a number");
    }

    /// The numbers that RFC 8785 prints in its appendix B, by the bits of the double.
    const NUMBERS: [(u64, &str); 24] = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];

    #[test]
    fn numbers_are_written_as_rfc_8785_prints_them() {
        for (bits, text) in NUMBERS {
            let written = format!("{:e}", f64::from_bits(bits));
            let canonical = form(written.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(canonical).unwrap(), text, "{bits:x}");
        }
    }

    #[test]
    fn the_samples_of_rfc_8785_come_out_as_it_prints_them() {
        let input = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let printed = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
                       \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        let written = write(&read(input.as_bytes()).unwrap().value).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), printed);
        let names = r#"{"\u20ac":5,"\r":1,"\ufb33":7,"1":2,"\ud83d\ude00":6,"\u0080":3,"\u00f6":4}"#;
        let sorted = "{\"\\r\":1,\"1\":2,\"\u{80}\":3,\"ö\":4,\"€\":5,\"😀\":6,\"\u{fb33}\":7}";
        assert_eq!(String::from_utf8(form(names.as_bytes()).unwrap()).unwrap(), sorted);
    }
}
