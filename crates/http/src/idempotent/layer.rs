//! The tower layer: any service behind it takes hold once.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;
use onefold_core::Result;
use onefold_core::call::Happened;
use onefold_core::effect::Class;
use onefold_core::ports::{BoxFuture, Store};
use onefold_runtime::{Ledger, Performs};
use tower::{Layer, Service, ServiceExt as _};

use super::guard::Guard;
use super::performed::{Answered, Unanswered};
use super::route::Route;

/// Makes a route of a ledger idempotent.
pub trait Idempotent<S: Store> {
    /// A layer that makes what stands behind it take hold once per key.
    ///
    /// The class decides: a route without one does not compile, and its declaration is refused where it contradicts an
    /// earlier one of the same name.
    fn idempotent<C: Performs>(&self, route: Route<C>) -> Result<IdempotentLayer<S>>;
}

impl<S: Store> Idempotent<S> for Ledger<S> {
    fn idempotent<C: Performs>(&self, route: Route<C>) -> Result<IdempotentLayer<S>> {
        guard(self, route).map(|guard| IdempotentLayer { guard })
    }
}

/// The guard of a typed route.
fn guard<S: Store, C: Class>(ledger: &Ledger<S>, route: Route<C>) -> Result<Guard<S>> {
    let Route { kind, settings } = route;
    let kind = ledger.kind(kind)?;
    Guard::new(ledger, Arc::clone(kind.terms()), settings)
}

/// Makes a service idempotent.
pub struct IdempotentLayer<S> {
    guard: Guard<S>,
}

impl<S> Clone for IdempotentLayer<S> {
    fn clone(&self) -> Self {
        Self { guard: self.guard.clone() }
    }
}

impl<S, I> Layer<I> for IdempotentLayer<S> {
    type Service = IdempotentService<S, I>;

    fn layer(&self, inner: I) -> Self::Service {
        IdempotentService { guard: self.guard.clone(), inner }
    }
}

/// A service that takes hold once per key.
pub struct IdempotentService<S, I> {
    guard: Guard<S>,
    inner: I,
}

impl<S, I: Clone> Clone for IdempotentService<S, I> {
    fn clone(&self) -> Self {
        Self { guard: self.guard.clone(), inner: self.inner.clone() }
    }
}

impl<S, I, Sent, Got> Service<Request<Sent>> for IdempotentService<S, I>
where
    S: Store,
    I: Service<Request<Body>, Response = Response<Got>> + Clone + Send + 'static,
    I::Future: Send,
    I::Error: Into<BoxError>,
    Sent: http_body::Body<Data = Bytes> + Send + 'static,
    Sent::Error: Into<BoxError>,
    Got: http_body::Body<Data = Bytes> + Send + 'static,
    Got::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    /// Always ready: whether the inner service is, is asked when a request is sent on, which a replay never is.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Sent>) -> Self::Future {
        let (guard, inner) = (self.guard.clone(), self.inner.clone());
        let request = request.map(Body::new);
        Box::pin(async move { Ok(guard.handle(request, move |request| sent_on(inner, request)).await) })
    }
}

async fn sent_on<I, Got>(inner: I, request: Request<Body>) -> Answered
where
    I: Service<Request<Body>, Response = Response<Got>>,
    I::Error: Into<BoxError>,
    Got: http_body::Body<Data = Bytes> + Send + 'static,
    Got::Error: Into<BoxError>,
{
    match inner.oneshot(request).await {
        Ok(response) => Ok(response.map(Body::new)),
        // An error may come at any moment of the work behind it.
        Err(_) => Err(Unanswered::lost(Happened::Reset, "the service behind this route failed")),
    }
}
