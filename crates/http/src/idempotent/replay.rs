//! The rows "completed" and "failed final": the stored answer again.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use onefold_core::Error;
use onefold_core::error::{ALL, CodeName, DOWNSTREAM_REJECTED};
use onefold_core::ledger::{Replay, Status, StoredResult};
use onefold_core::operation::OperationKey;
use onefold_core::port::Store;

use super::guard::Inner;
use super::refusal::{IDEMPOTENT_REPLAYED, Refusal, set_expires};
use super::stored::{StoredAnswer, status_of};
use crate::caller::Caller;

/// What was recorded, as an answer.
pub(super) fn replay<S: Store>(
    inner: &Inner<S>,
    key: &OperationKey,
    caller: &Caller,
    replay: &Replay,
) -> Result<Response, Refusal> {
    let mut response = answer(inner, key, caller, replay)?;
    let headers = response.headers_mut();
    headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    if let Some(kept) = inner.terms.retention.id_for {
        set_expires(headers, replay.completed_at.plus(kept));
    }
    if let (Some(status), true) = (inner.settings.replay_status, response.status().is_success()) {
        *response.status_mut() = status;
    }
    Ok(response)
}

fn answer<S: Store>(
    inner: &Inner<S>,
    key: &OperationKey,
    caller: &Caller,
    replay: &Replay,
) -> Result<Response, Refusal> {
    let original = original_status(replay.result.as_ref());
    let completed = replay.status == Status::Completed;
    if *caller == Caller::Anonymous && !inner.settings.declared.anonymous_replay {
        let what = "its answer is not shown to anonymous callers";
        return Err(Refusal::unavailable(key, completed, original, what));
    }
    match (&replay.result, replay.status) {
        (Some(StoredResult::Kept { content_type, bytes }), _) => {
            Ok(match StoredAnswer::from_result(content_type, bytes) {
                Some(answer) => answer.to_response(),
                // A person or the provider said what came of it.
                None => told(content_type, bytes),
            })
        }
        (None, Status::FailedFinal) => Err(Refusal::from(failed(replay.error_code.as_ref()))),
        (Some(StoredResult::Digest { .. } | StoredResult::Damaged { .. }) | None, _) => {
            Err(Refusal::unavailable(key, completed, original, "its answer is no longer, or was never, kept"))
        }
    }
}

fn original_status(result: Option<&StoredResult>) -> Option<StatusCode> {
    match result? {
        StoredResult::Kept { content_type, .. } | StoredResult::Damaged { content_type, .. } => status_of(content_type),
        StoredResult::Digest { content_type, .. } => status_of(content_type.as_deref()?),
    }
}

fn told(content_type: &str, bytes: &[u8]) -> Response {
    let mut response = Response::new(Body::from(bytes.to_vec()));
    if let Ok(value) = HeaderValue::from_str(content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    response
}

fn failed(code: Option<&CodeName>) -> Error {
    let known = code.and_then(|code| ALL.iter().copied().find(|known| *code == *known));
    Error::new(known.unwrap_or(DOWNSTREAM_REJECTED), "an earlier request with this key failed for good")
}
