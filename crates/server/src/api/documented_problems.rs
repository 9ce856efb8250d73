//! Which problems each operation can answer: one table, applied to the description.

use std::collections::BTreeMap;

use onefold_core::error::{self as codes, Code, Problem, ProblemContext};
use serde_json::json;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Response, ResponseBuilder};

/// The extension of an operation that lists its codes.
const CODES: &str = "x-onefold-codes";

/// Before any handler: the gate, and defects of ours.
const EVERY: &[Code] = &[codes::REQUEST_ORIGIN_REFUSED, codes::REQUEST_TOO_LARGE, codes::INTERNAL_ERROR];
/// Tokens are kept in the database, so every check of one asks the database.
const TOKEN: &[Code] = &[codes::AUTHENTICATION_REQUIRED];
const STORE: &[Code] = &[
    codes::DATABASE_UNAVAILABLE,
    codes::DATABASE_BUSY,
    codes::DATABASE_FULL,
    codes::DATABASE_READ_ONLY,
    codes::DATABASE_CORRUPT,
    codes::LEDGER_WENT_BACK,
    codes::RUN_AGAIN,
    codes::SHUTTING_DOWN,
    codes::PROGRAMMING_INVARIANT_VIOLATED,
    codes::UNEXPECTED,
];
/// More than looking.
const ROLE: &[Code] = &[codes::AUTHORIZATION_DENIED];
const BODY: &[Code] = &[codes::REQUEST_BODY_INVALID, codes::MEDIA_TYPE_UNSUPPORTED];
const PARAMETERS: &[Code] = &[codes::REQUEST_INVALID];
const NAMES: &[Code] = &[codes::OPERATION_ID_INVALID, codes::LIMIT_EXCEEDED];
/// A kind that cannot be one.
const KIND: &[Code] = &[codes::DECLARATION_INVALID];
const OPERATION: &[Code] = &[codes::OPERATION_NOT_FOUND];
const INCIDENT: &[Code] = &[codes::INCIDENT_NOT_FOUND];
const CLAIM: &[Code] = &[
    codes::KIND_UNKNOWN,
    codes::KIND_MISMATCH,
    codes::DECLARATION_INVALID,
    codes::POLICY_NOT_ALLOWED,
    codes::FINGERPRINT_INVALID,
    codes::FINGERPRINT_KEY_MISSING,
    codes::RESULT_DAMAGED,
];
/// What the kind calls lets no call begin now.
const DEPENDENCY: &[Code] = &[codes::BREAKER_OPEN, codes::BULKHEAD_FULL, codes::RATE_EXCEEDED];
const LEASE: &[Code] = &[
    codes::KIND_UNKNOWN,
    codes::LEASE_NEVER_GRANTED,
    codes::LEASE_NOT_YOURS,
    codes::LEASE_SUPERSEDED,
    codes::LEASE_ENDED,
];
const OUTCOME: &[Code] = &[codes::OUTCOME_CONFLICT, codes::OUTCOME_NOT_RECORDED];
const EVIDENCE: &[Code] = &[codes::EVIDENCE_REQUIRED];
const DECISION: &[Code] = &[codes::RESOLUTION_REFUSED];
const REASON: &[Code] = &[codes::LIMIT_EXCEEDED];
const EVENT: &[Code] = &[codes::EVENT_NOT_FOUND];
const EVENT_SHAPE: &[Code] = &[codes::EVENT_TOO_LARGE, codes::EVENT_HEADER_INVALID, codes::VALIDATION_REJECTED];
const EVENT_CONTRACT: &[Code] =
    &[codes::EVENT_TYPE_UNKNOWN, codes::EVENT_VERSION_UNSUPPORTED, codes::EVENT_CONTRACT_INVALID];
const EVENT_ID: &[Code] = &[codes::EVENT_ID_REUSED];
const EVENT_STATE: &[Code] = &[codes::EVENT_MOVED_ON, codes::EVENT_IN_FLIGHT];
const RELAY: &[Code] = &[codes::RELAY_NOT_FOUND];
const REPLAY: &[Code] = &[codes::REPLAY_NOT_FOUND];
const REPLAY_BOUNDS: &[Code] = &[codes::REPLAY_UNBOUNDED, codes::VALIDATION_REJECTED];
const REPLAY_STATE: &[Code] = &[codes::REPLAY_ENDED];
const COMMIT: &[Code] = &[codes::COMMIT_UNKNOWN];
const PAGE: &[Code] = &[codes::ROUTE_NOT_FOUND];
const DAMAGED: &[Code] = &[codes::RESULT_DAMAGED];
const RETENTION: &[Code] = &[codes::STORE_UNAVAILABLE, codes::CLOCK_NOT_CONFIRMED];

/// What an operation can answer, beside [`EVERY`]. A batch answers the problems of its members inside its answer.
fn groups(operation: &str) -> &'static [&'static [Code]] {
    match operation {
        "ready" => &[STORE],
        "metrics" | "groups" | "list_relays" => &[TOKEN, STORE],
        "error_page" | "runbook" => &[PARAMETERS, PAGE],
        "claim" => &[TOKEN, STORE, ROLE, BODY, NAMES, CLAIM, DEPENDENCY],
        "claim_many" => &[TOKEN, STORE, ROLE, BODY, NAMES],
        "complete" => &[TOKEN, STORE, ROLE, BODY, PARAMETERS, NAMES, OPERATION, LEASE, OUTCOME, EVIDENCE],
        "fail" | "unknown" => &[TOKEN, STORE, ROLE, BODY, PARAMETERS, NAMES, OPERATION, LEASE, OUTCOME],
        "release" | "renew" => &[TOKEN, STORE, ROLE, BODY, PARAMETERS, NAMES, OPERATION, LEASE],
        "list_operations" => &[TOKEN, STORE, PARAMETERS, NAMES, KIND],
        "list_incidents" | "list_parked_events" | "list_replays" => &[TOKEN, STORE, PARAMETERS, KIND],
        "get_operation" | "timeline" => &[TOKEN, STORE, PARAMETERS, OPERATION],
        "result" => &[TOKEN, STORE, ROLE, PARAMETERS, OPERATION, DAMAGED],
        "get_incident" => &[TOKEN, STORE, PARAMETERS, INCIDENT],
        "resolve" => &[TOKEN, STORE, ROLE, BODY, PARAMETERS, NAMES, INCIDENT, OPERATION, DECISION, EVIDENCE, COMMIT],
        "retry" | "ask" => &[TOKEN, STORE, ROLE, BODY, PARAMETERS, NAMES, INCIDENT, OPERATION, DECISION, COMMIT],
        "resolve_many" | "retry_many" | "ask_many" => &[TOKEN, STORE, ROLE, BODY, NAMES, KIND, OPERATION, COMMIT],
        "stage_event" => &[TOKEN, STORE, ROLE, BODY, EVENT_SHAPE, EVENT_CONTRACT, EVENT_ID, COMMIT],
        "get_event" => &[TOKEN, STORE, PARAMETERS, EVENT],
        "release_event" | "skip_event" => &[TOKEN, STORE, ROLE, BODY, PARAMETERS, REASON, EVENT, EVENT_STATE, COMMIT],
        "edit_event" => {
            &[TOKEN, STORE, ROLE, BODY, PARAMETERS, REASON, EVENT, EVENT_STATE, EVENT_SHAPE, EVENT_CONTRACT, COMMIT]
        }
        "start_relay" | "retire_relay" | "rebase_relay" => {
            &[TOKEN, STORE, ROLE, BODY, PARAMETERS, REASON, RELAY, COMMIT]
        }
        "replay_events" => &[TOKEN, STORE, ROLE, BODY, PARAMETERS, REASON, RELAY, REPLAY_BOUNDS, COMMIT],
        "get_replay" => &[TOKEN, STORE, PARAMETERS, REPLAY],
        "cancel_replay" => &[TOKEN, STORE, ROLE, BODY, PARAMETERS, REASON, REPLAY, REPLAY_STATE, COMMIT],
        "prune" => &[TOKEN, STORE, ROLE, BODY, RETENTION],
        // `health` asks nobody.
        _ => &[],
    }
}

/// Replaces the ranges that routes describe by the statuses and codes that they answer.
pub(super) fn describe(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        for operation in operations(item) {
            describe_one(operation);
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.post].into_iter().filter_map(Option::as_mut)
}

fn describe_one(operation: &mut Operation) {
    let id = operation.operation_id.clone().unwrap_or_default();
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in groups(&id).iter().flat_map(|group| group.iter()).chain(EVERY) {
        by_status.entry(code.descriptor().status).or_default().push(*code);
    }
    let listed: Vec<&str> = by_status.values().flatten().map(|code| code.as_str()).collect();
    operation.extensions.get_or_insert_default().merge(ExtensionsBuilder::new().add(CODES, json!(listed)).build());
    let responses = &mut operation.responses.responses;
    let ranges = ["4XX", "5XX"].map(|range| (range, responses.remove(range)));
    for (status, codes) in by_status {
        let said = ranges.iter().find(|(range, _)| status.to_string().starts_with(&range[..1]));
        let said = match said {
            Some((_, Some(RefOr::T(response)))) => response.description.as_str(),
            _ => "Refused: the code says why",
        };
        responses.insert(status.to_string(), RefOr::T(response(said, &codes)));
    }
}

fn response(said: &str, codes: &[Code]) -> Response {
    let names: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    let mut content = Content::new(Some(Ref::from_schema_name("Problem")));
    content.example = codes.first().map(|code| {
        let error = onefold_core::Error::new(*code, code.descriptor().guide.summary);
        json!(Problem::of(&error, &ProblemContext { had_key: true, ..ProblemContext::default() }))
    });
    ResponseBuilder::new()
        .description(format!("{said} ({})", names.join(", ")))
        .content("application/problem+json", content)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_in_the_table() {
        let mut document = super::super::openapi::document();
        for item in document.paths.paths.values_mut() {
            for operation in operations(item) {
                let id = operation.operation_id.clone().unwrap();
                assert!(id == "health" || !groups(&id).is_empty(), "{id}");
                assert!(!operation.responses.responses.keys().any(|status| status.ends_with("XX")), "{id}");
            }
        }
    }
}
