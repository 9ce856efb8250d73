//! Relays and events as JSON shows them. A payload is never shown: only how long it is, and its digest.

use std::collections::BTreeMap;

use onefold_core::Timestamp;
use onefold_core::event::StoredEvent;
use onefold_core::incident::redact;
use onefold_core::outbox::{AsideEvent, AsideStatus, EventPattern};
use onefold_core::port::RelayState;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::names::AsideStatusName;
use super::relays::TableRelay;
use super::shapes::hexadecimal;

/// Every relay, by name.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RelayList {
    pub(crate) relays: Vec<RelayView>,
}

/// A relay, and how far it is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RelayView {
    #[schema(example = "cases")]
    pub(super) name: String,
    /// The types that it wants: one type, `prefix.*` or `*`.
    #[schema(example = json!(["case.*"]))]
    events: Vec<String>,
    /// Where it publishes to.
    #[schema(example = "kafka case.events.v1")]
    target: String,
    /// The table that it publishes rows of, where that is not the outbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "\"app\".\"outbox\"")]
    table: Option<String>,
    /// Wanted events that it has not passed.
    waiting: u64,
    /// When the oldest of them was staged.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<String>,
    /// How long ago that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_age_seconds: Option<f64>,
    /// Events that a person must decide about.
    parked: u64,
    /// Events that are tried again, and those behind them.
    set_aside: u64,
    /// Events that it passed in the last hour; not counted on a table of a team's own.
    passed_last_hour: u64,
    /// Of these, the ones that were published within ten seconds after they were staged.
    on_time_last_hour: u64,
    /// The code of why lanes of it stopped, or why its table cannot be read: nothing is counted then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "RELAY_STOPPED")]
    stopped: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retired_at: Option<String>,
    /// The process that declared it last; only this server's configuration declares one with a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    declared_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared_at: Option<String>,
}

impl RelayView {
    pub(super) fn new(relay: &RelayState, now: Timestamp) -> Self {
        Self {
            name: relay.name.to_string(),
            events: relay.events.iter().map(EventPattern::to_string).collect(),
            target: relay.target.clone(),
            table: None,
            waiting: relay.waiting,
            oldest: relay.oldest.map(|at| at.to_string()),
            oldest_age_seconds: relay.oldest.map(|at| now.since(at).as_secs_f64()),
            parked: relay.parked,
            set_aside: relay.set_aside,
            passed_last_hour: relay.recent.passed,
            on_time_last_hour: relay.recent.on_time,
            stopped: relay.stopped.as_ref().map(ToString::to_string),
            retired_at: relay.retired_at.map(|at| at.to_string()),
            declared_by: Some(relay.declared_by.to_string()),
            declared_at: Some(relay.declared_at.to_string()),
        }
    }

    pub(super) fn of_table(relay: &TableRelay, now: Timestamp) -> Self {
        let counted = relay.counted.as_ref().ok();
        let oldest = counted.and_then(|counted| counted.oldest);
        Self {
            name: relay.spec.name.to_string(),
            events: relay.spec.events.iter().map(EventPattern::to_string).collect(),
            target: relay.spec.target.clone(),
            table: Some(relay.table.quoted()),
            waiting: counted.map_or(0, |counted| counted.waiting),
            oldest: oldest.map(|at| at.to_string()),
            oldest_age_seconds: oldest.map(|at| now.since(at).as_secs_f64()),
            parked: counted.map_or(0, |counted| counted.parked),
            set_aside: counted.map_or(0, |counted| counted.refused),
            passed_last_hour: 0,
            on_time_last_hour: 0,
            stopped: relay.counted.as_ref().err().map(ToString::to_string),
            retired_at: None,
            declared_by: None,
            declared_at: None,
        }
    }
}

/// An event, without its payload.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventView {
    id: String,
    /// Its place.
    seq: i64,
    aggregate_type: String,
    aggregate_id: String,
    r#type: String,
    schema_version: u32,
    /// When it was staged.
    created_at: String,
    content_type: String,
    /// Bytes of the staged payload.
    payload_bytes: u64,
    /// SHA-256 of the staged payload.
    payload_digest: String,
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<String>,
    /// Whether every relay that wants it has passed it.
    published: bool,
    /// What each relay that has set it aside, or had, says about it.
    set_aside: Vec<AsideView>,
}

impl EventView {
    pub(super) fn new(stored: &StoredEvent, asides: &[AsideEvent], published: bool) -> Self {
        let event = &stored.event;
        Self {
            id: event.id.to_string(),
            seq: stored.seq,
            aggregate_type: event.aggregate.aggregate_type.to_string(),
            aggregate_id: event.aggregate.id.to_string(),
            r#type: event.event_type.to_string(),
            schema_version: event.schema_version,
            created_at: stored.created_at.to_string(),
            content_type: event.content_type.to_string(),
            payload_bytes: event.payload.len() as u64,
            payload_digest: hexadecimal(&digest(&event.payload)),
            headers: event.headers.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
            correlation_id: event.correlation_id.as_deref().map(str::to_owned),
            published,
            set_aside: asides.iter().map(AsideView::from).collect(),
        }
    }
}

/// SHA-256 of a payload.
pub(super) fn digest(payload: &[u8]) -> [u8; 32] {
    Sha256::digest(payload).into()
}

/// An event that one relay has set aside.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AsideView {
    /// The event.
    event: String,
    relay: String,
    aggregate_type: String,
    /// Later events of this aggregate wait behind it.
    aggregate_id: String,
    #[schema(value_type = AsideStatusName)]
    status: &'static str,
    /// Attempts it has used.
    attempts: u32,
    /// When it is tried again, where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<String>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "EVENT_TARGET_REFUSED")]
    code: Option<String>,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// SHA-256 of the payload that a person put in place of the staged one.
    #[serde(skip_serializing_if = "Option::is_none")]
    edited_digest: Option<String>,
}

impl From<&AsideEvent> for AsideView {
    fn from(aside: &AsideEvent) -> Self {
        let waits = aside.status == AsideStatus::Waiting;
        Self {
            event: aside.id.to_string(),
            relay: aside.relay.to_string(),
            aggregate_type: aside.aggregate.aggregate_type.to_string(),
            aggregate_id: aside.aggregate.id.to_string(),
            status: aside.status.as_str(),
            attempts: aside.attempts,
            next_attempt_at: waits.then(|| aside.next_attempt_at.to_string()),
            code: aside.code.as_ref().map(ToString::to_string),
            // A target may repeat what it was sent.
            reason: aside.reason.as_deref().map(redact),
            edited_digest: aside.edit.as_ref().map(|edit| hexadecimal(&digest(&edit.payload))),
        }
    }
}

/// Events that were set aside and have not ended, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AsideList {
    pub(crate) items: Vec<AsideView>,
    /// Whether there are more than were asked for.
    pub(crate) more: bool,
}
