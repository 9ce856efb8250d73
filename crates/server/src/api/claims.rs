//! May I perform? One claim, or many in one call.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use onefold_config::{JsonDeclaration, KindDeclaration};
use onefold_core::error::Problem as Shown;
use onefold_core::error::{
    FINGERPRINT_INVALID, LIMIT_EXCEEDED, OPERATION_CONFLICT, OPERATION_ID_INVALID, REQUEST_BODY_INVALID,
};
use onefold_core::incident::redact_name;
use onefold_core::ledger::{AttemptId, Claim, Origin, Source};
use onefold_core::operation::{KindName, OperationId, OperationKey};
use onefold_core::time::parse_duration;
use onefold_core::{Error, Result, Timestamp};
use onefold_runtime::RemoteClaim;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use super::fields::objects;
use super::names::SourceName;
use super::problem_response::{Problem, ProblemBody, shown};
use super::shapes::OutcomeView;
use super::undelivered::told_if_undelivered;
use super::{Shared, need};
use crate::identity::{Identity, Permission};
use onefold_http::Body;
use onefold_http::Correlation;

/// Claims one call may bring.
const BATCH_MAX: usize = 256;

/// Someone asks to perform.
///
/// `attemptId` is a random UUID, made in memory right before this call: never stored, derived or used
/// again after a restart. **The same id again is permission to act again**: that is how an answer that
/// was lost on its way is asked for once more.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ClaimBody {
    /// What sort of operation it is.
    #[schema(example = "notice.issue-formal", pattern = "^[A-Za-z0-9._/-]{1,100}$")]
    kind: String,
    /// The operation, from business identity: the same for every attempt.
    #[schema(
        example = "CASE-2026-000091:ISSUE_FORMAL_NOTICE:BREACH",
        min_length = 1,
        max_length = 255,
        pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$"
    )]
    id: String,
    /// Random, made right before this call.
    attempt_id: Uuid,
    /// What is to be performed; compared with what the id was used for before. This or `requestDigest`.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    request: Option<Box<RawValue>>,
    /// The caller's own digest of what is to be performed.
    #[serde(default)]
    #[schema(
        example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        min_length = 8,
        max_length = 256
    )]
    request_digest: Option<String>,
    /// What sort of effect the kind has; needed with the first claim of a kind that no configuration declares.
    #[serde(default)]
    #[schema(value_type = Option<KindDeclaration>)]
    declare: Option<JsonDeclaration>,
    /// How long this attempt may take, where that differs from the kind's deadline.
    #[serde(default)]
    #[schema(example = "5m", pattern = "^[1-9][0-9]{0,8}(ms|s|m|h|d)$")]
    deadline: Option<String>,
    /// Where the attempt runs, for people; the credential's name where it is left out.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$")]
    worker: Option<String>,
    /// How it came in: `http`, `job`, `message`, `cli` or `api`, which is the default.
    #[serde(default)]
    #[schema(value_type = Option<SourceName>)]
    source: Option<String>,
    #[serde(default)]
    #[schema(max_length = 255)]
    business_key: Option<String>,
    #[serde(default)]
    #[schema(max_length = 255)]
    correlation_id: Option<String>,
    #[serde(default)]
    #[schema(max_length = 255)]
    process_id: Option<String>,
    #[serde(default)]
    #[schema(max_length = 255)]
    definition_key: Option<String>,
    #[serde(default)]
    #[schema(max_length = 255)]
    definition_version: Option<String>,
    #[serde(default)]
    #[schema(max_length = 255)]
    process_instance_key: Option<String>,
    #[serde(default)]
    #[schema(max_length = 255)]
    element_id: Option<String>,
    #[serde(default)]
    #[schema(max_length = 255)]
    job_key: Option<String>,
}

/// Many claims. Each is checked and answered by itself: a claim whose values break a limit gets a problem in its place
/// of the answers, and the others are not affected. Only a body of another shape refuses them all.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimsBody {
    /// At most 256.
    #[serde(deserialize_with = "objects")]
    #[schema(max_items = 256)]
    claims: Vec<ClaimBody>,
}

/// The answers, in order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClaimsAnswer {
    answers: Vec<OneAnswer>,
}

/// An answer, or why there is none.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum OneAnswer {
    Claim(ClaimAnswer),
    Problem {
        #[schema(value_type = ProblemBody)]
        problem: Shown,
    },
}

impl OneAnswer {
    fn grant(&self, attempt_id: Uuid) -> Option<GrantRef> {
        match self {
            Self::Claim(answer) => granted(answer, attempt_id),
            Self::Problem { .. } => None,
        }
    }
}

/// The answer to a claim.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "claim", rename_all = "camelCase")]
pub(crate) enum ClaimAnswer {
    /// Act, until the deadline.
    #[serde(rename_all = "camelCase")]
    Granted {
        operation: String,
        fence: u64,
        /// Which attempt it is, 1 for the first.
        attempt: u32,
        deadline: String,
        /// The deadline for a clock of one's own: measure it from before the claim was sent.
        deadline_in_seconds: f64,
        /// Until when silence is believed to be work; renew before then.
        lease_until: String,
        /// The key to send to the provider, the same for every attempt.
        provider_key: String,
        /// What is known of earlier attempts.
        earlier: &'static str,
    },
    /// It was done; here is what was recorded.
    Replay { operation: String, outcome: OutcomeView },
    /// Someone else holds a live lease.
    #[serde(rename_all = "camelCase")]
    InFlight { operation: String, retry_after_seconds: u64 },
    /// The same id was used for another request.
    Conflict { operation: String, code: &'static str },
    /// It is unknown whether it took hold; do not act.
    #[serde(rename_all = "camelCase")]
    Unknown {
        operation: String,
        since: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        next_ask: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        incident: Option<String>,
    },
    /// Backoff.
    #[serde(rename_all = "camelCase")]
    Waiting { operation: String, until: String, retry_after_seconds: u64 },
}

/// Claims an operation: the answer says whether to act.
#[utoipa::path(
    post, path = "/v1/claims", tag = "ledger", request_body = ClaimBody,
    responses(
        (status = 200, description = "One of six answers", body = ClaimAnswer),
        (status = "4XX", description = "The claim is malformed or not allowed", body = ProblemBody, content_type = "application/problem+json"),
        (status = "5XX", description = "Nothing was granted", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn claim(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Extension(correlation): Extension<Correlation>,
    Body(body): Body<ClaimBody>,
) -> Result<Response, Problem> {
    need(&who, Permission::Act)?;
    let attempt_id = body.attempt_id;
    say_what(&body);
    let answer = claim_one(&api, &who, &correlation, body).await?;
    let granted = granted(&answer, attempt_id);
    let response = Json(answer).into_response();
    Ok(match granted {
        None => response,
        Some(grant) => told_if_undelivered(response, move || undelivered(api, who, vec![grant])),
    })
}

/// Log lines name the operation, once it is known to be one: whatever else was sent stays out of them.
fn say_what(body: &ClaimBody) {
    let span = tracing::Span::current();
    if span.is_disabled() {
        return;
    }
    let Ok(id) = OperationId::parse(&body.id) else { return };
    span.record("operation_id", id.as_str());
    let texts = [
        ("business_key", &body.business_key),
        ("process_instance_key", &body.process_instance_key),
        ("element_id", &body.element_id),
    ];
    for (field, text) in texts {
        if let Some(text) = text.as_deref().filter(|text| text.len() <= Origin::BYTES_MAX) {
            span.record(field, redact_name(text));
        }
    }
}

/// What a grant is known by: the operation's reference, its fence and its attempt.
type GrantRef = (String, u64, Uuid);

fn granted(answer: &ClaimAnswer, attempt_id: Uuid) -> Option<GrantRef> {
    match answer {
        ClaimAnswer::Granted { operation, fence, .. } => Some((operation.clone(), *fence, attempt_id)),
        ClaimAnswer::Replay { .. }
        | ClaimAnswer::InFlight { .. }
        | ClaimAnswer::Conflict { .. }
        | ClaimAnswer::Unknown { .. }
        | ClaimAnswer::Waiting { .. } => None,
    }
}

/// Says that an answer with these grants was never handed over; the rule decides which of them go back.
fn undelivered(api: Shared, who: Identity, grants: Vec<GrantRef>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    runtime.spawn(async move {
        for (operation, fence, attempt_id) in grants {
            // What does not go back is left to its lease.
            if let Ok(key) = OperationKey::from_reference(who.tenant.clone(), &operation)
                && let Ok(held) = super::records::held(&api, key, fence, attempt_id).await
            {
                let _ = held.undelivered().await;
            }
        }
    });
}

/// Claims many operations; one commit serves them all.
#[utoipa::path(
    post, path = "/v1/claims/batch", tag = "ledger", request_body = ClaimsBody,
    responses(
        (status = 200, description = "An answer or a problem for each claim, in order", body = ClaimsAnswer),
        (status = "4XX", description = "The batch is malformed or not allowed", body = ProblemBody, content_type = "application/problem+json"),
        (status = "5XX", description = "Nothing was granted", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn claim_many(
    State(api): State<Shared>,
    Extension(who): Extension<Identity>,
    Extension(correlation): Extension<Correlation>,
    Body(body): Body<ClaimsBody>,
) -> Result<Response, Problem> {
    need(&who, Permission::Act)?;
    if body.claims.len() > BATCH_MAX {
        let what = format!("the batch has {} claims, more than {BATCH_MAX}", body.claims.len());
        return Err(Error::new(LIMIT_EXCEEDED, what).hint("send several batches").into());
    }
    let attempts: Vec<Uuid> = body.claims.iter().map(|claim| claim.attempt_id).collect();
    let mut asking = tokio::task::JoinSet::new();
    for (index, claim) in body.claims.into_iter().enumerate() {
        let (api, who, correlation) = (Arc::clone(&api), who.clone(), correlation.clone());
        asking.spawn(async move { (index, claim_one(&api, &who, &correlation, claim).await) });
    }
    let mut answers: Vec<(usize, OneAnswer)> = Vec::with_capacity(asking.len());
    while let Some(joined) = asking.join_next().await {
        let (index, answer) = joined.map_err(|cause| {
            Error::new(onefold_core::error::UNEXPECTED, "a claim of the batch was cut short").caused_by(cause)
        })?;
        answers.push((
            index,
            match answer {
                Ok(answer) => OneAnswer::Claim(answer),
                Err(error) => OneAnswer::Problem { problem: shown(error) },
            },
        ));
    }
    answers.sort_by_key(|(index, _)| *index);
    let answers: Vec<OneAnswer> = answers.into_iter().map(|(_, answer)| answer).collect();
    let grants: Vec<GrantRef> =
        answers.iter().zip(attempts).filter_map(|(answer, attempt_id)| answer.grant(attempt_id)).collect();
    let response = Json(ClaimsAnswer { answers }).into_response();
    Ok(told_if_undelivered(response, move || undelivered(api, who, grants)))
}

async fn claim_one(api: &Shared, who: &Identity, correlation: &Correlation, body: ClaimBody) -> Result<ClaimAnswer> {
    let kind = KindName::parse(&body.kind)?;
    let id = OperationId::parse(&body.id)?;
    let key = OperationKey::new(who.tenant.clone(), kind.clone(), id.clone());
    let claim = RemoteClaim {
        tenant: who.tenant.clone(),
        id,
        request: subject(&body)?,
        attempt_id: attempt(body.attempt_id)?,
        origin: origin(&body, correlation)?,
        worker: worker(&body, who)?,
        deadline_for: body.deadline.as_deref().map(deadline).transpose()?,
    };
    let declared = body.declare.as_ref().map(JsonDeclaration::kind).transpose()?;
    let terms = api.app.kind(&kind, declared.as_ref()).await?;
    let answer = api.app.ledger.claim(&terms, claim).await?;
    if let Claim::Granted(lease) = &answer {
        tracing::Span::current().record("attempt", lease.fence);
        api.grants.began(lease);
    }
    Ok(answered(&key.reference(), answer, crate::app::now()))
}

fn answered(operation: &str, claim: Claim, now: Timestamp) -> ClaimAnswer {
    let operation = operation.to_owned();
    match claim {
        Claim::Granted(lease) => ClaimAnswer::Granted {
            operation,
            fence: lease.fence,
            attempt: lease.attempt,
            deadline: lease.deadline.to_string(),
            deadline_in_seconds: lease.deadline_in.as_secs_f64(),
            lease_until: lease.lease_until.to_string(),
            provider_key: lease.provider_key.to_string(),
            earlier: lease.earlier.as_str(),
        },
        Claim::Replay(replay) => ClaimAnswer::Replay { operation, outcome: replay.into() },
        Claim::InFlight { retry_after } => ClaimAnswer::InFlight { operation, retry_after_seconds: whole(retry_after) },
        Claim::Conflict => ClaimAnswer::Conflict { operation, code: OPERATION_CONFLICT.as_str() },
        Claim::Unknown { since, next_ask, incident } => ClaimAnswer::Unknown {
            operation,
            since: since.to_string(),
            next_ask: next_ask.map(|at| at.to_string()),
            incident: incident.map(|id| id.to_string()),
        },
        Claim::Waiting { until } => {
            ClaimAnswer::Waiting { operation, until: until.to_string(), retry_after_seconds: whole(until.since(now)) }
        }
    }
}

/// Whole seconds, never too few.
fn whole(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// What is fingerprinted: the request itself, or the caller's digest of it.
fn subject(body: &ClaimBody) -> Result<Vec<u8>> {
    match (&body.request, &body.request_digest) {
        (Some(request), None) => Ok(request.get().as_bytes().to_vec()),
        (None, Some(digest)) if (8..=256).contains(&digest.len()) => {
            Ok(serde_json::json!({ "requestDigest": digest }).to_string().into_bytes())
        }
        (None, Some(_)) => Err(Error::new(FINGERPRINT_INVALID, "requestDigest must have 8 to 256 characters")
            .hint("send a SHA-256 in hexadecimal")),
        (Some(_), Some(_)) => {
            Err(Error::new(REQUEST_BODY_INVALID, "request and requestDigest are both given").hint("send one of them"))
        }
        (None, None) => Err(Error::new(REQUEST_BODY_INVALID, "neither request nor requestDigest is given")
            .hint("send what is to be performed, so that one id for two requests is noticed")),
    }
}

/// A caller's attempt id. The nil UUID is what a forgotten one looks like.
pub(crate) fn attempt(id: Uuid) -> Result<AttemptId> {
    if id.is_nil() || id.is_max() {
        return Err(Error::new(OPERATION_ID_INVALID, "the attempt id is not random")
            .hint("make a new random UUID in memory right before each claim"));
    }
    Ok(AttemptId::from_uuid(id))
}

fn deadline(text: &str) -> Result<Duration> {
    parse_duration(text).filter(|wait| !wait.is_zero()).ok_or_else(|| {
        Error::new(REQUEST_BODY_INVALID, format!("deadline: {text:?} is not a duration"))
            .hint("write \"10s\" or \"5m\"")
    })
}

fn worker(body: &ClaimBody, who: &Identity) -> Result<Arc<str>> {
    match &body.worker {
        None => Ok(Arc::clone(&who.name)),
        Some(worker) if (1..=200).contains(&worker.len()) && !worker.contains(char::is_control) => {
            Ok(Arc::from(worker.as_str()))
        }
        Some(_) => Err(Error::new(LIMIT_EXCEEDED, "worker must have 1 to 200 bytes and no control characters")),
    }
}

fn origin(body: &ClaimBody, correlation: &Correlation) -> Result<Origin> {
    let text = |text: &Option<String>| text.as_deref().map(Arc::from);
    let source = match body.source.as_deref() {
        None => Source::Api,
        Some(text) => Source::parse(text).ok_or_else(|| {
            Error::new(REQUEST_BODY_INVALID, "there is no such source").hint("use http, job, message, api or cli")
        })?,
    };
    Ok(Origin {
        source,
        business_key: text(&body.business_key),
        correlation_id: text(&body.correlation_id).or_else(|| Some(Arc::from(correlation.id()))),
        process_id: text(&body.process_id),
        definition_key: text(&body.definition_key),
        definition_version: text(&body.definition_version),
        process_instance_key: text(&body.process_instance_key),
        element_id: text(&body.element_id),
        job_key: text(&body.job_key),
    })
}
