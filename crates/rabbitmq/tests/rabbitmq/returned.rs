//! A message that is returned comes with its payload, which the client logs. Nothing of it may reach ours.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use onefold_conformance::publisher::events::{delivery, event};
use onefold_conformance::publisher::pages::publish;
use onefold_core::port::Publication;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::place::{Queue, paged, sender, shared};

/// Keeps whatever any thread logs.
#[derive(Clone, Default)]
struct KeptLog(Arc<Mutex<String>>);

impl Subscriber for KeptLog {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Written(&self.0));
    }
}

struct Written<'l>(&'l Mutex<String>);

impl Visit for Written<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0.lock().unwrap(), "{field}={value:?} ").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_returned_is_not_logged() {
    let log = KeptLog::default();
    tracing::subscriber::set_global_default(log.clone()).expect("no other test sets it");
    tracing::info!("the log is kept");
    let queue = Queue::make(&shared(), "case.submitted", &[]).await;
    let publisher = paged(sender(&shared(), &queue.name, "nowhere"));
    let to = publisher.destination();
    let payload = "a payload that nobody may see";
    let answers = publish(&*publisher, delivery(vec![event(to.as_ref(), 1, "CASE-1", payload)])).await;
    assert!(matches!(answers[..], [Publication::Unavailable { .. }]), "{answers:?}");
    let log = log.0.lock().unwrap().clone();
    assert!(log.contains("the log is kept"), "{log}");
    assert!(!log.contains(payload) && !log.contains(&format!("{:?}", payload.as_bytes())), "the payload was logged");
}
