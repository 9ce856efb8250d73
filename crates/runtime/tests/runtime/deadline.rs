//! Deadlines, heartbeats, panics.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::Timestamp;
use onefold_core::error::DOWNSTREAM_TIMEOUT;
use onefold_core::ledger::Status;
use onefold_core::port::{BoxFuture, Clock, LedgerMaintenance as _, SweepRequest, SweepScope};
use onefold_core::retry::Category;
use onefold_runtime::{Attempt, Kind, Ledger, Performed, Settings, SystemClock, TooLate};
use onefold_sqlite::Sqlite;
use tokio::sync::{Notify, oneshot};

use crate::fixture::{LedgerFixture, find, id, open_incidents, settings, stands, until};

const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_deadline_that_passes_is_unknown_and_no_failure() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue").deadline(SHORT)).unwrap();
    let answer: Performed<u32> = notices.operation(id("A")).perform(&"in", |_| std::future::pending()).await.unwrap();
    assert!(matches!(answer, Performed::Unknown { incident: Some(_), .. }), "{answer:?}");
    let entry = find(&ledger, "notice.issue", "A").await.unwrap();
    assert_eq!((entry.status, entry.error_code), (Status::Unknown, Some(DOWNSTREAM_TIMEOUT.name())));
}

#[tokio::test]
async fn after_the_deadline_nothing_may_be_sent() {
    let fixture = LedgerFixture::new();
    let (ledger, clock) = slept_ledger(&fixture).await;
    let hour = Duration::from_hours(1);
    let notices = ledger.kind(Kind::external_command("notice.issue").deadline(hour)).unwrap();
    let (out, kept) = oneshot::channel::<Attempt>();
    let effect = move |attempt: Attempt| async move {
        assert_eq!(attempt.may_send(), Ok(()));
        let _ = out.send(attempt);
        clock.sleep_past_every_deadline();
        std::future::pending().await
    };
    let _: Performed<u32> = notices.operation(id("A")).perform(&"in", effect).await.unwrap();
    let attempt = kept.await.unwrap();
    assert_eq!((attempt.may_send(), attempt.remaining()), (Err(TooLate), Duration::ZERO));
    assert_eq!(attempt.quiet().sending(), Err(TooLate));
}

#[tokio::test]
async fn a_panic_after_sending_is_unknown_and_before_it_is_not_applied() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let sent = |attempt: Attempt| async move {
        let quiet = attempt.quiet();
        quiet.sending()?;
        panic!("after the first byte")
    };
    let answer: Performed<u32> = notices.operation(id("SENT")).perform(&"in", sent).await.unwrap();
    assert!(matches!(answer, Performed::Unknown { incident: Some(_), .. }), "{answer:?}");
    let silent = |attempt: Attempt| async move {
        let _quiet = attempt.quiet();
        panic!("before the first byte")
    };
    let answer: Performed<u32> = notices.operation(id("QUIET")).perform(&"in", silent).await.unwrap();
    assert!(matches!(answer, Performed::Waiting { .. }), "{answer:?}");
    let entry = find(&ledger, "notice.issue", "QUIET").await.unwrap();
    assert_eq!((entry.status, entry.category), (Status::FailedRetryable, Some(Category::Unexpected)));
    let unsaid: Performed<u32> =
        notices.operation(id("UNSAID")).perform(&"in", |_| async { panic!("who knows") }).await.unwrap();
    assert!(matches!(unsaid, Performed::Unknown { .. }), "{unsaid:?}");
}

#[tokio::test]
async fn a_deadline_that_passes_before_anything_was_sent_releases() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let notices = ledger.kind(Kind::external_command("notice.issue").deadline(SHORT)).unwrap();
    let effect = |attempt: Attempt| async move {
        let _quiet = attempt.quiet();
        std::future::pending().await
    };
    let answer: Performed<u32> = notices.operation(id("A")).perform(&"in", effect).await.unwrap();
    assert!(matches!(answer, Performed::Waiting { .. }), "{answer:?}");
    assert_eq!(find(&ledger, "notice.issue", "A").await.unwrap().status, Status::Released);
    assert!(open_incidents(&ledger).await.is_empty());
}

#[tokio::test]
async fn a_heartbeat_keeps_a_long_attempt_alive_beyond_its_lease() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let lease = Duration::from_millis(150);
    let notices = ledger.kind(Kind::external_command("notice.issue").lease(lease)).unwrap();
    let done = Arc::new(Notify::new());
    let ends = Arc::clone(&done);
    let operation = notices.operation(id("A"));
    let running = tokio::spawn(async move {
        operation
            .perform(&"in", move |_| async move {
                ends.notified().await;
                Ok(7)
            })
            .await
    });
    let first = stands(&ledger, "notice.issue", "A", Status::Started).await;
    until("the lease is renewed beyond three leases", async || {
        let entry = find(&ledger, "notice.issue", "A").await.unwrap();
        assert_eq!((entry.status, entry.deadline), (Status::Started, first.deadline));
        (entry.lease_until > first.lease_until.plus(3 * lease)).then_some(())
    })
    .await;
    done.notify_one();
    assert_eq!(running.await.unwrap().unwrap(), Performed::Completed { result: 7, replayed: false });
    assert_eq!(find(&ledger, "notice.issue", "A").await.unwrap().fence, 1);
}

#[tokio::test]
async fn an_attempt_that_others_have_settled_may_not_send() {
    let fixture = LedgerFixture::new();
    let mut settings = settings();
    settings.installation = Some("alpha".to_owned());
    let ledger = fixture.ledger_with(settings).await;
    let lease = Duration::from_millis(60);
    let notices = ledger.kind(Kind::external_command("notice.issue").lease(lease)).unwrap();
    let (out, kept) = oneshot::channel::<Attempt>();
    let (go, gone) = oneshot::channel::<()>();
    let operation = notices.operation(id("A"));
    let running = tokio::spawn(async move {
        let effect = move |attempt: Attempt| async move {
            let _ = out.send(attempt.clone());
            let _ = gone.await;
            attempt.may_send()?;
            Ok(7)
        };
        operation.perform(&"in", effect).await
    });
    let attempt = kept.await.unwrap();
    // Somebody believes this process dead and settles what it holds.
    let request = SweepRequest {
        kinds: ledger.kinds(),
        scope: SweepScope::DeadHolder(Arc::from("alpha")),
        clock_slack: Duration::ZERO,
        seed: 0,
        limit: 10,
    };
    assert_eq!(ledger.store().sweep(request).await.unwrap().to_person, 1);
    until("the heartbeat hears of it", async || attempt.may_send().is_err().then_some(())).await;
    assert!(!attempt.remaining().is_zero());
    go.send(()).unwrap();
    // Nothing was sent, so the question is answered and the incident closed.
    assert!(matches!(running.await.unwrap().unwrap(), Performed::<u32>::Waiting { .. }));
    assert_eq!(find(&ledger, "notice.issue", "A").await.unwrap().status, Status::Released);
    assert!(open_incidents(&ledger).await.is_empty());
}

/// Timers do not count the sleep of a machine; the boot clock does.
struct SleptClock {
    slept: std::sync::atomic::AtomicBool,
}

impl Clock for SleptClock {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }

    fn boot(&self) -> Duration {
        let slept = self.slept.load(std::sync::atomic::Ordering::Acquire);
        SystemClock.boot() + if slept { Duration::from_hours(2) } else { Duration::ZERO }
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        SystemClock.sleep(wait)
    }
}

impl SleptClock {
    fn sleep_past_every_deadline(&self) {
        self.slept.store(true, std::sync::atomic::Ordering::Release);
    }
}

async fn slept_ledger(fixture: &LedgerFixture) -> (Ledger<Sqlite>, Arc<SleptClock>) {
    let clock = Arc::new(SleptClock { slept: false.into() });
    let settings = Settings { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..settings() };
    (fixture.ledger_with(settings).await, clock)
}

#[tokio::test]
async fn an_attempt_on_a_machine_that_slept_past_its_deadline_is_ended_although_no_timer_says_so() {
    let fixture = LedgerFixture::new();
    let (ledger, clock) = slept_ledger(&fixture).await;
    let hour = Duration::from_hours(1);
    let notices = ledger.kind(Kind::external_command("notice.issue").deadline(hour).lease(hour)).unwrap();
    let effect = move |_: Attempt| async move {
        clock.sleep_past_every_deadline();
        std::future::pending().await
    };
    let answer: Performed<u32> = notices.operation(id("A")).perform(&"in", effect).await.unwrap();
    assert!(matches!(answer, Performed::Unknown { .. }), "{answer:?}");
}
