//! A holder that says it is alive.

use onefold_core::ledger::{Claim, Lease, Renewed, Status};

use crate::fixture::{StoreFixture, granted, key};
use crate::harness::Harness;
use crate::kinds::{DEADLINE, LEASE, SECOND, SLACK, escalates, reruns};
use crate::ledger::outcomes::completed;

/// A renewed lease is live; nobody else is granted and no sweep touches it.
pub async fn a_renewed_lease_stays_live_beyond_its_first_end<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    for _ in 0..4 {
        fixture.wait(5 * SECOND);
        assert_eq!(fixture.renew(&terms, &lease).await, Renewed::Until(fixture.now().plus(LEASE).min(lease.deadline)));
        assert!(matches!(fixture.claim(fixture.claim_of(&terms, "A")).await, Claim::InFlight { .. }));
        assert_eq!(fixture.sweep().await.total(), 0);
    }
    assert_eq!(fixture.entry(&lease.key).await.deadline, lease.deadline, "the deadline never moves");
}

/// No renewal goes past the deadline.
pub async fn a_lease_is_never_renewed_past_its_deadline<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    fixture.wait(DEADLINE - SECOND);
    assert_eq!(fixture.renew(&terms, &lease).await, Renewed::Until(lease.deadline));
    assert_eq!(fixture.entry(&lease.key).await.lease_until, lease.deadline);
    fixture.wait(SECOND);
    assert_eq!(fixture.renew(&terms, &lease).await, Renewed::Ended);
    assert_eq!(fixture.entry(&lease.key).await.lease_until, lease.deadline);
}

/// A silent holder whose lease was not swept yet may still say that it is alive.
pub async fn an_expired_lease_that_nobody_took_is_renewed<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    fixture.wait(LEASE + SLACK + SECOND);
    assert!(matches!(fixture.renew(&terms, &lease).await, Renewed::Until(_)));
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Started);
}

/// An attempt that is over hears so: recorded, released, swept or superseded.
pub async fn an_attempt_that_is_over_is_not_renewed<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    let recorded = fixture.grant(&terms, "RECORDED").await;
    fixture.record(&terms, &recorded, completed(b"1")).await;
    let released = fixture.grant(&terms, "RELEASED").await;
    fixture.release(&terms, &released).await;
    let superseded = fixture.lost(&terms, "SUPERSEDED").await;
    fixture.wait(SECOND);
    granted(fixture.claim(fixture.claim_of(&terms, "SUPERSEDED")).await);
    let swept = fixture.grant(&terms, "SWEPT").await;
    fixture.wait(LEASE + SLACK);
    fixture.sweep().await;
    for lease in [recorded, released, swept, superseded] {
        let before = fixture.entry(&lease.key).await;
        assert_eq!(fixture.renew(&terms, &lease).await, Renewed::Ended, "{}", lease.key);
        assert_eq!(fixture.entry(&lease.key).await, before);
    }
}

/// Only the holder of a grant can renew it.
pub async fn a_lease_of_another_is_not_renewed<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    let stolen = Lease { attempt_id: fixture.attempt(), ..lease.clone() };
    let ahead = Lease { fence: 2, ..lease.clone() };
    let absent = Lease { key: key(&terms, "ABSENT"), ..lease.clone() };
    fixture.wait(SECOND);
    for forged in [stolen, ahead, absent] {
        assert_eq!(fixture.renew(&terms, &forged).await, Renewed::NeverGranted, "{forged:?}");
    }
    assert_eq!(fixture.entry(&lease.key).await.lease_until, lease.lease_until);
}
