//! What a person decides about an incident: resolve, retry, ask; one, or many with a dry run.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use onefold_core::error::Problem as Shown;
use onefold_core::error::REQUEST_BODY_INVALID;
use onefold_core::incident::Incident;
use onefold_core::ledger::{Entry, ResolveRequest, Resolved, Status, Verb, resolve as decide};
use onefold_core::operation::KindName;
use onefold_core::port::{IncidentFilter, LedgerRead as _, LedgerWrite as _, Page};
use onefold_core::{Error, Result};
use serde::Serialize;
use utoipa::ToSchema;

use super::incidents::find;
use super::problem_response::{Problem, ProblemBody, shown};
use super::verb_bodies::{ResolveBody, ResolveManyBody, Selection, VerbBody, VerbManyBody};
use super::{Shared, need};
use crate::identity::{Identity, Permission};
use onefold_http::{Body, Path};

/// Incidents that one call settles at most.
const BULK_MAX: usize = 1_000;

/// What became of one.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VerbAnswer {
    incident: String,
    /// The operation that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<String>,
    /// `DONE`, `NEEDS_SECOND_PERSON`, or `REFUSED` among many.
    #[schema(example = "DONE")]
    verb: &'static str,
    /// The operation's state now, or what it would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ProblemBody>)]
    problem: Option<Shown>,
    /// Whether nothing was changed because only a dry run was asked for; among many the answer as a whole says so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// What became of many; each was checked by itself.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BulkAnswer {
    dry_run: bool,
    done: usize,
    refused: usize,
    answers: Vec<VerbAnswer>,
    /// Whether the filter meets more than one call settles.
    more: bool,
}

macro_rules! verb {
    ($(#[$doc:meta])* $one:ident, $one_path:literal, $(#[$bulk_doc:meta])* $many:ident, $many_path:literal,
    $body:ty => $verb:expr, $many_body:ty => $many_verb:expr) => {
        $(#[$doc])*
        #[utoipa::path(
            post, path = $one_path, tag = "incidents", request_body = $body,
            params(("incident" = String, Path, description = "The incident's id")),
            responses(
                (status = 200, description = "Done, or noted until a second person says the same", body = VerbAnswer),
                (status = "4XX", description = "Refused: the code says why", body = ProblemBody, content_type = "application/problem+json"),
                (status = "5XX", description = "Not known to be done: look, then send it again", body = ProblemBody, content_type = "application/problem+json"),
            ),
        )]
        pub(crate) async fn $one(
            State(api): State<Shared>,
            Extension(who): Extension<Identity>,
            Path(incident): Path<String>,
            Body(body): Body<$body>,
        ) -> Result<Json<VerbAnswer>, Problem> {
            need(&who, Permission::Decide)?;
            let read: fn($body) -> Result<(Verb, VerbBody)> = $verb;
            let (verb, seen) = read(body)?;
            Ok(Json(one(&api, &who, &incident, verb, &seen).await?))
        }

        $(#[$bulk_doc])*
        #[utoipa::path(
            post, path = $many_path, tag = "incidents", request_body = $many_body,
            responses(
                (status = 200, description = "What became of each", body = BulkAnswer),
                (status = "4XX", description = "The call is malformed or not allowed", body = ProblemBody, content_type = "application/problem+json"),
                (status = "5XX", description = "Not known to be done: look, then send it again", body = ProblemBody, content_type = "application/problem+json"),
            ),
        )]
        pub(crate) async fn $many(
            State(api): State<Shared>,
            Extension(who): Extension<Identity>,
            Body(body): Body<$many_body>,
        ) -> Result<Json<BulkAnswer>, Problem> {
            need(&who, Permission::Decide)?;
            let read: fn($many_body) -> Result<(Verb, Selection)> = $many_verb;
            let (verb, selection) = read(body)?;
            Ok(Json(many(&api, &who, verb, selection).await?))
        }
    };
}

verb! {
    /// Settles an incident with what was found out.
    resolve, "/v1/incidents/{incident}/resolve",
    /// Settles many incidents with what was found out.
    resolve_many, "/v1/incidents/resolve",
    ResolveBody => ResolveBody::verb, ResolveManyBody => ResolveManyBody::verb
}

verb! {
    /// Lets an operation be attempted again; only where nothing took hold.
    retry, "/v1/incidents/{incident}/retry",
    /// Lets many operations be attempted again.
    retry_many, "/v1/incidents/retry",
    VerbBody => |body| Ok((Verb::Retry, body)), VerbManyBody => |body| Ok((Verb::Retry, body.selection()?))
}

verb! {
    /// Asks the provider now.
    ask, "/v1/incidents/{incident}/ask",
    /// Asks the providers of many operations now.
    ask_many, "/v1/incidents/ask",
    VerbBody => |body| Ok((Verb::AskNow, body)), VerbManyBody => |body| Ok((Verb::AskNow, body.selection()?))
}

async fn one(api: &Shared, who: &Identity, incident: &str, verb: Verb, seen: &VerbBody) -> Result<VerbAnswer> {
    let incident = find(api, &who.tenant, incident).await?;
    let entry = entry_of(api, &incident, &verb).await?;
    let request = request(api, who, &entry, verb, seen)?;
    if seen.dry_run {
        let resolved = decide(Some(&entry), &request, crate::app::now())?.answer;
        return Ok(VerbAnswer { dry_run: true, ..answered(&incident, Some(&entry), Ok(resolved)) });
    }
    let answer = api.app.ledger.store().resolve(vec![request]).await?.pop();
    let resolved =
        answer.unwrap_or_else(|| Err(Error::new(onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED, "no answer")))?;
    if resolved != Resolved::NeedsSecondPerson {
        // Who it was is in the span, by a pseudonym.
        tracing::info!(incident = %incident.id, "incident settled");
    }
    Ok(answered(&incident, Some(&entry), Ok(resolved)))
}

async fn many(api: &Shared, who: &Identity, verb: Verb, selection: Selection) -> Result<BulkAnswer> {
    let Selection { why, filter, dry_run } = selection;
    // Each is decided by its current state.
    let seen = VerbBody { why, fence: None, status: None, dry_run };
    let filter = IncidentFilter {
        tenant: who.tenant.clone(),
        id: None,
        open_only: true,
        subject: None,
        kind: filter.kind.as_deref().map(KindName::parse).transpose()?,
        group: filter.group,
    };
    let listed = api.app.ledger.store().incidents(filter, Page { after: None, limit: BULK_MAX }).await?;
    let mut answers = Vec::with_capacity(listed.items.len());
    for incident in &listed.items {
        if let Err(refused) = incident.subject.sort.check_verb(verb.name()) {
            answers.push(answered(incident, None, Err(refused)));
            continue;
        }
        let entry = entry_of(api, incident, &verb).await?;
        let request = request(api, who, &entry, verb.clone(), &seen)?;
        let resolved = if dry_run {
            decide(Some(&entry), &request, crate::app::now()).map(|decision| decision.answer)
        } else {
            let answer = api.app.ledger.store().resolve(vec![request]).await?.pop();
            answer.unwrap_or_else(|| Err(Error::new(onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED, "no answer")))
        };
        answers.push(answered(incident, Some(&entry), resolved));
    }
    let refused = answers.iter().filter(|answer| answer.problem.is_some()).count();
    let more = listed.next.is_some();
    Ok(BulkAnswer { dry_run, done: answers.len() - refused, refused, answers, more })
}

/// The operation that an incident is about; refused where it is about something that this verb is not for.
async fn entry_of(api: &Shared, incident: &Incident, verb: &Verb) -> Result<Entry> {
    incident.subject.sort.check_verb(verb.name())?;
    let key = incident.operation_key();
    let found = api.app.ledger.store().find(key.into_iter().collect()).await?.pop().flatten();
    found.ok_or_else(|| Error::new(onefold_core::error::OPERATION_NOT_FOUND, "the incident's operation is gone"))
}

fn request(api: &Shared, who: &Identity, entry: &Entry, verb: Verb, seen: &VerbBody) -> Result<ResolveRequest> {
    let status = match seen.status.as_deref() {
        None => entry.status,
        Some(text) => Status::parse(text)
            .ok_or_else(|| Error::new(REQUEST_BODY_INVALID, format!("status: {text:?} is not a status")))?,
    };
    Ok(ResolveRequest {
        key: entry.key.clone(),
        fence: seen.fence.unwrap_or(entry.fence),
        status,
        verb,
        who: Arc::clone(&who.name),
        why: Arc::from(seen.why.as_str()),
        terms: api.app.ledger.terms(&entry.key.kind).ok(),
    })
}

fn answered(incident: &Incident, entry: Option<&Entry>, resolved: Result<Resolved>) -> VerbAnswer {
    let (verb, status, problem) = match resolved {
        Ok(Resolved::Done(status)) => ("DONE", Some(status.as_str()), None),
        Ok(Resolved::NeedsSecondPerson) => ("NEEDS_SECOND_PERSON", entry.map(|entry| entry.status.as_str()), None),
        Err(error) => ("REFUSED", None, Some(shown(error))),
    };
    let (incident, operation) = (incident.id.to_string(), entry.map(|entry| entry.key.reference()));
    VerbAnswer { incident, operation, verb, status, problem, dry_run: false }
}
