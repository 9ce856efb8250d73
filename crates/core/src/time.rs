//! Points in time as the ledger stores them. Time is always an argument here, never asked for.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A point in time: microseconds since 1970 in UTC, shown as RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The time `micros` microseconds after the start of 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the start of 1970.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The time `by` later; the largest representable time where that would overflow.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(micros(by)))
    }

    /// The time `by` earlier.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(micros(by)))
    }

    /// How long ago `earlier` was; zero when it lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Reads an RFC 3339 time.
    pub fn parse(text: &str) -> Option<Self> {
        let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(at.unix_timestamp_nanos() / 1_000).ok().map(Self)
    }
}

fn micros(by: Duration) -> i64 {
    i64::try_from(by.as_micros()).unwrap_or(i64::MAX)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000)
            .ok()
            .and_then(|at| at.format(&Rfc3339).ok());
        match text {
            Some(text) => f.write_str(&text),
            None => write!(f, "{}us", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("a time must be RFC 3339, such as 2026-11-15T08:00:00Z"))
    }
}

/// Reads a duration as configuration writes it: `250ms`, `10s`, `5m`, `24h`, `30d`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let count: u64 = text[..digits].parse().ok()?;
    let unit_millis = match &text[digits..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    count.checked_mul(unit_millis).map(Duration::from_millis)
}

/// Writes a duration so that [`parse_duration`] reads it back: the largest unit that divides it.
pub fn format_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    units
        .into_iter()
        .find(|(unit, _)| millis > 0 && millis.is_multiple_of(*unit))
        .map_or_else(|| format!("{millis}ms"), |(unit, name)| format!("{}{name}", millis / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_as_rfc_3339_and_read_back() {
        let at = Timestamp::from_micros(1_794_700_800_123_456);
        assert_eq!(Timestamp::parse(&at.to_string()), Some(at));
        assert!(at.to_string().ends_with('Z'));
    }

    #[test]
    fn a_duration_is_written_as_it_is_read() {
        for text in ["250ms", "10s", "15m", "24h", "7d", "1d", "90s"] {
            let read = parse_duration(text).unwrap();
            assert_eq!(parse_duration(&format_duration(read)), Some(read), "{text}");
        }
        assert_eq!(format_duration(Duration::from_hours(1)), "1h");
    }

    #[test]
    fn a_duration_without_a_known_unit_is_refused() {
        for text in ["", "10", "s", "10 s", "1w", "-1s", "1.5s", "99999999999999999999s"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
