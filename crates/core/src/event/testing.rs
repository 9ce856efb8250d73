//! Events for the tests of this crate.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::{Aggregate, AggregateType, EventId, EventType, NewEvent, StoredEvent};
use crate::operation::Tenant;
use crate::time::Timestamp;

pub(crate) fn event(aggregate: &str, payload: &'static [u8]) -> NewEvent {
    NewEvent {
        id: EventId::fresh(Timestamp::from_micros(1_000_000), [7; 10]),
        aggregate: Aggregate {
            tenant: Tenant::default(),
            aggregate_type: AggregateType::parse("case").unwrap(),
            id: Arc::from(aggregate),
        },
        event_type: EventType::parse("case.submitted").unwrap(),
        schema_version: 1,
        payload: Bytes::from_static(payload),
        content_type: Arc::from("application/json"),
        headers: BTreeMap::new(),
        correlation_id: None,
    }
}

pub(crate) fn stored(seq: i64, aggregate: &str) -> StoredEvent {
    let id = EventId::from_bytes(u128::try_from(seq).unwrap().to_be_bytes());
    StoredEvent {
        seq,
        created_at: Timestamp::from_micros(1_000_000 + seq),
        event: NewEvent { id, ..event(aggregate, b"{}") },
    }
}
