//! Changes that take hold only on what they were based on, and handlers that are run again when that has changed.

use std::future::Future;

use onefold_core::Result;
use onefold_core::persistence::{Current, Transitioned, rerun_on_conflict};

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

/// Changes a row in the caller's transaction, if it is what the change was based on.
pub async fn transition<C>(tx: &mut C, change: &impl CompareAndSet<C>) -> Result<Transitioned> {
    if change.update(tx).await? > 0 {
        return Ok(Transitioned::Applied);
    }
    let current = change.read(tx).await?;
    Ok(Transitioned::unchanged(change.resource(), change.expected_version(), current))
}

/// A handler whose changes may come in any order, and why that is so.
#[derive(Debug, Clone, Copy)]
pub struct Commutative {
    because: &'static str,
}

impl Commutative {
    /// The changes may come in any order, for this reason; it is logged whenever the handler is run again.
    pub const fn because(reason: &'static str) -> Self {
        Self { because: reason }
    }
}

/// Runs a commutative handler again when what it read has changed, at most three times in all.
///
/// The handler reads afresh each time: it is handed nothing from the run before. Each further run is
/// logged with the reason why that is safe.
pub async fn retry_on_conflict<T, F: Future<Output = Result<T>>>(
    declared: Commutative,
    mut handler: impl FnMut() -> F,
) -> Result<T> {
    let mut runs = 1;
    loop {
        match handler().await {
            Err(error) if rerun_on_conflict(&error, runs) => {
                tracing::info!(because = declared.because, runs, code = %error.code(), "commutative handler runs again");
                runs += 1;
            }
            ended => return ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use onefold_core::Error;
    use onefold_core::error::{DATABASE_UNAVAILABLE, OPTIMISTIC_LOCK_CONFLICT};
    use onefold_core::persistence::ConcurrencyConflict;
    use std::sync::{Arc, Mutex};
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

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

    #[tokio::test]
    async fn a_change_is_applied_already_applied_or_a_conflict() {
        let mut row = (3, "OPEN");
        assert_eq!(transition(&mut row, &Close { based_on: 3 }).await.unwrap(), Transitioned::Applied);
        assert_eq!(transition(&mut row, &Close { based_on: 3 }).await.unwrap(), Transitioned::AlreadyApplied);
        let conflict = transition(&mut (7, "OPEN"), &Close { based_on: 3 }).await.unwrap();
        assert_eq!(conflict, Transitioned::Conflict(ConcurrencyConflict::new("case CASE-1", 3, 7)));
    }

    /// Keeps what is logged, a line an event.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            self.0.extend([field.name(), "=", &format!("{value:?}"), " "]);
        }
    }

    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &Event<'_>) {
            let mut line = Line(String::new());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[tokio::test]
    async fn the_reason_why_a_handler_is_commutative_is_logged_when_it_is_run_again() {
        let log = Log::default();
        let _logging = tracing::subscriber::set_default(log.clone());
        let conflict = || async { Err::<(), _>(ConcurrencyConflict::new("case", 1, 2).into()) };
        retry_on_conflict(Commutative::because("adds one tag to a set"), conflict).await.unwrap_err();
        let lines = log.0.lock().unwrap().clone();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().all(|line| line.contains("because=\"adds one tag to a set\"")), "{lines:?}");
    }

    #[tokio::test]
    async fn a_commutative_handler_is_run_again_and_reads_afresh() {
        let tags = Commutative::because("adds one tag to a set");
        let mut runs = 0;
        let added = retry_on_conflict(tags, || {
            runs += 1;
            let ended = if runs < 3 { Err(ConcurrencyConflict::new("case", runs, runs + 1).into()) } else { Ok(runs) };
            async move { ended }
        });
        assert_eq!(added.await.unwrap(), 3);
        let mut runs = 0;
        let never: Result<()> = retry_on_conflict(tags, || {
            runs += 1;
            async move { Err(ConcurrencyConflict::new("case", 1, 2).into()) }
        })
        .await;
        assert_eq!((never.unwrap_err().code(), runs), (OPTIMISTIC_LOCK_CONFLICT, 3));
        let mut runs = 0;
        let other: Result<()> = retry_on_conflict(tags, || {
            runs += 1;
            async move { Err(Error::new(DATABASE_UNAVAILABLE, "x")) }
        })
        .await;
        assert_eq!((other.is_err(), runs), (true, 1));
    }
}
