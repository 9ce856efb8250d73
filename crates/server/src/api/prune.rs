//! Retention, applied now.

use axum::extract::State;
use axum::{Extension, Json};
use onefold_core::Result;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::problem_response::{Problem, ProblemBody};
use super::{Shared, need};
use crate::identity::{Identity, Permission};
use onefold_http::Body;

/// Whether to delete.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PruneBody {
    /// `true` only counts, `false` deletes.
    dry_run: bool,
}

/// What was deleted, or would be.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PruneAnswer {
    dry_run: bool,
    /// A duplicate of a forgotten operation **is performed**.
    operations: usize,
    /// Only their results were dropped.
    results: usize,
    /// Whether a dry run stopped counting.
    more: bool,
}

/// Applies every kind's retention now, for every tenant. Needs the administrator role.
#[utoipa::path(
    post, path = "/v1/prune", tag = "server", request_body = PruneBody,
    responses(
        (status = 200, description = "What was deleted, or would be", body = PruneAnswer),
        (status = "4XX", description = "The call is malformed or not allowed", body = ProblemBody, content_type = "application/problem+json"),
        (status = "5XX", description = "Stopped half-way; the rest is deleted later", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn prune(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Body(body): Body<PruneBody>,
) -> Result<Json<PruneAnswer>, Problem> {
    need(&who, Permission::Administer)?;
    let ledger = &api.app.ledger;
    let pruned = if body.dry_run { ledger.prune_dry_run().await? } else { ledger.prune().await? };
    let more = body.dry_run && pruned.more;
    Ok(Json(PruneAnswer { dry_run: body.dry_run, operations: pruned.operations, results: pruned.results, more }))
}
