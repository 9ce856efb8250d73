//! The caller is who another service says: it is asked on every request, so what it revokes ends at once.

use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri, header};
use axum::response::Response;
use onefold_config::AuthDeclaration;
use onefold_core::error::{DECLARATION_INVALID, DOWNSTREAM_UNAVAILABLE};
use onefold_core::operation::Tenant;
use onefold_core::port::BoxFuture;
use onefold_core::{Error, Result};

use crate::{hop_by_hop, problem};
use onefold_http::client::{Connect, HttpClient};
use onefold_http::idempotent::header_name;
use onefold_http::{Caller, Identify};

/// What of a request the service is shown.
const SHOWN: [HeaderName; 2] = [header::AUTHORIZATION, header::COOKIE];

/// Asks a service who calls.
pub struct Auth {
    web: HttpClient<Body>,
    url: Uri,
    subject_header: HeaderName,
    tenant_header: Option<HeaderName>,
    within: Duration,
}

impl Auth {
    /// Asks as this declaration says; a success names the caller.
    pub fn new(declared: &AuthDeclaration, connect: &Connect) -> Result<Self> {
        let read = declared.url.parse::<Uri>().ok().filter(|uri| uri.host().is_some());
        let http = read.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
        let url = http.ok_or_else(|| {
            Error::new(DECLARATION_INVALID, format!("{:?} is not an http address", declared.url))
                .hint("write \"http://auth.internal/check\"")
        })?;
        let tenant_header = declared.tenant_header.as_deref();
        Ok(Self {
            web: connect.client()?,
            url,
            subject_header: header_name("subject_header", &declared.subject_header)?,
            tenant_header: tenant_header.map(|name| header_name("tenant_header", name)).transpose()?,
            within: declared.timeout,
        })
    }

    async fn ask(&self, parts: &Parts) -> Result<Caller, Response> {
        let question =
            self.question(parts).ok_or_else(|| unavailable("the request cannot be shown to the auth service"))?;
        let answer = match tokio::time::timeout(self.within, self.web.request(question)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => return Err(unavailable("the auth service cannot be reached")),
            Err(_) => return Err(unavailable("the auth service did not answer in time")),
        };
        match answer.status() {
            status if status.is_success() => self.known(answer.headers()).map_err(unavailable),
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Err(refusal(status, answer.headers())),
            _ => Err(unavailable("the auth service gave an answer that is neither a yes nor a no")),
        }
    }

    fn question(&self, parts: &Parts) -> Option<Request<Body>> {
        let mut question = Request::get(self.url.clone()).body(Body::empty()).ok()?;
        let headers = question.headers_mut();
        for name in SHOWN {
            for value in parts.headers.get_all(&name) {
                headers.append(&name, value.clone());
            }
        }
        hop_by_hop::join_cookies(headers);
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        headers.insert("x-forwarded-method", HeaderValue::from_str(parts.method.as_str()).ok()?);
        headers.insert("x-forwarded-uri", HeaderValue::from_str(path).ok()?);
        Some(question)
    }

    /// Whom a yes names; or why it cannot be used.
    fn known(&self, headers: &HeaderMap) -> Result<Caller, &'static str> {
        let subject =
            one(headers, &self.subject_header).ok_or("the auth service accepted the request but named no caller")?;
        let tenant = match self.tenant_header.as_ref().map(|name| one(headers, name)) {
            None => None,
            Some(named) => Some(
                named
                    .and_then(|named| Tenant::parse(named).ok())
                    .ok_or("the auth service named no tenant that can be used")?,
            ),
        };
        Ok(Caller::Known { subject: subject.into(), tenant })
    }
}

impl Identify for Auth {
    fn identify<'a>(&'a self, parts: &'a mut Parts) -> BoxFuture<'a, Result<Caller, Box<Response>>> {
        Box::pin(async move {
            // A client names neither itself nor its tenant to the upstream.
            parts.headers.remove(&self.subject_header);
            if let Some(name) = &self.tenant_header {
                parts.headers.remove(name);
            }
            self.ask(parts).await.map_err(Box::new)
        })
    }
}

/// A header that is there once and says something.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).into_iter();
    let first = values.next()?.to_str().ok()?.trim();
    (values.next().is_none() && !first.is_empty() && first.len() <= 255).then_some(first)
}

/// The service's own no, with how to do better.
fn refusal(status: StatusCode, headers: &HeaderMap) -> Response {
    let mut response = super::refused("the auth service refused the credential");
    if status == StatusCode::FORBIDDEN {
        let what = "the auth service refused the caller";
        response = problem(Error::new(onefold_core::error::AUTHORIZATION_DENIED, what));
    }
    response.headers_mut().remove(header::WWW_AUTHENTICATE);
    for value in headers.get_all(header::WWW_AUTHENTICATE) {
        response.headers_mut().append(header::WWW_AUTHENTICATE, value.clone());
    }
    response
}

fn unavailable(what: &'static str) -> Response {
    problem(Error::new(DOWNSTREAM_UNAVAILABLE, what))
}
