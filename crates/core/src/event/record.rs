//! An event as it is staged and as it is stored.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::id::EventId;
use super::limits::HeaderName;
use super::name::{AggregateType, EventType};
use crate::operation::Tenant;
use crate::time::Timestamp;

/// What an event is about. Events of one aggregate are published in the order in which they were staged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Aggregate {
    /// For whom.
    pub tenant: Tenant,
    /// What sort of thing.
    pub aggregate_type: AggregateType,
    /// Which one: the key that brokers order by.
    pub id: Arc<str>,
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.aggregate_type, self.id)
    }
}

/// An event to be staged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Which event it is.
    pub id: EventId,
    /// What it is about.
    pub aggregate: Aggregate,
    /// What happened.
    pub event_type: EventType,
    /// The version of its contract.
    pub schema_version: u32,
    /// What consumers read.
    pub payload: Bytes,
    /// What the payload is.
    pub content_type: Arc<str>,
    /// What travels beside it; `traceparent` is one of them.
    pub headers: BTreeMap<HeaderName, String>,
    /// What belongs to the same request, across services.
    pub correlation_id: Option<Arc<str>>,
}

/// An event as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its place: rises within an aggregate whose writers lock it first.
    pub seq: i64,
    /// When it was staged.
    pub created_at: Timestamp,
    /// What was staged.
    pub event: NewEvent,
}

impl StoredEvent {
    /// Bytes that a page counts for it.
    pub fn bytes(&self) -> usize {
        let headers: usize = self.event.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        self.event.payload.len() + headers
    }
}
