//! Numbers as they are written: a double rounds them, and two that it rounds to one are two requests.

use std::borrow::Cow;

use crate::error::Result;

use super::canonical::invalid;

/// Integers beyond this are rounded by readers that use doubles, so two of them may look the same.
const INTEGER_MAX: u64 = 1 << 53;

/// The text with every number that a double rounds replaced by a string of its exact decimal; borrowed where there is
/// none. An integer beyond 2^53 is refused.
///
/// Looks at the text, because a parser has already rounded what it hands over.
pub(super) fn exact(input: &[u8]) -> Result<Cow<'_, [u8]>> {
    let (mut at, mut copied, mut replaced) = (0, 0, Vec::new());
    while at < input.len() {
        match input[at] {
            b'"' => at = end_of_string(input, at),
            b'-' | b'0'..=b'9' => {
                let len = input[at..].iter().position(|byte| !is_number_byte(*byte)).unwrap_or(input.len() - at);
                if let Some(decimal) = rounded(&input[at..at + len], at)? {
                    replaced.extend_from_slice(&input[copied..at]);
                    replaced.extend_from_slice(format!("\"{decimal}\"").as_bytes());
                    copied = at + len;
                }
                at += len;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(input));
    }
    replaced.extend_from_slice(&input[copied..]);
    Ok(Cow::Owned(replaced))
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

/// The exact decimal of a number that a double cannot tell from others; nothing where it can.
fn rounded(token: &[u8], at: usize) -> Result<Option<String>> {
    // What is not a number is left to the parser, which says so.
    let (Ok(text), Ok(double)) = (std::str::from_utf8(token), serde_json::from_slice::<f64>(token)) else {
        return refuse_large_integer(token, at).map(|()| None);
    };
    refuse_large_integer(token, at)?;
    let written = decimal(text).ok_or_else(|| invalid(format!("the exponent at byte {at} is too large")))?;
    let shortest = decimal(&format!("{double:e}"));
    Ok((shortest.as_ref() != Some(&written)).then(|| written.to_string()))
}

fn refuse_large_integer(token: &[u8], at: usize) -> Result<()> {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Ok(());
    }
    let fits =
        std::str::from_utf8(digits).ok().and_then(|text| text.parse::<u64>().ok()).is_some_and(|n| n <= INTEGER_MAX);
    if fits { Ok(()) } else { Err(invalid(format!("the integer at byte {at} is beyond 2^53"))) }
}

/// A decimal number in the one way it can be written: no zero at either end of its digits.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    /// Where the point is: the number is 0.digits times ten to this power.
    exponent: i64,
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        write!(f, "{sign}0.{}e{}", self.digits, self.exponent)
    }
}

/// Reads a JSON number; nothing where its exponent is out of all bounds.
fn decimal(text: &str) -> Option<Decimal> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let leading = all.len() - digits.len();
    let digits = digits.trim_end_matches('0').to_owned();
    if digits.is_empty() {
        // Minus zero is zero.
        return Some(Decimal { negative: false, digits, exponent: 0 });
    }
    let point = i64::try_from(whole.len()).ok()?.checked_sub(i64::try_from(leading).ok()?)?;
    Some(Decimal { negative, digits, exponent: exponent.parse::<i64>().ok()?.checked_add(point)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_a_double_can_tell_from_others_stays_as_it_is() {
        for text in ["0", "-0", "-0.0e5", "1", "0.1", "1.10", "1e30", "4.50", "0.000001", "5e-324", "9007199254740992"]
        {
            assert_eq!(exact(text.as_bytes()).unwrap(), text.as_bytes(), "{text}");
        }
    }

    #[test]
    fn a_number_that_a_double_rounds_becomes_its_exact_decimal() {
        let rows = [
            ("1234567890123456.78", "\"0.123456789012345678e16\""),
            ("[-1234567890123456.780]", "[\"-0.123456789012345678e16\"]"),
            (
                "{\"a\":0.10000000000000000001,\"b\":\"0.10000000000000000001\"}",
                "{\"a\":\"0.10000000000000000001e0\",\"b\":\"0.10000000000000000001\"}",
            ),
            ("1e-400", "\"0.1e-399\""),
        ];
        for (text, replaced) in rows {
            assert_eq!(String::from_utf8(exact(text.as_bytes()).unwrap().into_owned()).unwrap(), replaced, "{text}");
        }
    }

    #[test]
    fn an_exponent_out_of_all_bounds_is_refused() {
        assert!(exact(b"1e-99999999999999999999").is_err());
    }
}
