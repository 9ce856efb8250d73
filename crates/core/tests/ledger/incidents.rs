//! What an incident holds, who joins it, what closes it.

use std::sync::Arc;

use onefold_core::effect::Policy;
use onefold_core::error::{
    ATTEMPTS_EXHAUSTED, DOWNSTREAM_TIMEOUT, DUPLICATE_SUSPECTED, HOLDER_LOST, OUTCOME_CONFLICT, PERMISSION,
};
use onefold_core::incident::{Incident, Needs, grouped};
use onefold_core::ledger::{Origin, SideEffect, Source, Status};
use onefold_core::retry::Category::{DownstreamUnavailable, Permission, Unexpected};

use crate::fixture::Step::{Claim, Complete, Fail, GiveUp, Sweep, TimeOut, Wait};
use crate::fixture::{LedgerFixture, SAME_KEY, START, Step, completed, refused, secs};

fn full_origin() -> Origin {
    let text = |text: &str| Some(Arc::from(text));
    Origin {
        source: Source::Job,
        business_key: text("CASE-1"),
        correlation_id: text("corr-1"),
        process_id: text("enforcement"),
        definition_key: text("2251799813685249"),
        definition_version: text("7"),
        process_instance_key: text("2251799813685300"),
        element_id: text("IssueNotice"),
        job_key: text("2251799813685400"),
    }
}

fn open(policy: Policy, story: &[Step]) -> Incident {
    let mut ledger = LedgerFixture::under(policy);
    ledger.origin = full_origin();
    ledger.play(story).open().cloned().expect("an incident")
}

const SUPERSEDED: &[Step] = &[Claim(1), Wait(35), Sweep, Wait(1), Claim(2), Complete];

fn duplicate() -> LedgerFixture {
    let mut ledger = LedgerFixture::under(SAME_KEY);
    ledger.origin = full_origin();
    let mut ledger = ledger.play(SUPERSEDED);
    ledger.record(1, completed("late"));
    ledger
}

#[test]
fn every_field_of_an_incident_is_filled() {
    const USED_UP: &[Step] =
        &[Claim(1), Fail(Unexpected), Wait(10), Claim(2), Fail(Unexpected), Wait(10), Claim(3), Fail(Unexpected)];
    let incidents = [
        ("a silent holder", open(Policy::Escalate, &[Claim(1), Wait(35), Sweep])),
        ("a timeout", open(Policy::Escalate, &[Claim(1), TimeOut])),
        ("a technical end", open(Policy::Escalate, &[Claim(1), GiveUp])),
        ("never retried", open(Policy::Escalate, &[Claim(1), Fail(Permission)])),
        ("attempts used up", open(Policy::Escalate, USED_UP)),
        ("a suspected duplicate", duplicate().open().cloned().expect("an incident")),
    ];
    for (name, incident) in incidents {
        let json = serde_json::to_value(&incident).expect("an incident is written as JSON");
        for (field, value) in json.as_object().expect("an object") {
            let open_field = ["closedAt", "closedBy"].contains(&field.as_str());
            let empty = value.is_null() || value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty);
            // A completed effect has no failing dependency.
            let no_dependency = field == "dependency" && incident.error_code == DUPLICATE_SUSPECTED;
            assert_eq!(empty, open_field || no_dependency, "{name}: {field} = {value}");
        }
        assert!(incident.id.as_str().starts_with("inc_"), "{name}");
        assert_ne!(incident.message.as_str(), incident.error_code.as_str(), "{name}");
    }
}

#[test]
fn an_incident_says_what_may_be_done() {
    // story, code, effect, safe to retry, what else it needs
    let rows: [(&[Step], &str, SideEffect, bool, Needs); 4] = [
        (&[Claim(1), Wait(35), Sweep], HOLDER_LOST.as_str(), SideEffect::Unknown, false, Needs::Reconciliation),
        (&[Claim(1), TimeOut], DOWNSTREAM_TIMEOUT.as_str(), SideEffect::Unknown, false, Needs::Reconciliation),
        (&[Claim(1), GiveUp], PERMISSION.as_str(), SideEffect::NotApplied, true, Needs::DeploymentFix),
        (&[Claim(1), Fail(Permission)], PERMISSION.as_str(), SideEffect::NotApplied, true, Needs::DeploymentFix),
    ];
    for (story, code, effect, safe, needs) in rows {
        let incident = open(Policy::Escalate, story);
        let said = (incident.error_code.as_str(), incident.side_effect_status, incident.safe_to_retry, incident.needs);
        assert_eq!(said, (code, Some(effect), safe, needs), "{story:?}");
    }
    let suspected = duplicate().open().cloned().expect("an incident");
    assert!(suspected.error_code == DUPLICATE_SUSPECTED && !suspected.safe_to_retry);
}

#[test]
fn an_incident_shows_when_and_where_the_last_attempt_was_alive() {
    let mut ledger = LedgerFixture::under(Policy::Escalate);
    ledger.terms = Arc::new({
        let mut terms = (*ledger.terms).clone();
        terms.deadline_for = secs(120);
        terms
    });
    ledger.worker = Arc::from("host-7");
    ledger.granted(1).wait(secs(20));
    ledger.renew(1);
    ledger.wait(secs(35));
    ledger.take(Sweep);
    let incident = ledger.open().expect("an incident");
    assert_eq!((&*incident.worker, incident.last_alive_at), ("host-7", START.plus(secs(20))));
    assert_eq!(ledger.past[&1].last_alive_at, START.plus(secs(20)));
}

#[test]
fn a_second_cause_joins_the_open_incident_and_the_gravest_heads_it() {
    let mut ledger = LedgerFixture::under(SAME_KEY).play(&[Claim(1), Wait(35), Sweep, Wait(1), Claim(2), GiveUp]);
    let first = ledger.open().cloned().expect("an incident");
    ledger.record(1, completed("late"));
    let joined = ledger.open().cloned().expect("an incident");
    assert_eq!(joined.id, first.id, "one open incident per operation");
    assert_eq!(joined.error_code, DUPLICATE_SUSPECTED);
    assert_eq!((joined.causes.len(), joined.count, joined.first_seen), (2, 2, first.first_seen));
    ledger.record(2, completed("contradicts"));
    let third = ledger.open().cloned().expect("an incident");
    assert_eq!((&third.id, third.count), (&first.id, 3));
    assert_eq!(third.error_code, DUPLICATE_SUSPECTED, "a lesser cause does not head it");
    assert!(third.causes.iter().any(|cause| cause.code == OUTCOME_CONFLICT));
}

#[test]
fn evidence_closes_a_question_but_not_a_suspicion() {
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claim(1), TimeOut]);
    ledger.wait(secs(7)).take(Complete);
    let closed = ledger.incident.clone().expect("an incident");
    assert_eq!((closed.closed_by.as_deref(), closed.closed_at), (Some("evidence"), Some(ledger.now)));
    assert_eq!(ledger.entry().incident, None);

    let mut ledger = LedgerFixture::under(SAME_KEY).play(&[Claim(1), Wait(35), Sweep, Wait(1), Claim(2)]);
    ledger.record(1, completed("late"));
    let suspected = ledger.open().map(|incident| incident.id.clone());
    ledger.take(Complete);
    assert_eq!(ledger.status(), Status::Completed);
    assert_eq!(ledger.entry().incident, suspected, "still open");
    assert!(suspected.is_some());
}

#[test]
fn a_new_incident_after_a_closed_one_is_another() {
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claim(1), TimeOut]);
    let first = ledger.open().map(|incident| incident.id.clone());
    ledger.take(Fail(DownstreamUnavailable));
    assert!(ledger.open().is_none());
    ledger.wait(secs(1)).take(Claim(2));
    ledger.take(TimeOut);
    assert!(ledger.open().is_some_and(|incident| Some(&incident.id) != first.as_ref() && incident.count == 1));
}

#[test]
fn incidents_of_one_cause_are_one_group() {
    const CRASH: &[Step] = &[Claim(1), Wait(35), Sweep];
    const TIMEOUT: &[Step] = &[Claim(1), TimeOut];
    let of = |id, worker: &str, story: &[Step]| {
        let mut ledger = LedgerFixture::under(Policy::Escalate);
        (ledger.id, ledger.worker) = (id, Arc::from(worker));
        ledger.play(story).open().cloned().expect("an incident")
    };
    let groups = grouped([
        of("A", "host-1", CRASH),
        of("B", "host-1", CRASH),
        of("C", "host-1", CRASH),
        of("D", "host-2", CRASH),
        of("E", "host-1", TIMEOUT),
        of("F", "host-2", TIMEOUT),
    ]);
    let seen: Vec<_> = groups.iter().map(|group| (group.key.as_str(), group.incidents)).collect();
    assert_eq!(
        seen,
        [("HOLDER_LOST host-1", 3), ("DOWNSTREAM_TIMEOUT notice.issue notice-service", 2), ("HOLDER_LOST host-2", 1),]
    );
    assert_eq!(&*groups[0].head.subject.id, "A");
}

#[test]
fn a_known_failure_heads_its_incident_with_attempts_exhausted() {
    let story =
        &[Claim(1), Fail(Unexpected), Wait(10), Claim(2), Fail(Unexpected), Wait(10), Claim(3), Fail(Unexpected)];
    let incident = open(Policy::Escalate, story);
    assert_eq!(incident.error_code, ATTEMPTS_EXHAUSTED);
    assert!(incident.message.as_str().contains("UNEXPECTED"), "{}", incident.message);
}

#[test]
fn a_business_answer_needs_nobody() {
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claim(1)]);
    ledger.record(1, refused());
    assert!(ledger.open().is_none());
}
