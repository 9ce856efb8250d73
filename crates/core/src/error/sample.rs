//! A flood of one error is one line with a count, not a flood of lines.

use std::collections::HashMap;
use std::time::Duration;

use super::Code;

/// Lines of one code from one source that are let through in each window.
pub const LINES_MAX: u32 = 10;
/// How long a window lasts.
pub const WINDOW: Duration = Duration::from_mins(1);
/// Sources that are told apart; more of them share one count.
const SOURCES_MAX: usize = 10_000;

/// Whether a line is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogDecision {
    /// It is.
    Log,
    /// It is, and so many before it were not.
    LogAfter(u64),
    /// It is counted.
    Count,
}

/// Counts errors by code and source. Time is an argument: any clock that never goes back.
#[derive(Debug, Default)]
pub struct Sampler {
    windows: HashMap<(&'static str, String), Window>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    began: Duration,
    logged: u32,
    counted: u64,
}

impl Sampler {
    /// Nothing was logged yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether this error is logged now.
    pub fn line(&mut self, code: Code, source: &str, now: Duration) -> LogDecision {
        let full = self.windows.len() >= SOURCES_MAX;
        let key = (code.as_str(), source.to_owned());
        let key = if full && !self.windows.contains_key(&key) { (code.as_str(), String::new()) } else { key };
        let window = self.windows.entry(key).or_insert(Window { began: now, logged: 0, counted: 0 });
        if now.saturating_sub(window.began) >= WINDOW {
            let missed = window.counted;
            *window = Window { began: now, logged: 1, counted: 0 };
            return if missed == 0 { LogDecision::Log } else { LogDecision::LogAfter(missed) };
        }
        if window.logged < LINES_MAX {
            window.logged += 1;
            LogDecision::Log
        } else {
            window.counted += 1;
            LogDecision::Count
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{LEASE_ENDED, REQUEST_BODY_INVALID};

    #[test]
    fn ten_lines_a_minute_then_one_with_a_count() {
        let mut sampler = Sampler::new();
        let at = Duration::from_secs;
        let first: Vec<LogDecision> =
            (0..25).map(|_| sampler.line(REQUEST_BODY_INVALID, "/v1/claims", at(1))).collect();
        assert_eq!(first.iter().filter(|line| **line == LogDecision::Log).count(), 10);
        assert_eq!(sampler.line(LEASE_ENDED, "/v1/claims", at(1)), LogDecision::Log, "another code has its own count");
        assert_eq!(sampler.line(REQUEST_BODY_INVALID, "/other", at(1)), LogDecision::Log, "so has another source");
        assert_eq!(sampler.line(REQUEST_BODY_INVALID, "/v1/claims", at(61)), LogDecision::LogAfter(15));
        assert_eq!(sampler.line(REQUEST_BODY_INVALID, "/v1/claims", at(62)), LogDecision::Log);
    }

    #[test]
    fn a_flood_of_sources_is_bounded() {
        let mut sampler = Sampler::new();
        for source in 0..20_000 {
            sampler.line(LEASE_ENDED, &source.to_string(), Duration::ZERO);
        }
        assert!(sampler.windows.len() <= SOURCES_MAX + 1);
    }
}
