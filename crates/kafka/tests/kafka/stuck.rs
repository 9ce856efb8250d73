//! A client whose connection task has died: it stays silent for ever, while the broker answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use onefold_core::port::{Delivery, Publication};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::events::{delivery, event};
use crate::relay::publish;
use crate::topics::{create, publisher, shared};

/// A log whose writer fails, as on a full disk: it panics in whichever task logs, and so ends the connection's.
#[derive(Clone, Default)]
struct FailingLog {
    fails: Arc<AtomicBool>,
    failed: Arc<AtomicUsize>,
}

impl Subscriber for FailingLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "krafka::network::connection"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        if self.fails.load(Ordering::SeqCst) {
            self.failed.fetch_add(1, Ordering::SeqCst);
            panic!("the log cannot be written");
        }
    }
}

// One thread, so that the log is that of every task.
#[tokio::test(flavor = "current_thread")]
async fn a_client_whose_connection_task_died_is_replaced() {
    let log = FailingLog::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    let (known, other) = (create(&shared(), 1, &[]).await, create(&shared(), 1, &[]).await);
    let page =
        |topic: &str| Delivery { within: Duration::from_secs(6), ..delivery(vec![event(topic, 1, "CASE-1", "{}")]) };
    let is_published = |answers: &[Publication]| matches!(answers, [Publication::Published { .. }]);
    // A record to a topic that is known waits for its acknowledgement; for another one the topic is asked for first.
    for topic in [&known, &other] {
        let publisher = publisher(&shared(), "{event_type}");
        assert!(is_published(&publish(&publisher, page(&known)).await));

        log.failed.store(0, Ordering::SeqCst);
        log.fails.store(true, Ordering::SeqCst);
        let stuck = tokio::time::timeout(Duration::from_mins(1), publish(&publisher, page(topic))).await;
        log.fails.store(false, Ordering::SeqCst);
        let stuck = stuck.expect("it is noticed within the delivery's time");
        assert!(log.failed.load(Ordering::SeqCst) >= 2, "the task and its last words both died");
        assert!(matches!(stuck[..], [Publication::Unavailable { .. }]), "{stuck:?}");

        let next = publish(&publisher, page(topic)).await;
        assert!(is_published(&next), "a new client has taken its place: {next:?}");
    }
}
