//! The key as its header gives it.
//!
//! A structured-field string, or the bare form that many clients send; both are the same key. Whatever could be read
//! in two ways is refused.

use axum::http::{HeaderMap, HeaderName};
use onefold_core::Error;
use onefold_core::error::IDEMPOTENCY_KEY_INVALID;

/// The header, unless a route names another one.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Bytes a key may have.
const BYTES_MAX: usize = 255;

/// The key of a request; none where the header is absent.
pub(super) fn read(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Error> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(invalid(name, "occurs in the request more than once"));
    }
    parse(value.as_bytes()).map(Some).map_err(|why| invalid(name, why))
}

fn invalid(name: &HeaderName, why: &str) -> Error {
    Error::new(IDEMPOTENCY_KEY_INVALID, format!("the header {name} {why}"))
        .hint("send one string of 1 to 255 characters, such as a UUID")
}

/// A quoted string, else a bare `[A-Za-z0-9._:~/-]{1,255}`.
fn parse(value: &[u8]) -> Result<String, &'static str> {
    let value = value.trim_ascii();
    if value.is_empty() {
        return Err("is empty");
    }
    let key = if value.first() == Some(&b'"') { quoted(value)? } else { bare(value)? };
    match key.len() {
        0 => Err("is an empty string"),
        1..=BYTES_MAX => Ok(key),
        _ => Err("has more than 255 bytes"),
    }
}

fn quoted(value: &[u8]) -> Result<String, &'static str> {
    let item: sfv::Item = sfv::Parser::new(value).parse().map_err(|_| "is not a quoted string")?;
    if !item.params.is_empty() {
        return Err("has parameters, which no key has");
    }
    item.bare_item.as_string().map(|text| text.as_str().to_owned()).ok_or("is not a quoted string")
}

fn bare(value: &[u8]) -> Result<String, &'static str> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._:~/-".contains(byte);
    if !value.iter().all(plain) {
        return Err("holds characters that only a quoted string may hold, or that no key may hold");
    }
    Ok(value.iter().map(|byte| char::from(*byte)).collect())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn quoted_and_bare_forms_of_a_key_are_one_key() {
        let long = "x".repeat(255);
        let rows: [(&str, &str); 11] = [
            ("\"8e03978e-40d5-43e8-bc93-6894a57f9324\"", "8e03978e-40d5-43e8-bc93-6894a57f9324"),
            ("8e03978e-40d5-43e8-bc93-6894a57f9324", "8e03978e-40d5-43e8-bc93-6894a57f9324"),
            ("a603978e-40d5-43e8-bc93-6894a57f9324", "a603978e-40d5-43e8-bc93-6894a57f9324"),
            ("\"with space\"", "with space"),
            ("\"a\\\"b\\\\c\"", "a\"b\\c"),
            ("  padded  ", "padded"),
            ("order:17/line~3._-", "order:17/line~3._-"),
            ("0", "0"),
            ("\"@%\"", "@%"),
            // To a structured-field reader these are bytes; clients mean the characters.
            (":YWJj:", ":YWJj:"),
            (&long, &long),
        ];
        for (value, key) in rows {
            assert_eq!(parse(value.as_bytes()).as_deref(), Ok(key), "{value}");
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let long = "x".repeat(256);
        let long_quoted = format!("\"{long}\"");
        let bad: [&[u8]; 17] = [
            b"",
            b"   ",
            b"\"\"",
            b"\"open",
            b"open\"",
            b"\"a\" \"b\"",
            b"\"a\";p=1",
            b"a, b",
            b"a b",
            b"a;b",
            b"a@b",
            b"a%40b",
            b"\"a\\nb\"",
            b"caf\xc3\xa9",
            b"\"caf\xc3\xa9\"",
            long.as_bytes(),
            long_quoted.as_bytes(),
        ];
        for value in bad {
            assert!(parse(value).is_err(), "{:?}", String::from_utf8_lossy(value));
        }
    }

    #[test]
    fn a_repeated_header_is_refused_and_an_absent_one_is_none() {
        let mut headers = HeaderMap::new();
        assert_eq!(read(&headers, &IDEMPOTENCY_KEY).unwrap(), None);
        headers.append(IDEMPOTENCY_KEY, HeaderValue::from_static("a"));
        assert_eq!(read(&headers, &IDEMPOTENCY_KEY).unwrap().as_deref(), Some("a"));
        headers.append(IDEMPOTENCY_KEY, HeaderValue::from_static("a"));
        assert_eq!(read(&headers, &IDEMPOTENCY_KEY).unwrap_err().code(), IDEMPOTENCY_KEY_INVALID);
    }
}
