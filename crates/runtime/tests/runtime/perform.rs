//! Around an outside effect.

use std::time::Duration;

use onefold_core::call::{CallOutcome, Promises, Sent, judge};
use onefold_core::error::RESULT_NOT_KEPT;
use onefold_core::incident::Needs;
use onefold_core::ledger::Status;
use onefold_core::port::{Filter, LedgerRead as _, Page};
use onefold_core::retry::Category;
use onefold_runtime::{CallFailure, Kind, Performed, WithEvidence};

use crate::fixture::{Effects, LedgerFixture, closed, find, id, open_incidents};

#[tokio::test]
async fn a_performed_operation_is_replayed_in_this_life_and_in_the_next() {
    let fixture = LedgerFixture::new();
    let effects = Effects::default();
    for life in 0..2 {
        let ledger = fixture.ledger().await;
        let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
        for call in 0..2 {
            let happens = effects.clone();
            let answer = notices
                .operation(id("A"))
                .business_key("CASE-1")
                .perform(&"BREACH", move |attempt| async move {
                    attempt.may_send()?;
                    Ok(format!("{} {}", attempt.provider_key(), happens.happen()))
                })
                .await
                .unwrap();
            let replayed = life + call > 0;
            assert_eq!(answer, Performed::Completed { result: "A 1".to_owned(), replayed });
        }
    }
    assert_eq!(effects.count(), 1);
}

#[tokio::test]
async fn a_rejection_is_recorded_and_replayed() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let effects = Effects::default();
    for _ in 0..2 {
        let happens = effects.clone();
        let answer: Performed<String> = notices
            .operation(id("A"))
            .perform(&"BREACH", move |_| async move {
                happens.happen();
                Err(CallFailure::rejected(closed()))
            })
            .await
            .unwrap();
        assert!(
            matches!(&answer, Performed::Rejected(no) if no.code == Some(closed().name()) && no.category.is_none()),
            "{answer:?}"
        );
    }
    assert_eq!(effects.count(), 1);
    assert!(open_incidents(&ledger).await.is_empty());
}

#[tokio::test]
async fn a_broken_request_is_rejected_with_an_incident() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let answer: Performed<String> = notices
        .operation(id("A"))
        .perform(&"BREACH", |_| async { Err(CallFailure::broken(Category::InvalidWorkerContract)) })
        .await
        .unwrap();
    assert!(
        matches!(&answer, Performed::Rejected(no) if no.category == Some(Category::InvalidWorkerContract)),
        "{answer:?}"
    );
    assert_eq!(open_incidents(&ledger).await.len(), 1);
}

#[tokio::test]
async fn what_was_not_sent_is_released_and_performed_again() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let answer: Performed<String> = notices
        .operation(id("A"))
        .perform(&"BREACH", |_| async { Err(CallFailure::not_sent(Category::DownstreamUnavailable)) })
        .await
        .unwrap();
    assert!(matches!(answer, Performed::Waiting { .. }), "{answer:?}");
    let entry = find(&ledger, "notice.issue", "A").await.unwrap();
    assert_eq!((entry.status, entry.attempts), (Status::Released, 0));
    let answer = notices.operation(id("A")).perform(&"BREACH", |_| async { Ok(1) }).await.unwrap();
    assert_eq!(answer, Performed::Completed { result: 1, replayed: false });
    assert_eq!(find(&ledger, "notice.issue", "A").await.unwrap().fence, 2);
    assert!(open_incidents(&ledger).await.is_empty());
}

#[tokio::test]
async fn what_did_not_take_hold_waits_on_its_schedule() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    for (operation, asked_for, from, to) in [("A", None, 60, 72), ("B", Some(Duration::from_mins(10)), 600, 720)] {
        let answer: Performed<String> = notices
            .operation(id(operation))
            .perform(&"BREACH", move |_| async move {
                let limited = CallFailure::not_applied(Category::RateLimited);
                Err(asked_for.map_or(limited.clone(), |wait| limited.retry_after(wait)))
            })
            .await
            .unwrap();
        let Performed::Waiting { until, because } = answer else { panic!("{answer:?}") };
        assert_eq!(because, Some(Category::RateLimited.code().name()));
        let entry = find(&ledger, "notice.issue", operation).await.unwrap();
        assert_eq!((entry.status, entry.next_attempt_at), (Status::FailedRetryable, Some(until)));
        let wait = until.since(entry.updated_at).as_secs();
        assert!((from..=to).contains(&wait), "{wait}");
        let again: Performed<String> = notices
            .operation(id(operation))
            .perform(&"BREACH", |_| async { panic!("performed too early") })
            .await
            .unwrap();
        assert_eq!(again, Performed::Waiting { until, because });
    }
}

#[tokio::test]
async fn another_request_under_the_same_id_is_a_conflict() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    notices.operation(id("A")).perform(&"BREACH", |_| async { Ok(1) }).await.unwrap();
    let other = notices.operation(id("A")).perform(&"OTHER", |_| async { Ok(2) }).await.unwrap();
    assert_eq!(other, Performed::Conflict);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_calls_at_once_one_acts() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let effects = Effects::default();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let (notices, effects) = (notices.clone(), effects.clone());
        calls.spawn(async move {
            notices.operation(id("A")).perform(&"BREACH", move |_| async move { Ok(effects.happen()) }).await
        });
    }
    let answers: Vec<_> = calls.join_all().await.into_iter().map(Result::unwrap).collect();
    let first = answers.iter().filter(|answer| **answer == Performed::Completed { result: 1, replayed: false }).count();
    let others = |answer: &Performed<usize>| {
        matches!(answer, Performed::InFlight { .. } | Performed::Completed { result: 1, replayed: true })
    };
    assert_eq!((first, answers.iter().filter(|answer| others(answer)).count()), (1, 63));
    assert_eq!(effects.count(), 1);
}

#[tokio::test]
async fn a_result_over_the_limit_is_told_and_not_performed_again() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue").result_bytes_max(8)).unwrap();
    let long = "x".repeat(20);
    let sent = long.clone();
    let first = notices.operation(id("A")).perform(&"BREACH", |_| async { Ok(sent) }).await.unwrap();
    assert_eq!(first, Performed::Completed { result: long, replayed: false });
    let again = notices.operation(id("A")).perform(&"BREACH", |_| async { Ok(String::new()) }).await.unwrap_err();
    assert_eq!(again.code(), RESULT_NOT_KEPT);
}

#[tokio::test]
async fn a_financial_result_carries_its_evidence() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let sanctions = ledger.kind(Kind::financial_or_legal("sanction.register")).unwrap();
    let answer = sanctions
        .operation(id("A"))
        .perform(&"BREACH", |_| async { Ok(WithEvidence::new(8821, "obligation/8821")) })
        .await
        .unwrap();
    assert_eq!(answer, Performed::Completed { result: 8821, replayed: false });
    let entry = find(&ledger, "sanction.register", "A").await.unwrap();
    assert_eq!(entry.evidence_ref.as_deref(), Some("obligation/8821"));
}

#[tokio::test]
async fn a_pure_kind_leaves_no_row_unless_it_is_remembered() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let forgotten = ledger.kind(Kind::pure("risk.score")).unwrap();
    let remembered = ledger.kind(Kind::pure("risk.report").remember()).unwrap();
    let effects = Effects::default();
    for (kind, runs) in [(&forgotten, 2), (&remembered, 3)] {
        for _ in 0..2 {
            let happens = effects.clone();
            kind.operation(id("A")).perform(&"in", move |_| async move { Ok(happens.happen()) }).await.unwrap();
        }
        assert_eq!(effects.count(), runs);
    }
    let listed = ledger.store().list(Filter::default(), Page::default()).await.unwrap().items;
    assert_eq!(listed.iter().map(|entry| entry.key.kind.as_str()).collect::<Vec<_>>(), ["risk.report"]);
}

/// 000 §8.1 row 4.
#[tokio::test]
async fn a_400_to_a_request_of_ours_opens_an_incident_with_details_and_is_not_tried_again() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let effects = Effects::default();
    for _ in 0..2 {
        let happens = effects.clone();
        let answer: Performed<String> = notices
            .operation(id("A"))
            .perform(&"BREACH", move |_| async move {
                happens.happen();
                let meaning = judge(CallOutcome::Status(400), Sent::Something, &Promises::default());
                Err(CallFailure::judged(&meaning).detail("400: amount is missing").needs(Needs::DataRepair))
            })
            .await
            .unwrap();
        assert!(matches!(&answer, Performed::Rejected(_)), "{answer:?}");
    }
    assert_eq!(effects.count(), 1, "it is not tried again");
    let open = open_incidents(&ledger).await;
    assert_eq!((open.len(), open[0].needs), (1, Needs::DataRepair));
    assert!(open[0].message.as_str().contains("amount is missing"), "{}", open[0].message);
    assert!(open[0].suggested_action.starts_with("repair the data, then retry"), "{}", open[0].suggested_action);
}
