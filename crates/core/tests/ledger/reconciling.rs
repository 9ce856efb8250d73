//! What `ask` and `void` answer.

use onefold_core::effect::{EffectClass, Policy};
use onefold_core::incident::Needs;
use onefold_core::ledger::{
    OVERDUE_FOR, Outcome, Question, Reconciled, ReconcilerAnswer, SettledBy, Status, SweepReason,
};

use crate::fixture::Answer::{CannotTell, No};
use crate::fixture::Step::{Ask, Claim, Complete, Sweep, TimeOut, Wait};
use crate::fixture::{ASK, LedgerFixture, START, completion, secs, terms, with_evidence};

fn timed_out(policy: Policy) -> LedgerFixture {
    LedgerFixture::under(policy).play(&[Claim(1), TimeOut])
}

#[test]
fn the_provider_is_asked_on_a_schedule_and_then_a_person() {
    for (policy, question) in [(ASK, Question::Ask), (Policy::Void, Question::Void)] {
        let mut ledger = timed_out(policy);
        assert_eq!(ledger.entry().next_ask_at, Some(START), "asked at once");
        for (nth, wait) in [10, 60, 300, 900].into_iter().enumerate() {
            let next = ledger.now.plus(secs(wait));
            assert_eq!(ledger.answered(question, ReconcilerAnswer::CannotTell), Reconciled::AskAgain(next), "{nth}");
            assert_eq!(ledger.entry().next_ask_at, Some(next));
            assert!(ledger.open().is_none());
            ledger.now = next;
        }
        assert_eq!(ledger.answered(question, ReconcilerAnswer::CannotTell), Reconciled::Escalated);
        assert_eq!((ledger.status(), ledger.entry().next_ask_at), (Status::Unknown, None));
        assert!(ledger.open().is_some());
    }
}

#[test]
fn a_provider_that_says_later_is_asked_then_but_not_for_ever() {
    let mut ledger = timed_out(ASK);
    for _ in 0..4 {
        let next = ledger.now.plus(secs(42));
        assert_eq!(ledger.answered(Question::Ask, ReconcilerAnswer::Later(secs(42))), Reconciled::AskAgain(next));
        ledger.now = next;
    }
    assert_eq!(ledger.answered(Question::Ask, ReconcilerAnswer::Later(secs(42))), Reconciled::Escalated);
    let mut ledger = timed_out(ASK);
    let day = START.plus(secs(86_400));
    assert_eq!(ledger.answered(Question::Ask, ReconcilerAnswer::Later(secs(u64::MAX))), Reconciled::AskAgain(day));
}

#[test]
fn a_no_counts_only_when_it_was_asked_after_settle() {
    // The deadline is at 30 s, settle is 900 s, the slack 5 s.
    let believed_from = START.plus(secs(935));
    for (asked, delivered, believed) in
        [(0, 0, false), (934, 934, false), (934, 2_000, false), (935, 935, true), (935, 2_000, true)]
    {
        let mut ledger = timed_out(ASK);
        ledger.now = START.plus(secs(delivered));
        let answer = ledger.answered_at(START.plus(secs(asked)), Question::Ask, ReconcilerAnswer::DidNot);
        let expected = if believed { Reconciled::Released } else { Reconciled::AskAgain(believed_from) };
        assert_eq!(answer, expected, "asked at {asked}, delivered at {delivered}");
        assert_eq!(ledger.status(), if believed { Status::Released } else { Status::Unknown });
    }
}

#[test]
fn settle_runs_from_the_deadline_of_the_last_attempt() {
    let mut ledger = LedgerFixture::under(ASK).play(&[Claim(1), TimeOut, Wait(935), Ask(No), Claim(2), TimeOut]);
    let asked = ledger.answered(Question::Ask, ReconcilerAnswer::DidNot);
    assert_eq!(asked, Reconciled::AskAgain(ledger.entry().deadline.plus(secs(905))));
}

#[test]
fn a_no_is_believed_by_what_was_asked_and_declared() {
    // declared, asked, is a "no" long after settle enough?
    let rows = [
        (ASK, Question::Ask, true),
        (ASK, Question::Void, true),
        (Policy::Void, Question::Void, true),
        (Policy::Void, Question::Ask, false),
        (Policy::Escalate, Question::Ask, false),
    ];
    for (policy, question, enough) in rows {
        let mut ledger = timed_out(policy.clone());
        ledger.wait(secs(5_000));
        let answer = ledger.answered(question, ReconcilerAnswer::DidNot);
        assert_eq!(answer == Reconciled::Released, enough, "{policy}, {question}");
    }
}

#[test]
fn a_void_needs_no_wait() {
    let mut ledger = timed_out(Policy::Void);
    assert_eq!(ledger.answered(Question::Void, ReconcilerAnswer::DidNot), Reconciled::Released);
    assert_eq!(ledger.entry().settled_by, Some(SettledBy::Void));
}

#[test]
fn an_answer_about_what_moved_on_changes_nothing() {
    let answers = [ReconcilerAnswer::TookHold(completion("1")), ReconcilerAnswer::DidNot, ReconcilerAnswer::CannotTell];
    for answer in answers {
        let mut recorded = LedgerFixture::under(ASK).play(&[Claim(1), TimeOut, Complete]);
        let before = recorded.entry.clone();
        assert_eq!(recorded.answered(Question::Ask, answer.clone()), Reconciled::Stale);
        assert_eq!(recorded.entry, before);
        let mut live = LedgerFixture::under(ASK).play(&[Claim(1)]);
        assert_eq!(live.answered(Question::Ask, answer), Reconciled::Stale);
    }
}

#[test]
fn an_answer_about_an_older_fence_is_stale() {
    let mut ledger = LedgerFixture::under(ASK).play(&[Claim(1), TimeOut, Wait(935), Ask(No), Claim(2), TimeOut]);
    let before = ledger.entry.clone();
    let took_hold = ReconcilerAnswer::TookHold(completion("1"));
    assert_eq!(ledger.answered_of(1, ledger.now, Question::Ask, took_hold), Reconciled::Stale);
    assert_eq!(ledger.entry, before);
}

#[test]
fn an_answer_closes_the_incident_that_was_waiting_for_it() {
    let mut ledger = timed_out(ASK);
    for wait in [10, 60, 300, 900, 0] {
        ledger.take(Ask(CannotTell));
        ledger.wait(secs(wait));
    }
    assert!(ledger.open().is_some());
    assert_eq!(ledger.answered(Question::Ask, ReconcilerAnswer::TookHold(completion("1"))), Reconciled::TookHold);
    assert_eq!((ledger.status(), ledger.open().is_none()), (Status::Completed, true));
    assert_eq!(ledger.incident.as_ref().and_then(|incident| incident.closed_by.as_deref()), Some("evidence"));
}

#[test]
fn a_question_that_nobody_asks_goes_to_a_person() {
    let mut ledger = LedgerFixture::under(ASK).play(&[Claim(1), Wait(35), Sweep]);
    let overdue = ledger.now.plus(OVERDUE_FOR);
    ledger.now = overdue.minus(secs(1));
    assert!(!ledger.sweep(SweepReason::Expired));
    ledger.now = overdue;
    assert!(ledger.sweep(SweepReason::Expired));
    let incident = ledger.open().expect("an incident");
    assert_eq!(incident.needs, Needs::DeploymentFix);
    assert_eq!(ledger.entry().next_ask_at, None);
}

#[test]
fn a_financial_effect_is_found_only_with_its_evidence() {
    let mut ledger = LedgerFixture::of(terms(EffectClass::FinancialOrLegal, Policy::Void)).play(&[Claim(1), TimeOut]);
    let bare = ReconcilerAnswer::TookHold(completion("1"));
    assert!(matches!(ledger.answered(Question::Void, bare), Reconciled::AskAgain(_)));
    let Outcome::Completed(proved) = with_evidence("1") else { panic!("not completed") };
    assert_eq!(ledger.answered(Question::Void, ReconcilerAnswer::TookHold(proved)), Reconciled::TookHold);
    assert_eq!(ledger.entry().evidence_ref.as_deref(), Some("notice 4711"));
}
