//! `[dependency.NAME]`: what calls to something outside are held to.

use std::collections::BTreeMap;
use std::time::Duration;

use onefold_core::Error;
use onefold_core::error::DECLARATION_INVALID;
use onefold_core::operation::KindName;

use crate::http::StatusMeaning;
use crate::mistake::Mistake;
use crate::setting::declaration;
use crate::values::{answers, duration, rate, required_duration};

/// Calls and failures that a limit may count.
const COUNT_MAX: usize = 1_000_000;

declaration! {
    /// What calls to a dependency are held to. The default holds them to nothing.
    [serde(default)]
    pub struct DependencyDeclaration {
        /// When calls stop for a while: after so many failures in a row, for so long. 503 `BREAKER_OPEN`.
        ["`{ failures = 20, open_for = \"30s\" }`", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub breaker: Option<Breaker>,
        /// Calls in flight at once. 503 `BULKHEAD_FULL`.
        ["number", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub calls_max: Option<usize>,
        /// Calls that may begin in a second, a minute or an hour. 429 `RATE_EXCEEDED`.
        ["`\"50/s\"`, `\"600/m\"` or `\"9000/h\"`", "none"]
        #[serde(with = "rate", skip_serializing_if = "Option::is_none")]
        pub rate: Option<Rate>,
        /// How long every call must have failed before an incident says so; it closes with the first call that succeeds.
        ["duration", "\"1m\""]
        #[serde(with = "duration", skip_serializing_if = "Option::is_none")]
        pub unavailable_for: Option<Duration>,
        /// What statuses of its answers mean, where that differs from the [table](idempotency-key.md#what-the-handlers-answer-means): `{ 503 = "not-applied" }`; also `"applied"`, `"final"`, `"unknown"`. A route's own `answers` come first.
        ["table", "{}"]
        #[serde(with = "answers", skip_serializing_if = "BTreeMap::is_empty")]
        pub answers: BTreeMap<u16, StatusMeaning>,
    }
}

/// When calls stop for a while: after so many failures in a row, for so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breaker {
    /// How many failures in a row open it; zero counts as one.
    pub failures: u32,
    /// How long nothing is called before one call probes.
    #[serde(with = "required_duration")]
    pub open_for: Duration,
}

/// How many calls may begin in any stretch of time of this length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many; zero allows none.
    pub calls: u32,
    /// In how long.
    pub per: Duration,
}

impl DependencyDeclaration {
    /// Refuses a name that cannot label a metric, limits that let nothing pass, and numbers that are not limits.
    pub fn check(&self, name: &str) -> Result<KindName, Mistake> {
        let name = KindName::parse(name).map_err(Mistake::name)?;
        let outside = |key, count: usize| {
            let error = Error::new(DECLARATION_INVALID, format!("{count} is out of range"))
                .hint(format!("give a number from 1 to {COUNT_MAX}"));
            Err(Mistake::value(key, error))
        };
        if let Some(calls) = self.calls_max.filter(|calls| !(1..=COUNT_MAX).contains(calls)) {
            return outside("calls_max", calls);
        }
        let Some(Breaker { failures, open_for }) = self.breaker else { return Ok(name) };
        let failures = usize::try_from(failures).unwrap_or(usize::MAX);
        if !(1..=COUNT_MAX).contains(&failures) {
            return outside("breaker.failures", failures);
        }
        if open_for.is_zero() {
            let error = Error::new(DECLARATION_INVALID, "this must be longer than zero").hint("write \"30s\"");
            return Err(Mistake::value("breaker.open_for", error));
        }
        Ok(name)
    }
}

impl Rate {
    /// Reads a rate as configuration writes it: `50/s`, `300/m`, `1000/h`. None for anything else, and for zero.
    ///
    /// ```
    /// use std::time::Duration;
    /// use onefold_config::Rate;
    ///
    /// assert_eq!(Rate::parse("50/s"), Some(Rate { calls: 50, per: Duration::from_secs(1) }));
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (calls, unit) = text.split_once('/')?;
        let seconds = UNITS.iter().find(|(_, name)| *name == unit)?.0;
        if !calls.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let calls = calls.parse().ok().filter(|calls| *calls > 0)?;
        Some(Self { calls, per: Duration::from_secs(seconds) })
    }
}

/// Seconds, and how a rate writes them.
const UNITS: [(u64, &str); 3] = [(1, "s"), (60, "m"), (3_600, "h")];

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unit = UNITS.iter().find(|(seconds, _)| self.per == Duration::from_secs(*seconds));
        match unit {
            Some((_, unit)) => write!(f, "{}/{unit}", self.calls),
            None => write!(f, "{} in {}", self.calls, onefold_core::time::format_duration(self.per)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_count_and_a_unit() {
        assert_eq!(Rate::parse("300/m"), Some(Rate { calls: 300, per: Duration::from_mins(1) }));
        assert_eq!(Rate::parse("7/h"), Some(Rate { calls: 7, per: Duration::from_hours(1) }));
        assert_eq!(Rate::parse("7/h").unwrap().to_string(), "7/h");
        for wrong in ["", "50", "/s", "50/", "50/d", "0/s", "-1/s", "+1/s", "1.5/s", "50 /s", "50/s/s", "99999999999/s"]
        {
            assert_eq!(Rate::parse(wrong), None, "{wrong:?}");
        }
    }
}
