//! One request: what is refused, who calls, which route, guarded or passed on.

use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, Request, header};
use axum::response::{IntoResponse, Response};
use onefold_core::error::{ALL, METHOD_NOT_ALLOWED, ROUTE_NOT_FOUND};
use onefold_core::operation::Tenant;
use onefold_core::{Error, Result};
use onefold_http::{Caller, Correlation, ErrorsBase, catching_panics, error_page};
use tracing::Instrument as _;

use super::table::{Perform, RouteEntry, RouteMatch, Table};
use super::{admit, forwarded, hop_by_hop, problem, websocket};

const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");

/// Every route, exchangeable while requests are in flight.
pub struct Gateway {
    table: RwLock<Arc<Table>>,
}

impl Gateway {
    /// A gateway with these routes.
    pub fn new(table: Table) -> Self {
        Self { table: RwLock::new(Arc::new(table)) }
    }

    /// From now on requests follow these routes; those in flight keep theirs.
    pub fn exchange(&self, table: Table) {
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A router that answers every request by the routes.
    pub fn router(self: Arc<Self>) -> Router {
        let handle = move |request: Request<Body>| {
            let gateway = Arc::clone(&self);
            async move { catching_panics(gateway.handle(request)).await }
        };
        Router::new().fallback(handle)
    }

    /// Answers one request.
    pub async fn handle(&self, mut request: Request<Body>) -> Response {
        let table = self.table();
        let found = admit::sound(&mut request).map(|segments| table.find(request.method(), &segments));
        let (route, entry): (Arc<str>, _) = match &found {
            Ok(RouteMatch::Route(entry)) => (Arc::clone(&entry.name), Some(entry.as_ref())),
            Ok(RouteMatch::Otherwise(_)) => (Arc::from("otherwise"), None),
            Ok(RouteMatch::Lookalike(_) | RouteMatch::WrongMethod(_) | RouteMatch::Nowhere) | Err(_) => {
                (Arc::from("none"), None)
            }
        };
        admit::drop_underscored(request.headers_mut(), entry);
        // Before anything is said in headers here: nothing of that is the client's to remove.
        websocket::mark(&mut request);
        hop_by_hop::strip_but(request.headers_mut(), |name| table.reads(name) || forwarded::tells(name));
        let correlation = Correlation::of(request.headers(), Some(route.to_string()), table.errors_base().clone());
        let id = HeaderValue::from_str(correlation.id()).ok();
        if let Some(id) = &id {
            request.headers_mut().insert(CORRELATION_ID, id.clone());
        }
        request.extensions_mut().insert(correlation.clone());
        let span = correlation.span(request.headers());
        let mut response = correlation.answering(span, answer(&table, found, request)).await;
        if let Some(id) = id {
            response.headers_mut().entry(CORRELATION_ID).or_insert(id);
        }
        response
    }
}

async fn answer(table: &Arc<Table>, found: Result<RouteMatch>, request: Request<Body>) -> Response {
    match found {
        // No method would do.
        Err(error) if error.code() == METHOD_NOT_ALLOWED => allowing(problem(error), &[]),
        Err(error) => problem(error),
        Ok(RouteMatch::Nowhere) if error_page_asked(&request).is_some() => {
            // Nobody else takes this path, so a problem of this gateway may point here.
            let name = error_page_asked(&request).unwrap_or_default();
            error_page(ALL, name).unwrap_or_else(IntoResponse::into_response)
        }
        Ok(RouteMatch::Nowhere) => {
            let what = "no route of this gateway takes this method and path";
            problem(Error::new(ROUTE_NOT_FOUND, what).hint("fix the path, or add a [[route]] or `otherwise`"))
        }
        Ok(RouteMatch::WrongMethod(allowed)) => not_allowed(&allowed),
        Ok(RouteMatch::Lookalike(name)) => {
            let what = format!("the path differs from that of the route {name:?} only in its spelling");
            let hint =
                "spell the path as the route does; the gateway's operator may set otherwise_lookalikes = \"pass\"";
            problem(Error::new(ROUTE_NOT_FOUND, what).hint(hint))
        }
        Ok(RouteMatch::Otherwise(forward)) => forward.pass(admit::admitted(table, request)).await,
        Ok(RouteMatch::Route(entry)) => route(table, entry, request).await,
    }
}

/// The code whose page is asked for.
fn error_page_asked(request: &Request<Body>) -> Option<&str> {
    let path = request.uri().path();
    path.strip_prefix(ErrorsBase::OURS).filter(|_| matches!(*request.method(), Method::GET | Method::HEAD))
}

/// The path is a route's, for other methods.
fn not_allowed(allowed: &[Method]) -> Response {
    let names: Vec<&str> = allowed.iter().map(Method::as_str).collect();
    let what = "the route of this path takes other methods";
    allowing(problem(Error::new(METHOD_NOT_ALLOWED, what).hint(format!("use {}", names.join(", ")))), &names)
}

/// A response that refuses a method lists the allowed ones.
fn allowing(mut response: Response, names: &[&str]) -> Response {
    if let Ok(value) = HeaderValue::from_str(&names.join(", ")) {
        response.headers_mut().insert(header::ALLOW, value);
    }
    response
}

async fn route(table: &Arc<Table>, entry: Arc<RouteEntry>, request: Request<Body>) -> Response {
    let request = admit::admitted(table, request);
    let (mut parts, body) = request.into_parts();
    let tenant = match admit::tenant(&entry, &parts) {
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
    let upgrades = !has_key && websocket::wanted(&request);
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

/// A subject's own tenant wins over what a proxy says.
fn of_tenant(caller: Caller, named: Option<Tenant>) -> Caller {
    match caller {
        Caller::Known { subject, tenant } => Caller::Known { subject, tenant: tenant.or(named) },
        Caller::Anonymous => Caller::Anonymous,
    }
}
