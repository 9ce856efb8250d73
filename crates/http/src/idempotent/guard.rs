//! The table, row by row and in its order: what is refused, what is performed, what is replayed.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use onefold_config::KeyRequirement;
use onefold_core::effect::KindSpec;
use onefold_core::error::{ErrorClass, REQUEST_BODY_INVALID, REQUEST_HEADER_MISSING, SHUTTING_DOWN, TOO_BUSY};
use onefold_core::fingerprint::{FingerprintInput, Mode};
use onefold_core::ledger::{Claim, Origin, Source};
use onefold_core::operation::{OperationId, OperationKey, Tenant};
use onefold_core::port::Store;
use onefold_core::{Error, Result};
use onefold_runtime::{ClaimInput, Ledger, Permit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::attach;
use super::buffered_body::BufferedBody;
use super::forward_result::ForwardResult;
use super::in_flight::InFlightMap;
use super::key;
use super::metrics::{AnswerKind, RequestMetrics};
use super::perform::GrantedRequest;
use super::refusal::{Protocol, Refusal};
use super::replay;
use super::settings::RouteSettings;
use super::stream::{DigestCheckedBody, Proof, content_digest};
use super::wait_list::WaitList;
use crate::caller::Caller;
use crate::correlate::Correlation;

/// Guards one route. Cheap to clone; clones are the same one.
pub struct Guard<S> {
    pub(super) inner: Arc<Inner<S>>,
}

impl<S> Clone for Guard<S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

pub(super) struct Inner<S> {
    pub(super) ledger: Ledger<S>,
    pub(super) terms: Arc<KindSpec>,
    pub(super) settings: RouteSettings,
    pub(super) in_flight: InFlightMap,
    pub(super) waiters: WaitList<S>,
    in_flight_permits: Arc<Semaphore>,
}

/// A request that may be claimed.
pub(super) struct AdmittedRequest {
    pub(super) key: OperationKey,
    pub(super) caller: Caller,
    pub(super) protocol: Protocol,
    pub(super) parts: Parts,
    pub(super) body: Body,
    pub(super) input: FingerprintInput,
    pub(super) business_key: Option<Arc<str>>,
    /// Whether the body that passes is the announced one.
    pub(super) proof: Proof,
    /// What is held while the call is in flight.
    pub(super) permits: Permits,
}

/// The permits of one call; dropped with it.
pub(super) struct Permits {
    pub(super) dependency: Option<Permit>,
    pub(super) _in_flight: OwnedSemaphorePermit,
}

impl Permits {
    /// The dependency was not called: what was set aside for that is given back.
    fn unused(self) {
        if let Some(permit) = self.dependency {
            permit.unused();
        }
    }
}

/// A body as it is sent on, and what is known of it.
struct ReceivedBody {
    input: FingerprintInput,
    body: Body,
    business_key: Option<Arc<str>>,
    proof: Proof,
}

/// What the first rows of the table say.
pub(super) enum Admission {
    /// It is none of ours.
    Pass(Box<Request>),
    Admitted(Box<AdmittedRequest>),
}

impl<S: Store> Guard<S> {
    /// A guard for a declared kind.
    pub fn new(ledger: &Ledger<S>, terms: Arc<KindSpec>, settings: RouteSettings) -> Self {
        let inner = Inner {
            waiters: WaitList::new(ledger, &terms.kind, settings.declared.waiters_max),
            in_flight_permits: Arc::new(Semaphore::new(settings.declared.in_flight_max)),
            in_flight: InFlightMap::default(),
            ledger: ledger.clone(),
            terms,
            settings,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Answers a request: `perform` sends it on, at most once, however many wait for it.
    pub async fn handle<F, Fut>(&self, request: Request, perform: F) -> Response
    where
        F: FnOnce(Request) -> Fut + Send + 'static,
        Fut: Future<Output = ForwardResult> + Send + 'static,
    {
        let mut measured = RequestMetrics::start(&self.inner.terms.kind, request.method());
        let protocol = Protocol::of(request.headers());
        let answered = self.answer(request, perform, &mut measured).await;
        self.said(answered, protocol, measured)
    }

    /// The answer, counted.
    pub(super) fn said(
        &self,
        answered: Result<Response, EarlyResponse>,
        protocol: Protocol,
        mut measured: RequestMetrics,
    ) -> Response {
        let response = answered.unwrap_or_else(|stop| match stop {
            EarlyResponse::Refused(refusal) => {
                measured.refused(refusal.code());
                refusal.into_response(protocol)
            }
            EarlyResponse::Unidentified(response) => {
                measured.kind = AnswerKind::Refused;
                *response
            }
        });
        measured.end(&response, self.inner.settings.access_log());
        response
    }

    async fn answer<F, Fut>(
        &self,
        request: Request,
        perform: F,
        measured: &mut RequestMetrics,
    ) -> Result<Response, EarlyResponse>
    where
        F: FnOnce(Request) -> Fut + Send + 'static,
        Fut: Future<Output = ForwardResult> + Send + 'static,
    {
        let mut admitted = match self.admit(request, measured).await? {
            Admission::Pass(request) => return Ok(pass(*request, perform, measured).await),
            Admission::Admitted(admitted) => admitted,
        };
        measured.operation(&admitted.key);
        let protocol = admitted.protocol;
        // Before the claim: an attempt may end before its duplicate has heard that it is in flight.
        let watch = self.inner.in_flight.watch(&admitted.key);
        let taken = self.inner.ledger.take(&self.inner.terms, claim_input(&mut admitted)).await;
        let claim = match taken {
            Ok(claim) => claim,
            Err(error) if self.inner.settings.declared.open && away(&error) => {
                let request = Request::from_parts(admitted.parts, admitted.body);
                return Ok(pass(request, perform, measured).await);
            }
            Err(error) => return Err(error.into()),
        };
        match claim {
            Claim::Granted(running) => {
                let granted = GrantedRequest { guard: self.clone(), running, admitted: *admitted };
                Ok(granted.perform(perform, measured).await)
            }
            Claim::Replay(found) => {
                admitted.permits.unused();
                measured.kind = AnswerKind::Replayed;
                Ok(replay::replay(&self.inner, &admitted.key, &admitted.caller, &found)?)
            }
            Claim::InFlight { retry_after } => {
                let waiting =
                    attach::AttachedRequest { inner: &self.inner, key: &admitted.key, caller: &admitted.caller, watch };
                let prefer = admitted.parts.headers.get("prefer").cloned();
                // Only a request that performs uses a permit of the dependency.
                admitted.permits.unused();
                waiting.wait(prefer.as_ref(), retry_after, protocol, measured).await
            }
            Claim::Conflict => {
                admitted.permits.unused();
                Err(Refusal::reused(&self.inner.settings, &admitted.parts.headers).into())
            }
            Claim::Unknown { .. } => {
                admitted.permits.unused();
                Err(Refusal::unknown(&admitted.key, "an earlier request with this key may have taken hold").into())
            }
            Claim::Waiting { until } => {
                admitted.permits.unused();
                Err(Refusal::waiting(until, self.inner.ledger.now()).into())
            }
        }
    }

    /// The rows before the ledger is asked.
    pub(super) async fn admit(
        &self,
        request: Request,
        measured: &mut RequestMetrics,
    ) -> Result<Admission, EarlyResponse> {
        let settings = &self.inner.settings;
        if !settings.methods.contains(request.method()) {
            return Ok(Admission::Pass(Box::new(request)));
        }
        let key = key::read(request.headers(), &settings.header)?;
        if key.is_none() && settings.declared.key == KeyRequirement::Required {
            return Err(Error::new(REQUEST_HEADER_MISSING, format!("the header {} is missing", settings.header))
                .hint("send a key of its own with every request, such as a UUID")
                .into());
        }
        let protocol = Protocol::of(request.headers());
        let (mut parts, body) = request.into_parts();
        let caller = settings.context.caller.identify(&mut parts).await.map_err(EarlyResponse::Unidentified)?;
        let Some(key) = key else {
            return Ok(Admission::Pass(Box::new(Request::from_parts(parts, body))));
        };
        measured.key(&key);
        let permit = self.permit()?;
        let key = self.operation_key(&key, &caller)?;
        let path = path_values(&mut parts).await;
        let ReceivedBody { input, body, business_key, proof } = self.read(&parts, &path, body).await?;
        // A slow sender must not occupy a permit of the dependency, least of all its probe.
        let permits = Permits { dependency: self.dependency_permit()?, _in_flight: permit };
        let admitted = AdmittedRequest { key, caller, protocol, parts, body, input, business_key, proof, permits };
        Ok(Admission::Admitted(Box::new(admitted)))
    }

    /// A permit of this process.
    fn permit(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.inner.in_flight_permits).try_acquire_owned().map_err(|_| {
            let what = format!(
                "in_flight_max is reached: {} calls of this route are in flight",
                self.inner.settings.declared.in_flight_max
            );
            Refusal::from(Error::new(TOO_BUSY, what)).retry_after(std::time::Duration::from_secs(1))
        })
    }

    /// A permit of the dependency.
    fn dependency_permit(&self) -> Result<Option<Permit>, Refusal> {
        let dependency = self.inner.ledger.dependency_of(&self.inner.terms);
        let entered = dependency.as_ref().map(onefold_runtime::Dependency::enter).transpose();
        entered.map_err(|refused| {
            let wait = refused.retry_after;
            Refusal::from(Error::from(refused)).retry_after(wait)
        })
    }

    /// Tenant, caller, route and key together.
    pub(super) fn operation_key(&self, key: &str, caller: &Caller) -> Result<OperationKey> {
        let (subject, tenant) = match caller {
            Caller::Anonymous => (String::new(), None),
            // The mark of a known caller is never that of nobody.
            Caller::Known { subject, tenant } => (format!("={subject}"), tenant.clone()),
        };
        let tenant: Tenant = tenant.unwrap_or_else(|| self.inner.ledger.tenant().clone());
        let mark = self.inner.ledger.store().keyring().mark(tenant.as_str(), &subject);
        Ok(OperationKey::new(tenant, self.inner.terms.kind.clone(), OperationId::of_caller(key, mark)?))
    }

    /// Reads the body, or takes its announced digest for it.
    async fn read(&self, parts: &Parts, path: &PathValues, body: Body) -> Result<ReceivedBody, Error> {
        let settings = &self.inner.settings;
        let keys = self.inner.ledger.store().keyring();
        let around = around(parts, path, &self.inner.terms);
        let announced = parts.headers.get("content-digest").filter(|_| settings.declared.streams);
        if let Some(sha256) = announced.and_then(|value| content_digest(value.as_bytes())) {
            settings.body.announced(&parts.headers)?;
            let input = FingerprintInput::hashed(around, sha256, &keys)?;
            let (body, proof) = DigestCheckedBody::body(body, sha256, settings.body.bytes_max);
            return Ok(ReceivedBody { input, body, business_key: None, proof });
        }
        let mut whole = BufferedBody::read(&parts.headers, body, &settings.body).await?;
        let mode = if whole.is_empty() { &Mode::Raw } else { &self.inner.terms.fingerprint };
        let input = match (mode, whole.in_memory()) {
            (Mode::Raw, None) => FingerprintInput::hashed(around, whole.sha256(), &keys)?,
            (Mode::Raw | Mode::Canonical | Mode::Fields(_), _) => {
                FingerprintInput::within(around, &*whole.bytes()?, mode, &keys)?
            }
        };
        let business_key = match &settings.declared.business_key {
            Some(pointer) => business_key(&whole.bytes()?, pointer),
            None => None,
        };
        Ok(ReceivedBody { input, body: Body::new(whole), business_key, proof: Proof::default() })
    }
}

/// The values of the variable parts of a request's path, from the router that matched it. Behind axum's router nobody needs to
/// say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathValues(pub Vec<String>);

async fn path_values(parts: &mut Parts) -> PathValues {
    if let Some(said) = parts.extensions.get::<PathValues>() {
        return said.clone();
    }
    match axum::extract::RawPathParams::from_request_parts(parts, &()).await {
        Ok(found) => PathValues(found.iter().map(|(_, value)| value.to_owned()).collect()),
        Err(_) => PathValues::default(),
    }
}

/// Why a request is not sent on.
pub(super) enum EarlyResponse {
    Refused(Refusal),
    /// The caller is unknown.
    Unidentified(Box<Response>),
}

impl From<Refusal> for EarlyResponse {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Error> for EarlyResponse {
    fn from(error: Error) -> Self {
        Self::Refused(error.into())
    }
}

/// What surrounds a body: method, route, what its path varies in, query and content type, each with its length.
fn around(parts: &Parts, path: &PathValues, terms: &KindSpec) -> Vec<u8> {
    let content_types = parts.headers.get_all(header::CONTENT_TYPE).iter().map(HeaderValue::as_bytes);
    let pieces = [
        parts.method.as_str().as_bytes(),
        terms.kind.as_str().as_bytes(),
        parts.uri.query().unwrap_or_default().as_bytes(),
    ];
    let mut around = (path.0.len() as u64).to_be_bytes().to_vec();
    for piece in pieces.into_iter().chain(path.0.iter().map(String::as_bytes)).chain(content_types) {
        around.extend_from_slice(&(piece.len() as u64).to_be_bytes());
        around.extend_from_slice(piece);
    }
    around
}

fn business_key(body: &[u8], pointer: &str) -> Option<Arc<str>> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let found = body.pointer(pointer)?;
    let text = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
    Some(Arc::from(text)).filter(|text: &Arc<str>| text.len() <= Origin::BYTES_MAX)
}

pub(super) fn claim_input(admitted: &mut AdmittedRequest) -> ClaimInput {
    let mut origin = Origin::new(Source::Http);
    origin.business_key = admitted.business_key.take();
    origin.correlation_id = Correlation::current().map(|correlation| Arc::from(correlation.id()));
    ClaimInput {
        tenant: admitted.key.tenant.clone(),
        id: admitted.key.id.clone(),
        input: admitted.input.clone(),
        origin,
    }
}

/// Whether the ledger is away, rather than refusing this request.
fn away(error: &Error) -> bool {
    // A process that drains still has attempts of this key in flight: the ledger is not away.
    error.code() != SHUTTING_DOWN
        && matches!(
            error.code().descriptor().class,
            ErrorClass::Dependency | ErrorClass::Operational | ErrorClass::Contention
        )
}

/// Sends a request on as it is.
pub(super) async fn pass<F, Fut>(request: Request, perform: F, measured: &mut RequestMetrics) -> Response
where
    F: FnOnce(Request) -> Fut,
    Fut: Future<Output = ForwardResult>,
{
    let protocol = Protocol::of(request.headers());
    measured.kind = AnswerKind::Passed;
    let began = Instant::now();
    let answered = perform(request).await;
    measured.upstream = Some(began.elapsed());
    let answered = answered.map(|mut response| {
        response.headers_mut().remove(super::answer_meaning::ONEFOLD_EFFECT);
        response
    });
    answered.unwrap_or_else(|unanswered| unguarded(&unanswered).into_response(protocol))
}

/// No answer to an unguarded request.
pub(super) fn unguarded(unanswered: &super::forward_result::NoResponse) -> Refusal {
    use onefold_core::call::{CallOutcome, Sent};
    let timeout = unanswered.happened == CallOutcome::Timeout;
    let status = if timeout { axum::http::StatusCode::GATEWAY_TIMEOUT } else { axum::http::StatusCode::BAD_GATEWAY };
    match unanswered.sent {
        Sent::Nothing => Refusal::not_sent(status, &unanswered.detail),
        // The sender broke its own request.
        Sent::Something if unanswered.by_us => Error::new(REQUEST_BODY_INVALID, unanswered.detail.as_str()).into(),
        Sent::Something => Refusal::lost(status, &unanswered.detail),
    }
}
