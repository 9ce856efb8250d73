//! One at a time outside, batches inside.

use onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED;
use onefold_core::ledger::Status;
use onefold_runtime::{ClaimResult, Kind};

use crate::fixture::{LedgerFixture, find, id};

const STEPS: usize = 256;
const POISON: usize = 137;

#[tokio::test]
async fn a_poisoned_step_fails_alone_among_255_good_ones() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    ledger.start().await.unwrap();
    let connection = rusqlite::Connection::open(fixture.database()).unwrap();
    connection
        .execute_batch(&format!(
            "CREATE TRIGGER poison BEFORE INSERT ON onefold_operations WHEN NEW.operation_id = 'OP-{POISON}'
             BEGIN SELECT RAISE(ABORT, 'poison'); END"
        ))
        .unwrap();
    // While a foreign transaction holds the file, all of them come to wait for one commit.
    let lock = fixture.lock();
    let mut claims = tokio::task::JoinSet::new();
    for index in 0..STEPS {
        let (notices, attempt) = (notices.clone(), ledger.attempt_id());
        claims.spawn(async move { (index, notices.operation(id(&format!("OP-{index}"))).claim(&"in", attempt).await) });
    }
    tokio::task::yield_now().await;
    drop(lock);
    for (index, claimed) in claims.join_all().await {
        match claimed {
            Ok(ClaimResult::Granted(_)) => assert_ne!(index, POISON),
            Ok(_) => panic!("{index} was not granted"),
            Err(error) => assert_eq!((index, error.code()), (POISON, PROGRAMMING_INVARIANT_VIOLATED), "{error}"),
        }
    }
    assert_eq!(find(&ledger, "notice.issue", &format!("OP-{POISON}")).await, None);
    for index in (0..STEPS).filter(|index| *index != POISON) {
        assert_eq!(find(&ledger, "notice.issue", &format!("OP-{index}")).await.unwrap().status, Status::Started);
    }
}

/// A runtime without threads of its own runs nothing while nobody drives it.
#[test]
fn callers_are_answered_although_the_runtime_that_opened_the_ledger_is_not_driven() {
    let fixture = LedgerFixture::new();
    let idle = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ledger = idle.block_on(fixture.ledger());
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let lock = fixture.lock();
    let callers = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    callers.block_on(async {
        let mut claims = tokio::task::JoinSet::new();
        for index in 0..STEPS {
            let (notices, attempt) = (notices.clone(), ledger.attempt_id());
            claims.spawn(async move { notices.operation(id(&format!("OP-{index}"))).claim(&"in", attempt).await });
        }
        tokio::task::yield_now().await;
        drop(lock);
        let patience = std::time::Duration::from_mins(1);
        let claimed = tokio::time::timeout(patience, claims.join_all()).await.expect("every caller is answered");
        assert!(claimed.iter().all(|claim| matches!(claim, Ok(ClaimResult::Granted(_)))));
    });
}
