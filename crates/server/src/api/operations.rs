//! Reads of operations. A payload is read in one place, by a person who may decide, and each read is recorded.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use onefold_core::error::{CodeName, OPERATION_NOT_FOUND, REQUEST_INVALID, RESULT_DAMAGED};
use onefold_core::ledger::{Entry, Note, Status, StoredResult};
use onefold_core::operation::{KindName, OperationId, OperationKey};
use onefold_core::port::{Filter, LedgerRead as _, LedgerWrite as _, Page};
use onefold_core::{Error, Result, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;

use super::names::StatusName;
use super::problem_response::{Problem, ProblemBody};
use super::shapes::{OperationPage, OperationView, ResultView, Timeline, shown};
use super::{Shared, need};
use crate::identity::{Identity, Permission};
use onefold_http::{Path, Query};

/// Which operations.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub(crate) struct ListQuery {
    /// With this id, of whatever kind.
    #[param(min_length = 1, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$")]
    id: Option<String>,
    #[param(pattern = "^[A-Za-z0-9._/-]{1,100}$")]
    kind: Option<String>,
    /// Those with this status.
    #[param(value_type = Option<StatusName>, inline)]
    status: Option<String>,
    business_key: Option<String>,
    process_instance_key: Option<String>,
    #[param(pattern = "^[A-Z][A-Z0-9_]{0,63}$")]
    error_code: Option<String>,
    /// Created at or after this time.
    #[param(format = DateTime)]
    since: Option<String>,
    /// Created before this time.
    #[param(format = DateTime)]
    until: Option<String>,
    /// At most 1,000; 100 where it is left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// `next` of the part before.
    after: Option<i64>,
}

/// Operations, newest first.
#[utoipa::path(
    get, path = "/v1/operations", operation_id = "list_operations", tag = "ledger", params(ListQuery),
    responses(
        (status = 200, description = "A part of the list", body = OperationPage),
        (status = "4XX", description = "A parameter is malformed", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn list(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Query(query): Query<ListQuery>,
) -> Result<Json<OperationPage>, Problem> {
    need(&who, Permission::Look)?;
    let page = page(query.limit, query.after)?;
    let filter = Filter {
        tenant: who.tenant,
        id: query.id.as_deref().map(OperationId::stored).transpose()?,
        kind: query.kind.as_deref().map(KindName::parse).transpose()?,
        status: query.status.as_deref().map(status).transpose()?,
        business_key: query.business_key,
        process_instance_key: query.process_instance_key,
        error_code: query.error_code.as_deref().map(code).transpose()?,
        since: query.since.as_deref().map(time).transpose()?,
        until: query.until.as_deref().map(time).transpose()?,
    };
    let listed = api.app.ledger.store().list(filter, page).await?;
    Ok(Json(OperationPage { items: listed.items.iter().map(OperationView::from).collect(), next: listed.next }))
}

/// One operation, without its payload.
#[utoipa::path(
    get, path = "/v1/operations/{operation}", operation_id = "get_operation", tag = "ledger",
    params(("operation" = String, Path, description = "The operation's reference")),
    responses(
        (status = 200, description = "The operation", body = OperationView),
        (status = "4XX", description = "Not found", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn get(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(operation): Path<String>,
) -> Result<Json<OperationView>, Problem> {
    need(&who, Permission::Look)?;
    Ok(Json(OperationView::from(&find(&api, &who, &operation).await?)))
}

/// The story of an operation, oldest first.
#[utoipa::path(
    get, path = "/v1/operations/{operation}/timeline", tag = "ledger",
    params(("operation" = String, Path, description = "The operation's reference")),
    responses(
        (status = 200, description = "Its attempts, records, questions and decisions", body = Timeline),
        (status = "4XX", description = "Not found", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn timeline(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(operation): Path<String>,
) -> Result<Json<Timeline>, Problem> {
    need(&who, Permission::Look)?;
    let entry = find(&api, &who, &operation).await?;
    let events = api.app.ledger.store().timeline(entry.key.clone()).await?.unwrap_or_default();
    Ok(Json(Timeline { operation: OperationView::from(&entry), events: events.into_iter().map(Into::into).collect() }))
}

/// The recorded result. Needs the operator role, and the timeline says who read it.
#[utoipa::path(
    get, path = "/v1/operations/{operation}/result", tag = "ledger",
    params(("operation" = String, Path, description = "The operation's reference")),
    responses(
        (status = 200, description = "What was recorded", body = ResultView),
        (status = "4XX", description = "Not found, or the role does not allow it", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn result(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(operation): Path<String>,
) -> Result<Json<ResultView>, Problem> {
    need(&who, Permission::Decide)?;
    let entry = find(&api, &who, &operation).await?;
    if matches!(entry.result, Some(StoredResult::Damaged { .. })) {
        let what = format!("the stored result of {} is not the one that was recorded", entry.key);
        return Err(Error::new(RESULT_DAMAGED, what).into());
    }
    let note = Note {
        at: crate::app::now(),
        who: Arc::clone(&who.name),
        what: Arc::from("read the result"),
        why: None,
        fence: entry.fence,
    };
    api.app.ledger.store().append_audit(entry.key.clone(), note).await?;
    let (result, result_not_kept) = entry.result.map_or((None, None), shown);
    Ok(Json(ResultView { operation, result, result_not_kept }))
}

async fn find(api: &Shared, who: &Identity, operation: &str) -> Result<Entry> {
    let key = OperationKey::from_reference(who.tenant.clone(), operation)?;
    let found = api.app.ledger.store().find(vec![key.clone()]).await?.pop().flatten();
    found.ok_or_else(|| Error::new(OPERATION_NOT_FOUND, format!("there is no operation {key}")))
}

/// A page within its limits.
pub(super) fn page(limit: Option<usize>, after: Option<i64>) -> Result<Page> {
    let limit = limit.unwrap_or(Page::default().limit);
    if limit == 0 || limit > Page::LIMIT_MAX {
        return Err(Error::new(REQUEST_INVALID, format!("limit: {limit} is out of range"))
            .hint(format!("ask for 1 to {}", Page::LIMIT_MAX)));
    }
    Ok(Page { after, limit })
}

fn status(text: &str) -> Result<Status> {
    Status::parse(text).ok_or_else(|| {
        let known: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
        Error::new(REQUEST_INVALID, format!("status: {text:?} is not a status"))
            .hint(format!("use one of {}", known.join(", ")))
    })
}

fn code(text: &str) -> Result<CodeName> {
    CodeName::parse(text).map_err(|why| Error::new(REQUEST_INVALID, format!("errorCode: {why}")))
}

fn time(text: &str) -> Result<Timestamp> {
    Timestamp::parse(text).ok_or_else(|| {
        Error::new(REQUEST_INVALID, format!("{text:?} is not a time"))
            .hint("write RFC 3339, such as 2026-11-15T08:00:00Z")
    })
}
