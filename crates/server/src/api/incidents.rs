//! The work list.

use axum::extract::State;
use axum::{Extension, Json};
use onefold_core::error::{INCIDENT_NOT_FOUND, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::incident::{Group, Incident, IncidentId};
use onefold_core::ledger::Entry;
use onefold_core::operation::{KindName, OperationKey, Tenant};
use onefold_core::ports::{IncidentFilter, Look as _, Page};
use onefold_core::{Error, Result};
use serde::Deserialize;
use utoipa::IntoParams;

use super::operations::page;
use super::problem::{Problem, ProblemBody};
use super::shapes::{GroupView, Groups, IncidentPage, IncidentSchema, IncidentView};
use super::{Shared, need};
use crate::identity::{Identity, Permission};
use onefold_http::{Path, Query};

/// Which incidents.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub(crate) struct ListQuery {
    #[param(pattern = "^[A-Za-z0-9._/-]{1,100}$")]
    kind: Option<String>,
    /// The cause, as `/v1/incidents/groups` names it.
    group: Option<String>,
    /// Also those that are closed.
    #[serde(default)]
    closed: bool,
    /// At most 1,000; 100 where it is left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// `next` of the part before.
    after: Option<i64>,
}

/// Incidents, newest first; the open ones unless asked otherwise.
#[utoipa::path(
    get, path = "/v1/incidents", operation_id = "list_incidents", tag = "incidents", params(ListQuery),
    responses(
        (status = 200, description = "A part of the list", body = IncidentPage),
        (status = "4XX", description = "A parameter is malformed", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn list(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Query(query): Query<ListQuery>,
) -> Result<Json<IncidentPage>, Problem> {
    need(&who, Permission::Look)?;
    let filter = IncidentFilter {
        tenant: who.tenant,
        id: None,
        open_only: !query.closed,
        kind: query.kind.as_deref().map(KindName::parse).transpose()?,
        group: query.group,
    };
    let listed = api.app.ledger.store().incidents(filter, page(query.limit, query.after)?).await?;
    Ok(Json(IncidentPage { items: views(&api, listed.items).await?, next: listed.next }))
}

/// Open incidents by cause, the largest first.
#[utoipa::path(
    get, path = "/v1/incidents/groups", tag = "incidents",
    responses(
        (status = 200, description = "The groups", body = Groups),
        (status = "4XX", description = "Not let in", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn groups(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
) -> Result<Json<Groups>, Problem> {
    need(&who, Permission::Look)?;
    let groups = api.app.ledger.store().groups(who.tenant).await?;
    let heads = views(&api, groups.iter().map(|group| group.head.clone()).collect()).await?;
    let shown = |(group, head): (Group, IncidentView)| GroupView {
        key: group.key,
        head,
        operations: group.operations,
        first_seen: group.first_seen,
        last_seen: group.last_seen,
    };
    Ok(Json(Groups { groups: groups.into_iter().zip(heads).map(shown).collect() }))
}

/// Incidents with advice for where their operations stand now.
async fn views(api: &Shared, incidents: Vec<Incident>) -> Result<Vec<IncidentView>> {
    let keys = incidents.iter().map(key_of).collect();
    let entries = api.app.ledger.store().find(keys).await?;
    let now = crate::app::now();
    let view = |(incident, entry): (Incident, Option<Entry>)| IncidentView::new(incident, entry.as_ref(), now);
    Ok(incidents.into_iter().zip(entries).map(view).collect())
}

fn key_of(incident: &Incident) -> OperationKey {
    OperationKey::new(incident.tenant.clone(), incident.kind.clone(), incident.operation_id.clone())
}

/// One incident, open or closed, with its operation's timeline.
#[utoipa::path(
    get, path = "/v1/incidents/{incident}", operation_id = "get_incident", tag = "incidents",
    params(("incident" = String, Path, description = "The incident's id")),
    responses(
        (status = 200, description = "The incident", body = IncidentSchema),
        (status = "4XX", description = "There is none", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn get(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(incident): Path<String>,
) -> Result<Json<IncidentView>, Problem> {
    need(&who, Permission::Look)?;
    let incident = find(&api, &who.tenant, &incident).await?;
    let key = key_of(&incident);
    let events = api.app.ledger.store().timeline(key).await?.unwrap_or_default();
    let view = views(&api, vec![incident]).await?.pop();
    let view = view.ok_or_else(|| Error::new(PROGRAMMING_INVARIANT_VIOLATED, "one incident has one view"))?;
    Ok(Json(view.with_timeline(events)))
}

/// The incident with this id.
pub(super) async fn find(api: &Shared, tenant: &Tenant, id: &str) -> Result<Incident> {
    let filter = IncidentFilter { tenant: tenant.clone(), id: Some(IncidentId::stored(id)), ..Default::default() };
    let found = api.app.ledger.store().incidents(filter, Page { after: None, limit: 1 }).await?.items.pop();
    found.ok_or_else(|| {
        Error::new(INCIDENT_NOT_FOUND, format!("there is no incident {:?}", id.chars().take(60).collect::<String>()))
    })
}
