//! Every arrow of an operation's life.

use onefold_core::effect::Policy;
use onefold_core::ledger::{SideEffect, Status};
use onefold_core::retry::Category::{DownstreamUnavailable, Permission, Unexpected};

use crate::fixture::Answer::{CannotTell, No, Yes};
use crate::fixture::Step::{
    Ask, Claim, Complete, DidNotHappen, Fail, Failed, GiveUp, HolderDead, Refuse, Release, Retry, Sweep, TimeOut,
    TookHold, Void, Wait,
};
use crate::fixture::{ASK, LedgerFixture, SAME_KEY, Step, accepts_duplicates};

/// Where the story leads: status, fence, effect, and who is to look at it.
struct Arrow {
    name: &'static str,
    under: Policy,
    story: &'static [Step],
    status: Status,
    fence: u64,
    effect: SideEffect,
    looks: Looks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looks {
    Nobody,
    Reconciler,
    Person,
}

const fn arrow(
    name: &'static str,
    under: Policy,
    story: &'static [Step],
    (status, fence, effect, looks): (Status, u64, SideEffect, Looks),
) -> Arrow {
    Arrow { name, under, story, status, fence, effect, looks }
}

use Looks::{Nobody, Person, Reconciler};
use SideEffect::{Applied, NotApplied, Unknown as Maybe};
use Status::{Completed, FailedFinal, FailedRetryable, Released, Started, Unknown};

fn check(arrows: &[Arrow]) {
    for arrow in arrows {
        let ledger = LedgerFixture::under(arrow.under.clone()).play(arrow.story);
        let entry = ledger.entry();
        let looks = match (ledger.open(), entry.next_ask_at) {
            (Some(_), _) => Person,
            (None, Some(_)) => Reconciler,
            (None, None) => Nobody,
        };
        let stands = (entry.status, entry.fence, entry.side_effect, looks);
        assert_eq!(stands, (arrow.status, arrow.fence, arrow.effect, arrow.looks), "{}", arrow.name);
        assert_eq!(entry.completed_at.is_some(), entry.is_settled(), "{}", arrow.name);
    }
}

#[test]
fn an_attempt_ends_as_it_is_recorded() {
    let escalate = || Policy::Escalate;
    check(&[
        arrow("absent, claimed", escalate(), &[Claim(1)], (Started, 1, NotApplied, Nobody)),
        arrow("completed", escalate(), &[Claim(1), Complete], (Completed, 1, Applied, Nobody)),
        arrow("the provider's no", escalate(), &[Claim(1), Refuse], (FailedFinal, 1, NotApplied, Nobody)),
        arrow("a technical end", escalate(), &[Claim(1), GiveUp], (FailedFinal, 1, NotApplied, Person)),
        arrow(
            "may be tried again",
            escalate(),
            &[Claim(1), Fail(DownstreamUnavailable)],
            (FailedRetryable, 1, NotApplied, Nobody),
        ),
        arrow(
            "is tried again",
            escalate(),
            &[Claim(1), Fail(DownstreamUnavailable), Wait(1), Claim(2)],
            (Started, 2, NotApplied, Nobody),
        ),
        arrow("never retried", escalate(), &[Claim(1), Fail(Permission)], (FailedFinal, 1, NotApplied, Person)),
        arrow(
            "attempts used up",
            escalate(),
            &[Claim(1), Fail(Unexpected), Wait(10), Claim(2), Fail(Unexpected), Wait(10), Claim(3), Fail(Unexpected)],
            (FailedFinal, 3, NotApplied, Person),
        ),
        arrow("released", escalate(), &[Claim(1), Release], (Released, 1, NotApplied, Nobody)),
        arrow("claimed after a release", escalate(), &[Claim(1), Release, Claim(2)], (Started, 2, NotApplied, Nobody)),
    ]);
}

#[test]
fn crash_before_record_leaves_the_operation_to_its_policy() {
    const CRASH: &[Step] = &[Claim(1), Wait(35), Sweep];
    check(&[
        arrow("rerun", Policy::Rerun, CRASH, (FailedRetryable, 1, Maybe, Nobody)),
        arrow("accept duplicate", accepts_duplicates(), CRASH, (FailedRetryable, 1, Maybe, Nobody)),
        arrow("same key", SAME_KEY, CRASH, (FailedRetryable, 1, Maybe, Nobody)),
        arrow("ask", ASK, CRASH, (Unknown, 1, Maybe, Reconciler)),
        arrow("void", Policy::Void, CRASH, (Unknown, 1, Maybe, Reconciler)),
        arrow("escalate", Policy::Escalate, CRASH, (Unknown, 1, Maybe, Person)),
        arrow("proved dead", Policy::Escalate, &[Claim(1), HolderDead], (Unknown, 1, Maybe, Person)),
        arrow("repeated", Policy::Rerun, &[Claim(1), Wait(35), Sweep, Wait(1), Claim(2)], (Started, 2, Maybe, Nobody)),
        arrow(
            "repeated under one key",
            SAME_KEY,
            &[Claim(1), Wait(35), Sweep, Wait(1), Claim(2), Complete],
            (Completed, 2, Applied, Nobody),
        ),
    ]);
}

#[test]
fn a_timeout_is_unknown_and_left_to_its_policy() {
    const TIMEOUT: &[Step] = &[Claim(1), TimeOut];
    check(&[
        arrow("rerun", Policy::Rerun, TIMEOUT, (FailedRetryable, 1, Maybe, Nobody)),
        arrow("accept duplicate", accepts_duplicates(), TIMEOUT, (FailedRetryable, 1, Maybe, Nobody)),
        arrow("same key", SAME_KEY, TIMEOUT, (FailedRetryable, 1, Maybe, Nobody)),
        arrow("ask", ASK, TIMEOUT, (Unknown, 1, Maybe, Reconciler)),
        arrow("void", Policy::Void, TIMEOUT, (Unknown, 1, Maybe, Reconciler)),
        arrow("escalate", Policy::Escalate, TIMEOUT, (Unknown, 1, Maybe, Person)),
    ]);
}

#[test]
fn the_attempt_that_still_holds_the_fence_settles_an_unknown_operation() {
    let escalate = || Policy::Escalate;
    check(&[
        arrow("took hold", escalate(), &[Claim(1), Wait(35), Sweep, Complete], (Completed, 1, Applied, Nobody)),
        arrow("after its own timeout", escalate(), &[Claim(1), TimeOut, Complete], (Completed, 1, Applied, Nobody)),
        arrow(
            "the provider's no",
            escalate(),
            &[Claim(1), Wait(35), Sweep, Refuse],
            (FailedFinal, 1, NotApplied, Nobody),
        ),
        arrow(
            "not applied",
            escalate(),
            &[Claim(1), Wait(35), Sweep, Fail(DownstreamUnavailable)],
            (FailedRetryable, 1, NotApplied, Nobody),
        ),
        arrow("nothing was sent", escalate(), &[Claim(1), Wait(35), Sweep, Release], (Released, 1, NotApplied, Nobody)),
        arrow("asked about meanwhile", ASK, &[Claim(1), Wait(35), Sweep, Complete], (Completed, 1, Applied, Nobody)),
        arrow("late, but not swept", ASK, &[Claim(1), Wait(3_600), Complete], (Completed, 1, Applied, Nobody)),
    ]);
}

#[test]
fn the_provider_settles_an_unknown_operation() {
    let void = || Policy::Void;
    check(&[
        arrow("ask: yes", ASK, &[Claim(1), TimeOut, Ask(Yes)], (Completed, 1, Applied, Nobody)),
        arrow("ask: no, too early", ASK, &[Claim(1), TimeOut, Ask(No)], (Unknown, 1, Maybe, Reconciler)),
        arrow("ask: no", ASK, &[Claim(1), TimeOut, Wait(935), Ask(No)], (Released, 1, NotApplied, Nobody)),
        arrow(
            "ask: no, claimed",
            ASK,
            &[Claim(1), TimeOut, Wait(935), Ask(No), Claim(2)],
            (Started, 2, NotApplied, Nobody),
        ),
        arrow("ask: cannot tell", ASK, &[Claim(1), TimeOut, Ask(CannotTell)], (Unknown, 1, Maybe, Reconciler)),
        arrow("void: took hold before", void(), &[Claim(1), TimeOut, Void(Yes)], (Completed, 1, Applied, Nobody)),
        arrow("void: yes", void(), &[Claim(1), TimeOut, Void(No)], (Released, 1, NotApplied, Nobody)),
        arrow("void: yes, claimed", void(), &[Claim(1), TimeOut, Void(No), Claim(2)], (Started, 2, NotApplied, Nobody)),
        arrow("void: cannot tell", void(), &[Claim(1), TimeOut, Void(CannotTell)], (Unknown, 1, Maybe, Reconciler)),
        arrow(
            "void: a mere no is not enough",
            void(),
            &[Claim(1), TimeOut, Wait(935), Ask(No)],
            (Unknown, 1, Maybe, Reconciler),
        ),
    ]);
}

#[test]
fn a_person_settles_an_unknown_operation() {
    let escalate = || Policy::Escalate;
    check(&[
        arrow("took hold", escalate(), &[Claim(1), TimeOut, TookHold], (Completed, 1, Applied, Nobody)),
        arrow("did not", escalate(), &[Claim(1), TimeOut, Wait(935), DidNotHappen], (Released, 1, NotApplied, Nobody)),
        arrow(
            "did not, claimed",
            escalate(),
            &[Claim(1), TimeOut, Wait(935), DidNotHappen, Claim(2)],
            (Started, 2, NotApplied, Nobody),
        ),
        arrow("failed", escalate(), &[Claim(1), TimeOut, Failed], (FailedFinal, 1, NotApplied, Nobody)),
        arrow(
            "failed for good, tried again",
            escalate(),
            &[Claim(1), GiveUp, Retry, Claim(2)],
            (Started, 2, NotApplied, Nobody),
        ),
    ]);
}

#[test]
fn an_earlier_attempt_that_may_have_taken_hold_is_not_forgotten() {
    let again = |rest: &'static [Step], name, stands| arrow(name, SAME_KEY, rest, stands);
    check(&[
        again(
            &[Claim(1), TimeOut, Wait(1), Claim(2), Fail(DownstreamUnavailable)],
            "not applied",
            (FailedRetryable, 2, Maybe, Nobody),
        ),
        again(&[Claim(1), TimeOut, Wait(1), Claim(2), Release], "released", (FailedRetryable, 2, Maybe, Nobody)),
        again(
            &[Claim(1), TimeOut, Wait(1), Claim(2), Release, Release],
            "released twice",
            (FailedRetryable, 2, Maybe, Nobody),
        ),
        again(
            &[Claim(1), TimeOut, Wait(1), Claim(2), Refuse],
            "the provider's no under one key",
            (FailedFinal, 2, NotApplied, Nobody),
        ),
        again(
            &[Claim(1), TimeOut, Wait(1), Claim(2), GiveUp],
            "a technical end under one key",
            (Unknown, 2, Maybe, Person),
        ),
        arrow(
            "a technical end",
            Policy::Rerun,
            &[Claim(1), TimeOut, Wait(1), Claim(2), GiveUp],
            (Unknown, 2, Maybe, Person),
        ),
        arrow(
            "a second attempt, lost and then not applied",
            ASK,
            &[Claim(1), TimeOut, Wait(935), Ask(No), Claim(2), Wait(35), Sweep, Fail(DownstreamUnavailable)],
            (Unknown, 2, Maybe, Reconciler),
        ),
    ]);
}
