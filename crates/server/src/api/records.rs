//! What happened: complete, fail, unknown; or nothing did: release; or it goes on: renew.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::{Extension, Json};
use onefold_core::error::{CodeName, KIND_UNKNOWN, REQUEST_BODY_INVALID};
use onefold_core::incident::Needs;
use onefold_core::ledger::{Completion, Failure, Outcome, SideEffect, Source, StoredResult};
use onefold_core::operation::OperationKey;
use onefold_core::retry::Category;
use onefold_core::{Error, Result};
use onefold_runtime::{LeaseHandle, processed};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use super::claims::attempt;
use super::fields::{whole, whole_or_none};
use super::names::{CategoryName, FailedSideEffectName, NeedsName, StatusName};
use super::problem_response::{Problem, ProblemBody};
use super::{Shared, need};
use crate::database::Database;
use crate::identity::{Identity, Permission};
use onefold_http::{Body, Path};

/// It took hold.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CompleteBody {
    /// From the grant.
    #[serde(deserialize_with = "whole")]
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    fence: u64,
    /// From the claim.
    attempt_id: Uuid,
    /// What duplicates are answered with.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Box<RawValue>>,
    /// Where the proof lies; a financial or legal effect is completed only with it.
    #[serde(default)]
    #[schema(example = "NTC-991", max_length = 1024)]
    evidence: Option<String>,
}

/// It failed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FailBody {
    #[serde(deserialize_with = "whole")]
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    fence: u64,
    attempt_id: Uuid,
    /// Whether it failed for good; otherwise it may be tried again on its category's schedule.
    #[serde(default, rename = "final")]
    is_final: bool,
    /// What the failure means for retry and incident; left out for a business answer, which is final.
    #[serde(default)]
    #[schema(value_type = Option<CategoryName>)]
    category: Option<String>,
    /// The caller's or the registry's code; the category's where it is left out.
    #[serde(default)]
    #[schema(pattern = "^[A-Z][A-Z0-9_]{0,63}$")]
    code: Option<String>,
    #[serde(default)]
    #[schema(max_length = 100)]
    dependency: Option<String>,
    /// `NOT_APPLIED` (the default) or `UNKNOWN`. What took hold is completed.
    #[serde(default)]
    #[schema(value_type = Option<FailedSideEffectName>)]
    side_effect_status: Option<String>,
    /// What the dependency asked for.
    #[serde(default, deserialize_with = "whole_or_none")]
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    retry_after_seconds: Option<u64>,
    /// What happened, in a sentence; redacted before it is kept.
    #[serde(default)]
    #[schema(max_length = 1024)]
    detail: Option<String>,
    /// What duplicates of a final failure are answered with.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Box<RawValue>>,
    /// With `final` and a category: what must happen besides a decision, such as `DATA_REPAIR` or
    /// `PROCESS_MIGRATION`. The incident shows it.
    #[serde(default)]
    #[schema(value_type = Option<NeedsName>)]
    needs: Option<String>,
}

/// It may or may not have taken hold.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct UnknownBody {
    #[serde(deserialize_with = "whole")]
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    fence: u64,
    attempt_id: Uuid,
    /// `DOWNSTREAM_TIMEOUT` where it is left out.
    #[serde(default)]
    #[schema(value_type = Option<CategoryName>)]
    category: Option<String>,
    #[serde(default)]
    #[schema(pattern = "^[A-Z][A-Z0-9_]{0,63}$")]
    code: Option<String>,
    #[serde(default)]
    #[schema(max_length = 100)]
    dependency: Option<String>,
    #[serde(default)]
    #[schema(max_length = 1024)]
    detail: Option<String>,
}

/// Which grant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GrantBody {
    #[serde(deserialize_with = "whole")]
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    fence: u64,
    attempt_id: Uuid,
}

/// The operation's state now. Answered only after it is durable; the same again is accepted.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperationState {
    operation: String,
    #[schema(value_type = StatusName)]
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<String>,
}

/// The lease after renewing.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RenewedAnswer {
    operation: String,
    lease_until: String,
}

macro_rules! recorded {
    ($(#[$doc:meta])* $name:ident, $path:literal, $body:ty) => {
        $(#[$doc])*
        #[utoipa::path(
            post, path = $path, tag = "ledger", request_body = $body,
            params(("operation" = String, Path, description = "The reference from the claim's answer")),
            responses(
                (status = 200, description = "Durable", body = OperationState),
                (status = "4XX", description = "Refused: the code says why", body = ProblemBody, content_type = "application/problem+json"),
                (status = "5XX", description = "Not known to be recorded: send it again", body = ProblemBody, content_type = "application/problem+json"),
            ),
        )]
        pub(crate) async fn $name(
            State(api): State<Shared>,
            Extension(who): Extension<Identity>,
            Path(operation): Path<String>,
            Body(body): Body<$body>,
        ) -> Result<Json<OperationState>, Problem> {
            need(&who, Permission::Act)?;
            let key = OperationKey::from_reference(who.tenant, &operation)?;
            let kind = key.kind.clone();
            let held = held(&api, key, body.fence, body.attempt_id).await?;
            let attempt_id = attempt(body.attempt_id)?;
            let settled = held.report(body.outcome()?).await?;
            if let Some(took) = api.grants.ended(attempt_id) {
                processed(Source::Api, &kind, took);
            }
            Ok(Json(OperationState {
                operation,
                status: settled.status.as_str(),
                next_attempt_at: settled.next_attempt_at.map(|at| at.to_string()),
            }))
        }
    };
}

recorded! {
    /// It took hold, with this result.
    complete, "/v1/operations/{operation}/complete", CompleteBody
}

recorded! {
    /// It failed: for good, or to be tried again.
    fail, "/v1/operations/{operation}/fail", FailBody
}

recorded! {
    /// It may or may not have taken hold. A timeout after sending is this, not a failure.
    unknown, "/v1/operations/{operation}/unknown", UnknownBody
}

/// Nothing was sent: the operation may be claimed again.
#[utoipa::path(
    post, path = "/v1/operations/{operation}/release", tag = "ledger", request_body = GrantBody,
    params(("operation" = String, Path, description = "The reference from the claim's answer")),
    responses(
        (status = 200, description = "Given back", body = OperationState),
        (status = "4XX", description = "Refused: the code says why", body = ProblemBody, content_type = "application/problem+json"),
        (status = "5XX", description = "Not known to be given back: send it again", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn release(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(operation): Path<String>,
    Body(body): Body<GrantBody>,
) -> Result<Json<OperationState>, Problem> {
    need(&who, Permission::Act)?;
    let key = OperationKey::from_reference(who.tenant, &operation)?;
    held(&api, key, body.fence, body.attempt_id).await?.release().await?;
    Ok(Json(OperationState { operation, status: "RELEASED", next_attempt_at: None }))
}

/// Still at it: lengthens the lease, never past the deadline.
#[utoipa::path(
    post, path = "/v1/operations/{operation}/renew", tag = "ledger", request_body = GrantBody,
    params(("operation" = String, Path, description = "The reference from the claim's answer")),
    responses(
        (status = 200, description = "The lease lasts until then", body = RenewedAnswer),
        (status = "4XX", description = "The attempt is over: stop acting", body = ProblemBody, content_type = "application/problem+json"),
        (status = "5XX", description = "Not known: the deadline still holds", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn renew(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(operation): Path<String>,
    Body(body): Body<GrantBody>,
) -> Result<Json<RenewedAnswer>, Problem> {
    need(&who, Permission::Act)?;
    let key = OperationKey::from_reference(who.tenant, &operation)?;
    let until = held(&api, key, body.fence, body.attempt_id).await?.renew().await?;
    Ok(Json(RenewedAnswer { operation, lease_until: until.to_string() }))
}

pub(super) async fn held(
    api: &Shared,
    key: OperationKey,
    fence: u64,
    attempt_id: Uuid,
) -> Result<LeaseHandle<Database>> {
    tracing::Span::current().record("attempt", fence);
    // Another process on this database may have pinned the kind and given the grant; and a kind that is no longer
    // declared does not keep its attempts from saying what happened.
    match api.app.kind(&key.kind, None).await {
        Err(error) if error.code() != KIND_UNKNOWN => return Err(error),
        Ok(_) | Err(_) => {}
    }
    Ok(api.app.ledger.held(key, fence, attempt(attempt_id)?))
}

impl CompleteBody {
    #[expect(clippy::unnecessary_wraps, reason = "one macro reads three bodies, and two of them can be wrong")]
    fn outcome(self) -> Result<Outcome> {
        let bytes = self.result.map_or_else(|| b"null".to_vec(), |result| result.get().as_bytes().to_vec());
        let evidence = self.evidence.map(Arc::from);
        Ok(Outcome::Completed(Completion { result: StoredResult::json(bytes), evidence }))
    }
}

impl FailBody {
    fn outcome(self) -> Result<Outcome> {
        let side_effect = match self.side_effect_status.as_deref() {
            None => SideEffect::NotApplied,
            Some(text) => SideEffect::parse(text).ok_or_else(|| one_of("sideEffectStatus", text, SideEffect::ALL))?,
        };
        let category = match (self.category.as_deref(), self.is_final) {
            (None, true) => None,
            (None, false) => Some(Category::Unexpected),
            (Some(text), _) => Some(category(text)?),
        };
        let failure = Failure {
            code: code(self.code.as_deref(), category)?,
            category,
            dependency: self.dependency.map(Arc::from),
            side_effect,
            retry_after: self.retry_after_seconds.map(Duration::from_secs),
            detail: self.detail.map(Arc::from),
            result: self.result.map(|result| StoredResult::json(result.get().as_bytes().to_vec())),
            needs: needs(self.needs.as_deref(), self.is_final && category.is_some())?,
        };
        Ok(match (side_effect, self.is_final) {
            // Whatever else it is called, an effect that may have taken hold is not known.
            (SideEffect::Unknown, _) => Outcome::Unknown(failure),
            (SideEffect::Applied, _) => {
                return Err(Error::new(REQUEST_BODY_INVALID, "an effect that took hold did not fail")
                    .hint("send it to /complete, with what is known of it as the result"));
            }
            (SideEffect::NotApplied, true) => Outcome::FailedFinal(failure),
            (SideEffect::NotApplied, false) => Outcome::FailedRetryable(failure),
        })
    }
}

impl UnknownBody {
    fn outcome(self) -> Result<Outcome> {
        let category = self.category.as_deref().map(category).transpose()?.unwrap_or(Category::DownstreamTimeout);
        Ok(Outcome::Unknown(Failure {
            code: code(self.code.as_deref(), Some(category))?,
            category: Some(category),
            dependency: self.dependency.map(Arc::from),
            side_effect: SideEffect::Unknown,
            retry_after: None,
            detail: self.detail.map(Arc::from),
            result: None,
            needs: None,
        }))
    }
}

fn code(text: Option<&str>, category: Option<Category>) -> Result<CodeName> {
    match (text, category) {
        (Some(text), _) => {
            CodeName::parse(text).map_err(|why| Error::new(REQUEST_BODY_INVALID, format!("code: {why}")))
        }
        (None, Some(category)) => Ok(category.code().name()),
        (None, None) => Err(Error::new(REQUEST_BODY_INVALID, "a final answer without a category needs a code")
            .hint("send the business code, such as CREDIT_REFUSED, or a category")),
    }
}

fn category(text: &str) -> Result<Category> {
    Category::parse(text).ok_or_else(|| one_of("category", text, Category::ALL))
}

/// What the attempt says of the repair. Only a final technical failure opens an incident that could show it.
fn needs(text: Option<&str>, opens_incident: bool) -> Result<Option<Needs>> {
    let Some(text) = text else { return Ok(None) };
    let needs = Needs::parse(text).ok_or_else(|| one_of("needs", text, Needs::ALL))?;
    if opens_incident {
        return Ok(Some(needs));
    }
    Err(Error::new(REQUEST_BODY_INVALID, "`needs` belongs to a failure that is final and has a category")
        .hint("send `final: true` and a category, or leave `needs` out"))
}

fn one_of(name: &str, text: &str, known: &[impl ToString]) -> Error {
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    Error::new(
        REQUEST_BODY_INVALID,
        format!("{name}: {:?} is not a known value", text.chars().take(60).collect::<String>()),
    )
    .hint(format!("use one of {}", known.join(", ")))
}
