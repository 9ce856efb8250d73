//! Deadlines, leases, slack.

use std::time::Duration;

use onefold_core::effect::{EffectClass, KindSpec, Policy};
use onefold_core::ledger::{Claim, Renewed, Status, SweepReason};

use crate::fixture::{LedgerFixture, START, secs, terms};

fn timed(lease: u64, deadline: u64) -> KindSpec {
    let mut terms = terms(EffectClass::ExternalCommand, Policy::Escalate);
    (terms.lease_for, terms.deadline_for) = (secs(lease), secs(deadline));
    terms
}

#[test]
fn a_lease_is_granted_and_renewed_never_past_the_deadline() {
    // lease, deadline, renewed after so many seconds; until then it lasts
    for (lease, deadline, after, until) in [
        (30, 10, None, 10),
        (30, 120, None, 30),
        (30, 120, Some(20), 50),
        (30, 60, Some(45), 60),
        (30, 60, Some(59), 60),
    ] {
        let mut ledger = LedgerFixture::of(timed(lease, deadline));
        ledger.granted(1);
        if let Some(after) = after {
            ledger.wait(secs(after));
            assert_eq!(ledger.renew(1), Renewed::Until(START.plus(secs(until))));
        }
        assert_eq!(ledger.entry().lease_until, START.plus(secs(until)), "{lease} {deadline} {after:?}");
        assert_eq!(ledger.entry().deadline, START.plus(secs(deadline)), "the deadline never moves");
    }
}

#[test]
fn a_lease_that_is_over_for_its_holder_is_not_renewed() {
    let mut ledger = LedgerFixture::of(timed(30, 60));
    ledger.granted(1).wait(secs(60));
    assert_eq!(ledger.renew(1), Renewed::Ended, "at the deadline");
    let mut ledger = LedgerFixture::of(timed(30, 60));
    ledger.granted(1).wait(secs(35));
    assert!(ledger.sweep(SweepReason::Expired));
    assert_eq!(ledger.renew(1), Renewed::Ended, "swept");
    let mut ledger = LedgerFixture::of(timed(30, 60));
    ledger.granted(1);
    ledger.release(1);
    ledger.granted(2);
    assert_eq!(ledger.renew(1), Renewed::Ended, "superseded");
    assert!(matches!(ledger.renew(2), Renewed::Until(_)));
    ledger.leases[0].fence = 7;
    assert_eq!(ledger.renew(7), Renewed::NeverGranted);
}

#[test]
fn a_lease_is_over_only_after_its_slack() {
    for (after, over) in
        [(secs(29), false), (secs(30), false), (Duration::from_micros(34_999_999), false), (secs(35), true)]
    {
        let mut ledger = LedgerFixture::of(timed(30, 60));
        ledger.granted(1).wait(after);
        assert_eq!(ledger.sweep(SweepReason::Expired), over, "{after:?}");
        let mut ledger = LedgerFixture::of(timed(30, 60));
        ledger.granted(1).wait(after);
        assert_eq!(matches!(ledger.claim(2), Claim::InFlight { .. }), !over, "{after:?}");
    }
}

#[test]
fn a_renewed_lease_is_not_swept() {
    let mut ledger = LedgerFixture::of(timed(30, 120));
    ledger.granted(1).wait(secs(25));
    ledger.renew(1);
    ledger.wait(secs(34));
    assert!(!ledger.sweep(SweepReason::Expired));
    ledger.wait(secs(1));
    assert!(ledger.sweep(SweepReason::Expired));
    assert_eq!(ledger.status(), Status::Unknown);
}

#[test]
fn a_dead_holder_needs_no_wait() {
    let mut ledger = LedgerFixture::of(timed(30, 120));
    ledger.granted(1);
    assert!(ledger.sweep(SweepReason::HolderDead));
    assert_eq!(ledger.status(), Status::Unknown);
}

#[test]
fn a_grant_says_how_far_away_the_deadline_is() {
    let mut ledger = LedgerFixture::of(timed(30, 60));
    ledger.granted(1).wait(secs(20)).granted(1);
    assert_eq!(ledger.leases[0].deadline_in, secs(60));
    assert_eq!(ledger.leases[1].deadline_in, secs(40));
    assert_eq!(ledger.leases[0].deadline, ledger.leases[1].deadline);
}
