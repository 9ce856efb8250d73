//! Stopping.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::error::SHUTTING_DOWN;
use onefold_core::ledger::Status;
use onefold_runtime::{Kind, Performed, Shutdown};
use tokio::sync::Notify;

use crate::fixture::{LedgerFixture, find, id, settings, stands, until};

#[tokio::test]
async fn a_drain_lets_nothing_new_in_and_waits_for_what_is_in_flight() {
    let fixture = LedgerFixture::new();
    let mut settings = settings();
    settings.installation = Some("alpha".to_owned());
    let ledger = fixture.ledger_with(settings.clone()).await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let (began, done) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (operation, begins, ends) = (notices.operation(id("A")), Arc::clone(&began), Arc::clone(&done));
    let running = tokio::spawn(async move {
        operation
            .perform(&"in", move |_| async move {
                begins.notify_one();
                ends.notified().await;
                Ok(7)
            })
            .await
    });
    // A grant whose effect has not begun is given back by a drain; this one is in flight.
    began.notified().await;
    let stopping = ledger.clone();
    let stopped =
        tokio::spawn(async move { stopping.shutdown(Shutdown::Drain { within: Duration::from_mins(1) }).await });
    until("nothing new is let in", async || {
        let refused = notices.operation(id("B")).claim(&"in", ledger.attempt_id()).await;
        refused.err().filter(|error| error.code() == SHUTTING_DOWN)
    })
    .await;
    let refused = notices.operation(id("C")).perform(&"in", |_| async { Ok(1) }).await.unwrap_err();
    assert_eq!(refused.code(), SHUTTING_DOWN);
    assert_eq!(find(&ledger, "notice.issue", "C").await, None);
    assert!(!stopped.is_finished());
    done.notify_one();
    assert_eq!(stopped.await.unwrap(), 0);
    assert_eq!(running.await.unwrap().unwrap(), Performed::Completed { result: 7, replayed: false });
    assert_eq!(find(&ledger, "notice.issue", "A").await.unwrap().status, Status::Completed);
    // The installation's name is free again.
    fixture.ledger_with(settings).await;
}

#[tokio::test]
async fn a_drain_that_takes_too_long_says_what_is_left() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let operation = notices.operation(id("A"));
    let running =
        tokio::spawn(async move { operation.perform::<_, u32, _, _>(&"in", |_| std::future::pending()).await });
    stands(&ledger, "notice.issue", "A", Status::Started).await;
    assert_eq!(ledger.shutdown(Shutdown::Drain { within: Duration::from_millis(20) }).await, 1);
    assert_eq!(ledger.shutdown(Shutdown::Now).await, 1);
    running.abort();
}
