//! The work list.

use axum::extract::State;
use axum::{Extension, Json};
use onefold_core::error::INCIDENT_NOT_FOUND;
use onefold_core::incident::{Incident, IncidentId};
use onefold_core::operation::{KindName, Tenant};
use onefold_core::ports::{IncidentFilter, Look as _, Page};
use onefold_core::{Error, Result};
use serde::Deserialize;
use utoipa::IntoParams;

use super::operations::page;
use super::problem::{Problem, ProblemBody};
use super::shapes::{Groups, IncidentPage, IncidentSchema};
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
    Ok(Json(IncidentPage { items: listed.items, next: listed.next }))
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
    Ok(Json(Groups { groups: api.app.ledger.store().groups(who.tenant).await? }))
}

/// One incident, open or closed.
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
) -> Result<Json<Incident>, Problem> {
    need(&who, Permission::Look)?;
    Ok(Json(find(&api, &who.tenant, &incident).await?))
}

/// The incident with this id.
pub(super) async fn find(api: &Shared, tenant: &Tenant, id: &str) -> Result<Incident> {
    let filter = IncidentFilter { tenant: tenant.clone(), id: Some(IncidentId::stored(id)), ..Default::default() };
    let found = api.app.ledger.store().incidents(filter, Page { after: None, limit: 1 }).await?.items.pop();
    found.ok_or_else(|| {
        Error::new(INCIDENT_NOT_FOUND, format!("there is no incident {:?}", id.chars().take(60).collect::<String>()))
    })
}
