//! When a user's transaction is run again.

use std::time::Duration;

use crate::error::{Error, ErrorClass};

/// Runs of one transaction at most.
const RUNS_MAX: u32 = 3;

/// How long to wait before a transaction that ended so is run again; nothing where it is not.
///
/// Only contention is: it took everything back. `runs` are those so far, `draw` is chance.
pub fn rerun_after(error: &Error, runs: u32, draw: u8) -> Option<Duration> {
    let contended = error.code().descriptor().class == ErrorClass::Contention;
    (contended && runs < RUNS_MAX).then(|| Duration::from_millis(u64::from(20 * runs) + u64::from(draw) / 8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{DATABASE_UNAVAILABLE, DB_DEADLOCK_RETRYABLE};

    #[test]
    fn contention_is_run_three_times_and_a_lost_connection_once() {
        let contended = Error::new(DB_DEADLOCK_RETRYABLE, "x");
        assert_eq!(rerun_after(&contended, 1, 0), Some(Duration::from_millis(20)));
        assert_eq!(rerun_after(&contended, 2, 255), Some(Duration::from_millis(71)));
        assert_eq!(rerun_after(&contended, 3, 0), None);
        assert_eq!(rerun_after(&Error::new(DATABASE_UNAVAILABLE, "x"), 1, 0), None);
    }
}
