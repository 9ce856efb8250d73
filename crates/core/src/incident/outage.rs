//! A system outside that every call to fails: one incident reports it, and it closes by itself.

use std::time::Duration;

use super::IncidentChange;
use super::about_subject::SubjectFacts;
use super::subject::Subject;
use crate::error::DOWNSTREAM_UNAVAILABLE;
use crate::operation::{KindName, Tenant};
use crate::retry::Category;
use crate::time::{Timestamp, format_duration};

/// How long every call must have failed before there is an incident, unless a declaration says otherwise.
pub const UNAVAILABLE_FOR: Duration = Duration::from_mins(1);

/// What one process knows of something that it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallHistory {
    /// From the first to the last failure since the last success; none after a success.
    pub failing_for: Option<Duration>,
    /// Whether a call succeeded since the incident was raised.
    pub succeeded_since: bool,
}

/// Whether a process knows of an open incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutageState {
    /// None is open.
    Unreported,
    /// One is open, whichever process opened it.
    Reported,
}

/// What becomes of the incident of something that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutageDecision {
    /// It stays as it is.
    Stays,
    /// Every call has failed for so long: an incident opens.
    Opens(Duration),
    /// A call succeeded: the incident closes.
    Closes,
}

/// Decides from what this process has seen. Failures must span the time, so that one lost call is not an outage; a success
/// closes the incident of any process, because it shows that calls get through again.
pub fn decide_outage(state: OutageState, seen: CallHistory, unavailable_for: Duration) -> OutageDecision {
    match (state, seen.failing_for) {
        (OutageState::Unreported, Some(failing_for)) if failing_for >= unavailable_for => {
            OutageDecision::Opens(failing_for)
        }
        (OutageState::Reported, None) if seen.succeeded_since => OutageDecision::Closes,
        (OutageState::Unreported | OutageState::Reported, _) => OutageDecision::Stays,
    }
}

impl IncidentChange {
    /// Opens the incident of a dependency that no call gets through to.
    pub fn of_dependency(name: &KindName, worker: &str, failing_for: Duration, now: Timestamp) -> Self {
        let code = DOWNSTREAM_UNAVAILABLE;
        let lasting = format_duration(Duration::from_secs(failing_for.as_secs().max(1)));
        let says = format!("every call from {worker} to {name} has failed for {lasting}");
        Self::raise(
            SubjectFacts {
                subject: Subject::dependency(name.clone()),
                tenant: Tenant::default(),
                code,
                category: Category::DownstreamUnavailable,
                says,
                because: format!("no call has succeeded for {lasting}"),
                attempts: 0,
                first_check: format!("whether {name} is up, and whether this machine reaches it"),
                suggested_action:
                    "restore it, or the way to it; the incident closes by itself with the first call that succeeds"
                        .to_owned(),
                runbook: "/runbooks/dependency-unavailable",
                dependency: Some(name.as_str()),
                worker,
                now,
            }
            .incident(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::OutageDecision::{Closes, Opens, Stays};
    use super::OutageState::{Reported, Unreported};

    const MINUTE: Duration = UNAVAILABLE_FOR;

    #[test]
    fn an_outage_is_reported_once_it_has_lasted_and_closed_by_a_success() {
        let seen = |failing: Option<u64>, succeeded_since| CallHistory {
            failing_for: failing.map(Duration::from_secs),
            succeeded_since,
        };
        let rows = [
            (Unreported, seen(None, false), Stays),
            (Unreported, seen(None, true), Stays),
            (Unreported, seen(Some(0), false), Stays),
            (Unreported, seen(Some(59), false), Stays),
            (Unreported, seen(Some(60), false), Opens(MINUTE)),
            (Unreported, seen(Some(61), true), Opens(Duration::from_secs(61))),
            (Reported, seen(Some(600), false), Stays),
            (Reported, seen(None, false), Stays),
            (Reported, seen(None, true), Closes),
            // It came back and went away again before anyone looked.
            (Reported, seen(Some(1), true), Stays),
        ];
        for (state, history, decided) in rows {
            assert_eq!(decide_outage(state, history, MINUTE), decided, "{state:?} {history:?}");
        }
    }

    #[test]
    fn the_incident_of_a_dependency_says_what_it_is_about_and_joins_the_open_one() {
        let name = KindName::parse("bank").unwrap();
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let open = IncidentChange::of_dependency(&name, "host/1", MINUTE, at(100)).apply(None).unwrap();
        assert_eq!(open.subject.to_string(), "dependency bank");
        assert_eq!(open.message.as_str(), "every call from host/1 to bank has failed for 1m");
        let joined = IncidentChange::of_dependency(&name, "host/2", MINUTE, at(160)).apply(Some(open.clone())).unwrap();
        assert_eq!((joined.id.clone(), joined.count), (open.id, 2));
        let closed = IncidentChange::close_by_evidence(at(200)).apply(Some(joined)).unwrap();
        assert_eq!(closed.closed_by.as_deref(), Some("evidence"));
    }
}
