//! Bodies, paths and queries; each mistake is answered with its place.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse as _;
use onefold_core::Error;
use onefold_core::error::{MEDIA_TYPE_UNSUPPORTED, REQUEST_BODY_INVALID, REQUEST_INVALID, REQUEST_TOO_LARGE};
use serde::de::DeserializeOwned;

use super::problem::Problem;

/// How long a body may take to arrive.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let media = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media = media.and_then(|value| value.split(';').next()).map(str::trim);
        if let Some(other) = media.filter(|media| !media.eq_ignore_ascii_case("application/json")) {
            let what = format!("this is {:?}", other.chars().take(60).collect::<String>());
            return Err(Error::new(MEDIA_TYPE_UNSUPPORTED, what).into());
        }
        let arriving = tokio::time::timeout(BODY_WITHIN, Bytes::from_request(request, state));
        let arrived = arriving.await.map_err(|_| {
            let what = format!("the body did not arrive within {} s", BODY_WITHIN.as_secs());
            Error::new(REQUEST_BODY_INVALID, what)
        })?;
        let bytes = arrived.map_err(|rejection| {
            if rejection.into_response().status() == StatusCode::PAYLOAD_TOO_LARGE {
                Problem::from(Error::new(REQUEST_TOO_LARGE, "the body is larger than `body_bytes_max`"))
            } else {
                Problem::from(Error::new(REQUEST_BODY_INVALID, "the body did not arrive whole"))
            }
        })?;
        read(&bytes).map(Self)
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // Nothing at all is an object without fields: verbs need not send `{}`.
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    // A list would be read as an object whose names were left out, and an empty one as an order to prune.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        let error = Error::new(REQUEST_BODY_INVALID, "the body is a list").hint("send a JSON object");
        return Err(error.into());
    }
    serde_json::from_slice(bytes).map_err(|cause| {
        let what = cause.to_string();
        let hint = if what.starts_with("unknown field") {
            "leave the field out, or spell it as /openapi.json does"
        } else if what.starts_with("recursion limit") {
            "nest less deeply; at most 128 levels are read"
        } else {
            "mend the body; /openapi.json describes it"
        };
        Error::new(REQUEST_BODY_INVALID, what).hint(hint).into()
    })
}

/// The parameters behind the question mark.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        axum::extract::Query::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Query(query)| Self(query))
            .map_err(|rejection| {
                Error::new(REQUEST_INVALID, rejection.body_text()).hint("see the parameters in /openapi.json").into()
            })
    }
}

/// A part of the path.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        axum::extract::Path::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Path(path)| Self(path))
            .map_err(|rejection| Error::new(REQUEST_INVALID, rejection.body_text()).into())
    }
}
