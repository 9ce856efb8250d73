//! One request at the gateway's door: what is refused, who calls, which route, guarded or passed on.

use std::sync::{Arc, PoisonError, RwLock};

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, Request, Version, header};
use axum::response::Response;
use metrics::counter;
use onefold_core::error::{METHOD_NOT_ALLOWED, REQUEST_INVALID, ROUTE_NOT_FOUND};
use onefold_core::operation::Tenant;
use onefold_core::{Error, Result};
use tracing::Instrument as _;

use super::peer::Peer;
use super::table::{Entry, Found, Perform, Table};
use super::{forwarded, hop, path, problem, upgrade};
use crate::caller::Caller;
use crate::correlate::Correlation;
use crate::rejection::Answered;
use crate::trace;

const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");

/// Every route, exchangeable while requests are under way.
pub struct Gateway {
    table: RwLock<Arc<Table>>,
}

impl Gateway {
    /// A gateway with these routes.
    pub fn new(table: Table) -> Self {
        Self { table: RwLock::new(Arc::new(table)) }
    }

    /// From now on requests follow these routes; those under way keep theirs.
    pub fn exchange(&self, table: Table) {
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Answers one request.
    pub async fn handle(&self, mut request: Request<Body>) -> Response {
        let table = self.table();
        let found = sound(&request).map(|segments| table.find(request.method(), &segments));
        let route: Arc<str> = match &found {
            Ok(Found::Route(entry)) => Arc::clone(&entry.name),
            Ok(Found::Otherwise(_)) => Arc::from("otherwise"),
            Ok(Found::Nowhere) | Err(_) => Arc::from("none"),
        };
        // Before anything is said in headers here: nothing of that is the client's to remove.
        upgrade::note(&mut request);
        hop::strip_but(request.headers_mut(), |name| table.reads(name) || forwarded::tells(name));
        let correlation = Correlation::of(request.headers(), Some(route.to_string()));
        let id = HeaderValue::from_str(&correlation.0).ok();
        if let Some(id) = &id {
            request.headers_mut().insert(CORRELATION_ID, id.clone());
        }
        request.extensions_mut().insert(correlation.clone());
        let span = tracing::info_span!(
            "request",
            correlation_id = %correlation.0,
            route = %route,
            operation_id = tracing::field::Empty,
        );
        trace::adopt(&span, request.headers());
        let mut response =
            Correlation::carried(Some(correlation), answer(&table, found, request)).instrument(span).await;
        let code = response.extensions().get::<Answered>().map_or("none", |answered| answered.0.as_str());
        counter!(
            "onefold_http_requests_total",
            "route" => route.to_string(),
            "status" => response.status().as_str().to_owned(),
            "error_code" => code,
        )
        .increment(1);
        if let Some(id) = id {
            response.headers_mut().entry(CORRELATION_ID).or_insert(id);
        }
        response
    }
}

async fn answer(table: &Table, found: Result<Found>, request: Request<Body>) -> Response {
    match found {
        Err(error) => problem(error),
        Ok(Found::Nowhere) => {
            let what = "no route of this gateway takes this method and path";
            problem(Error::new(ROUTE_NOT_FOUND, what).hint("mend the path, or add a [[route]] or `otherwise`"))
        }
        Ok(Found::Otherwise(forward)) => forward.pass(admitted(table, request)).await,
        Ok(Found::Route(entry)) => route(table, entry, request).await,
    }
}

async fn route(table: &Table, entry: Arc<Entry>, request: Request<Body>) -> Response {
    let request = admitted(table, request);
    let (mut parts, body) = request.into_parts();
    let tenant = match tenant(&entry, &parts) {
        Ok(tenant) => tenant,
        Err(error) => return problem(error),
    };
    let caller = match entry.identify.identify(&mut parts).await {
        Ok(caller) => of_tenant(caller, tenant),
        Err(refusal) => return *refusal,
    };
    parts.extensions.insert(caller);
    let values = entry.pattern.values(parts.uri.path());
    parts.extensions.insert(values);
    let request = Request::from_parts(parts, body);
    // Only what passes through anyway may become another protocol: a key that is required stays required.
    let has_key = request.headers().contains_key(&entry.key_header);
    let upgrades = !has_key && upgrade::wanted(&request);
    match &entry.guard {
        Some(guard) if !upgrades => {
            let forward = Arc::clone(&entry.forward);
            // The call runs elsewhere, in the same trace.
            let span = tracing::Span::current();
            let perform: Perform =
                Box::new(move |request| Box::pin(async move { forward.send(request).await }.instrument(span)));
            guard.handle(request, perform).await
        }
        Some(_) | None => entry.forward.pass(request).await,
    }
}

/// The request with what its sender may not say removed, and with what we know of it.
fn admitted(table: &Table, request: Request<Body>) -> Request<Body> {
    let (mut parts, body) = request.into_parts();
    let trusted = table.proxies().contains(parts.extensions.get::<Peer>());
    if !trusted {
        for name in table.tenant_headers() {
            parts.headers.remove(name);
        }
    }
    forwarded::announce(&mut parts, table.proxies());
    Request::from_parts(parts, body)
}

/// The tenant that a trusted proxy names; what others say was removed before.
fn tenant(entry: &Entry, parts: &Parts) -> Result<Option<Tenant>> {
    let Some(name) = &entry.tenant_header else { return Ok(None) };
    let mut named = parts.headers.get_all(name).into_iter();
    match (named.next(), named.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => {
            let text = one.to_str().map_err(|_| Error::new(REQUEST_INVALID, format!("{name} is no plain text")))?;
            Tenant::parse(text.trim()).map(Some).map_err(|error| Error::new(REQUEST_INVALID, error.detail().to_owned()))
        }
        (Some(_), Some(_)) => Err(Error::new(REQUEST_INVALID, format!("{name} is sent twice"))),
    }
}

/// A subject's own tenant wins over what a proxy says.
fn of_tenant(caller: Caller, named: Option<Tenant>) -> Caller {
    match caller {
        Caller::Known { subject, tenant } => Caller::Known { subject, tenant: tenant.or(named) },
        Caller::Anonymous => Caller::Anonymous,
    }
}

/// The path's segments, unless two servers could read the request differently.
fn sound(request: &Request<Body>) -> Result<Vec<String>> {
    let refused = |what: &str| Err(Error::new(REQUEST_INVALID, what.to_owned()).hint("mend the request"));
    let headers = request.headers();
    if request.method() == Method::CONNECT {
        return Err(Error::new(METHOD_NOT_ALLOWED, "this gateway makes no tunnels"));
    }
    if request.method().as_str().bytes().any(|byte| byte.is_ascii_lowercase()) {
        return refused("a method is written in capitals");
    }
    if headers.contains_key(header::TRANSFER_ENCODING) && headers.contains_key(header::CONTENT_LENGTH) {
        return refused("a body has a length or is chunked, not both");
    }
    let hosts = headers.get_all(header::HOST).into_iter().count();
    if hosts > 1 || hosts == 0 && request.version() == Version::HTTP_11 && request.uri().authority().is_none() {
        return refused("a request names one host");
    }
    let named = headers.get(header::HOST).map(HeaderValue::as_bytes);
    let authority = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    if let (Some(named), Some(authority)) = (named, authority)
        && !named.eq_ignore_ascii_case(authority)
    {
        return refused("a request names one host");
    }
    path::segments(request.uri().path()).map_or_else(|| refused("the path could mean another one elsewhere"), Ok)
}
