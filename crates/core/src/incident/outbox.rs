//! Incidents of the outbox: an event that a person must decide about, a target that is away, a relay that stopped.

use std::sync::Arc;
use std::time::Duration;

use super::IncidentChange;
use super::about_subject::SubjectFacts;
use super::subject::Subject;
use crate::error::{Code, EVENT_TARGET_REFUSED, TARGET_UNAVAILABLE};
use crate::event::EventId;
use crate::operation::Tenant;
use crate::outbox::{AsideEvent, RelayName, RelaySpec, TargetUnavailable};
use crate::port::SubjectChange;
use crate::retry::Category;
use crate::time::{Timestamp, format_duration};

impl AsideEvent {
    /// The incident of an event that was parked.
    pub fn incident_opened(&self, code: Code, worker: &str, now: Timestamp) -> SubjectChange {
        let Self { relay, id, aggregate, attempts, .. } = self;
        let reason = self.reason.as_deref().unwrap_or("no reason was given");
        let facts = SubjectFacts {
            subject: Subject::event(relay, *id),
            tenant: aggregate.tenant.clone(),
            code,
            category: Category::InvalidWorkerContract,
            says: format!("event {id} of {} was not published by relay {relay}: {reason}", aggregate.aggregate_type),
            because: if code == EVENT_TARGET_REFUSED {
                "every attempt was used up, or the target said never".to_owned()
            } else {
                "it cannot be sent as it is".to_owned()
            },
            attempts: *attempts,
            first_check: format!("why it was refused: onefold outbox show {id}"),
            suggested_action: format!(
                "fix the target or the contract, then onefold outbox release {id} --why …; or edit, or skip it: later events of its aggregate wait"
            ),
            runbook: "/runbooks/parked-event",
            dependency: None,
            worker,
            now,
        };
        let change = IncidentChange::raise(facts.incident());
        SubjectChange { tenant: aggregate.tenant.clone(), subject: Subject::event(relay, *id), change }
    }

    /// A person decided about it.
    pub fn incident_closed(&self, who: &Arc<str>, now: Timestamp) -> SubjectChange {
        SubjectChange {
            tenant: self.aggregate.tenant.clone(),
            subject: Subject::event(&self.relay, self.id),
            change: IncidentChange::close_by_person(who, now),
        }
    }
}

impl SubjectChange {
    /// A change of a relay's own incident.
    pub fn of_relay(relay: &RelayName, change: IncidentChange) -> Self {
        Self { tenant: Tenant::default(), subject: Subject::relay(relay), change }
    }

    /// A change of the incident of a relay's target.
    pub fn of_target(relay: &RelayName, change: IncidentChange) -> Self {
        Self { tenant: Tenant::default(), subject: Subject::target(relay), change }
    }
}

impl IncidentChange {
    /// Opens the incident of a row of a team's own table that is not tried again.
    pub fn of_parked_row(
        spec: &RelaySpec,
        (tenant, id, table): (&Tenant, EventId, &str),
        (code, reason): (Code, &str),
        attempts: u32,
        (worker, now): (&str, Timestamp),
    ) -> SubjectChange {
        let relay = &spec.name;
        let facts = SubjectFacts {
            subject: Subject::event(relay, id),
            tenant: tenant.clone(),
            code,
            category: Category::InvalidWorkerContract,
            says: format!("event {id} of table {table} was not published by relay {relay}: {reason}"),
            because: "every attempt was used up, or it can never be sent as it is".to_owned(),
            attempts,
            first_check: "why it was refused, and the row itself: its next attempt is at infinity".to_owned(),
            suggested_action: "fix the target or the row, then set the row's next attempt to NULL; the incident closes with its publication".to_owned(),
            runbook: "/runbooks/parked-event",
            dependency: None,
            worker,
            now,
        };
        let change = Self::raise(facts.incident());
        SubjectChange { tenant: tenant.clone(), subject: Subject::event(relay, id), change }
    }

    /// A row that was parked came through after all.
    pub fn of_published_row(spec: &RelaySpec, tenant: &Tenant, id: EventId, now: Timestamp) -> SubjectChange {
        let subject = Subject::event(&spec.name, id);
        SubjectChange { tenant: tenant.clone(), subject, change: Self::close_by_evidence(now) }
    }

    /// A person ended what it is about.
    pub fn close_by_operator(who: &Arc<str>, now: Timestamp) -> Self {
        Self::close_by_person(who, now)
    }

    /// Opens the incident of a relay's target that takes nothing.
    pub fn of_target(
        spec: &RelaySpec,
        said: &TargetUnavailable,
        worker: &str,
        away_for: Duration,
        now: Timestamp,
    ) -> Self {
        let lasting = format_duration(Duration::from_secs(away_for.as_secs().max(1)));
        let (relay, target, reason) = (&spec.name, &spec.target, &said.reason);
        Self::raise(
            SubjectFacts {
                subject: Subject::target(relay),
                tenant: Tenant::default(),
                code: TARGET_UNAVAILABLE,
                category: Category::DownstreamUnavailable,
                says: format!("{target}, the target of relay {relay}, has taken nothing for {lasting}: {reason}"),
                because: format!("no event was acknowledged for {lasting}"),
                attempts: 0,
                first_check: format!("whether {target} is up, and whether this machine reaches it and may write there"),
                suggested_action:
                    "restore it, or the way to it; the incident closes by itself with the first event that is taken"
                        .to_owned(),
                runbook: "/runbooks/target-unavailable",
                dependency: Some(target),
                worker,
                now,
            }
            .incident(),
        )
    }

    /// Opens the incident of a relay of which a lane stopped.
    pub fn of_stopped_relay(spec: &RelaySpec, code: Code, lane: u16, worker: &str, now: Timestamp) -> Self {
        let relay = &spec.name;
        Self::raise(
            SubjectFacts {
                subject: Subject::relay(relay),
                tenant: Tenant::default(),
                code,
                category: Category::InvalidWorkerContract,
                says: format!("lane {lane} of relay {relay} stopped: {}", code.descriptor().guide.summary),
                because: "it would set aside one event after another".to_owned(),
                attempts: 0,
                first_check: format!("what was refused: onefold outbox parked --relay {relay}"),
                suggested_action: format!("fix the cause, then onefold outbox start {relay} --why …"),
                runbook: "/runbooks/stopped-relay",
                dependency: None,
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
    use crate::error::RELAY_STOPPED;
    use crate::outbox::{EventPattern, EventPatterns};

    #[test]
    fn a_target_that_is_away_and_a_relay_that_stopped_are_two_incidents() {
        let events = EventPatterns::new(vec![EventPattern::All]).unwrap();
        let spec = RelaySpec::new(RelayName::parse("cases").unwrap(), events, "kafka case.events".to_owned());
        let now = Timestamp::from_micros(1_000_000);
        let said = TargetUnavailable { code: TARGET_UNAVAILABLE, reason: "no answer".to_owned(), after: None };
        let away = IncidentChange::of_target(&spec, &said, "host/1", Duration::from_secs(90), now).apply(None).unwrap();
        assert_eq!(
            away.message.as_str(),
            "kafka case.events, the target of relay cases, has taken nothing for 90s: no answer"
        );
        assert!(away.subject.sort.closes_by_itself());
        let stopped = IncidentChange::of_stopped_relay(&spec, RELAY_STOPPED, 3, "host/1", now).apply(None).unwrap();
        assert_ne!(stopped.subject, away.subject);
        assert!(!stopped.subject.sort.closes_by_itself());
    }
}
