//! Many steps in one commit, and many commits at once.

use std::sync::Arc;

use onefold_core::error::FINGERPRINT_KEY_MISSING;
use onefold_core::fingerprint::{FingerprintInput, FingerprintKey, KeyId, Keyring, Mode};
use onefold_core::ledger::{
    Claim, ClaimRequest, Lease, Recorded, ReleaseReason, ReleaseRequest, Released, RenewRequest, Renewed, SideEffect,
    Status,
};
use onefold_core::port::{LedgerWrite as _, Step, StepAnswer};
use onefold_core::retry::Category;

use crate::fixture::{StoreFixture, granted, key, record_of};
use crate::harness::Harness;
use crate::kinds::{DEADLINE, LEASE, SECOND, SLACK, escalates, reruns};
use crate::ledger::outcomes::{completed, unknown};

fn claim(request: ClaimRequest) -> Step {
    Step::Claim(Box::new(request))
}

/// Duplicates within one batch: the first is granted, the others are answered as if they had come later.
pub async fn the_first_of_two_claims_in_one_batch_is_granted<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let first = fixture.claim_of(&terms, "A");
    let steps = vec![
        claim(first.clone()),
        claim(fixture.claim_of(&terms, "A")),
        claim(fixture.claim_of(&terms, "B")),
        claim(fixture.claim_for(&terms, "A", b"other")),
        claim(first.clone()),
    ];
    let answers: Vec<_> = fixture.batch(steps).await.into_iter().map(|answer| answer.expect("answered")).collect();
    let StepAnswer::Claim(Claim::Granted(lease)) = &answers[0] else { panic!("{:?}", answers[0]) };
    assert_eq!((lease.fence, lease.attempt_id), (1, first.attempt_id));
    assert_eq!(answers[1], StepAnswer::Claim(Claim::InFlight { retry_after: LEASE + SLACK }));
    assert!(matches!(&answers[2], StepAnswer::Claim(Claim::Granted(lease)) if lease.fence == 1));
    assert_eq!(answers[3], StepAnswer::Claim(Claim::Conflict));
    assert_eq!(answers[4], answers[0], "the same attempt hears the same grant");
}

/// Steps of every sort are decided in order: each sees what the one before it wrote.
pub async fn a_mixed_batch_is_decided_in_order<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let held = fixture.grant(&terms, "HELD").await;
    let given_back = fixture.grant(&terms, "BACK").await;
    let request = fixture.claim_of(&terms, "NEW");
    let fresh = Lease {
        key: key(&terms, "NEW"),
        fence: 1,
        attempt_id: request.attempt_id,
        deadline: fixture.now().plus(DEADLINE),
        lease_until: fixture.now().plus(LEASE),
        deadline_in: DEADLINE,
        attempt: 1,
        earlier: SideEffect::NotApplied,
        provider_key: Arc::from("NEW"),
    };
    let renew = |lease: &Lease| {
        Step::Renew(RenewRequest {
            key: lease.key.clone(),
            fence: lease.fence,
            attempt_id: lease.attempt_id,
            terms: Arc::clone(&terms),
        })
    };
    let release = |lease: &Lease| {
        Step::Release(ReleaseRequest {
            key: lease.key.clone(),
            fence: lease.fence,
            attempt_id: lease.attempt_id,
            terms: Arc::clone(&terms),
            reason: ReleaseReason::NothingSent,
        })
    };
    let steps = vec![
        renew(&fresh),
        claim(request),
        renew(&fresh),
        record_of(&terms, &fresh, completed(b"1")),
        renew(&fresh),
        claim(fixture.claim_of(&terms, "NEW")),
        record_of(&terms, &held, unknown(Category::DownstreamTimeout)),
        record_of(&terms, &held, completed(b"2")),
        record_of(&terms, &held, completed(b"3")),
        release(&given_back),
        claim(fixture.claim_of(&terms, "BACK")),
        release(&given_back),
    ];
    let mut answers = fixture.batch(steps).await.into_iter().map(|answer| answer.expect("answered"));
    let mut next = || answers.next().expect("one answer a step");
    assert_eq!(next(), StepAnswer::Renew(Renewed::NeverGranted));
    assert_eq!(next(), StepAnswer::Claim(Claim::Granted(fresh.clone())));
    assert_eq!(next(), StepAnswer::Renew(Renewed::Until(fresh.lease_until)));
    assert_eq!(next(), StepAnswer::Record(Recorded::Settled { status: Status::Completed, next_attempt_at: None }));
    assert_eq!(next(), StepAnswer::Renew(Renewed::Ended));
    assert!(matches!(next(), StepAnswer::Claim(Claim::Replay(replay)) if replay.status == Status::Completed));
    assert_eq!(next(), StepAnswer::Record(Recorded::Settled { status: Status::Unknown, next_attempt_at: None }));
    assert_eq!(next(), StepAnswer::Record(Recorded::Settled { status: Status::Completed, next_attempt_at: None }));
    assert!(matches!(next(), StepAnswer::Record(Recorded::Refused(_))), "another outcome of the same attempt");
    assert_eq!(next(), StepAnswer::Release(Released::Released));
    assert!(matches!(next(), StepAnswer::Claim(Claim::Granted(lease)) if lease.fence == 2));
    assert_eq!(next(), StepAnswer::Release(Released::Ended));
    assert!(fixture.open_incident(&held.key).await.is_some());
}

/// A step that cannot be decided is answered alone; the others of its batch are committed.
pub async fn a_step_that_cannot_be_decided_fails_alone<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lost = Arc::new(Keyring::new(FingerprintKey::new(KeyId(900), [9; 32]), Vec::new()));
    let with_lost_key = FingerprintInput::new(&b"x"[..], &Mode::Raw, &lost).expect("raw");
    granted(fixture.claim(ClaimRequest { input: with_lost_key, ..fixture.claim_of(&terms, "A") }).await);
    let steps = vec![
        claim(fixture.claim_of(&terms, "B")),
        claim(fixture.claim_of(&terms, "A")),
        claim(fixture.claim_of(&terms, "C")),
    ];
    let answers = fixture.batch(steps).await;
    assert_eq!(answers[1].as_ref().expect_err("the key is missing").code(), FINGERPRINT_KEY_MISSING);
    for id in ["B", "C"] {
        assert_eq!(fixture.entry(&key(&terms, id)).await.status, Status::Started);
    }
}

/// A step carried out alone, where the store does that, is answered and kept like a batch of one.
pub async fn a_lone_step_is_answered_and_kept_like_a_batch_of_one<H: Harness>() {
    let mut fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let alone = async |fixture: &StoreFixture<H>, step: Step| match fixture.store().act_inline(&step) {
        Some(answer) => answer,
        None => fixture.batch(vec![step]).await.remove(0),
    };
    let first = alone(&fixture, claim(fixture.claim_of(&terms, "A"))).await.expect("answered");
    let StepAnswer::Claim(Claim::Granted(lease)) = first else { panic!("{first:?}") };
    let second = alone(&fixture, claim(fixture.claim_of(&terms, "A"))).await.expect("answered");
    assert_eq!(second, StepAnswer::Claim(Claim::InFlight { retry_after: LEASE + SLACK }));
    let other = alone(&fixture, claim(fixture.claim_for(&terms, "A", b"other"))).await.expect("answered");
    assert_eq!(other, StepAnswer::Claim(Claim::Conflict));
    let recorded = alone(&fixture, record_of(&terms, &lease, completed(b"1"))).await.expect("answered");
    assert_eq!(recorded, StepAnswer::Record(Recorded::Settled { status: Status::Completed, next_attempt_at: None }));
    fixture.reopen().await;
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Completed);
}

/// A batch of nothing is answered with nothing.
pub async fn an_empty_batch_is_answered<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    assert!(fixture.batch(Vec::new()).await.is_empty());
}

/// Of 64 claims of one operation in one batch, one is granted.
pub async fn of_64_claims_in_one_batch_one_is_granted<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let steps = (0..64).map(|_| claim(fixture.claim_of(&terms, "A"))).collect();
    let answers = fixture.batch(steps).await;
    let grants = answers.iter().filter(|answer| matches!(answer, Ok(StepAnswer::Claim(Claim::Granted(_)))));
    assert_eq!(grants.count(), 1);
    assert!(matches!(answers[0], Ok(StepAnswer::Claim(Claim::Granted(_)))), "the first in order");
}

/// Of 64 claims of one operation that arrive at once, one is granted; again after it was released, and after it expired.
pub async fn of_64_claims_at_once_one_is_granted<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    for round in 1..=3 {
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..64 {
            let (store, request) = (Arc::clone(fixture.store()), fixture.claim_of(&terms, "A"));
            asking.spawn(async move { store.act(Arc::new(vec![claim(request)])).await });
        }
        let mut granted = Vec::new();
        while let Some(answered) = asking.join_next().await {
            let answers = answered.expect("no panic").expect("committed");
            match answers.into_iter().next() {
                Some(Ok(StepAnswer::Claim(Claim::Granted(lease)))) => granted.push(lease),
                Some(Ok(StepAnswer::Claim(Claim::InFlight { .. }))) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(granted.len(), 1);
        assert_eq!(granted[0].fence, round);
        if round == 1 {
            fixture.release(&terms, &granted[0]).await;
        } else {
            fixture.wait(LEASE + SLACK);
            fixture.sweep().await;
            fixture.wait(10 * SECOND);
        }
    }
}

/// Overlapping batches in opposite orders all end; each operation is granted once.
pub async fn overlapping_batches_in_opposite_orders_all_end<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let mut asking = tokio::task::JoinSet::new();
    for turn in 0..8 {
        let mut steps: Vec<_> = (0..50).map(|index| claim(fixture.claim_of(&terms, &format!("OP-{index}")))).collect();
        if turn % 2 == 1 {
            steps.reverse();
        }
        let store = Arc::clone(fixture.store());
        asking.spawn(async move { store.act(Arc::new(steps)).await });
    }
    let mut grants = 0;
    while let Some(answered) = asking.join_next().await {
        let answers = answered.expect("no panic").expect("committed");
        grants += answers.iter().filter(|answer| matches!(answer, Ok(StepAnswer::Claim(Claim::Granted(_))))).count();
    }
    assert_eq!(grants, 50);
}
