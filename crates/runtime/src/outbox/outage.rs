//! One incident for a target that takes nothing; it closes with the first event that is taken.

use std::time::Duration;

use onefold_core::error::BREAKER_OPEN;
use onefold_core::incident::{IncidentChange, UNAVAILABLE_FOR};
use onefold_core::outbox::{RelaySpec, TargetUnavailable};
use onefold_core::port::{Clock, RelayStore, SubjectChange};
use onefold_core::time::Timestamp;

/// What this process knows of a target.
#[derive(Debug)]
pub(crate) struct TargetWatch {
    /// Since when nothing was taken; none after a success.
    failing_since: Option<Duration>,
    /// Failures in a row: waits between tries grow with them.
    failures: u32,
    incident: KnownIncident,
}

/// Whether the target's incident is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KnownIncident {
    /// An earlier life may have opened one.
    Perhaps,
    Open,
    None,
}

impl TargetWatch {
    pub(crate) fn new() -> Self {
        Self { failing_since: None, failures: 0, incident: KnownIncident::Perhaps }
    }

    /// An event was taken: the incident of whichever process closes.
    pub(crate) async fn succeeded(&mut self, store: &dyn RelayStore, spec: &RelaySpec, now: Timestamp) {
        self.failing_since = None;
        self.failures = 0;
        if self.incident == KnownIncident::None {
            return;
        }
        let change = SubjectChange::of_target(&spec.name, IncidentChange::close_by_evidence(now));
        if store.change_incidents(vec![change]).await.is_ok() {
            self.incident = KnownIncident::None;
        }
    }

    /// Nothing was taken; how long to wait before the next try.
    pub(crate) async fn failed(
        &mut self,
        store: &dyn RelayStore,
        spec: &RelaySpec,
        said: &TargetUnavailable,
        (clock, worker, now): (&dyn Clock, &str, Timestamp),
    ) -> Duration {
        let since = *self.failing_since.get_or_insert_with(|| clock.boot());
        let away_for = clock.boot().saturating_sub(since);
        self.failures = self.failures.saturating_add(1);
        if self.failures == 1 {
            tracing::warn!(relay = %spec.name, error_code = %said.code, reason = said.reason, "the target takes nothing");
        }
        // An open breaker is told by the incident of its dependency.
        let untold = self.incident != KnownIncident::Open && said.code != BREAKER_OPEN;
        if away_for >= UNAVAILABLE_FOR && untold {
            let change = IncidentChange::of_target(spec, said, worker, away_for, now);
            if store.change_incidents(vec![SubjectChange::of_target(&spec.name, change)]).await.is_ok() {
                self.incident = KnownIncident::Open;
            }
        }
        self.wait(said.after)
    }

    /// 100 ms, doubling to 10 s; or what the target asked for, up to a minute.
    fn wait(&self, after: Option<Duration>) -> Duration {
        let backoff = Duration::from_millis(100).saturating_mul(1 << self.failures.clamp(1, 8).saturating_sub(1));
        after.map_or(backoff.min(Duration::from_secs(10)), |after| after.min(Duration::from_mins(1)).max(backoff / 8))
    }
}
