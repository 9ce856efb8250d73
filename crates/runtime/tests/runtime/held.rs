//! A lease in the caller's own hand.

use onefold_core::error::{LEASE_ENDED, LEASE_NEVER_GRANTED, LEASE_NOT_YOURS, OUTCOME_CONFLICT};
use onefold_core::ledger::Status;
use onefold_runtime::{ClaimResult, Kind, LeaseHandle};
use onefold_sqlite::Sqlite;

use crate::fixture::{LedgerFixture, find, id};

fn granted(claimed: ClaimResult<Sqlite>) -> LeaseHandle<Sqlite> {
    match claimed {
        ClaimResult::Granted(lease) => lease,
        ClaimResult::Replay(_)
        | ClaimResult::InFlight { .. }
        | ClaimResult::Conflict
        | ClaimResult::Unknown { .. }
        | ClaimResult::Waiting { .. } => {
            panic!("not granted")
        }
    }
}

#[tokio::test]
async fn a_caller_claims_renews_and_completes() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let attempt = ledger.attempt_id();
    let held = granted(notices.operation(id("A")).claim(&"in", attempt).await.unwrap());
    let again = granted(notices.operation(id("A")).claim(&"in", attempt).await.unwrap());
    assert_eq!((held.fence(), again.fence()), (1, 1), "a lost answer is asked again");
    let until = held.renew().await.unwrap();
    assert!(until <= held.lease().unwrap().deadline);
    assert!(matches!(
        notices.operation(id("A")).claim(&"in", ledger.attempt_id()).await.unwrap(),
        ClaimResult::InFlight { .. }
    ));
    assert_eq!(held.complete(&7, None).await.unwrap(), Status::Completed);
    assert_eq!(again.complete(&7, None).await.unwrap(), Status::Completed, "the same again is accepted");
    let other = notices.operation(id("A")).held(1, attempt).unwrap();
    assert_eq!(other.complete(&8, None).await.unwrap_err().code(), OUTCOME_CONFLICT);
    assert!(matches!(
        notices.operation(id("A")).claim(&"in", ledger.attempt_id()).await.unwrap(),
        ClaimResult::Replay(_)
    ));
    let entry = find(&ledger, "notice.issue", "A").await.unwrap();
    assert_eq!(entry.installation, None, "a restart leaves a caller's lease alone");
}

#[tokio::test]
async fn what_a_caller_presents_must_have_been_granted_to_it() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let attempt = ledger.attempt_id();
    let held = granted(notices.operation(id("A")).claim(&"in", attempt).await.unwrap());
    let presented = |fence, attempt| notices.operation(id("A")).held(fence, attempt).unwrap();
    let ahead = presented(2, attempt).complete(&7, None).await.unwrap_err();
    assert_eq!(ahead.code(), LEASE_NEVER_GRANTED);
    let stolen = presented(1, ledger.attempt_id()).complete(&7, None).await.unwrap_err();
    assert_eq!(stolen.code(), LEASE_NOT_YOURS);
    assert_eq!(presented(1, ledger.attempt_id()).renew().await.unwrap_err().code(), LEASE_NEVER_GRANTED);
    held.release().await.unwrap();
    assert_eq!(presented(1, attempt).renew().await.unwrap_err().code(), LEASE_ENDED);
}
