//! A grant that goes back: its holder sent nothing, or nobody was handed the answer.

use onefold_core::ledger::{Claim, Lease, ReleaseReason, Released, SideEffect, Status};
use onefold_core::port::{Step, StepAnswer};
use onefold_core::retry::Category;

use crate::fixture::{StoreFixture, granted, key};
use crate::harness::Harness;
use crate::kinds::{SECOND, escalates, reruns};
use crate::ledger::outcomes::{completed, unknown};

/// A released operation is claimable at once, under the next fence; its row and its history stay.
pub async fn a_released_operation_is_granted_again_and_keeps_its_history<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let first = fixture.grant(&terms, "A").await;
    let created_at = fixture.entry(&first.key).await.created_at;
    fixture.wait(SECOND);
    assert_eq!(fixture.release(&terms, &first).await, Released::Released);
    let entry = fixture.entry(&first.key).await;
    assert_eq!((entry.status, entry.attempts, entry.side_effect), (Status::Released, 0, SideEffect::NotApplied));
    assert!(fixture.open_incident(&first.key).await.is_none());
    fixture.wait(SECOND);
    let second = granted(fixture.claim(fixture.claim_of(&terms, "A")).await);
    assert_eq!((second.fence, second.attempt), (2, 1), "a released attempt does not count");
    assert_eq!(fixture.entry(&first.key).await.created_at, created_at);
    let story = fixture.story(&first.key).await;
    assert!(story[0].starts_with("1 host/1: claimed"), "{story:#?}");
    assert!(story[1].starts_with("1 host/1: released"), "{story:#?}");
    assert!(story[2].starts_with("2 host/1: claimed"), "{story:#?}");
}

/// Releasing twice is as good as once.
pub async fn releasing_again_changes_nothing<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    fixture.release(&terms, &lease).await;
    let before = fixture.entry(&lease.key).await;
    fixture.wait(SECOND);
    assert_eq!(fixture.release(&terms, &lease).await, Released::Released);
    assert_eq!(fixture.entry(&lease.key).await, before);
}

/// What is over cannot be released: recorded or superseded.
pub async fn what_is_over_is_not_released<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    let recorded = fixture.grant(&terms, "RECORDED").await;
    fixture.record(&terms, &recorded, completed(b"1")).await;
    let superseded = fixture.grant(&terms, "SUPERSEDED").await;
    fixture.release(&terms, &superseded).await;
    granted(fixture.claim(fixture.claim_of(&terms, "SUPERSEDED")).await);
    for lease in [recorded, superseded] {
        let before = fixture.entry(&lease.key).await;
        assert_eq!(fixture.release(&terms, &lease).await, Released::Ended, "{}", lease.key);
        assert_eq!(fixture.entry(&lease.key).await, before);
    }
}

/// Only the holder of a grant can release it.
pub async fn a_grant_of_another_is_not_released<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    let stolen = Lease { attempt_id: fixture.attempt(), ..lease.clone() };
    let ahead = Lease { fence: 2, ..lease.clone() };
    let absent = Lease { key: key(&terms, "ABSENT"), ..lease.clone() };
    for forged in [stolen, ahead, absent] {
        assert_eq!(fixture.release(&terms, &forged).await, Released::NeverGranted, "{forged:?}");
    }
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Started);
}

/// A holder that was believed lost and has sent nothing answers the question: its incident is closed.
pub async fn a_release_out_of_unknown_closes_its_incident<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.lost(&terms, "A").await;
    assert!(fixture.open_incident(&lease.key).await.is_some());
    assert_eq!(fixture.release(&terms, &lease).await, Released::Released);
    assert!(fixture.open_incident(&lease.key).await.is_none());
    let entry = fixture.entry(&lease.key).await;
    assert_eq!((entry.status, entry.incident), (Status::Released, None));
    granted(fixture.claim(fixture.claim_of(&terms, "A")).await);
}

/// A release says nothing of an earlier attempt: what was unknown before stays unknown.
pub async fn a_release_after_an_unknown_attempt_leaves_it_unknown<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    fixture.lost(&terms, "A").await;
    fixture.wait(SECOND);
    let second = granted(fixture.claim(fixture.claim_of(&terms, "A")).await);
    assert_eq!(second.earlier, SideEffect::Unknown);
    assert_eq!(fixture.release(&terms, &second).await, Released::Released);
    let entry = fixture.entry(&second.key).await;
    assert_eq!((entry.status, entry.side_effect), (Status::FailedRetryable, SideEffect::Unknown));
    let third = fixture.claim(fixture.claim_of(&terms, "A")).await;
    assert!(
        matches!(&third, Claim::Granted(lease) if lease.fence == 3 && lease.earlier == SideEffect::Unknown),
        "{third:?}"
    );
}

const UNDELIVERED: ReleaseReason = ReleaseReason::AnswerUndelivered;

/// Nobody can have acted on a grant whose only answer was not handed over.
pub async fn a_grant_whose_only_answer_was_not_handed_over_goes_back<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    assert_eq!(fixture.release_because(&terms, &lease, UNDELIVERED).await, Released::Released);
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Released);
    let story = fixture.story(&lease.key).await;
    assert!(story.iter().any(|line| line.contains("never handed to its caller")), "{story:#?}");
    assert_eq!(granted(fixture.claim(fixture.claim_of(&terms, "A")).await).fence, 2);
}

/// The same claim was answered again, perhaps by another server: one of the answers may have been heard.
pub async fn a_grant_that_was_answered_twice_stays<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let request = fixture.claim_of(&terms, "A");
    let first = granted(fixture.claim(request.clone()).await);
    let second = granted(fixture.claim(request).await);
    assert_eq!(second.fence, first.fence);
    for lease in [&first, &second] {
        assert_eq!(fixture.release_because(&terms, lease, UNDELIVERED).await, Released::MayBeHeard);
    }
    assert_eq!(fixture.entry(&first.key).await.status, Status::Started);
    let rival = fixture.claim(fixture.claim_of(&terms, "A")).await;
    assert!(matches!(rival, Claim::InFlight { .. }), "{rival:?}");
}

/// The same when both claims are decided in one commit, at one moment.
pub async fn a_grant_that_was_answered_twice_in_one_batch_stays<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let claim = Box::new(fixture.claim_of(&terms, "A"));
    let answers = fixture.batch(vec![Step::Claim(claim.clone()), Step::Claim(claim)]).await;
    let leases: Vec<Lease> = answers
        .into_iter()
        .map(|answer| match answer.expect("answered") {
            StepAnswer::Claim(claim) => granted(claim),
            other => panic!("a claim was answered with {other:?}"),
        })
        .collect();
    for lease in &leases {
        assert_eq!(fixture.release_because(&terms, lease, UNDELIVERED).await, Released::MayBeHeard);
    }
    assert_eq!(fixture.entry(&leases[0].key).await.status, Status::Started);
}

/// A caller that renews has heard the grant.
pub async fn a_grant_that_was_renewed_stays<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    fixture.renew(&terms, &lease).await;
    assert_eq!(fixture.release_because(&terms, &lease, UNDELIVERED).await, Released::MayBeHeard);
}

/// An attempt that may have sent something does not take that back.
pub async fn an_attempt_that_said_unknown_does_not_release<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    for (id, terms) in [("A", escalates()), ("B", reruns())] {
        let spoken = fixture.grant(&terms, id).await;
        fixture.record(&terms, &spoken, unknown(Category::DownstreamTimeout)).await;
        let silent = fixture.lost(&terms, &format!("{id}-SILENT")).await;
        fixture.record(&terms, &silent, unknown(Category::DownstreamTimeout)).await;
        for lease in [spoken, silent] {
            let before = fixture.entry(&lease.key).await;
            assert_eq!(fixture.release(&terms, &lease).await, Released::Ended, "{}", lease.key);
            assert_eq!(fixture.entry(&lease.key).await, before);
        }
    }
}
