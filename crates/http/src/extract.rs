//! Bodies, paths, queries and headers; each mistake is answered with its place.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse as _;
use onefold_core::Error;
use onefold_core::error::{
    MEDIA_TYPE_UNSUPPORTED, REQUEST_BODY_INVALID, REQUEST_HEADER_MISSING, REQUEST_INVALID, REQUEST_TOO_LARGE,
};
use serde::de::DeserializeOwned;

use crate::problem_response::ProblemResponse;

/// How long a body may take to arrive.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// A JSON body.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ProblemResponse;

    async fn from_request(request: Request, state: &S) -> Result<Self, ProblemResponse> {
        let media = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media = media.and_then(|value| value.split(';').next()).map(str::trim);
        if let Some(other) = media.filter(|media| !media.eq_ignore_ascii_case("application/json")) {
            let what = format!("Content-Type: {:?} is not JSON", other.chars().take(60).collect::<String>());
            return Err(Error::new(MEDIA_TYPE_UNSUPPORTED, what).into());
        }
        let arriving = tokio::time::timeout(BODY_WITHIN, Bytes::from_request(request, state));
        let arrived = arriving.await.map_err(|_| {
            let what = format!("the body did not arrive within {} s", BODY_WITHIN.as_secs());
            Error::new(REQUEST_BODY_INVALID, what)
        })?;
        let bytes = arrived.map_err(|rejection| {
            if rejection.into_response().status() == StatusCode::PAYLOAD_TOO_LARGE {
                ProblemResponse::from(Error::new(REQUEST_TOO_LARGE, "the body is larger than this service reads"))
            } else {
                ProblemResponse::from(Error::new(REQUEST_BODY_INVALID, "the body did not arrive whole"))
            }
        })?;
        read(&bytes).map(Self)
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ProblemResponse> {
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
            "leave the field out, or spell it as the description of this call does"
        } else if what.starts_with("recursion limit") {
            "nest less deeply; at most 128 levels are read"
        } else {
            "fix the body as the description of this call says"
        };
        Error::new(REQUEST_BODY_INVALID, what).hint(hint).into()
    })
}

/// The parameters behind the question mark.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemResponse> {
        axum::extract::Query::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Query(query)| Self(query))
            .map_err(|rejection| {
                Error::new(REQUEST_INVALID, rejection.body_text())
                    .hint("see the parameters in the description of this call")
                    .into()
            })
    }
}

/// A part of the path.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemResponse> {
        axum::extract::Path::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Path(path)| Self(path))
            .map_err(|rejection| Error::new(REQUEST_INVALID, rejection.body_text()).into())
    }
}

/// The value of a header that a route needs.
pub fn required_header<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<&'a str, ProblemResponse> {
    match headers.get(name).map(axum::http::HeaderValue::to_str) {
        Some(Ok(value)) if !value.trim().is_empty() => Ok(value.trim()),
        Some(_) => Err(Error::new(REQUEST_INVALID, format!("the header {name} is empty or not plain text")).into()),
        None => Err(Error::new(REQUEST_HEADER_MISSING, format!("the header {name} is missing")).into()),
    }
}
