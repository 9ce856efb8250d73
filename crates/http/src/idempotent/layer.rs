//! The tower layer: any service behind it takes hold once.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;
use onefold_core::Result;
use onefold_core::call::CallOutcome;
use onefold_core::effect::{
    Class, Converging, ExternalCommand, FinancialOrLegal, HumanNotification, Local, MessagePublish, Pure,
};
use onefold_core::port::{BoxFuture, Store, Transact};
use onefold_runtime::Ledger;
use tower::{Layer, Service, ServiceExt as _};

use super::forward_result::{ForwardResult, NoResponse};
use super::guard::Guard;
use super::local::LocalLayer;
use super::refusal::strip_ours;
use super::route::Route;

/// Makes a route of a ledger idempotent.
pub trait Idempotent<S: Store> {
    /// A layer that makes the service behind it take hold once per key.
    ///
    /// The class decides: a route without one does not compile, and its declaration is refused where it contradicts an
    /// earlier one of the same name. Behind [`Route::local`] the handler calls `once_in` itself.
    fn idempotent<C: GuardedClass<S>>(&self, route: Route<C>) -> Result<C::Layer>;
}

impl<S: Store> Idempotent<S> for Ledger<S> {
    fn idempotent<C: GuardedClass<S>>(&self, route: Route<C>) -> Result<C::Layer> {
        C::guarded(self, route)
    }
}

/// A class that a route may have, and the layer that guards it.
pub trait GuardedClass<S: Store>: Class {
    /// The layer.
    type Layer;
    /// Declares the route and makes its layer.
    fn guarded(ledger: &Ledger<S>, route: Route<Self>) -> Result<Self::Layer>
    where
        Self: Sized;
}

macro_rules! guarded {
    ($($class:ty),+) => {$(
        impl<S: Store> GuardedClass<S> for $class {
            type Layer = IdempotentLayer<S>;
            fn guarded(ledger: &Ledger<S>, route: Route<Self>) -> Result<Self::Layer> {
                let (kind, settings) = route.resolve()?;
                let kind = ledger.kind(kind)?;
                Ok(IdempotentLayer { guard: Guard::new(ledger, Arc::clone(kind.terms()), settings) })
            }
        }
    )+};
}

guarded!(Pure, Converging, ExternalCommand, MessagePublish, HumanNotification, FinancialOrLegal);

impl<S: Transact> GuardedClass<S> for Local {
    type Layer = LocalLayer<S>;
    fn guarded(ledger: &Ledger<S>, route: Route<Self>) -> Result<Self::Layer> {
        let (kind, settings) = route.resolve()?;
        let kind = ledger.kind(kind)?;
        let guard = Guard::new(ledger, Arc::clone(kind.terms()), settings);
        Ok(LocalLayer::new(guard, kind))
    }
}

/// Makes a service idempotent.
pub struct IdempotentLayer<S> {
    guard: Guard<S>,
}

impl<S: Store> IdempotentLayer<S> {
    /// How many requests of this route wait now for the end of another one with their key.
    pub fn waiting(&self) -> usize {
        self.guard.inner.waiters.waiting()
    }
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
        let perform = move |request| async move {
            let mut answered = sent_on(inner, request).await;
            if let Ok(response) = &mut answered {
                strip_ours(response.headers_mut());
            }
            answered
        };
        Box::pin(async move { Ok(guard.handle(request, perform).await) })
    }
}

/// What the service behind says.
pub(super) async fn sent_on<I, Got>(inner: I, request: Request<Body>) -> ForwardResult
where
    I: Service<Request<Body>, Response = Response<Got>>,
    I::Error: Into<BoxError>,
    Got: http_body::Body<Data = Bytes> + Send + 'static,
    Got::Error: Into<BoxError>,
{
    match inner.oneshot(request).await {
        Ok(response) => Ok(response.map(Body::new)),
        // An error may come at any moment of the work behind it.
        Err(_) => Err(NoResponse::lost(CallOutcome::Reset, "the service behind this route failed")),
    }
}
