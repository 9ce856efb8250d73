//! Replays: events that a relay has passed are sent again. A replay is of the caller's tenant, and so is the list.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use onefold_core::error::{REPLAY_NOT_FOUND, REQUEST_BODY_INVALID, VALIDATION_REJECTED};
use onefold_core::event::{AggregateType, EventType, ReplayId};
use onefold_core::ledger::check_reason;
use onefold_core::outbox::{EventReplay, RelayName, ReplayFilter, ReplaySpec};
use onefold_core::port::{ReplayCancel, ReplayListFilter, ReplayOperate as _};
use onefold_core::{Error, Result, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::events::field;
use super::fields::whole_or_none;
use super::operations::page;
use super::problem_response::{Problem, ProblemBody};
use super::relays::{RelayVerbBody, relay_named};
use super::replay_shapes::{ReplayList, ReplayView};
use super::{Shared, need};
use crate::identity::{Identity, Permission};
use onefold_http::{Body, Path, Query};

/// Which events are sent again, how many at most and how fast. At least one of type, from, to and aggregate.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ReplayBody {
    /// Only of this type.
    #[serde(default)]
    #[schema(example = "case.submitted", pattern = "^[A-Za-z0-9._-]{1,100}$")]
    r#type: Option<String>,
    /// Only what was staged at this time or later (RFC 3339).
    #[serde(default)]
    #[schema(
        example = "2026-11-15T08:00:00Z",
        pattern = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?Z$"
    )]
    from: Option<String>,
    /// Only what was staged before this time (RFC 3339).
    #[serde(default)]
    #[schema(
        example = "2026-11-15T09:00:00Z",
        pattern = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?Z$"
    )]
    to: Option<String>,
    /// With `aggregateId`: only of this aggregate.
    #[serde(default)]
    #[schema(example = "case", pattern = "^[A-Za-z0-9._-]{1,64}$")]
    aggregate_type: Option<String>,
    /// With `aggregateType`: only of this aggregate.
    #[serde(default)]
    #[schema(example = "CASE-7", min_length = 1, max_length = 256, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$")]
    aggregate_id: Option<String>,
    /// Events that are sent at most; needed.
    #[serde(default, deserialize_with = "whole_or_none")]
    #[schema(example = 5000, minimum = 1, maximum = 1_000_000)]
    max: Option<u64>,
    /// Events in a second; 100 where it is left out.
    #[serde(default)]
    #[schema(example = "200/s", pattern = "^[1-9][0-9]{0,4}/s$")]
    rate: Option<String>,
    /// Counts what would be sent, and sends nothing.
    #[serde(default)]
    dry_run: bool,
    /// Kept with who from the credential; what a dry run says is not kept.
    #[schema(example = "the consumer lost a day", min_length = 1, max_length = 500, pattern = "[^\\s\\u0085]")]
    why: String,
}

/// The replay that was asked for, or what a dry run counted.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplayAnswer {
    dry_run: bool,
    /// Of a dry run: events that match now.
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<u64>,
    /// Of a dry run: events that would be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_send: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<ReplayView>,
}

/// Sends events again that the relay has passed: with the same ids and the header `onefold-replay`, beside what is new.
/// A process that serves the relay sends them; where it is in that, the replay says.
#[utoipa::path(
    post, path = "/v1/relays/{relay}/replays", operation_id = "replay_events", tag = "outbox", request_body = ReplayBody,
    params(("relay" = String, Path, description = "The relay's name")),
    responses(
        (status = 200, description = "Asked for, or counted", body = ReplayAnswer),
        (status = "4XX", description = "Refused: the code says why", body = ProblemBody, content_type = "application/problem+json"),
        (status = "5XX", description = "Not known to be done: look, then send it again", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn request(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(relay): Path<String>,
    Body(body): Body<ReplayBody>,
) -> Result<Json<ReplayAnswer>, Problem> {
    need(&who, Permission::Decide)?;
    let spec = body.spec(relay_named(&relay)?, &who)?;
    check_reason(&body.why)?;
    if body.dry_run {
        let max = spec.events_max;
        let matches = api.app.ledger.store().count_replay(spec, ReplaySpec::EVENTS_MAX).await?;
        let would_send = Some(matches.min(max));
        return Ok(Json(ReplayAnswer { dry_run: true, matches: Some(matches), would_send, replay: None }));
    }
    let asked = api.app.ledger.outbox().replay(spec, &who.name, &body.why).await?;
    // Who it was is in the span, by a pseudonym.
    tracing::info!(relay, replay = %asked.id, "replay asked for");
    let asked = Some(ReplayView::from(&asked));
    Ok(Json(ReplayAnswer { dry_run: false, matches: None, would_send: None, replay: asked }))
}

impl ReplayBody {
    fn spec(&self, relay: RelayName, who: &Identity) -> Result<ReplaySpec> {
        let aggregate = match (&self.aggregate_type, &self.aggregate_id) {
            (Some(sort), Some(id)) => {
                Some((field("aggregateType", AggregateType::parse(sort))?, Arc::from(id.as_str())))
            }
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                return Err(Error::new(VALIDATION_REJECTED, "an aggregate has a type and an id")
                    .hint("send both of aggregateType and aggregateId, or neither"));
            }
        };
        let filter = ReplayFilter {
            tenant: who.tenant.clone(),
            event_type: field("type", self.r#type.as_deref().map(EventType::parse).transpose())?,
            from: self.from.as_deref().map(|text| time("from", text)).transpose()?,
            to: self.to.as_deref().map(|text| time("to", text)).transpose()?,
            aggregate,
        };
        let rate = self.rate.as_deref().map(rate).transpose()?;
        ReplaySpec::new(relay, filter, self.max, rate)
    }
}

fn time(name: &str, text: &str) -> Result<Timestamp> {
    Timestamp::parse(text).ok_or_else(|| {
        let shown: String = text.chars().take(60).collect();
        Error::new(REQUEST_BODY_INVALID, format!("{name}: {shown:?} is not a time"))
            .hint("write a time as RFC 3339, such as 2026-11-15T08:00:00Z")
    })
}

fn rate(text: &str) -> Result<u32> {
    let digits = text.strip_suffix("/s").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| {
        let shown: String = text.chars().take(60).collect();
        Error::new(REQUEST_BODY_INVALID, format!("rate: {shown:?} is not a rate")).hint("write \"200/s\"")
    })
}

/// Which replays.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub(crate) struct ReplayQuery {
    /// Of this relay.
    #[param(pattern = "^[A-Za-z0-9._-]{1,64}$")]
    relay: Option<String>,
    /// At most 1,000; 100 where it is left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// Replays, the newest first, each with how far it is.
#[utoipa::path(
    get, path = "/v1/replays", operation_id = "list_replays", tag = "outbox", params(ReplayQuery),
    responses(
        (status = 200, description = "The newest of them", body = ReplayList),
        (status = "4XX", description = "A parameter is malformed", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn list(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Query(query): Query<ReplayQuery>,
) -> Result<Json<ReplayList>, Problem> {
    need(&who, Permission::Look)?;
    let limit = page(query.limit, None)?.limit;
    let relay = query.relay.as_deref().map(RelayName::parse).transpose()?;
    let filter = ReplayListFilter { tenant: Some(who.tenant), relay, id: None };
    // One more than asked for says whether there are more.
    let found = api.app.ledger.store().replays(filter, limit + 1).await?;
    let more = found.len() > limit;
    Ok(Json(ReplayList { items: found.iter().take(limit).map(ReplayView::from).collect(), more }))
}

/// One replay, and how far it is.
#[utoipa::path(
    get, path = "/v1/replays/{replay}", operation_id = "get_replay", tag = "outbox",
    params(("replay" = String, Path, description = "The replay's id")),
    responses(
        (status = 200, description = "The replay", body = ReplayView),
        (status = "4XX", description = "Not found", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn get(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(replay): Path<String>,
) -> Result<Json<ReplayView>, Problem> {
    need(&who, Permission::Look)?;
    let id = ReplayId::parse(&replay)?;
    let filter = ReplayListFilter { tenant: Some(who.tenant), relay: None, id: Some(id) };
    let found: Option<EventReplay> = api.app.ledger.store().replays(filter, 1).await?.pop();
    let found = found.ok_or_else(|| Error::new(REPLAY_NOT_FOUND, format!("there is no replay {replay}")))?;
    Ok(Json(ReplayView::from(&found)))
}

/// Ends a replay. A page that is on its way may still arrive.
#[utoipa::path(
    post, path = "/v1/replays/{replay}/cancel", operation_id = "cancel_replay", tag = "outbox",
    request_body = RelayVerbBody,
    params(("replay" = String, Path, description = "The replay's id")),
    responses(
        (status = 200, description = "Ended", body = ReplayView),
        (status = "4XX", description = "Refused: the code says why", body = ProblemBody, content_type = "application/problem+json"),
        (status = "5XX", description = "Not known to be done: look, then send it again", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn cancel(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(replay): Path<String>,
    Body(body): Body<RelayVerbBody>,
) -> Result<Json<ReplayView>, Problem> {
    need(&who, Permission::Decide)?;
    check_reason(&body.why)?;
    let id = ReplayId::parse(&replay)?;
    let cancel = ReplayCancel { id, tenant: who.tenant, who: who.name, why: Arc::from(body.why) };
    let ended = api.app.ledger.store().cancel_replay(cancel).await?;
    tracing::info!(replay, "replay cancelled");
    Ok(Json(ReplayView::from(&ended)))
}
