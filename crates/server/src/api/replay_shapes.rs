//! Replays as JSON shows them.

use onefold_core::incident::redact;
use onefold_core::outbox::EventReplay;
use serde::Serialize;
use utoipa::ToSchema;

use super::names::ReplayStateName;

/// Replays, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReplayList {
    pub(crate) items: Vec<ReplayView>,
    /// Whether there are more than were asked for.
    pub(crate) more: bool,
}

/// A replay, and how far it is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplayView {
    /// What it sends carries this in the header `onefold-replay`.
    #[schema(example = "rpl_0198f2a45b8e7c3a9d216f0e4b1a2c3d")]
    id: String,
    relay: String,
    #[schema(value_type = ReplayStateName)]
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregate_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregate_id: Option<String>,
    /// Events that are sent at most.
    max: u64,
    /// Events in a second.
    #[schema(example = "200/s")]
    rate: String,
    /// Events that the target took.
    published: u64,
    /// Events that it refused, or that can never be sent.
    refused: u64,
    /// The first of those.
    refusals: Vec<ReplayRefusalView>,
    /// The last place that was looked at.
    position: i64,
    /// It ends there.
    last_position: i64,
    who: String,
    why: String,
    requested_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
}

/// An event that was not taken in a replay.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReplayRefusalView {
    event: String,
    #[schema(example = "EVENT_TARGET_REFUSED")]
    code: String,
    reason: String,
}

impl From<&EventReplay> for ReplayView {
    fn from(replay: &EventReplay) -> Self {
        let filter = &replay.spec.filter;
        let aggregate = filter.aggregate.as_ref();
        let refusals = replay.refusals.iter().map(|refusal| ReplayRefusalView {
            event: refusal.event.clone(),
            code: refusal.code.clone(),
            // A target may repeat what it was sent.
            reason: redact(&refusal.reason),
        });
        Self {
            id: replay.id.to_string(),
            relay: replay.spec.relay.to_string(),
            state: replay.state.as_str(),
            r#type: filter.event_type.as_ref().map(ToString::to_string),
            from: filter.from.map(|at| at.to_string()),
            to: filter.to.map(|at| at.to_string()),
            aggregate_type: aggregate.map(|(sort, _)| sort.to_string()),
            aggregate_id: aggregate.map(|(_, id)| id.to_string()),
            max: replay.spec.events_max,
            rate: format!("{}/s", replay.spec.rate),
            published: replay.published,
            refused: replay.refused,
            refusals: refusals.collect(),
            position: replay.pos,
            last_position: replay.last,
            who: replay.who.to_string(),
            why: replay.why.to_string(),
            requested_at: replay.requested_at.to_string(),
            ended_at: replay.ended_at.map(|at| at.to_string()),
        }
    }
}
