//! What the provider answers: find out, or make sure.

use std::sync::Arc;

use onefold_core::Timestamp;
use onefold_core::effect::{EffectClass, KindSpec, Policy};
use onefold_core::ledger::{
    Completion, Lease, Question, ReconcileRequest, Reconciled, ReconcilerAnswer, SettledBy, SideEffect, Status,
    StoredResult,
};
use onefold_core::operation::KindName;
use onefold_core::port::LedgerMaintenance as _;
use onefold_core::retry::Category;

use crate::fixture::{StoreFixture, granted};
use crate::harness::Harness;
use crate::kinds::{self, DEADLINE, SECOND, SETTLE, SLACK, asks, escalates, voids};
use crate::ledger::outcomes::{completed, completion, unknown};

async fn unknown_op<H: Harness>(fixture: &StoreFixture<H>, terms: &Arc<KindSpec>, id: &str) -> Lease {
    let lease = fixture.grant(terms, id).await;
    fixture.record(terms, &lease, unknown(Category::DownstreamTimeout)).await;
    lease
}

async fn due<H: Harness>(fixture: &StoreFixture<H>, kinds: &[&str]) -> Vec<String> {
    let kinds = kinds.iter().map(|kind| KindName::parse(kind).expect("a name")).collect();
    let due = fixture.store().due(kinds, 100).await.expect("due questions are read");
    assert_eq!(due.now, fixture.now());
    due.entries.into_iter().map(|entry| format!("{} {}", entry.key.kind, entry.key.id)).collect()
}

fn took_hold(bytes: &[u8]) -> ReconcilerAnswer {
    ReconcilerAnswer::TookHold(completion(bytes, None))
}

/// Questions are due when their time has come, for the kinds that can be asked about here, the oldest first.
pub async fn questions_are_due_when_their_time_has_come<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    unknown_op(&fixture, &asks(), "A").await;
    fixture.wait(SECOND);
    unknown_op(&fixture, &voids(), "B").await;
    fixture.wait(SECOND);
    let later = unknown_op(&fixture, &asks(), "C").await;
    unknown_op(&fixture, &escalates(), "NOBODY").await;
    assert_eq!(due(&fixture, &["case.open", "seat.reserve"]).await, ["case.open A", "seat.reserve B", "case.open C"]);
    assert_eq!(due(&fixture, &["seat.reserve"]).await, ["seat.reserve B"]);
    assert!(due(&fixture, &[]).await.is_empty());
    fixture.answer(&asks(), &later, Question::Ask, ReconcilerAnswer::Later(7 * SECOND)).await;
    assert_eq!(due(&fixture, &["case.open"]).await, ["case.open A"]);
    fixture.wait(7 * SECOND);
    assert_eq!(due(&fixture, &["case.open"]).await, ["case.open A", "case.open C"]);
    let first = fixture.store().due(vec![asks().kind.clone()], 1).await.expect("due questions are read");
    assert_eq!(first.entries.len(), 1);
}

/// "It took hold" completes the operation with the provider's result.
pub async fn took_hold_completes_the_operation<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    for (terms, question, by) in [(asks(), Question::Ask, SettledBy::Ask), (voids(), Question::Void, SettledBy::Void)] {
        let lease = unknown_op(&fixture, &terms, "A").await;
        fixture.wait(SECOND);
        assert_eq!(fixture.answer(&terms, &lease, question, took_hold(b"\"N-1\"")).await, Reconciled::TookHold);
        let entry = fixture.entry(&lease.key).await;
        assert_eq!(
            (entry.status, entry.side_effect, entry.settled_by),
            (Status::Completed, SideEffect::Applied, Some(by))
        );
        assert_eq!(entry.result, Some(StoredResult::json(&b"\"N-1\""[..])));
        assert_eq!((entry.completed_at, entry.next_ask_at), (Some(fixture.now()), None));
        let story = fixture.story(&lease.key).await;
        assert!(story.iter().any(|line| line.ends_with("took hold")), "{story:#?}");
    }
}

/// To `ask`, "there is no such effect" is believed only when it was asked `settle` after the last deadline.
pub async fn did_not_is_believed_only_after_settle<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = asks();
    let lease = unknown_op(&fixture, &terms, "A").await;
    let believed_from = lease.deadline.plus(SETTLE).plus(SLACK);
    assert_eq!(
        fixture.answer(&terms, &lease, Question::Ask, ReconcilerAnswer::DidNot).await,
        Reconciled::AskAgain(believed_from)
    );
    let entry = fixture.entry(&lease.key).await;
    assert_eq!((entry.status, entry.next_ask_at), (Status::Unknown, Some(believed_from)));
    // Asked too early and answered late: the time of the question counts.
    fixture.wait(DEADLINE + SETTLE + SLACK);
    let early = ReconcileRequest {
        key: lease.key.clone(),
        fence: 1,
        question: Question::Ask,
        answer: ReconcilerAnswer::DidNot,
        asked_at: Timestamp::from_micros(believed_from.as_micros() - 1),
        terms: Arc::clone(&terms),
    };
    let answered = fixture.store().reconcile(vec![early]).await.expect("committed");
    assert_eq!(answered, [Reconciled::AskAgain(believed_from)]);
    assert_eq!(fixture.answer(&terms, &lease, Question::Ask, ReconcilerAnswer::DidNot).await, Reconciled::Released);
    let entry = fixture.entry(&lease.key).await;
    assert_eq!((entry.status, entry.side_effect), (Status::Released, SideEffect::NotApplied));
    assert_eq!(granted(fixture.claim(fixture.claim_of(&terms, "A")).await).fence, 2);
}

/// To `void`, "there is none, and there never will be" needs no window.
pub async fn a_void_is_believed_at_once<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = voids();
    let lease = unknown_op(&fixture, &terms, "A").await;
    assert_eq!(fixture.answer(&terms, &lease, Question::Void, ReconcilerAnswer::DidNot).await, Reconciled::Released);
    assert_eq!(granted(fixture.claim(fixture.claim_of(&terms, "A")).await).fence, 2);
}

/// An answer that tells nothing is asked again on the schedule; then a person is asked.
pub async fn an_answer_that_tells_nothing_is_asked_again_and_then_escalated<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    for (terms, question) in [(asks(), Question::Ask), (voids(), Question::Void)] {
        let lease = unknown_op(&fixture, &terms, "A").await;
        for (asks, wait) in [10, 60, 300, 900].into_iter().enumerate() {
            let next = fixture.now().plus(wait * SECOND);
            let answer = fixture.answer(&terms, &lease, question, ReconcilerAnswer::CannotTell).await;
            assert_eq!(answer, Reconciled::AskAgain(next));
            let entry = fixture.entry(&lease.key).await;
            assert_eq!((entry.asks as usize, entry.next_ask_at), (asks + 1, Some(next)));
            fixture.wait(wait * SECOND);
        }
        assert_eq!(fixture.answer(&terms, &lease, question, ReconcilerAnswer::CannotTell).await, Reconciled::Escalated);
        let entry = fixture.entry(&lease.key).await;
        let incident = fixture.open_incident(&lease.key).await.expect("an incident");
        assert_eq!((entry.status, entry.next_ask_at, entry.incident), (Status::Unknown, None, Some(incident.id)));
        assert!(due(&fixture, &[terms.kind.as_str()]).await.is_empty());
    }
}

/// A provider that asks for time gets it, as one of the questions.
pub async fn later_is_asked_again_when_it_says<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = asks();
    let lease = unknown_op(&fixture, &terms, "A").await;
    let next = fixture.now().plus(90 * SECOND);
    let answer = fixture.answer(&terms, &lease, Question::Ask, ReconcilerAnswer::Later(90 * SECOND)).await;
    assert_eq!(answer, Reconciled::AskAgain(next));
    assert_eq!(fixture.entry(&lease.key).await.asks, 1);
}

/// An answer about what has moved on changes nothing.
pub async fn an_answer_that_comes_too_late_is_stale<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = voids();
    let settled = unknown_op(&fixture, &terms, "A").await;
    fixture.answer(&terms, &settled, Question::Void, took_hold(b"1")).await;
    let regranted = unknown_op(&fixture, &terms, "B").await;
    fixture.answer(&terms, &regranted, Question::Void, ReconcilerAnswer::DidNot).await;
    granted(fixture.claim(fixture.claim_of(&terms, "B")).await);
    let absent = Lease { key: crate::fixture::key(&terms, "ABSENT"), ..settled.clone() };
    for lease in [&settled, &regranted, &absent] {
        let before = fixture.find(&lease.key).await;
        for answer in [took_hold(b"2"), ReconcilerAnswer::DidNot, ReconcilerAnswer::CannotTell] {
            assert_eq!(fixture.answer(&terms, lease, Question::Void, answer).await, Reconciled::Stale);
        }
        assert_eq!(fixture.find(&lease.key).await, before);
    }
}

/// Answers of one call are written together, each judged by itself.
pub async fn answers_are_written_together_and_judged_one_by_one<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = voids();
    let answers = [took_hold(b"1"), ReconcilerAnswer::DidNot, ReconcilerAnswer::CannotTell, took_hold(b"2")];
    let mut requests = Vec::new();
    for (id, answer) in ["A", "B", "C", "A"].into_iter().zip(answers) {
        if requests.len() < 3 {
            unknown_op(&fixture, &terms, id).await;
        }
        requests.push(ReconcileRequest {
            key: crate::fixture::key(&terms, id),
            fence: 1,
            question: Question::Void,
            answer,
            asked_at: fixture.now(),
            terms: Arc::clone(&terms),
        });
    }
    let again = fixture.now().plus(10 * SECOND);
    let answered = fixture.store().reconcile(requests).await.expect("committed");
    assert_eq!(answered, [Reconciled::TookHold, Reconciled::Released, Reconciled::AskAgain(again), Reconciled::Stale]);
}

/// A financial effect is completed only with evidence, no matter who says that it took hold.
pub async fn a_financial_effect_is_not_believed_without_evidence<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = Arc::new(kinds::terms("payment.void", EffectClass::FinancialOrLegal, Policy::Void));
    let lease = unknown_op(&fixture, &terms, "A").await;
    let answer = fixture.answer(&terms, &lease, Question::Void, took_hold(b"1")).await;
    assert!(matches!(answer, Reconciled::AskAgain(_)), "{answer:?}");
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Unknown);
    let proved: Completion = completion(b"1", Some("bank/4711"));
    let answer = fixture.answer(&terms, &lease, Question::Void, ReconcilerAnswer::TookHold(proved)).await;
    assert_eq!(answer, Reconciled::TookHold);
    assert_eq!(fixture.entry(&lease.key).await.evidence_ref.as_deref(), Some("bank/4711"));
}

/// The provider's answer ends an incident that was opened meanwhile, and is in the timeline.
pub async fn an_answer_closes_the_incident_and_stands_in_the_story<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = voids();
    let lease = fixture.lost(&terms, "A").await;
    for wait in [10, 60, 300, 900, 1] {
        fixture.answer(&terms, &lease, Question::Void, ReconcilerAnswer::CannotTell).await;
        fixture.wait(wait * SECOND);
    }
    assert!(fixture.open_incident(&lease.key).await.is_some());
    fixture.answer(&terms, &lease, Question::Void, ReconcilerAnswer::DidNot).await;
    assert!(fixture.open_incident(&lease.key).await.is_none());
    assert_eq!(fixture.entry(&lease.key).await.incident, None);
    let second = granted(fixture.claim(fixture.claim_of(&terms, "A")).await);
    fixture.record(&terms, &second, completed(b"1")).await;
    let story = fixture.story(&lease.key).await;
    assert!(story.iter().any(|line| line.starts_with("1 void: did not happen")), "{story:#?}");
    assert!(story.iter().any(|line| line.starts_with("2 host/1: completed")), "{story:#?}");
}
