//! What people decide.

use std::sync::Arc;

use onefold_core::error::{EVIDENCE_REQUIRED, LIMIT_EXCEEDED, RESOLUTION_REFUSED};
use onefold_core::ledger::{
    Claim, Resolution, ResolveRequest, Resolved, SettledBy, SideEffect, Status, StoredResult, Verb,
};
use onefold_core::port::{LedgerMaintenance as _, LedgerWrite as _};
use onefold_core::retry::Category;

use crate::fixture::{StoreFixture, granted, key};
use crate::harness::Harness;
use crate::kinds::{DEADLINE, LEASE, SECOND, SETTLE, SLACK, asks, escalates, financial, reruns};
use crate::ledger::outcomes::{CASE_CLOSED, broken, completed, completion, rejected, retryable};

fn took_hold(evidence: Option<&str>) -> Verb {
    Verb::Resolve(Resolution::TookHold(completion(b"\"N-1\"", evidence)))
}

fn did_not(force: bool) -> Verb {
    Verb::Resolve(Resolution::DidNotHappen { force })
}

/// "It took hold" completes the operation; its incident is closed in that person's name.
pub async fn took_hold_completes_the_operation_and_closes_its_incident<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.lost(&terms, "A").await;
    let done = fixture.resolve(&terms, "A", "ada", took_hold(Some("doc/1"))).await.expect("allowed");
    assert_eq!(done, Resolved::Done(Status::Completed));
    let entry = fixture.entry(&lease.key).await;
    assert_eq!((entry.status, entry.settled_by, entry.incident), (Status::Completed, Some(SettledBy::Person), None));
    assert_eq!(entry.result, Some(StoredResult::json(&b"\"N-1\""[..])));
    assert_eq!(entry.evidence_ref.as_deref(), Some("doc/1"));
    let closed = fixture.incidents_of(&lease.key).await.remove(0);
    assert_eq!((closed.closed_by.as_deref(), closed.closed_at), (Some("ada"), Some(fixture.now())));
    let story = fixture.story(&lease.key).await;
    assert!(story.iter().any(|line| line == "1 ada: resolved: took hold (the provider's list shows it)"), "{story:#?}");
}

/// "It did not happen" is believed after settle, or with force; the operation is claimable again.
pub async fn did_not_happen_needs_settle_or_force<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for id in ["PATIENT", "FORCED"] {
        fixture.lost(&terms, id).await;
    }
    let refused = fixture.resolve(&terms, "PATIENT", "ada", did_not(false)).await.expect_err("too early");
    assert_eq!(refused.code(), RESOLUTION_REFUSED);
    assert!(refused.to_string().contains("force"), "{refused}");
    let done = fixture.resolve(&terms, "FORCED", "ada", did_not(true)).await.expect("allowed with force");
    assert_eq!(done, Resolved::Done(Status::Released));
    fixture.wait(DEADLINE + SETTLE + SLACK);
    let done = fixture.resolve(&terms, "PATIENT", "ada", did_not(false)).await.expect("late enough");
    assert_eq!(done, Resolved::Done(Status::Released));
    for id in ["PATIENT", "FORCED"] {
        assert!(fixture.open_incident(&key(&terms, id)).await.is_none());
        assert_eq!(granted(fixture.claim(fixture.claim_of(&terms, id)).await).fence, 2);
    }
}

/// "It failed" is final, under the code that the person names.
pub async fn failed_is_final_under_the_code_given<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    fixture.lost(&terms, "A").await;
    let verb = Verb::Resolve(Resolution::Failed(CASE_CLOSED.name()));
    assert_eq!(fixture.resolve(&terms, "A", "ada", verb).await.expect("allowed"), Resolved::Done(Status::FailedFinal));
    let claim = fixture.claim(fixture.claim_of(&terms, "A")).await;
    assert!(matches!(&claim, Claim::Replay(replay) if replay.error_code == Some(CASE_CLOSED.name())), "{claim:?}");
    assert!(fixture.open_incident(&key(&terms, "A")).await.is_none());
}

/// For a financial or legal effect "it did not happen" takes two people; one person twice is one person.
pub async fn a_financial_release_takes_two_people<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = financial();
    let lease = fixture.lost(&terms, "A").await;
    fixture.wait(DEADLINE + SETTLE + SLACK);
    for _ in 0..2 {
        let first = fixture.resolve(&terms, "A", "ada", did_not(false)).await.expect("noted");
        assert_eq!(first, Resolved::NeedsSecondPerson);
        let entry = fixture.entry(&lease.key).await;
        assert_eq!((entry.status, entry.approved_by.as_deref()), (Status::Unknown, Some("ada")));
        assert!(fixture.open_incident(&lease.key).await.is_some());
    }
    let second = fixture.resolve(&terms, "A", "grace", did_not(false)).await.expect("agreed");
    assert_eq!(second, Resolved::Done(Status::Released));
    assert_eq!(fixture.entry(&lease.key).await.approved_by, None);
    let story = fixture.story(&lease.key).await;
    assert!(story.iter().any(|line| line.starts_with("1 ada: did not happen: waits")), "{story:#?}");
    assert!(story.iter().any(|line| line.starts_with("1 grace: resolved: did not happen")), "{story:#?}");
}

/// A financial effect took hold only with evidence, even for a person.
pub async fn a_financial_effect_needs_evidence_from_a_person_too<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = financial();
    fixture.lost(&terms, "A").await;
    let refused = fixture.resolve(&terms, "A", "ada", took_hold(None)).await.expect_err("no evidence");
    assert_eq!(refused.code(), EVIDENCE_REQUIRED);
    let done = fixture.resolve(&terms, "A", "ada", took_hold(Some("doc/1"))).await.expect("with evidence");
    assert_eq!(done, Resolved::Done(Status::Completed));
}

/// A retry is given only where nothing took hold.
pub async fn a_retry_is_given_only_where_nothing_took_hold<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for (id, outcome) in [
        ("BROKEN", broken(Category::Permission)),
        ("WAITING", retryable(Category::Maintenance)),
        ("NO", rejected()),
        ("DONE", completed(b"1")),
    ] {
        let lease = fixture.grant(&terms, id).await;
        fixture.record(&terms, &lease, outcome).await;
    }
    let free = fixture.grant(&terms, "FREE").await;
    fixture.release(&terms, &free).await;
    fixture.lost(&terms, "LOST").await;
    for id in ["BROKEN", "WAITING"] {
        let done = fixture.resolve(&terms, id, "ada", Verb::Retry).await.expect("safe");
        assert_eq!(done, Resolved::Done(Status::Released), "{id}");
        assert!(fixture.open_incident(&key(&terms, id)).await.is_none());
        let again = granted(fixture.claim(fixture.claim_of(&terms, id)).await);
        assert_eq!((again.fence, again.attempt), (2, 1), "attempts are counted anew");
    }
    for id in ["NO", "DONE", "FREE", "LOST"] {
        let before = fixture.entry(&key(&terms, id)).await;
        let refused = fixture.resolve(&terms, id, "ada", Verb::Retry).await.expect_err(id);
        assert_eq!(refused.code(), RESOLUTION_REFUSED, "{id}");
        assert_eq!(fixture.entry(&key(&terms, id)).await, before);
    }
}

/// A person has the provider asked now; if there is nothing to ask, they are told so.
pub async fn ask_now_makes_the_question_due<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = asks();
    let lease = fixture.lost(&terms, "A").await;
    let answer = onefold_core::ledger::ReconcilerAnswer::Later(600 * SECOND);
    fixture.answer(&terms, &lease, onefold_core::ledger::Question::Ask, answer).await;
    fixture.wait(SECOND);
    let due = || async { fixture.store().due(vec![terms.kind.clone()], 10).await.expect("read").entries.len() };
    assert_eq!(due().await, 0);
    let done = fixture.resolve(&terms, "A", "ada", Verb::AskNow).await.expect("allowed");
    assert_eq!((done, due().await), (Resolved::Done(Status::Unknown), 1));
    fixture.lost(&escalates(), "B").await;
    let refused = fixture.resolve(&escalates(), "B", "ada", Verb::AskNow).await.expect_err("nobody to ask");
    assert_eq!(refused.code(), RESOLUTION_REFUSED);
}

/// A verb counts for what the person saw; while a lease lives, none does.
pub async fn a_verb_is_refused_when_the_operation_moved_or_its_lease_lives<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    fixture.lost(&terms, "A").await;
    let started = fixture.grant(&terms, "LIVE").await;
    let rows = [
        ("A", (2, Status::Unknown)),
        ("A", (1, Status::FailedRetryable)),
        ("ABSENT", (1, Status::Unknown)),
        ("LIVE", (1, Status::Started)),
        ("LIVE", (1, Status::Unknown)),
    ];
    for (id, seen) in rows {
        let before = fixture.find(&key(&terms, id)).await;
        for verb in [
            took_hold(None),
            did_not(true),
            Verb::Retry,
            Verb::AskNow,
            Verb::Resolve(Resolution::Failed(CASE_CLOSED.name())),
        ] {
            let refused = fixture.resolve_seen(&terms, id, seen, "ada", verb).await.expect_err("refused");
            assert_eq!(refused.code(), RESOLUTION_REFUSED, "{id} {seen:?}");
        }
        assert_eq!(fixture.find(&key(&terms, id)).await, before);
    }
    assert_eq!(fixture.entry(&started.key).await.status, Status::Started);
}

/// Every verb has a name and a reason; requests of one call are judged one by one.
pub async fn a_verb_without_a_reason_is_refused_alone<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for id in ["A", "B"] {
        fixture.lost(&terms, id).await;
    }
    let request = |id: &str, who: &str, why: &str| ResolveRequest {
        key: key(&terms, id),
        fence: 1,
        status: Status::Unknown,
        verb: took_hold(None),
        who: Arc::from(who),
        why: Arc::from(why),
        terms: None,
    };
    let requests = vec![
        request("A", "ada", " "),
        request("A", "", "because"),
        request("A", "ada", &"x".repeat(501)),
        request("B", "ada", "because"),
        request("B", "ada", "because"),
    ];
    let answers = fixture.store().resolve(requests).await.expect("committed");
    let codes: Vec<_> = answers.iter().map(|answer| answer.as_ref().err().map(onefold_core::Error::code)).collect();
    let expected = [Some(LIMIT_EXCEEDED), Some(LIMIT_EXCEEDED), Some(LIMIT_EXCEEDED), None, Some(RESOLUTION_REFUSED)];
    assert_eq!(codes, expected);
    assert_eq!(fixture.entry(&key(&terms, "A")).await.status, Status::Unknown);
    assert_eq!(fixture.entry(&key(&terms, "B")).await.status, Status::Completed);
}

/// A suspicion stays open until a person confirms what is recorded.
pub async fn a_person_confirms_what_stands_and_closes_the_suspicion<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    let first = fixture.grant(&terms, "A").await;
    fixture.wait(LEASE + SLACK);
    fixture.sweep().await;
    fixture.wait(SECOND);
    let second = granted(fixture.claim(fixture.claim_of(&terms, "A")).await);
    fixture.record(&terms, &second, completed(b"2")).await;
    fixture.record(&terms, &first, completed(b"1")).await;
    let before = fixture.entry(&first.key).await;
    assert!(before.incident.is_some());
    let wrong = Verb::Resolve(Resolution::Failed(CASE_CLOSED.name()));
    assert!(fixture.resolve(&terms, "A", "ada", wrong).await.is_err(), "it stands at COMPLETED");
    fixture.resolve(&terms, "A", "ada", took_hold(None)).await.expect("confirmed");
    let entry = fixture.entry(&first.key).await;
    assert_eq!((entry.status, entry.result, entry.incident), (Status::Completed, before.result, None));
    assert!(fixture.open_incident(&first.key).await.is_none());
}

/// An operation with an unknown attempt that waits for its repetition can be settled by a person too.
pub async fn a_waiting_operation_with_an_unknown_attempt_can_be_settled<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    let lease = fixture.lost(&terms, "A").await;
    assert_eq!(fixture.entry(&lease.key).await.status, Status::FailedRetryable);
    fixture.resolve(&terms, "A", "ada", took_hold(None)).await.expect("an open question");
    let entry = fixture.entry(&lease.key).await;
    assert_eq!((entry.status, entry.side_effect), (Status::Completed, SideEffect::Applied));
}
