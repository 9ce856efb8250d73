//! Events for the tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use onefold_core::event::{Aggregate, AggregateType, EventId, EventType, NewEvent, StoredEvent};
use onefold_core::operation::Tenant;
use onefold_core::port::{Delivery, OutgoingEvent};
use onefold_core::time::Timestamp;

/// Enough for a page on a busy machine; tests that let it pass use less.
pub(crate) const WITHIN: Duration = Duration::from_secs(30);

/// Now, in whole milliseconds: brokers delete what is old.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    Timestamp::from_micros(i64::try_from(since.as_millis()).expect("it is before 292,000") * 1_000)
}

/// A name that no other test and no other run has.
pub(crate) fn unique(what: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{what}-{}-{}-{count}", std::process::id(), now().as_micros())
}

/// An event of an aggregate with this payload, on its way to a topic.
pub(crate) fn event(topic: &str, seq: i64, aggregate: &str, payload: impl Into<Vec<u8>>) -> OutgoingEvent {
    let event = NewEvent {
        id: EventId::from_bytes(u128::try_from(seq).expect("not negative").to_be_bytes()),
        aggregate: Aggregate {
            tenant: Tenant::default(),
            aggregate_type: AggregateType::parse("case").unwrap(),
            id: Arc::from(aggregate),
        },
        event_type: EventType::parse("case.submitted").unwrap(),
        schema_version: 1,
        payload: payload.into().into(),
        content_type: Arc::from("application/json"),
        headers: BTreeMap::new(),
        correlation_id: None,
    };
    let stored = Arc::new(StoredEvent { seq, created_at: now(), event });
    OutgoingEvent { stored, destination: Arc::from(topic), replay: None, contract: None }
}

/// `count` events of `aggregates` aggregates in turn, in the order in which they were staged.
pub(crate) fn events(topic: &str, count: i64, aggregates: i64, bytes: usize) -> Vec<OutgoingEvent> {
    (0..count)
        .map(|seq| {
            let aggregate = format!("CASE-{}", seq % aggregates);
            event(topic, seq, &aggregate, format!("{{\"seq\":{seq},\"fill\":\"{}\"}}", "x".repeat(bytes)))
        })
        .collect()
}

/// A page of one lane.
pub(crate) fn delivery(events: Vec<OutgoingEvent>) -> Delivery {
    Delivery { lane: 7, fence: 1, events, within: WITHIN }
}
