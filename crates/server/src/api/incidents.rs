//! The work list.

use std::collections::HashMap;

use axum::extract::State;
use axum::{Extension, Json};
use onefold_core::error::{INCIDENT_NOT_FOUND, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::incident::{Group, Incident, IncidentId, SubjectSort};
use onefold_core::ledger::Entry;
use onefold_core::operation::{KindName, OperationKey, Tenant};
use onefold_core::port::{IncidentFilter, LedgerRead as _, Page};
use onefold_core::{Error, Result};
use serde::Deserialize;
use utoipa::IntoParams;

use super::names::SubjectName;
use super::operations::page;
use super::problem_response::{Problem, ProblemBody};
use super::shapes::{GroupView, Groups, IncidentPage, IncidentSchema, IncidentView};
use super::{Shared, need};
use crate::identity::{Identity, Permission};
use onefold_http::{Path, Query};

/// Which incidents.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub(crate) struct ListQuery {
    /// What they are about.
    #[param(value_type = Option<SubjectName>, inline)]
    subject: Option<SubjectSort>,
    /// The operation's kind, or the name of what they are about.
    #[param(pattern = "^[A-Za-z0-9._/-]{1,100}$")]
    kind: Option<String>,
    /// The cause, as `/v1/incidents/groups` names it.
    group: Option<String>,
    /// Also list closed ones.
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
        subject: query.subject,
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
        (status = "4XX", description = "Not authorized", body = ProblemBody, content_type = "application/problem+json"),
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
        incidents: group.incidents,
        first_seen: group.first_seen,
        last_seen: group.last_seen,
    };
    Ok(Json(Groups { groups: groups.into_iter().zip(heads).map(shown).collect() }))
}

/// Incidents with advice for their operations' current state.
async fn views(api: &Shared, incidents: Vec<Incident>) -> Result<Vec<IncidentView>> {
    let keys = incidents.iter().filter_map(Incident::operation_key).collect();
    let entries = api.app.ledger.store().find(keys).await?.into_iter().flatten();
    let entries: HashMap<OperationKey, Entry> = entries.map(|entry| (entry.key.clone(), entry)).collect();
    let now = crate::app::now();
    let view = |incident: Incident| {
        let key = incident.operation_key();
        IncidentView::new(incident, key.and_then(|key| entries.get(&key)), now)
    };
    Ok(incidents.into_iter().map(view).collect())
}

/// One incident, open or closed, with its operation's timeline where it is about one.
#[utoipa::path(
    get, path = "/v1/incidents/{incident}", operation_id = "get_incident", tag = "incidents",
    params(("incident" = String, Path, description = "The incident's id")),
    responses(
        (status = 200, description = "The incident", body = IncidentSchema),
        (status = "4XX", description = "Not found", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn get(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(incident): Path<String>,
) -> Result<Json<IncidentView>, Problem> {
    need(&who, Permission::Look)?;
    let incident = find(&api, &who.tenant, &incident).await?;
    let events = match incident.operation_key() {
        None => None,
        Some(key) => Some(api.app.ledger.store().timeline(key).await?.unwrap_or_default()),
    };
    let view = views(&api, vec![incident]).await?.pop();
    let view = view.ok_or_else(|| Error::new(PROGRAMMING_INVARIANT_VIOLATED, "one incident has one view"))?;
    Ok(Json(match events {
        Some(events) => view.with_timeline(events),
        None => view,
    }))
}

/// The incident with this id.
pub(super) async fn find(api: &Shared, tenant: &Tenant, id: &str) -> Result<Incident> {
    let filter = IncidentFilter { tenant: tenant.clone(), id: Some(IncidentId::stored(id)), ..Default::default() };
    let found = api.app.ledger.store().incidents(filter, Page { after: None, limit: 1 }).await?.items.pop();
    found.ok_or_else(|| {
        Error::new(INCIDENT_NOT_FOUND, format!("there is no incident {:?}", id.chars().take(60).collect::<String>()))
    })
}
