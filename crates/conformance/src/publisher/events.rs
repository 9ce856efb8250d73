//! Events on their way, for the promises.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use onefold_core::event::{
    Aggregate, AggregateType, EventContract, EventContracts, EventId, EventType, HeaderName, NewEvent, ReplayId,
    StoredEvent,
};
use onefold_core::operation::Tenant;
use onefold_core::outbox::DestinationTemplate;
use onefold_core::port::{Delivery, OutgoingEvent};
use onefold_core::time::Timestamp;

/// Enough for a page on a busy machine; promises that let it pass use less.
pub const WITHIN: Duration = Duration::from_secs(30);

/// Now, in whole milliseconds.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    Timestamp::from_micros(i64::try_from(since.as_millis()).expect("it is before 292,000") * 1_000)
}

/// A name that no other test and no other run has.
pub fn unique(what: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{what}-{}-{}-{count}", std::process::id(), now().as_micros())
}

/// The contract of [`event`], for outboxes that stage it.
pub fn contracts() -> EventContracts {
    let contract = EventContract::new("case.submitted", 1).aggregate("case").owner("case team").schema("{}");
    EventContracts::of([contract]).expect("the contract holds")
}

/// An event of an aggregate with this payload, on its way to where the template leads.
pub fn event(
    to: Option<&DestinationTemplate>,
    seq: i64,
    aggregate: &str,
    payload: impl Into<Vec<u8>>,
) -> OutgoingEvent {
    typed_event(to, seq, aggregate, "case.submitted", payload)
}

/// The same of another type.
pub fn typed_event(
    to: Option<&DestinationTemplate>,
    seq: i64,
    aggregate: &str,
    event_type: &str,
    payload: impl Into<Vec<u8>>,
) -> OutgoingEvent {
    let event = NewEvent {
        id: EventId::from_bytes(u128::try_from(seq).expect("not negative").to_be_bytes()),
        aggregate: Aggregate {
            tenant: Tenant::default(),
            aggregate_type: AggregateType::parse("case").unwrap(),
            id: Arc::from(aggregate),
        },
        event_type: EventType::parse(event_type).unwrap(),
        schema_version: 1,
        payload: payload.into().into(),
        content_type: Arc::from("application/json"),
        headers: BTreeMap::from([(HeaderName::parse("x-region").unwrap(), "süd".to_owned())]),
        correlation_id: Some(Arc::from("corr-1")),
    };
    let destination = to.map_or_else(|| Arc::from(""), |template| template.of(&event));
    OutgoingEvent {
        stored: Arc::new(StoredEvent { seq, created_at: now(), event }),
        destination,
        replay: None,
        contract: None,
    }
}

/// `count` events of `aggregates` aggregates in turn, in the order in which they were staged.
pub fn events(to: Option<&DestinationTemplate>, count: i64, aggregates: i64) -> Vec<OutgoingEvent> {
    let one = |seq: i64| event(to, seq, &format!("CASE-{}", seq % aggregates), format!("{{\"seq\":{seq}}}"));
    (0..count).map(one).collect()
}

/// The same event, sent by a replay.
#[must_use]
pub fn replayed(event: &OutgoingEvent, replay: &str) -> OutgoingEvent {
    OutgoingEvent { replay: Some(ReplayId(Arc::from(replay))), ..event.clone() }
}

/// A page of one lane.
pub fn delivery(events: Vec<OutgoingEvent>) -> Delivery {
    Delivery { lane: 7, fence: 1, events, within: WITHIN }
}
