//! A request's head before anyone acts on it: what is refused, what is settled, and what its sender may not say.

use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, Request, header};
use onefold_core::error::{METHOD_NOT_ALLOWED, REQUEST_INVALID};
use onefold_core::operation::Tenant;
use onefold_core::{Error, Result};

use super::table::{RouteEntry, Table};
use super::{answer, forwarded, host, path, trailers};
use onefold_http::idempotent::is_ours;
use onefold_http::listen::Peer;

/// The path's segments, unless two servers could read the request differently. The host that the request is for is in
/// its `Host` afterwards.
pub(super) fn sound(request: &mut Request<Body>) -> Result<Vec<String>> {
    let refused = |what: &str| Err(Error::new(REQUEST_INVALID, what.to_owned()).hint("fix the request"));
    let headers = request.headers();
    if request.method() == Method::CONNECT {
        return Err(Error::new(METHOD_NOT_ALLOWED, "this gateway does not tunnel (CONNECT)"));
    }
    if request.method().as_str().bytes().any(|byte| byte.is_ascii_lowercase()) {
        return refused("a method is written in capitals");
    }
    if headers.contains_key(header::TRANSFER_ENCODING) {
        if headers.contains_key(header::CONTENT_LENGTH) {
            return refused("a body has a length or is chunked, not both");
        }
        // What else a body is coded in would be lost here: the next reader is not told.
        if !answer::only_chunked(headers) {
            return refused("a body has no transfer coding but chunked");
        }
    }
    if let Err(what) = host::settle(request) {
        return refused(what);
    }
    path::segments(request.uri().path())
        .map_or_else(|| refused("the path is ambiguous: another server could read it differently"), Ok)
}

/// Drops headers with an underscore in their name, but for those that a route allows.
///
/// WSGI, CGI and others write dashes as underscores: `X_Forwarded_For` is `X-Forwarded-For` to them, and `Idempotency_Key`
/// the key that the gateway never saw.
pub(super) fn drop_underscored(headers: &mut HeaderMap, route: Option<&RouteEntry>) {
    let dropped: Vec<HeaderName> = headers.keys().filter(|name| is_underscored(name, route)).cloned().collect();
    for name in dropped {
        headers.remove(name);
    }
}

fn is_underscored(name: &HeaderName, route: Option<&RouteEntry>) -> bool {
    name.as_str().contains('_') && !route.is_some_and(|route| route.takes_underscored(name))
}

/// The request with what its sender may not say removed, and with what we know of it.
pub(super) fn admitted(table: &Arc<Table>, request: Request<Body>) -> Request<Body> {
    let (mut parts, body) = request.into_parts();
    let trusted = table.proxies().contains(parts.extensions.get::<Peer>());
    if !trusted {
        for name in table.tenant_headers() {
            parts.headers.remove(name);
        }
    }
    forwarded::announce(&mut parts, table.proxies());
    let reads = Arc::clone(table);
    let body = trailers::without(body, move |name| {
        name.as_str().contains('_') || forwarded::tells(name) || is_ours(name) || reads.reads(name)
    });
    Request::from_parts(parts, body)
}

/// The tenant that a trusted proxy names; what others say was removed before.
pub(super) fn tenant(entry: &RouteEntry, parts: &Parts) -> Result<Option<Tenant>> {
    let Some(name) = &entry.tenant_header else { return Ok(None) };
    let mut named = parts.headers.get_all(name).into_iter();
    match (named.next(), named.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => {
            let text = one.to_str().map_err(|_| Error::new(REQUEST_INVALID, format!("{name} is not plain text")))?;
            Tenant::parse(text.trim()).map(Some).map_err(|error| Error::new(REQUEST_INVALID, error.detail().to_owned()))
        }
        (Some(_), Some(_)) => Err(Error::new(REQUEST_INVALID, format!("{name} is sent twice"))),
    }
}
