//! Handlers that write their own database: the answer is stored in the handler's own commit.

use std::convert::Infallible;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, Response, header};
use axum::response::IntoResponse;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use onefold_core::effect::Local;
use onefold_core::error::{PROGRAMMING_INVARIANT_VIOLATED, RESULT_UNREADABLE};
use onefold_core::fingerprint::FingerprintInput;
use onefold_core::ledger::{Completion, Replay, Source};
use onefold_core::operation::OperationKey;
use onefold_core::port::{BoxFuture, Store, Transact};
use onefold_core::{Error, Result};
use onefold_runtime::{ClaimInput, KindHandle, TransactionOutcome, conflicted, replayed};
use tower::{Layer, Service};
use tracing::Instrument as _;

use super::guard::{Admission, EarlyResponse, Guard, claim_input, pass, unguarded};
use super::layer::sent_on;
use super::metrics::{AnswerKind, RequestMetrics};
use super::refusal::{Protocol, Refusal, set_expires};
use super::replay::replay;
use super::stored::StoredAnswer;
use crate::caller::Caller;
use crate::correlate::Correlation;
use crate::problem_response::ProblemResponse;

/// How long a transaction waits for another one that performs the same operation.
const WAIT: Duration = Duration::from_secs(5);

/// Guards a route whose handler calls [`LocalOperation::once_in`].
pub struct LocalLayer<S> {
    guard: Guard<S>,
    kind: KindHandle<S, Local>,
}

impl<S> Clone for LocalLayer<S> {
    fn clone(&self) -> Self {
        Self { guard: self.guard.clone(), kind: self.kind.clone() }
    }
}

impl<S: Store> LocalLayer<S> {
    pub(super) fn new(guard: Guard<S>, kind: KindHandle<S, Local>) -> Self {
        // The route's retention is announced: it is applied also where no request comes.
        guard.inner.ledger.start_soon();
        Self { guard, kind }
    }
}

impl<S, I> Layer<I> for LocalLayer<S> {
    type Service = LocalService<S, I>;

    fn layer(&self, inner: I) -> Self::Service {
        LocalService { layer: self.clone(), inner }
    }
}

/// A service whose handler stores its answer in its own commit.
pub struct LocalService<S, I> {
    layer: LocalLayer<S>,
    inner: I,
}

impl<S, I: Clone> Clone for LocalService<S, I> {
    fn clone(&self) -> Self {
        Self { layer: self.layer.clone(), inner: self.inner.clone() }
    }
}

impl<S, I, Sent, Got> Service<Request<Sent>> for LocalService<S, I>
where
    S: Transact,
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

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Sent>) -> Self::Future {
        let (layer, inner) = (self.layer.clone(), self.inner.clone());
        let request = request.map(Body::new);
        Box::pin(async move {
            let mut measured = RequestMetrics::start(&layer.guard.inner.terms.kind, request.method());
            let protocol = Protocol::of(request.headers());
            let answered = layer.answer(request, inner, &mut measured).await;
            Ok(layer.guard.said(answered, protocol, measured))
        })
    }
}

impl<S: Transact> LocalLayer<S> {
    async fn answer<I, Got>(
        &self,
        request: Request<Body>,
        inner: I,
        measured: &mut RequestMetrics,
    ) -> Result<Response<Body>, EarlyResponse>
    where
        I: Service<Request<Body>, Response = Response<Got>> + Send + 'static,
        I::Future: Send,
        I::Error: Into<BoxError>,
        Got: http_body::Body<Data = Bytes> + Send + 'static,
        Got::Error: Into<BoxError>,
    {
        let mut admitted = match self.guard.admit(request, measured).await? {
            Admission::Pass(mut request) => {
                request.extensions_mut().insert(LocalOperation::<S> { guarded: None });
                return Ok(pass(*request, |request| sent_on(inner, request), measured).await);
            }
            Admission::Admitted(admitted) => admitted,
        };
        measured.operation(&admitted.key);
        if let Some(answer) =
            self.known(&admitted.key, &admitted.input, &admitted.caller, &admitted.parts.headers).await?
        {
            measured.kind = AnswerKind::Replayed;
            return Ok(answer);
        }
        let input = claim_input(&mut admitted);
        let content_type = admitted.parts.headers.get(header::CONTENT_TYPE).cloned();
        let content_type = HeaderMap::from_iter(content_type.map(|value| (header::CONTENT_TYPE, value)));
        let guarded = GuardedCall { layer: self.clone(), input, caller: admitted.caller.clone(), content_type };
        let mut request = Request::from_parts(admitted.parts, admitted.body);
        request.extensions_mut().insert(LocalOperation { guarded: Some(guarded) });
        // A transaction that its caller leaves in the middle of `BEGIN` or `COMMIT` is nobody's: it runs to its end.
        let permits = admitted.permits;
        let work = async move {
            let _permits = permits;
            let answered = sent_on(inner, request).await;
            answered.unwrap_or_else(|unanswered| unguarded(&unanswered).into_response(Protocol::Http))
        };
        let work = Correlation::carried(Correlation::current(), work).in_current_span();
        let response = tokio::spawn(work)
            .await
            .map_err(|cause| Error::new(PROGRAMMING_INVARIANT_VIOLATED, "the handler panicked").caused_by(cause))?;
        measured.kind = AnswerKind::Performed;
        Ok(response)
    }

    /// What the ledger says before the handler is asked.
    async fn known(
        &self,
        key: &OperationKey,
        input: &FingerprintInput,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> Result<Option<Response<Body>>, EarlyResponse> {
        let inner = &self.guard.inner;
        let found = inner.ledger.store().find(vec![key.clone()]).await?.pop().flatten();
        let Some(entry) = found else { return Ok(None) };
        if !input.matches(&entry.fingerprint)? {
            conflicted(Source::Http, &key.kind);
            return Err(Refusal::reused(&inner.settings, headers).into());
        }
        if !entry.is_settled() {
            return Ok(None);
        }
        replayed(Source::Http, &key.kind);
        Ok(Some(replay(inner, key, caller, &Replay::of(&entry)?)?))
    }
}

/// The operation of a request, for the handler behind [`super::Route::local`].
pub struct LocalOperation<S> {
    /// None for a request without a key, where the route lets that pass.
    guarded: Option<GuardedCall<S>>,
}

struct GuardedCall<S> {
    layer: LocalLayer<S>,
    input: ClaimInput,
    caller: Caller,
    /// Of the request, to compare bodies.
    content_type: HeaderMap,
}

impl<S> Clone for LocalOperation<S> {
    fn clone(&self) -> Self {
        let again = |doing: &GuardedCall<S>| GuardedCall {
            layer: doing.layer.clone(),
            input: doing.input.clone(),
            caller: doing.caller.clone(),
            content_type: doing.content_type.clone(),
        };
        Self { guarded: self.guarded.as_ref().map(again) }
    }
}

impl<S: Store, T: Sync> FromRequestParts<T> for LocalOperation<S> {
    type Rejection = ProblemResponse;

    async fn from_request_parts(parts: &mut Parts, _: &T) -> Result<Self, ProblemResponse> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            Error::new(PROGRAMMING_INVARIANT_VIOLATED, "the route has no idempotent layer on this store")
                .hint("add .layer(ledger.idempotent(Route::local(…))?) to the route")
                .into()
        })
    }
}

impl<S: Transact> LocalOperation<S> {
    /// The key that the caller gave, where it gave one.
    pub fn key(&self) -> Option<String> {
        self.guarded.as_ref().map(|doing| doing.input.id.callers_key())
    }

    /// Runs `work` in your transaction, once: check, execute and the stored answer are one commit.
    ///
    /// What `work` returns is the answer that duplicates get; an error stores nothing and leaves the key usable. Commit,
    /// then answer with what this returns.
    pub async fn once_in<R: IntoResponse, E: From<Error>>(
        &self,
        connection: &mut S::Connection,
        work: impl AsyncFnOnce(&mut S::Connection) -> Result<R, E>,
    ) -> Result<Response<Body>, E> {
        let Some(doing) = &self.guarded else {
            return work(connection).await.map(IntoResponse::into_response);
        };
        doing.once_in(connection, work).await
    }
}

impl<S: Transact> GuardedCall<S> {
    async fn once_in<R: IntoResponse, E: From<Error>>(
        &self,
        connection: &mut S::Connection,
        work: impl AsyncFnOnce(&mut S::Connection) -> Result<R, E>,
    ) -> Result<Response<Body>, E> {
        let inner = &self.layer.guard.inner;
        let kept = async |connection: &mut S::Connection| -> Result<(Completion, Response<Body>), E> {
            let response = work(connection).await?.into_response();
            let (stored, response) = read(response, &inner.settings.stored_headers).await?;
            let evidence = inner.settings.evidence.of(stored.status, &stored.headers, &stored.body);
            Ok((Completion { result: stored.to_result(), evidence: Some(evidence) }, response))
        };
        match self.layer.kind.once_within(connection, self.input.clone(), WAIT, kept).await? {
            TransactionOutcome::Performed(mut response) => {
                if let Some(kept) = inner.terms.retention.id_for {
                    set_expires(response.headers_mut(), inner.ledger.now().plus(kept));
                }
                Ok(response)
            }
            TransactionOutcome::Replay(found) => {
                let ClaimInput { tenant, id, .. } = self.input.clone();
                let key = OperationKey::new(tenant, inner.terms.kind.clone(), id);
                let answer = replay(inner, &key, &self.caller, &found);
                Ok(answer.unwrap_or_else(|refusal| refusal.into_response(Protocol::Http)))
            }
            TransactionOutcome::InFlight { retry_after } => {
                let refusal = Refusal::in_flight(inner.settings.in_flight_status, retry_after);
                Ok(refusal.into_response(Protocol::Http))
            }
            TransactionOutcome::Conflict => {
                Ok(Refusal::reused(&inner.settings, &self.content_type).into_response(Protocol::Http))
            }
        }
    }
}

/// An answer, whole: as it is kept, and as it is given.
async fn read(
    response: Response<Body>,
    allowed: &[axum::http::HeaderName],
) -> Result<(StoredAnswer, Response<Body>), Error> {
    let (parts, body) = response.into_parts();
    let whole = body.collect().await.map_err(|cause| {
        Error::new(RESULT_UNREADABLE, "the handler's answer could not be read whole").caused_by(cause)
    })?;
    let trailers: Option<HeaderMap> = whole.trailers().cloned();
    let body = whole.to_bytes();
    let stored = StoredAnswer::of(parts.status, &parts.headers, allowed, body.clone(), trailers.clone());
    let given = StoredAnswer { status: parts.status, headers: parts.headers, body, trailers };
    Ok((stored, given.to_response()))
}
