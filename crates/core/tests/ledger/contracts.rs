//! The stricter of two contracts, and the window of one key.

use std::sync::Arc;

use onefold_core::effect::{EffectClass, Policy};
use onefold_core::ledger::{Claim, Status, SweepReason};
use onefold_core::retry::Category::DownstreamUnavailable;

use crate::fixture::Step::{Claim as Claimed, Fail, Release, Sweep, TimeOut, Wait};
use crate::fixture::{ASK, LedgerFixture, SAME_KEY, START, Step, accepts_duplicates, class_of, secs, terms};

/// Granted under the first, expired under the second; how the operation then stands.
fn rows() -> Vec<(Policy, Policy, Status)> {
    use Status::{FailedRetryable, Unknown};
    vec![
        (Policy::Rerun, Policy::Rerun, FailedRetryable),
        (Policy::Rerun, Policy::Escalate, Unknown),
        (Policy::Escalate, Policy::Rerun, Unknown),
        (Policy::Escalate, SAME_KEY, Unknown),
        (SAME_KEY, Policy::Escalate, Unknown),
        (SAME_KEY, SAME_KEY, FailedRetryable),
        (Policy::Rerun, ASK, Unknown),
        (ASK, Policy::Rerun, Unknown),
        (accepts_duplicates(), Policy::Rerun, FailedRetryable),
    ]
}

#[test]
fn expiry_follows_the_stricter_of_the_stored_and_the_present_contract() {
    for (stored, present, status) in rows() {
        let mut ledger = LedgerFixture::under(stored.clone()).play(&[Claimed(1), Wait(35)]);
        ledger.terms = Arc::new(terms(class_of(&present), present.clone()));
        assert!(ledger.sweep(SweepReason::Expired));
        assert_eq!(ledger.status(), status, "{stored} then {present}");
    }
}

#[test]
fn a_timeout_follows_the_stricter_contract_too() {
    for (stored, present, status) in rows() {
        let mut ledger = LedgerFixture::under(stored.clone()).play(&[Claimed(1)]);
        ledger.terms = Arc::new(terms(class_of(&present), present.clone()));
        ledger.take(TimeOut);
        assert_eq!(ledger.status(), status, "{stored} then {present}");
    }
}

#[test]
fn a_retry_follows_the_stricter_of_the_stored_and_the_present_contract() {
    for (stored, present, status) in rows() {
        if !matches!(stored, Policy::Rerun | Policy::AcceptDuplicate { .. } | Policy::SameKey { .. }) {
            continue;
        }
        let mut ledger = LedgerFixture::under(stored.clone()).play(&[Claimed(1), Wait(35), Sweep, Wait(1)]);
        ledger.terms = Arc::new(terms(class_of(&present), present.clone()));
        let claim = ledger.claim(2);
        let granted = status == Status::FailedRetryable;
        assert_eq!(matches!(claim, Claim::Granted(_)), granted, "{stored} then {present}: {claim:?}");
        let looked_at = ledger.open().is_some() || ledger.entry().next_ask_at.is_some();
        assert_eq!(looked_at, !granted, "{stored} then {present}");
    }
}

#[test]
fn a_retry_of_what_was_not_applied_keeps_the_stricter_contract() {
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1), Fail(DownstreamUnavailable), Wait(1)]);
    ledger.terms = Arc::new(terms(EffectClass::Converging, Policy::Rerun));
    ledger.granted(2);
    assert_eq!(ledger.entry().contract.policy(), &Policy::Escalate);
    assert_eq!(ledger.entry().contract.class(), EffectClass::ExternalCommand);
}

#[test]
fn a_sweeper_that_does_not_know_the_kind_follows_the_stored_contract() {
    for (policy, status) in [
        (Policy::Rerun, Status::FailedRetryable),
        (SAME_KEY, Status::FailedRetryable),
        (ASK, Status::Unknown),
        (Policy::Escalate, Status::Unknown),
    ] {
        let mut ledger = LedgerFixture::under(policy.clone()).play(&[Claimed(1), Wait(35)]);
        assert!(ledger.sweep_knowing(SweepReason::Expired, None));
        assert_eq!(ledger.status(), status, "{policy}");
    }
}

fn remembered_for(seconds: u64) -> LedgerFixture {
    let provider_memory = secs(seconds);
    LedgerFixture::under(Policy::SameKey { provider_memory })
}

#[test]
fn an_attempt_under_one_key_starts_only_while_it_ends_within_the_memory() {
    // An attempt takes 30 s; the provider remembers for 100 s from the first one.
    for (after, granted) in [(1, true), (69, true), (70, false), (99, false), (500, false)] {
        let mut ledger = remembered_for(100).play(&[Claimed(1), TimeOut, Wait(after)]);
        let claim = ledger.claim(2);
        assert_eq!(matches!(claim, Claim::Granted(_)), granted, "{after} s: {claim:?}");
        assert_eq!(ledger.open().is_some(), !granted, "{after} s");
    }
}

#[test]
fn an_expiry_after_the_window_is_unknown_at_once() {
    for (after, status) in [(69, Status::FailedRetryable), (70, Status::Unknown)] {
        let mut ledger = remembered_for(100).play(&[Claimed(1), Wait(after)]);
        assert!(ledger.sweep(SweepReason::Expired));
        assert_eq!(ledger.status(), status, "{after} s");
    }
}

#[test]
fn waiting_under_one_key_ends_when_the_provider_forgets() {
    let mut ledger = remembered_for(100).play(&[Claimed(1), TimeOut]);
    assert_eq!(ledger.entry().escalate_at, Some(START.plus(secs(100))));
    ledger.wait(secs(99));
    assert!(!ledger.sweep(SweepReason::Expired));
    ledger.wait(secs(1));
    assert!(ledger.sweep(SweepReason::Expired));
    assert_eq!(ledger.status(), Status::Unknown);
    assert!(ledger.open().is_some());
}

#[test]
fn the_memory_runs_from_the_first_attempt_that_may_have_sent() {
    let first = |story| remembered_for(100).play(story).entry().first_attempt_at.since(START).as_secs();
    assert_eq!(first(&[Claimed(1), Release, Wait(50), Claimed(2)]), 50, "nothing was sent");
    assert_eq!(first(&[Claimed(1), Fail(DownstreamUnavailable), Wait(50), Claimed(2)]), 50, "not applied");
    assert_eq!(first(&[Claimed(1), TimeOut, Wait(50), Claimed(2)]), 0, "may have been applied");
    assert_eq!(
        first(&[Claimed(1), TimeOut, Wait(1), Claimed(2), Release, Wait(1), Claimed(3)]),
        0,
        "the second sent nothing"
    );
}

/// Under `same_key` and `ask` every attempt sends the operation's id; under `void` a later attempt has a key of its
/// own. A policy that became `void` in between would void a key that was never sent, and believe its "no".
#[test]
fn a_policy_that_became_void_after_a_later_grant_asks_a_person() {
    let stories: [(Policy, &[Step], bool); 3] = [
        (SAME_KEY, &[Claimed(1)], false),
        (SAME_KEY, &[Claimed(1), TimeOut, Wait(1), Claimed(2)], true),
        (ASK, &[Claimed(1), Release, Claimed(2)], true),
    ];
    for (stored, story, person) in stories {
        for silent in [false, true] {
            let mut ledger = LedgerFixture::under(stored.clone()).play(story);
            ledger.terms = Arc::new(terms(class_of(&Policy::Void), Policy::Void));
            ledger.take(if silent { Wait(35) } else { TimeOut });
            if silent {
                assert!(ledger.sweep(SweepReason::Expired));
            }
            let entry = ledger.entry();
            assert_eq!(entry.status, Status::Unknown);
            assert_eq!((entry.next_ask_at.is_none(), entry.incident.is_some()), (person, person), "{stored} {story:?}");
        }
    }
}
