//! What was read has changed since: told, retried where that is declared safe, or already done.

use std::fmt;
use std::future::Future;

use crate::error::{Class, Code, Error, OPTIMISTIC_LOCK_CONFLICT, Result};

/// A change was based on a version that is no longer there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConcurrencyConflict {
    /// The registry's or the application's code.
    pub code: Code,
    /// What was to be changed.
    pub resource: String,
    /// The version that the change was based on.
    pub expected_version: String,
    /// The version that is there.
    pub actual_version: String,
}

impl ConcurrencyConflict {
    /// A conflict about this resource.
    pub fn new(resource: impl Into<String>, expected: impl fmt::Display, actual: impl fmt::Display) -> Self {
        Self {
            code: OPTIMISTIC_LOCK_CONFLICT,
            resource: resource.into(),
            expected_version: expected.to_string(),
            actual_version: actual.to_string(),
        }
    }
}

impl From<ConcurrencyConflict> for Error {
    fn from(conflict: ConcurrencyConflict) -> Self {
        let ConcurrencyConflict { code, resource, expected_version, actual_version } = conflict;
        let detail = format!("{resource} is at version {actual_version}, not {expected_version}");
        Error::new(code, detail)
            .hint("read it again and decide anew")
            .with_fact("resource", resource)
            .with_fact("expectedVersion", expected_version)
            .with_fact("actualVersion", actual_version)
    }
}

/// A change that takes hold only on the version it was based on.
pub trait CompareAndSet<C>: Sync {
    /// What is to be changed, for people.
    fn resource(&self) -> String;
    /// The version that it is based on.
    fn expected_version(&self) -> String;
    /// Changes the row where it has the expected version; answers with the rows changed.
    fn update(&self, tx: &mut C) -> impl Future<Output = Result<u64>> + Send;
    /// The row as it is now; none where it is not there.
    fn read(&self, tx: &mut C) -> impl Future<Output = Result<Option<Current>>> + Send;
}

/// A row as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// Its version.
    pub version: String,
    /// Whether the change has taken hold before.
    pub applied: bool,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transitioned {
    /// It took hold.
    Applied,
    /// It had taken hold before.
    AlreadyApplied,
    /// Somebody else changed the row, or it is not there.
    Conflict(ConcurrencyConflict),
}

/// Changes a row in the caller's transaction, if it is what the change was based on.
pub async fn transition<C>(tx: &mut C, change: &impl CompareAndSet<C>) -> Result<Transitioned> {
    if change.update(tx).await? > 0 {
        return Ok(Transitioned::Applied);
    }
    let actual = match change.read(tx).await? {
        Some(Current { applied: true, .. }) => return Ok(Transitioned::AlreadyApplied),
        Some(Current { version, .. }) => version,
        None => "absent".to_owned(),
    };
    Ok(Transitioned::Conflict(ConcurrencyConflict::new(change.resource(), change.expected_version(), actual)))
}

/// A handler whose changes may come in any order, and why that is so.
#[derive(Debug, Clone, Copy)]
pub struct Commutative {
    /// Why.
    pub because: &'static str,
}

/// Runs a commutative handler again when what it read has changed, at most three times in all.
///
/// The handler reads afresh each time: it is handed nothing from the run before.
pub async fn retry_on_conflict<T, F: Future<Output = Result<T>>>(
    _declared: Commutative,
    mut handler: impl FnMut() -> F,
) -> Result<T> {
    const RUNS_MAX: u32 = 3;
    let mut runs = 1;
    loop {
        match handler().await {
            Err(error) if runs < RUNS_MAX && error.code().descriptor().class == Class::OptimisticLock => runs += 1,
            ended => return ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// Nothing here waits.
    fn now<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("it waits"),
        }
    }

    /// A table of one row: version and state.
    struct Close {
        based_on: u32,
    }

    impl CompareAndSet<(u32, &'static str)> for Close {
        fn resource(&self) -> String {
            "case CASE-1".to_owned()
        }
        fn expected_version(&self) -> String {
            self.based_on.to_string()
        }
        async fn update(&self, tx: &mut (u32, &'static str)) -> Result<u64> {
            if tx.0 != self.based_on || tx.1 == "CLOSED" {
                return Ok(0);
            }
            *tx = (tx.0 + 1, "CLOSED");
            Ok(1)
        }
        async fn read(&self, tx: &mut (u32, &'static str)) -> Result<Option<Current>> {
            Ok(Some(Current { version: tx.0.to_string(), applied: tx.1 == "CLOSED" }))
        }
    }

    #[test]
    fn a_change_is_applied_already_applied_or_a_conflict() {
        let mut row = (3, "OPEN");
        assert_eq!(now(transition(&mut row, &Close { based_on: 3 })).unwrap(), Transitioned::Applied);
        assert_eq!(now(transition(&mut row, &Close { based_on: 3 })).unwrap(), Transitioned::AlreadyApplied);
        let mut moved = (7, "OPEN");
        let Transitioned::Conflict(conflict) = now(transition(&mut moved, &Close { based_on: 3 })).unwrap() else {
            panic!("no conflict")
        };
        assert_eq!((conflict.expected_version.as_str(), conflict.actual_version.as_str()), ("3", "7"));
        let error = Error::from(conflict);
        assert_eq!(error.code(), OPTIMISTIC_LOCK_CONFLICT);
        assert_eq!(error.detail(), "case CASE-1 is at version 7, not 3");
    }

    #[test]
    fn a_commutative_handler_is_run_again_and_reads_afresh() {
        let tags = Commutative { because: "adds one tag to a set" };
        let mut runs = 0;
        let added = now(retry_on_conflict(tags, || {
            runs += 1;
            let ended = if runs < 3 { Err(ConcurrencyConflict::new("case", runs, runs + 1).into()) } else { Ok(runs) };
            async move { ended }
        }));
        assert_eq!(added.unwrap(), 3);
        let mut runs = 0;
        let never: Result<()> = now(retry_on_conflict(tags, || {
            runs += 1;
            async move { Err(ConcurrencyConflict::new("case", 1, 2).into()) }
        }));
        assert_eq!((never.unwrap_err().code(), runs), (OPTIMISTIC_LOCK_CONFLICT, 3));
        let mut runs = 0;
        let other: Result<()> = now(retry_on_conflict(tags, || {
            runs += 1;
            async move { Err(Error::new(crate::error::DATABASE_UNAVAILABLE, "x")) }
        }));
        assert_eq!((other.is_err(), runs), (true, 1));
    }
}
