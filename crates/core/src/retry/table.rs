//! The table: a row per failure category, with limits.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Category, Jitter, Schedule};
use crate::time::Timestamp;

/// When to try again, by category; a kind overrides rows and says why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryTable {
    overrides: BTreeMap<Category, RetryRow>,
    /// Attempts an operation may use in all.
    pub attempts_max: u32,
    /// Retrying ends this long after the first attempt.
    pub escalate_within: Option<Duration>,
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryRow {
    /// The waits; none means never.
    pub schedule: Option<Schedule>,
    /// Attempts after which this category ends retrying, if fewer than the table's.
    pub attempts_max: Option<u32>,
    /// Why the kind overrides the default.
    pub because: Option<String>,
}

/// What comes after a failure that may be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextRetry {
    /// Not before this time.
    At(Timestamp),
    /// Retrying is over.
    Over(RetryEnd),
}

/// Why retrying is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryEnd {
    /// The category is never retried.
    NeverRetried,
    /// The attempts are used up.
    AttemptsUsedUp,
    /// The time for retrying is over.
    TimeIsUp,
}

impl RetryEnd {
    /// The reason as an incident gives it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NeverRetried => "this failure is never retried",
            Self::AttemptsUsedUp => "every attempt was used up",
            Self::TimeIsUp => "the time for retrying is over",
        }
    }
}

impl Default for RetryTable {
    fn default() -> Self {
        Self { overrides: BTreeMap::new(), attempts_max: 5, escalate_within: None }
    }
}

impl RetryTable {
    /// Replaces the row of a category; `because` is kept with it.
    #[must_use]
    pub fn with(mut self, category: Category, schedule: Option<Schedule>, because: impl Into<String>) -> Self {
        self.overrides.insert(category, RetryRow { schedule, attempts_max: None, because: Some(because.into()) });
        self
    }

    /// The rows that were replaced.
    pub fn overrides(&self) -> impl Iterator<Item = (Category, &RetryRow)> {
        self.overrides.iter().map(|(category, row)| (*category, row))
    }

    /// The row of a category.
    pub fn row(&self, category: Category) -> RetryRow {
        self.overrides.get(&category).cloned().unwrap_or_else(|| default_row(category))
    }

    /// What comes after the `used`-th attempt failed at `now`.
    pub fn next(&self, failure: &FailedAttempt) -> NextRetry {
        let row = self.row(failure.category);
        let Some(schedule) = row.schedule else {
            return NextRetry::Over(RetryEnd::NeverRetried);
        };
        let attempts_max = row.attempts_max.map_or(self.attempts_max, |max| max.min(self.attempts_max));
        if failure.used >= attempts_max {
            return NextRetry::Over(RetryEnd::AttemptsUsedUp);
        }
        let at = failure.now.plus(schedule.wait(failure.used, failure.retry_after, failure.jitter));
        match self.escalate_at(failure.first_attempt_at) {
            Some(end) if at > end => NextRetry::Over(RetryEnd::TimeIsUp),
            Some(_) | None => NextRetry::At(at),
        }
    }

    /// When retrying ends by the clock.
    pub fn escalate_at(&self, first_attempt_at: Timestamp) -> Option<Timestamp> {
        self.escalate_within.map(|within| first_attempt_at.plus(within))
    }
}

/// A failed attempt as the table sees it.
#[derive(Debug, Clone, Copy)]
pub struct FailedAttempt {
    /// What failed.
    pub category: Category,
    /// Attempts used so far, this one included.
    pub used: u32,
    /// What the dependency asked for.
    pub retry_after: Option<Duration>,
    /// When the operation was first attempted.
    pub first_attempt_at: Timestamp,
    /// When it failed.
    pub now: Timestamp,
    /// The draw that spreads the wait.
    pub jitter: Jitter,
}

fn default_row(category: Category) -> RetryRow {
    let row = |schedule: Option<Schedule>, attempts_max| RetryRow { schedule, attempts_max, because: None };
    match category {
        Category::DownstreamUnavailable
        | Category::DownstreamTimeout
        | Category::StoreUnavailable
        | Category::HolderLost
        | Category::CommandKilled => row(Some(Schedule::seconds(&[1, 5, 30])), None),
        Category::RateLimited => row(Some(Schedule::seconds(&[60, 300, 900])), None),
        Category::Maintenance => row(Some(Schedule::seconds(&[900, 3600])), None),
        Category::Contention => {
            row(Some(Schedule::Between(Duration::from_millis(50), Duration::from_millis(500))), None)
        }
        Category::Unexpected => row(Some(Schedule::seconds(&[10])), Some(3)),
        Category::Permission
        | Category::InvalidWorkerContract
        | Category::AttemptsExhausted
        | Category::DuplicateSuspected => row(None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(category: Category, used: u32) -> FailedAttempt {
        FailedAttempt {
            category,
            used,
            retry_after: None,
            first_attempt_at: Timestamp::from_micros(0),
            now: Timestamp::from_micros(0),
            jitter: Jitter(0),
        }
    }

    fn waits(table: &RetryTable, category: Category) -> Vec<u128> {
        (1..)
            .map_while(|used| match table.next(&failure(category, used)) {
                NextRetry::At(at) => Some(at.since(Timestamp::from_micros(0)).as_millis()),
                NextRetry::Over(_) => None,
            })
            .collect()
    }

    #[test]
    fn the_default_rows_are_those_of_the_design() {
        let table = RetryTable::default();
        let rows: &[(Category, &[u128])] = &[
            (Category::DownstreamUnavailable, &[1_000, 5_000, 30_000, 30_000]),
            (Category::DownstreamTimeout, &[1_000, 5_000, 30_000, 30_000]),
            (Category::StoreUnavailable, &[1_000, 5_000, 30_000, 30_000]),
            (Category::HolderLost, &[1_000, 5_000, 30_000, 30_000]),
            (Category::CommandKilled, &[1_000, 5_000, 30_000, 30_000]),
            (Category::RateLimited, &[60_000, 300_000, 900_000, 900_000]),
            (Category::Maintenance, &[900_000, 3_600_000, 3_600_000, 3_600_000]),
            (Category::Contention, &[50, 50, 50, 50]),
            (Category::Unexpected, &[10_000, 10_000]),
            (Category::Permission, &[]),
            (Category::InvalidWorkerContract, &[]),
            (Category::AttemptsExhausted, &[]),
            (Category::DuplicateSuspected, &[]),
        ];
        assert_eq!(rows.len(), Category::ALL.len());
        for (category, expected) in rows {
            assert_eq!(waits(&table, *category), *expected, "{category}");
        }
    }

    #[test]
    fn a_kind_overrides_a_row_and_its_limits_hold() {
        let mut table = RetryTable::default().with(
            Category::RateLimited,
            Some(Schedule::seconds(&[1])),
            "quota resets each second",
        );
        table.attempts_max = 3;
        assert_eq!(waits(&table, Category::RateLimited), [1_000, 1_000]);
        assert_eq!(table.row(Category::RateLimited).because.as_deref(), Some("quota resets each second"));
    }

    #[test]
    fn escalate_within_ends_retrying_by_the_clock() {
        let table = RetryTable { escalate_within: Some(Duration::from_secs(4)), ..RetryTable::default() };
        assert_eq!(waits(&table, Category::DownstreamTimeout), [1_000]);
        assert_eq!(table.next(&failure(Category::DownstreamTimeout, 2)), NextRetry::Over(RetryEnd::TimeIsUp));
    }
}
