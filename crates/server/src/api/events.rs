//! Events of the outbox: stage one, look at one, list what was set aside.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use bytes::Bytes;
use onefold_core::error::{EVENT_NOT_FOUND, PROGRAMMING_INVARIANT_VIOLATED, REQUEST_BODY_INVALID, REQUEST_INVALID};
use onefold_core::event::{
    Aggregate, AggregateType, EventId, EventLimits, EventType, HeaderName, NewEvent, StoredEvent,
};
use onefold_core::operation::Tenant;
use onefold_core::outbox::{AsideEvent, RelayName};
use onefold_core::port::{AsideFilter, OutboxOperate as _, StagedBy};
use onefold_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::fields::whole;
use super::names::StagedName;
use super::operations::page;
use super::outbox_shapes::{AsideList, AsideView, EventView};
use super::problem_response::{Problem, ProblemBody};
use super::{Shared, need};
use crate::identity::{Identity, Permission};
use onefold_http::{Body, Path, Query};

/// What a payload is, unless it is said.
pub(super) const JSON: &str = "application/json";
/// What every store can keep as the version of a contract.
const SCHEMA_VERSION_MAX: u64 = 2_147_483_647;

/// An event to be staged.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StageBody {
    /// The event, from business identity or made before the first call: the same for every call that means this event.
    id: Uuid,
    /// What sort of thing it happened to.
    #[schema(example = "case", pattern = "^[A-Za-z0-9._-]{1,64}$")]
    aggregate_type: String,
    /// Which one. Events of one aggregate are published in the order in which they were staged.
    #[schema(example = "CASE-7", min_length = 1, max_length = 256, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$")]
    aggregate_id: String,
    /// What happened.
    #[schema(example = "case.submitted", pattern = "^[A-Za-z0-9._-]{1,100}$")]
    r#type: String,
    /// The version of its contract, one that is declared.
    #[serde(deserialize_with = "whole")]
    #[schema(example = 1, maximum = 2_147_483_647_u64)]
    schema_version: u64,
    /// What consumers read. Its bytes are kept as they were sent, so a repeated call must send the same bytes.
    #[schema(value_type = serde_json::Value)]
    payload: Box<RawValue>,
    /// What travels beside it, such as `traceparent`.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// What belongs to the same request, across services.
    #[serde(default)]
    #[schema(max_length = 256, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$")]
    correlation_id: Option<String>,
}

/// The event is staged, and durable.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StageAnswer {
    id: String,
    /// Its place.
    seq: i64,
    /// `NOW`, or `EARLIER` where an earlier call staged the same event.
    #[schema(value_type = StagedName)]
    staged: &'static str,
}

/// Stages an event in a commit of its own, for a service without a database. A repeated call stages it once. Its type is
/// declared as `[[event]]`, and what breaks that contract is refused.
#[utoipa::path(
    post, path = "/v1/events", operation_id = "stage_event", tag = "outbox", request_body = StageBody,
    responses(
        (status = 200, description = "Staged, now or by an earlier call", body = StageAnswer),
        (status = "4XX", description = "Refused: the code says why", body = ProblemBody, content_type = "application/problem+json"),
        (status = "5XX", description = "Not known to be staged: send it again", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn stage(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Body(body): Body<StageBody>,
) -> Result<Json<StageAnswer>, Problem> {
    need(&who, Permission::Act)?;
    let event = body.event(who.tenant)?;
    EventLimits::default().check(&event)?;
    api.app.contracts().check(&event)?;
    let staged = api.app.ledger.store().stage(&[event]).await?.pop();
    let staged = staged.ok_or_else(|| Error::new(PROGRAMMING_INVARIANT_VIOLATED, "one event is staged once"))?;
    let when = match staged.wrote {
        StagedBy::ThisTransaction => "NOW",
        StagedBy::Earlier => "EARLIER",
    };
    Ok(Json(StageAnswer { id: staged.id.to_string(), seq: staged.seq, staged: when }))
}

impl StageBody {
    fn event(self, tenant: Tenant) -> Result<NewEvent> {
        let schema_version = u32::try_from(self.schema_version).ok();
        let schema_version = schema_version.filter(|_| self.schema_version <= SCHEMA_VERSION_MAX).ok_or_else(|| {
            Error::new(REQUEST_BODY_INVALID, format!("schemaVersion: {} is out of range", self.schema_version))
                .hint(format!("use 0 to {SCHEMA_VERSION_MAX}"))
        })?;
        let headers = self.headers.into_iter().map(|(name, value)| Ok((HeaderName::parse(&name)?, value)));
        Ok(NewEvent {
            id: EventId::from(self.id),
            aggregate: Aggregate {
                tenant,
                aggregate_type: field("aggregateType", AggregateType::parse(&self.aggregate_type))?,
                id: Arc::from(self.aggregate_id),
            },
            event_type: field("type", EventType::parse(&self.r#type))?,
            schema_version,
            payload: Bytes::from(self.payload.get().as_bytes().to_vec()),
            content_type: Arc::from(JSON),
            headers: headers.collect::<Result<_>>()?,
            correlation_id: self.correlation_id.map(Arc::from),
        })
    }
}

/// A field of a body, named where it is wrong.
pub(super) fn field<T>(name: &str, read: Result<T>) -> Result<T> {
    read.map_err(|error| {
        Error::new(REQUEST_BODY_INVALID, format!("{name}: {}", error.detail())).hint(error.next_step())
    })
}

/// One event, without its payload, and what each relay that has set it aside says about it.
#[utoipa::path(
    get, path = "/v1/events/{event}", operation_id = "get_event", tag = "outbox",
    params(("event" = Uuid, Path, description = "The event's id")),
    responses(
        (status = 200, description = "The event", body = EventView),
        (status = "4XX", description = "Not found", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn get(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(event): Path<String>,
) -> Result<Json<EventView>, Problem> {
    need(&who, Permission::Look)?;
    let (stored, asides) = find(&api, &who, &event).await?;
    let published = api.app.ledger.store().published(stored.event.id, None).await?;
    Ok(Json(EventView::new(&stored, &asides, published)))
}

/// The event with this id. Another tenant's is not found.
pub(super) async fn find(api: &Shared, who: &Identity, event: &str) -> Result<(StoredEvent, Vec<AsideEvent>)> {
    let id =
        EventId::parse(event).map_err(|error| Error::new(REQUEST_INVALID, error.detail()).hint(error.next_step()))?;
    let found = api.app.ledger.store().event(id).await?;
    let found = found.filter(|(stored, _)| stored.event.aggregate.tenant == who.tenant);
    found.ok_or_else(|| Error::new(EVENT_NOT_FOUND, format!("there is no event {id}")))
}

/// Which of the events that were set aside.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub(crate) struct ParkedQuery {
    /// By this relay.
    #[param(pattern = "^[A-Za-z0-9._-]{1,64}$")]
    relay: Option<String>,
    /// At most 1,000; 100 where it is left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// Events that were set aside and have not ended, oldest first: parked ones, those that are tried again, and those
/// behind them.
#[utoipa::path(
    get, path = "/v1/events/parked", operation_id = "list_parked_events", tag = "outbox", params(ParkedQuery),
    responses(
        (status = 200, description = "The oldest of them", body = AsideList),
        (status = "4XX", description = "A parameter is malformed", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn parked(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Query(query): Query<ParkedQuery>,
) -> Result<Json<AsideList>, Problem> {
    need(&who, Permission::Look)?;
    let limit = page(query.limit, None)?.limit;
    let relay = query.relay.as_deref().map(RelayName::parse).transpose()?;
    let filter = AsideFilter { tenant: Some(who.tenant), relay };
    // One more than asked for says whether there are more.
    let found = api.app.ledger.store().asides(filter, limit + 1).await?;
    let more = found.len() > limit;
    Ok(Json(AsideList { items: found.iter().take(limit).map(AsideView::from).collect(), more }))
}
