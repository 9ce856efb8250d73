//! Attempts used up, time used up, evidence, large results.

use onefold_core::effect::{EffectClass, KindSpec, Policy};
use onefold_core::error::ATTEMPTS_EXHAUSTED;
use onefold_core::ledger::{Claim, Digest, Outcome, Recorded, Refusal, SideEffect, Status, StoredResult, SweepReason};
use onefold_core::retry::Category::{self, DownstreamTimeout, DownstreamUnavailable};

use crate::fixture::Step::{Claim as Claimed, Fail, Sweep, TimeOut, Wait};
use crate::fixture::{
    ASK, LedgerFixture, SAME_KEY, START, Step, completed, retryable, secs, terms, timed_out, with_evidence,
};

#[test]
fn used_up_attempts_are_final_where_nothing_took_hold_and_unknown_where_it_may_have() {
    let rows: [(&str, Policy, Outcome, Status, SideEffect); 4] = [
        (
            "not applied",
            Policy::Escalate,
            retryable(DownstreamUnavailable),
            Status::FailedFinal,
            SideEffect::NotApplied,
        ),
        (
            "not applied, under one key",
            SAME_KEY,
            retryable(DownstreamUnavailable),
            Status::FailedFinal,
            SideEffect::NotApplied,
        ),
        ("unknown, under one key", SAME_KEY, timed_out(), Status::Unknown, SideEffect::Unknown),
        ("unknown, rerun", Policy::Rerun, timed_out(), Status::Unknown, SideEffect::Unknown),
    ];
    for (name, policy, outcome, status, effect) in rows {
        let mut ledger = LedgerFixture::under(policy);
        for attempt in 1..=5 {
            assert!(ledger.open().is_none(), "{name}: too early");
            ledger.granted(attempt);
            ledger.record(u64::from(attempt), outcome.clone());
            ledger.wait(secs(60));
        }
        assert_eq!((ledger.status(), ledger.entry().side_effect), (status, effect), "{name}");
        let incident = ledger.open().expect("an incident");
        assert_eq!((incident.attempts, &*incident.attempts_ended_because), (5, "every attempt was used up"), "{name}");
        assert_eq!(incident.safe_to_retry, effect == SideEffect::NotApplied, "{name}");
        assert!(!matches!(ledger.claim(9), Claim::Granted(_)), "{name}");
    }
}

#[test]
fn one_unknown_attempt_keeps_the_whole_operation_unknown() {
    let mut ledger = LedgerFixture::under(SAME_KEY).play(&[Claimed(1), TimeOut]);
    for attempt in 2..=5 {
        ledger.wait(secs(60)).granted(attempt);
        ledger.record(u64::from(attempt), retryable(DownstreamUnavailable));
    }
    assert_eq!((ledger.status(), ledger.entry().side_effect), (Status::Unknown, SideEffect::Unknown));
    assert!(ledger.open().is_some());
}

#[test]
fn silent_holders_use_up_attempts_too() {
    let mut ledger = LedgerFixture::under(Policy::Rerun);
    for attempt in 1..=5 {
        ledger.granted(attempt).wait(secs(35));
        ledger.take(Sweep);
        ledger.wait(secs(60));
    }
    assert_eq!(ledger.status(), Status::Unknown);
    assert!(ledger.open().is_some());
}

fn within(policy: Policy, seconds: u64) -> KindSpec {
    let mut terms = terms(crate::fixture::class_of(&policy), policy);
    terms.retry.escalate_within = Some(secs(seconds));
    terms
}

#[test]
fn a_claim_that_comes_after_the_time_for_retrying_is_not_granted() {
    let rows: [(Policy, &[Step], Status); 2] = [
        (Policy::Escalate, &[Claimed(1), Fail(DownstreamUnavailable)], Status::FailedFinal),
        (SAME_KEY, &[Claimed(1), TimeOut], Status::Unknown),
    ];
    for (policy, story, status) in rows {
        let mut ledger = LedgerFixture::of(within(policy, 100)).play(story);
        ledger.wait(secs(100));
        let claim = ledger.claim(2);
        assert!(matches!(claim, Claim::Replay(_) | Claim::Unknown { .. }), "{claim:?}");
        assert_eq!(ledger.status(), status);
        assert!(ledger.open().is_some());
    }
}

#[test]
fn retrying_ends_by_the_clock() {
    const NOT_APPLIED: &[Step] = &[Claimed(1), Fail(DownstreamUnavailable)];
    const MAYBE: &[Step] = &[Claimed(1), TimeOut];
    let rows: [(&str, Policy, &[Step], Status); 3] = [
        ("not applied", Policy::Escalate, NOT_APPLIED, Status::FailedFinal),
        ("unknown, rerun", Policy::Rerun, MAYBE, Status::Unknown),
        ("unknown, same key", SAME_KEY, MAYBE, Status::Unknown),
    ];
    for (name, policy, story, status) in rows {
        let mut ledger = LedgerFixture::of(within(policy, 100)).play(story);
        assert_eq!(ledger.entry().escalate_at, Some(START.plus(secs(100))), "{name}");
        ledger.wait(secs(99));
        assert!(!ledger.sweep(SweepReason::Expired), "{name}");
        ledger.wait(secs(1));
        assert!(ledger.sweep(SweepReason::Expired), "{name}");
        assert_eq!(ledger.status(), status, "{name}");
        assert!(ledger.open().is_some(), "{name}");
    }
}

#[test]
fn a_wait_past_the_end_of_retrying_is_not_begun() {
    let mut ledger = LedgerFixture::of(within(Policy::Escalate, 4)).play(&[
        Claimed(1),
        Fail(DownstreamTimeout),
        Wait(1),
        Claimed(2),
    ]);
    ledger.take(Fail(DownstreamTimeout));
    assert_eq!(ledger.status(), Status::FailedFinal);
    let incident = ledger.open().expect("an incident");
    assert_eq!(incident.error_code, ATTEMPTS_EXHAUSTED);
    assert_eq!(&*incident.attempts_ended_because, "the time for retrying is over");
}

#[test]
fn under_one_key_the_earlier_of_memory_and_clock_ends_waiting() {
    for (memory, clock, ends) in [(100, 200, 100), (200, 100, 100)] {
        let terms = within(Policy::SameKey { provider_memory: secs(memory) }, clock);
        let ledger = LedgerFixture::of(terms).play(&[Claimed(1), TimeOut]);
        assert_eq!(ledger.entry().escalate_at, Some(START.plus(secs(ends))));
    }
}

#[test]
fn a_backoff_runs_by_category_and_retry_after_goes_first() {
    let rows = [
        (Category::DownstreamUnavailable, None, 1),
        (Category::RateLimited, None, 60),
        (Category::RateLimited, Some(7), 7),
    ];
    for (category, retry_after, wait) in rows {
        let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1)]);
        let Outcome::FailedRetryable(mut failure) = retryable(category) else { panic!("not retryable") };
        failure.retry_after = retry_after.map(secs);
        let answer = ledger.record(1, Outcome::FailedRetryable(failure));
        let next_attempt_at = Some(START.plus(secs(wait)));
        assert_eq!(answer, Recorded::Settled { status: Status::FailedRetryable, next_attempt_at });
    }
}

#[test]
fn a_failure_that_may_have_taken_hold_is_unknown_whatever_it_calls_itself() {
    for outcome in [|failure| Outcome::FailedFinal(failure), |failure| Outcome::FailedRetryable(failure)] {
        let Outcome::Unknown(failure) = timed_out() else { panic!("not unknown") };
        let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1)]);
        ledger.record(1, outcome(failure));
        assert_eq!((ledger.status(), ledger.entry().side_effect), (Status::Unknown, SideEffect::Unknown));
    }
}

#[test]
fn a_large_result_is_kept_as_its_digest_and_never_performed_again() {
    for (bytes_max, kept) in [(10, true), (9, false)] {
        let mut terms = terms(EffectClass::ExternalCommand, Policy::Escalate);
        terms.result_bytes_max = bytes_max;
        let mut ledger = LedgerFixture::of(terms).play(&[Claimed(1)]);
        ledger.record(1, with_evidence("1234567890"));
        let Claim::Replay(replay) = ledger.claim(2) else { panic!("not replayed") };
        match replay.result.expect("a result") {
            StoredResult::Kept { bytes, .. } => assert!(kept && &*bytes == b"1234567890"),
            StoredResult::Damaged { .. } => panic!("nothing changed it"),
            StoredResult::Digest { bytes, digest, reference, .. } => {
                assert!(!kept);
                assert_eq!((bytes, digest), (10, Digest::of(b"1234567890")));
                assert_eq!(reference.as_deref(), Some("notice 4711"));
            }
        }
        assert_eq!(ledger.record(1, with_evidence("1234567890")), Recorded::Already { status: Status::Completed });
    }
}

#[test]
fn a_financial_effect_is_completed_only_with_its_evidence() {
    let mut ledger = LedgerFixture::of(terms(EffectClass::FinancialOrLegal, Policy::Escalate)).play(&[Claimed(1)]);
    assert_eq!(ledger.record(1, completed("1")), Recorded::Refused(Refusal::EvidenceRequired));
    assert_eq!(ledger.status(), Status::Started);
    assert!(matches!(ledger.record(1, with_evidence("1")), Recorded::Settled { status: Status::Completed, .. }));
    let mut stored_laxer = LedgerFixture::under(ASK).play(&[Claimed(1)]);
    stored_laxer.terms = std::sync::Arc::new(terms(EffectClass::FinancialOrLegal, Policy::Escalate));
    assert_eq!(stored_laxer.record(1, completed("1")), Recorded::Refused(Refusal::EvidenceRequired));
}
