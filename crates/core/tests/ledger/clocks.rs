//! Deadlines, leases, slack.

use std::time::Duration;

use onefold_core::effect::{EffectClass, Policy, Terms};
use onefold_core::ledger::{Claim, Renewed, Status, SweepReason};

use crate::book::{Book, START, secs, terms};

fn timed(lease: u64, deadline: u64) -> Terms {
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
        let mut book = Book::of(timed(lease, deadline));
        book.granted(1);
        if let Some(after) = after {
            book.wait(secs(after));
            assert_eq!(book.renew(1), Renewed::Until(START.plus(secs(until))));
        }
        assert_eq!(book.entry().lease_until, START.plus(secs(until)), "{lease} {deadline} {after:?}");
        assert_eq!(book.entry().deadline, START.plus(secs(deadline)), "the deadline never moves");
    }
}

#[test]
fn a_lease_that_is_over_for_its_holder_is_not_renewed() {
    let mut book = Book::of(timed(30, 60));
    book.granted(1).wait(secs(60));
    assert_eq!(book.renew(1), Renewed::Ended, "at the deadline");
    let mut book = Book::of(timed(30, 60));
    book.granted(1).wait(secs(35));
    assert!(book.sweep(SweepReason::Expired));
    assert_eq!(book.renew(1), Renewed::Ended, "swept");
    let mut book = Book::of(timed(30, 60));
    book.granted(1);
    book.release(1);
    book.granted(2);
    assert_eq!(book.renew(1), Renewed::Ended, "superseded");
    assert!(matches!(book.renew(2), Renewed::Until(_)));
    book.leases[0].fence = 7;
    assert_eq!(book.renew(7), Renewed::NeverGranted);
}

#[test]
fn a_lease_is_over_only_after_its_slack() {
    for (after, over) in
        [(secs(29), false), (secs(30), false), (Duration::from_micros(34_999_999), false), (secs(35), true)]
    {
        let mut book = Book::of(timed(30, 60));
        book.granted(1).wait(after);
        assert_eq!(book.sweep(SweepReason::Expired), over, "{after:?}");
        let mut book = Book::of(timed(30, 60));
        book.granted(1).wait(after);
        assert_eq!(matches!(book.claim(2), Claim::InFlight { .. }), !over, "{after:?}");
    }
}

#[test]
fn a_renewed_lease_is_not_swept() {
    let mut book = Book::of(timed(30, 120));
    book.granted(1).wait(secs(25));
    book.renew(1);
    book.wait(secs(34));
    assert!(!book.sweep(SweepReason::Expired));
    book.wait(secs(1));
    assert!(book.sweep(SweepReason::Expired));
    assert_eq!(book.status(), Status::Unknown);
}

#[test]
fn a_dead_holder_needs_no_wait() {
    let mut book = Book::of(timed(30, 120));
    book.granted(1);
    assert!(book.sweep(SweepReason::HolderDead));
    assert_eq!(book.status(), Status::Unknown);
}

#[test]
fn a_grant_says_how_far_away_the_deadline_is() {
    let mut book = Book::of(timed(30, 60));
    book.granted(1).wait(secs(20)).granted(1);
    assert_eq!(book.leases[0].deadline_in, secs(60));
    assert_eq!(book.leases[1].deadline_in, secs(40));
    assert_eq!(book.leases[0].deadline, book.leases[1].deadline);
}
