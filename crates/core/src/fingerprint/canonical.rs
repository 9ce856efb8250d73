//! Canonical JSON (RFC 8785), refusing what has no single meaning.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::{Error, FINGERPRINT_INVALID, Result};

/// Integers beyond this are rounded by readers that use doubles, so two of them may look the same.
const INTEGER_MAX: u64 = 1 << 53;

/// The canonical bytes of a request.
pub(super) fn form(input: &[u8]) -> Result<Vec<u8>> {
    write(&read(input)?)
}

/// Reads JSON; a repeated name or an integer beyond 2^53 is refused.
pub(super) fn read(input: &[u8]) -> Result<Value> {
    refuse_large_integers(input)?;
    serde_json::from_slice::<Strict>(input).map(|strict| strict.0).map_err(|cause| invalid(cause.to_string()))
}

/// Writes the canonical form.
pub(super) fn write(value: &Value) -> Result<Vec<u8>> {
    serde_json_canonicalizer::to_vec(value).map_err(|cause| invalid(cause.to_string()))
}

fn invalid(why: impl fmt::Display) -> Error {
    Error::new(FINGERPRINT_INVALID, format!("the request has no canonical JSON: {why}"))
}

/// Looks at the text, because a parser has already rounded what it hands over.
fn refuse_large_integers(input: &[u8]) -> Result<()> {
    let mut at = 0;
    while at < input.len() {
        match input[at] {
            b'"' => at = end_of_string(input, at),
            b'-' | b'0'..=b'9' => {
                let end =
                    input[at..].iter().position(|byte| !is_number_byte(*byte)).map_or(input.len(), |len| at + len);
                refuse_large_integer(&input[at..end], at)?;
                at = end;
            }
            _ => at += 1,
        }
    }
    Ok(())
}

fn is_number_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

fn end_of_string(input: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < input.len() && input[at] != b'"' {
        at += if input[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

fn refuse_large_integer(token: &[u8], at: usize) -> Result<()> {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    if !digits.iter().all(u8::is_ascii_digit) {
        return Ok(());
    }
    let fits =
        std::str::from_utf8(digits).ok().and_then(|text| text.parse::<u64>().ok()).is_some_and(|n| n <= INTEGER_MAX);
    if fits || digits.is_empty() {
        return Ok(());
    }
    Err(invalid(format!("the integer at byte {at} is beyond 2^53")))
}

/// A JSON value in which every name stands once.
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
                return Err(serde::de::Error::custom("a name stands twice in one object"));
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
        assert_eq!(String::from_utf8(form(input.as_bytes()).unwrap()).unwrap(), printed);
        let names = r#"{"\u20ac":5,"\r":1,"\ufb33":7,"1":2,"\ud83d\ude00":6,"\u0080":3,"\u00f6":4}"#;
        let sorted = "{\"\\r\":1,\"1\":2,\"\u{80}\":3,\"ö\":4,\"€\":5,\"😀\":6,\"\u{fb33}\":7}";
        assert_eq!(String::from_utf8(form(names.as_bytes()).unwrap()).unwrap(), sorted);
    }
}
