//! Every answer to a claim.

use onefold_core::effect::Policy;
use onefold_core::ledger::{Claim, Status};
use onefold_core::retry::Category::DownstreamUnavailable;

use crate::fixture::Answer::No;
use crate::fixture::Step::{Ask, Claim as Claimed, Complete, Fail, Refuse, Release, Sweep, TimeOut, Void, Wait};
use crate::fixture::{ASK, LedgerFixture, SAME_KEY, START, Step, completion, secs};

fn name(claim: &Claim) -> &'static str {
    match claim {
        Claim::Granted(_) => "granted",
        Claim::Replay(_) => "replay",
        Claim::InFlight { .. } => "in flight",
        Claim::Conflict => "conflict",
        Claim::Unknown { .. } => "unknown",
        Claim::Waiting { .. } => "waiting",
    }
}

/// A story, and the answer to a claim by somebody else after it.
const ROWS: &[(&str, Policy, &[Step], &str)] = &[
    ("absent", Policy::Escalate, &[], "granted"),
    ("live lease", Policy::Escalate, &[Claimed(1)], "in flight"),
    ("lease over, within the slack", Policy::Escalate, &[Claimed(1), Wait(34)], "in flight"),
    ("lease over, escalate", Policy::Escalate, &[Claimed(1), Wait(35)], "unknown"),
    ("lease over, ask", ASK, &[Claimed(1), Wait(35)], "unknown"),
    ("lease over, void", Policy::Void, &[Claimed(1), Wait(35)], "unknown"),
    ("lease over, rerun waits first", Policy::Rerun, &[Claimed(1), Wait(35)], "waiting"),
    ("completed", Policy::Escalate, &[Claimed(1), Complete], "replay"),
    ("failed for good", Policy::Escalate, &[Claimed(1), Refuse], "replay"),
    ("backoff", Policy::Escalate, &[Claimed(1), Fail(DownstreamUnavailable)], "waiting"),
    ("backoff over", Policy::Escalate, &[Claimed(1), Fail(DownstreamUnavailable), Wait(1)], "granted"),
    ("unknown effect, backoff", SAME_KEY, &[Claimed(1), TimeOut], "waiting"),
    ("unknown effect, backoff over", SAME_KEY, &[Claimed(1), TimeOut, Wait(1)], "granted"),
    ("unknown, a person looks", Policy::Escalate, &[Claimed(1), Wait(35), Sweep], "unknown"),
    ("unknown, the provider is asked", ASK, &[Claimed(1), TimeOut], "unknown"),
    ("released by its holder", Policy::Escalate, &[Claimed(1), Release], "granted"),
    ("released by ask", ASK, &[Claimed(1), TimeOut, Wait(935), Ask(No)], "granted"),
    ("released by void", Policy::Void, &[Claimed(1), TimeOut, Void(No)], "granted"),
];

#[test]
fn a_claim_is_answered_by_where_the_operation_stands() {
    for (story, policy, steps, answer) in ROWS {
        let mut ledger = LedgerFixture::under(policy.clone()).play(steps);
        assert_eq!(name(&ledger.claim(9)), *answer, "{story}");
    }
}

#[test]
fn conflict_wins_over_every_other_answer_and_changes_nothing() {
    for (story, policy, steps, _) in ROWS.iter().filter(|(.., steps, _)| !steps.is_empty()) {
        for attempt in [1, 9] {
            let mut ledger = LedgerFixture::under(policy.clone()).play(steps);
            let before = ledger.entry.clone();
            ledger.input = b"{\"amount\": 2}";
            assert_eq!(ledger.claim(attempt), Claim::Conflict, "{story}, attempt {attempt}");
            assert_eq!(ledger.entry, before, "{story}");
        }
    }
}

#[test]
fn a_replay_carries_what_was_recorded() {
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1), Complete]);
    let Claim::Replay(replay) = ledger.claim(2) else { panic!("not replayed") };
    assert_eq!((replay.status, replay.result), (Status::Completed, Some(completion("1").result)));
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1), Refuse]);
    let Claim::Replay(replay) = ledger.claim(2) else { panic!("not replayed") };
    assert_eq!((replay.status, replay.error_code), (Status::FailedFinal, ledger.entry().error_code.clone()));
}

#[test]
fn an_answer_says_when_asking_again_makes_sense() {
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1), Wait(10)]);
    assert_eq!(ledger.claim(2), Claim::InFlight { retry_after: secs(25) });
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1), Fail(DownstreamUnavailable)]);
    assert_eq!(ledger.claim(2), Claim::Waiting { until: START.plus(secs(1)) });
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1), TimeOut]);
    let incident = ledger.open().map(|incident| incident.id.clone());
    assert_eq!(ledger.claim(2), Claim::Unknown { since: START, next_ask: None, incident });
    let mut ledger = LedgerFixture::under(ASK).play(&[Claimed(1), TimeOut]);
    assert_eq!(ledger.claim(2), Claim::Unknown { since: START, next_ask: Some(START), incident: None });
}

#[test]
fn a_claim_that_finds_the_lease_over_moves_the_operation_itself() {
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claimed(1), Wait(35)]);
    ledger.claim(2);
    assert_eq!((ledger.status(), ledger.entry().fence), (Status::Unknown, 1));
    assert!(ledger.open().is_some());
    assert_eq!(ledger.past.len(), 1);
}
