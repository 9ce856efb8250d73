//! A holder that says it is alive.

use onefold_core::ledger::{Claim, Lease, Renewed, Status};

use crate::harness::Harness;
use crate::kinds::{DEADLINE, LEASE, SECOND, SLACK, escalates, reruns};
use crate::outcomes::completed;
use crate::scene::{Scene, granted, key};

/// A renewed lease is live; nobody else is granted and no sweep touches it.
pub async fn a_renewed_lease_stays_live_beyond_its_first_end<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let lease = scene.grant(&terms, "A").await;
    for _ in 0..4 {
        scene.wait(5 * SECOND);
        assert_eq!(scene.renew(&terms, &lease).await, Renewed::Until(scene.now().plus(LEASE).min(lease.deadline)));
        assert!(matches!(scene.claim(scene.claim_of(&terms, "A")).await, Claim::InFlight { .. }));
        assert_eq!(scene.sweep().await.total(), 0);
    }
    assert_eq!(scene.entry(&lease.key).await.deadline, lease.deadline, "the deadline never moves");
}

/// No renewal goes past the deadline.
pub async fn a_lease_is_never_renewed_past_its_deadline<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let lease = scene.grant(&terms, "A").await;
    scene.wait(DEADLINE - SECOND);
    assert_eq!(scene.renew(&terms, &lease).await, Renewed::Until(lease.deadline));
    assert_eq!(scene.entry(&lease.key).await.lease_until, lease.deadline);
    scene.wait(SECOND);
    assert_eq!(scene.renew(&terms, &lease).await, Renewed::Ended);
    assert_eq!(scene.entry(&lease.key).await.lease_until, lease.deadline);
}

/// A silent holder whom nobody has missed yet may still say that it is alive.
pub async fn an_expired_lease_that_nobody_took_is_renewed<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let lease = scene.grant(&terms, "A").await;
    scene.wait(LEASE + SLACK + SECOND);
    assert!(matches!(scene.renew(&terms, &lease).await, Renewed::Until(_)));
    assert_eq!(scene.entry(&lease.key).await.status, Status::Started);
}

/// An attempt that is over hears so: recorded, released, swept or superseded.
pub async fn an_attempt_that_is_over_is_not_renewed<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = reruns();
    let recorded = scene.grant(&terms, "RECORDED").await;
    scene.record(&terms, &recorded, completed(b"1")).await;
    let released = scene.grant(&terms, "RELEASED").await;
    scene.release(&terms, &released).await;
    let superseded = scene.lost(&terms, "SUPERSEDED").await;
    scene.wait(SECOND);
    granted(scene.claim(scene.claim_of(&terms, "SUPERSEDED")).await);
    let swept = scene.grant(&terms, "SWEPT").await;
    scene.wait(LEASE + SLACK);
    scene.sweep().await;
    for lease in [recorded, released, swept, superseded] {
        let before = scene.entry(&lease.key).await;
        assert_eq!(scene.renew(&terms, &lease).await, Renewed::Ended, "{}", lease.key);
        assert_eq!(scene.entry(&lease.key).await, before);
    }
}

/// Nobody renews what was not granted to it.
pub async fn a_lease_of_another_is_not_renewed<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let lease = scene.grant(&terms, "A").await;
    let stolen = Lease { attempt_id: scene.attempt(), ..lease.clone() };
    let ahead = Lease { fence: 2, ..lease.clone() };
    let absent = Lease { key: key(&terms, "ABSENT"), ..lease.clone() };
    scene.wait(SECOND);
    for forged in [stolen, ahead, absent] {
        assert_eq!(scene.renew(&terms, &forged).await, Renewed::NeverGranted, "{forged:?}");
    }
    assert_eq!(scene.entry(&lease.key).await.lease_until, lease.lease_until);
}
