//! Callers that go away.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use onefold_core::ledger::Status;
use onefold_core::port::{FaultPoint, Faults};
use onefold_runtime::{Kind, Ledger, Performed};
use onefold_sqlite::SqliteOptions;
use tokio::sync::Notify;

use crate::fixture::{Effects, LedgerFixture, id, open_incidents, options, settings, stands};

#[tokio::test]
async fn a_caller_that_goes_away_mid_effect_does_not_stop_it() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let (acting, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (signal, wait) = (Arc::clone(&acting), Arc::clone(&go));
    let operation = notices.operation(id("A"));
    let caller = tokio::spawn(async move {
        let effect = move |_| async move {
            signal.notify_one();
            wait.notified().await;
            Ok(7)
        };
        operation.perform(&"in", effect).await
    });
    acting.notified().await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    go.notify_one();
    stands(&ledger, "notice.issue", "A", Status::Completed).await;
    let replay = notices.operation(id("A")).perform(&"in", |_| async { Ok(8) }).await.unwrap();
    assert_eq!(replay, Performed::Completed { result: 7, replayed: true });
}

/// Stops the writer right before it commits a grant, until it is told to go on.
struct HoldsGrants {
    reached: Sender<()>,
    go: Mutex<Receiver<()>>,
}

impl Faults for HoldsGrants {
    fn reach(&self, point: FaultPoint) {
        if point == FaultPoint::BEFORE_CLAIM_COMMIT {
            // A test that is over lets the writer go on.
            let _ = self.reached.send(());
            let _ = self.go.lock().unwrap().recv();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_goes_away_before_its_grant_arrives_has_not_acted() {
    let fixture = LedgerFixture::new();
    let ((reached, was_reached), (go, gone)) = (channel(), channel());
    let faults = Arc::new(HoldsGrants { reached, go: Mutex::new(gone) });
    let store = fixture.store_with(SqliteOptions { faults, ..options() }).await;
    let ledger = Ledger::open(store, settings()).unwrap();
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let effects = Effects::default();
    let (operation, happens) = (notices.operation(id("A")), effects.clone());
    let caller =
        tokio::spawn(async move { operation.perform(&"in", move |_| async move { Ok(happens.happen()) }).await });
    tokio::task::block_in_place(|| was_reached.recv().unwrap());
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    go.send(()).unwrap();
    let entry = stands(&ledger, "notice.issue", "A", Status::Released).await;
    assert_eq!((entry.fence, entry.attempts, effects.count()), (1, 0, 0));
    assert!(open_incidents(&ledger).await.is_empty());
    // Claimable at once.
    go.send(()).unwrap();
    let happens = effects.clone();
    let answer = notices.operation(id("A")).perform(&"in", move |_| async move { Ok(happens.happen()) }).await.unwrap();
    assert_eq!((answer, effects.count()), (Performed::Completed { result: 1, replayed: false }, 1));
}
