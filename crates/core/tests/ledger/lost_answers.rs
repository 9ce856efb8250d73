//! Claims, records and releases made again, late, or by the wrong one.

use onefold_core::effect::{EffectClass, Policy};
use onefold_core::error::{DUPLICATE_SUSPECTED, OUTCOME_CONFLICT};
use onefold_core::ledger::{AttemptResult, Claim, Outcome, Recorded, Refusal, Released, SideEffect, Status};
use onefold_core::retry::Category::DownstreamUnavailable;

use crate::fixture::Answer::No;
use crate::fixture::Step::{
    Ask, Claim as Claimed, Complete, DidNotHappen, Fail, Refuse, Release, Sweep, TimeOut, Void, Wait,
};
use crate::fixture::{
    ASK, LedgerFixture, SAME_KEY, Step, completed, gave_up, refused, retryable, secs, terms, timed_out,
};

#[test]
fn a_lost_grant_is_given_again_with_the_same_fence_until_the_deadline() {
    for (after, again) in [(0, true), (29, true), (30, false), (40, false)] {
        let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1), Wait(after)]);
        let claim = ledger.claim(1);
        let given = matches!(&claim, Claim::Granted(lease) if lease.fence == 1 && lease.attempt == 1);
        assert_eq!(given, again, "{after} s: {claim:?}");
    }
}

#[test]
fn an_attempt_id_does_not_reopen_what_has_ended() {
    for story in
        [&[Claimed(1), Complete] as &[Step], &[Claimed(1), Wait(35), Sweep], &[Claimed(1), Fail(DownstreamUnavailable)]]
    {
        let mut ledger = LedgerFixture::under(Policy::Escalate).play(story);
        assert!(!matches!(ledger.claim(1), Claim::Granted(_)), "{story:?}");
    }
}

#[test]
fn the_same_outcome_again_is_accepted() {
    let outcomes = || [completed("1"), refused(), gave_up(), retryable(DownstreamUnavailable), timed_out()];
    for (first, again) in outcomes().into_iter().zip(outcomes()) {
        let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1)]);
        let Recorded::Settled { status, .. } = ledger.record(1, first) else { panic!("not recorded: {again:?}") };
        let before = ledger.entry.clone();
        assert_eq!(ledger.record(1, again), Recorded::Already { status });
        assert_eq!(ledger.entry, before);
    }
}

#[test]
fn another_outcome_is_refused_and_opens_an_incident() {
    let rows: [(Outcome, Outcome); 5] = [
        (completed("1"), completed("2")),
        (completed("1"), refused()),
        (completed("1"), retryable(DownstreamUnavailable)),
        (refused(), completed("1")),
        (retryable(DownstreamUnavailable), completed("1")),
    ];
    for (first, second) in rows {
        let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1)]);
        ledger.record(1, first.clone());
        let (status, result) = (ledger.status(), ledger.entry().result.clone());
        let answer = ledger.record(1, second.clone());
        assert!(
            matches!(answer, Recorded::Refused(Refusal::OtherOutcome { incident: Some(_) })),
            "{first:?} {second:?}"
        );
        // Only what could be claimed again moves: said to have taken hold, it must not be attempted.
        let stands = if status == Status::FailedRetryable { Status::Unknown } else { status };
        assert_eq!((ledger.status(), &ledger.entry().result), (stands, &result));
        assert_eq!(ledger.open().expect("an incident").error_code, OUTCOME_CONFLICT);
        assert!(ledger.notes.last().is_some_and(|note| note.what.starts_with("reported")), "kept as evidence");
    }
}

#[test]
fn a_contradiction_is_answered_the_same_way_twice_and_its_evidence_outlives_the_next_attempt() {
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1), TimeOut, Wait(1_000), DidNotHappen]);
    assert!(matches!(ledger.record(1, completed("1")), Recorded::Refused(Refusal::OtherOutcome { .. })));
    assert_eq!((ledger.status(), ledger.entry().side_effect), (Status::Unknown, SideEffect::Unknown));
    assert_eq!(ledger.record(1, completed("1")), Recorded::Already { status: Status::Unknown });
    assert!(!matches!(ledger.claim(2), Claim::Granted(_)), "nobody is granted over a contradiction");
    ledger.take(DidNotHappen);
    ledger.granted(2);
    assert!(ledger.notes.iter().any(|note| note.what.starts_with("reported COMPLETED")));
}

#[test]
fn a_late_financial_effect_without_evidence_is_refused_but_never_hidden() {
    let mut ledger = LedgerFixture::of(terms(EffectClass::FinancialOrLegal, SAME_KEY)).play(SUPERSEDED);
    let answer = ledger.record(1, completed("1"));
    assert!(matches!(answer, Recorded::Refused(Refusal::Superseded { incident: Some(_) })), "{answer:?}");
    assert_eq!(ledger.open().expect("an incident").error_code, DUPLICATE_SUSPECTED);
}

#[test]
fn a_holder_that_went_silent_stays_so_in_the_timeline_after_a_takeover() {
    let ledger = LedgerFixture::under(SAME_KEY).play(SUPERSEDED);
    assert_eq!(ledger.past[&1].ending, AttemptResult::Expired);
}

#[test]
fn a_record_with_the_present_fence_is_accepted_late() {
    let rows: [(&str, Policy, &[Step]); 5] = [
        ("started, lease over", Policy::Escalate, &[Claimed(1), Wait(3_600)]),
        ("unknown with an incident", Policy::Escalate, &[Claimed(1), Wait(35), Sweep]),
        ("unknown, asked about", ASK, &[Claimed(1), Wait(35), Sweep]),
        ("waiting for a repetition", SAME_KEY, &[Claimed(1), Wait(35), Sweep]),
        ("after its own timeout", Policy::Escalate, &[Claimed(1), TimeOut]),
    ];
    for (name, policy, story) in rows {
        let mut ledger = LedgerFixture::under(policy).play(story);
        let settled = Recorded::Settled { status: Status::Completed, next_attempt_at: None };
        assert_eq!(ledger.record(1, completed("1")), settled, "{name}");
        assert!(ledger.open().is_none(), "{name}: closed by evidence");
    }
}

/// Attempt 1 went silent under one key; attempt 2 holds the fence.
const SUPERSEDED: &[Step] = &[Claimed(1), Wait(35), Sweep, Wait(1), Claimed(2)];

#[test]
fn an_older_fence_is_refused_and_an_effect_is_never_hidden() {
    let rows =
        [(completed("1"), true), (refused(), false), (retryable(DownstreamUnavailable), false), (timed_out(), false)];
    for (outcome, suspected) in rows {
        for finished in [false, true] {
            let mut ledger = LedgerFixture::under(SAME_KEY).play(SUPERSEDED);
            if finished {
                ledger.take(Complete);
            }
            let (status, fence, result) = (ledger.status(), ledger.entry().fence, ledger.entry().result.clone());
            let answer = ledger.record(1, outcome.clone());
            let Recorded::Refused(Refusal::Superseded { incident }) = answer else { panic!("{answer:?}") };
            assert_eq!(incident.is_some(), suspected, "{outcome:?}");
            assert_eq!(
                ledger.open().map(|incident| incident.error_code == DUPLICATE_SUSPECTED),
                suspected.then_some(true)
            );
            assert_eq!((ledger.status(), ledger.entry().fence, &ledger.entry().result), (status, fence, &result));
            let kept = &ledger.past[&1];
            assert_eq!((kept.ending, kept.side_effect), (AttemptResult::Late, outcome.side_effect()));
        }
    }
}

#[test]
fn a_late_report_made_again_is_one_incident() {
    let mut ledger = LedgerFixture::under(SAME_KEY).play(SUPERSEDED);
    ledger.record(1, completed("1"));
    ledger.record(1, completed("1"));
    let incident = ledger.open().expect("an incident");
    assert_eq!((incident.causes.len(), incident.count), (1, 2));
}

#[test]
fn what_a_superseded_attempt_recorded_in_time_is_accepted_again() {
    let mut ledger =
        LedgerFixture::under(Policy::Escalate).play(&[Claimed(1), Fail(DownstreamUnavailable), Wait(1), Claimed(2)]);
    let answer = ledger.record(1, retryable(DownstreamUnavailable));
    assert_eq!(answer, Recorded::Already { status: Status::FailedRetryable });
}

#[test]
fn only_who_was_granted_may_record() {
    let mut ledger = LedgerFixture::under(SAME_KEY).play(SUPERSEDED);
    let before = ledger.entry.clone();
    let rows = [
        ("a fence of the future", 3, 2, Refusal::NeverGranted),
        ("another's present fence", 2, 1, Refusal::NotYours),
        ("another's old fence", 1, 2, Refusal::NotYours),
    ];
    for (name, fence, attempt, refusal) in rows {
        let answer = ledger.record_as(fence, LedgerFixture::attempt_id(attempt), completed("1"));
        assert_eq!(answer, Recorded::Refused(refusal), "{name}");
        assert_eq!(ledger.entry, before, "{name}");
    }
    let mut absent = LedgerFixture::under(Policy::Escalate);
    let answer = absent.record_as(1, LedgerFixture::attempt_id(1), completed("1"));
    assert_eq!(answer, Recorded::Refused(Refusal::NeverGranted));
}

#[test]
fn completed_after_the_provider_said_no_settles_it_and_marks_the_answer_wrong() {
    for (policy, story) in
        [(ASK, &[Claimed(1), TimeOut, Wait(935), Ask(No)] as &[Step]), (Policy::Void, &[Claimed(1), TimeOut, Void(No)])]
    {
        let mut ledger = LedgerFixture::under(policy).play(story);
        assert!(matches!(ledger.record(1, completed("1")), Recorded::Settled { status: Status::Completed, .. }));
        assert!(ledger.notes.last().expect("a note").what.contains("was wrong"));
        assert_eq!(ledger.entry().side_effect, SideEffect::Applied);
    }
}

#[test]
fn completed_against_a_release_or_a_person_is_evidence_and_an_incident() {
    let rows: [(&str, &[Step]); 2] = [
        ("its own release", &[Claimed(1), Release]),
        ("a person's decision", &[Claimed(1), TimeOut, Wait(935), DidNotHappen]),
    ];
    for (name, story) in rows {
        let mut ledger = LedgerFixture::under(Policy::Escalate).play(story);
        let answer = ledger.record(1, completed("1"));
        assert!(matches!(answer, Recorded::Refused(Refusal::OtherOutcome { incident: Some(_) })), "{name}: {answer:?}");
        assert_eq!(ledger.status(), Status::Unknown, "{name}: nobody may act on it");
        assert_eq!(ledger.open().expect("an incident").error_code, OUTCOME_CONFLICT, "{name}");
        assert!(!matches!(ledger.claim(2), Claim::Granted(_)), "{name}");
    }
}

#[test]
fn a_release_made_again_changes_nothing() {
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1), Release]);
    let before = ledger.entry.clone();
    assert_eq!(ledger.release(1), Released::Released);
    assert_eq!(ledger.entry, before);
}

#[test]
fn a_release_made_again_does_not_forget_an_earlier_attempt() {
    let mut ledger = LedgerFixture::under(SAME_KEY).play(&[Claimed(1), TimeOut, Wait(1), Claimed(2), Release]);
    let before = ledger.entry.clone();
    assert_eq!(ledger.release(2), Released::Released);
    assert_eq!(ledger.entry, before);
}

#[test]
fn a_release_counts_only_while_the_attempt_stands() {
    let rows: [(&str, Policy, &[Step], Released); 6] = [
        ("started", Policy::Escalate, &[Claimed(1)], Released::Released),
        ("lost for a while", Policy::Escalate, &[Claimed(1), Wait(35), Sweep], Released::Released),
        ("completed", Policy::Escalate, &[Claimed(1), Complete], Released::Ended),
        ("failed for good", Policy::Escalate, &[Claimed(1), Refuse], Released::Ended),
        ("superseded", SAME_KEY, SUPERSEDED, Released::Ended),
        ("released by the provider's no", ASK, &[Claimed(1), TimeOut, Wait(935), Ask(No)], Released::Ended),
    ];
    for (name, policy, story, answer) in rows {
        let mut ledger = LedgerFixture::under(policy).play(story);
        assert_eq!(ledger.release(1), answer, "{name}");
    }
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1)]);
    ledger.leases[0].attempt_id = LedgerFixture::attempt_id(9);
    assert_eq!(ledger.release(1), Released::NeverGranted);
    ledger.leases[0].fence = 2;
    assert_eq!(ledger.release(2), Released::NeverGranted);
}

#[test]
fn a_released_attempt_does_not_count() {
    let mut ledger = LedgerFixture::under(Policy::Escalate);
    for attempt in 1..=9 {
        ledger.granted(attempt);
        assert_eq!(ledger.entry().attempts, 1);
        assert_eq!(ledger.release(u64::from(attempt)), Released::Released);
        ledger.wait(secs(1));
    }
    assert_eq!(ledger.past.len(), 9, "the history stays");
}

#[test]
fn an_undelivered_answer_takes_back_only_a_grant_that_was_answered_once() {
    let rows: [(&str, Policy, &[Step], Released); 6] = [
        ("answered once", Policy::Escalate, &[Claimed(1)], Released::Released),
        ("answered twice at one moment", Policy::Escalate, &[Claimed(1), Claimed(1)], Released::MayBeHeard),
        ("answered twice", Policy::Escalate, &[Claimed(1), Wait(1), Claimed(1)], Released::MayBeHeard),
        ("taken for lost", Policy::Escalate, &[Claimed(1), Wait(35), Sweep], Released::Ended),
        ("released", Policy::Escalate, &[Claimed(1), Release], Released::Ended),
        ("superseded", SAME_KEY, SUPERSEDED, Released::Ended),
    ];
    for (name, policy, story, answer) in rows {
        let mut ledger = LedgerFixture::under(policy).play(story);
        let before = ledger.entry.clone();
        assert_eq!(ledger.undelivered(1), answer, "{name}");
        assert_eq!(ledger.entry == before, answer != Released::Released, "{name}");
    }
}
