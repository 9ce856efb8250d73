//! The table, row by row and in its order: what is refused, what is performed, what is replayed.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use onefold_core::effect::Terms;
use onefold_core::error::{Class, REQUEST_BODY_INVALID, REQUEST_HEADER_MISSING, SHUTTING_DOWN, TOO_BUSY};
use onefold_core::fingerprint::{Mode, Subject};
use onefold_core::ledger::{Claim, Origin, Source};
use onefold_core::operation::{OperationId, OperationKey, Tenant};
use onefold_core::ports::Store;
use onefold_core::{Error, Result};
use onefold_runtime::{Ledger, Pass, Taking};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::attach;
use super::flights::Flights;
use super::key;
use super::meter::{AnswerKind, Measured};
use super::perform::Granted;
use super::performed::Answered;
use super::refusal::{Protocol, Refusal};
use super::replay;
use super::route::{Key, RouteSettings};
use super::stream::{Proof, Proved, content_digest};
use super::waiters::Waiters;
use super::whole::Whole;
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
    pub(super) terms: Arc<Terms>,
    pub(super) settings: RouteSettings,
    pub(super) flights: Flights,
    pub(super) waiters: Waiters<S>,
    room: Arc<Semaphore>,
}

/// A request that may be claimed.
pub(super) struct Admitted {
    pub(super) key: OperationKey,
    pub(super) caller: Caller,
    pub(super) protocol: Protocol,
    pub(super) parts: Parts,
    pub(super) body: Body,
    pub(super) subject: Subject,
    pub(super) business_key: Option<Arc<str>>,
    /// Whether the body that passes is the announced one.
    pub(super) proof: Proof,
    /// What is held while the call is under way.
    pub(super) places: Places,
}

/// The places that a call takes; given back with it.
pub(super) struct Places {
    pub(super) pass: Option<Pass>,
    pub(super) _permit: OwnedSemaphorePermit,
}

/// A body as it is sent on, and what is known of it.
struct Taken {
    subject: Subject,
    body: Body,
    business_key: Option<Arc<str>>,
    proof: Proof,
}

/// What the first rows of the table say.
pub(super) enum Row {
    /// It is none of ours.
    Pass(Box<Request>),
    Admitted(Box<Admitted>),
}

impl<S: Store> Guard<S> {
    /// A guard for a declared kind.
    pub fn new(ledger: &Ledger<S>, terms: Arc<Terms>, settings: RouteSettings) -> Result<Self> {
        let settings = settings.checked(terms.contract.class())?;
        let inner = Inner {
            waiters: Waiters::new(ledger, &terms.kind, settings.waiters_max),
            room: Arc::new(Semaphore::new(settings.in_flight_max)),
            flights: Flights::default(),
            ledger: ledger.clone(),
            terms,
            settings,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Answers a request: `perform` sends it on, at most once, whoever waits for it.
    pub async fn handle<F, Fut>(&self, request: Request, perform: F) -> Response
    where
        F: FnOnce(Request) -> Fut + Send + 'static,
        Fut: Future<Output = Answered> + Send + 'static,
    {
        let mut measured = Measured::start(&self.inner.terms.kind, request.method());
        let protocol = Protocol::of(request.headers());
        let answered = self.answer(request, perform, &mut measured).await;
        self.said(answered, protocol, measured)
    }

    /// The answer, counted.
    pub(super) fn said(
        &self,
        answered: Result<Response, Stop>,
        protocol: Protocol,
        mut measured: Measured,
    ) -> Response {
        let response = answered.unwrap_or_else(|stop| match stop {
            Stop::Refused(refusal) => {
                measured.refused(refusal.code());
                refusal.into_response(protocol)
            }
            Stop::Unidentified(response) => {
                measured.kind = AnswerKind::Refused;
                *response
            }
        });
        measured.end(&response, self.inner.settings.access_log);
        response
    }

    async fn answer<F, Fut>(&self, request: Request, perform: F, measured: &mut Measured) -> Result<Response, Stop>
    where
        F: FnOnce(Request) -> Fut + Send + 'static,
        Fut: Future<Output = Answered> + Send + 'static,
    {
        let mut admitted = match self.admit(request, measured).await? {
            Row::Pass(request) => return Ok(pass(*request, perform, measured).await),
            Row::Admitted(admitted) => admitted,
        };
        measured.operation(&admitted.key);
        let protocol = admitted.protocol;
        // Before the claim: an attempt may end before its duplicate has heard that it is under way.
        let watch = self.inner.flights.watch(&admitted.key);
        let taken = self.inner.ledger.take(&self.inner.terms, taking(&mut admitted)).await;
        let claim = match taken {
            Ok(claim) => claim,
            Err(error) if self.inner.settings.open && away(&error) => {
                let request = Request::from_parts(admitted.parts, admitted.body);
                return Ok(pass(request, perform, measured).await);
            }
            Err(error) => return Err(error.into()),
        };
        match claim {
            Claim::Granted(performing) => {
                let granted = Granted { guard: self.clone(), performing, admitted: *admitted };
                Ok(granted.perform(perform, measured).await)
            }
            Claim::Replay(found) => {
                measured.kind = AnswerKind::Replayed;
                Ok(replay::replay(&self.inner, &admitted.key, &admitted.caller, &found)?)
            }
            Claim::InFlight { retry_after } => {
                let waiting =
                    attach::Attached { inner: &self.inner, key: &admitted.key, caller: &admitted.caller, watch };
                let prefer = admitted.parts.headers.get("prefer").cloned();
                // Only who performs takes a place of the dependency's.
                drop(admitted.places);
                waiting.wait(prefer.as_ref(), retry_after, protocol, measured).await
            }
            Claim::Conflict => Err(Refusal::reused(&self.inner.settings, &admitted.parts.headers).into()),
            Claim::Unknown { .. } => {
                Err(Refusal::unknown(&admitted.key, "an earlier request with this key may have taken hold").into())
            }
            Claim::Waiting { until } => Err(Refusal::waiting(until, self.inner.ledger.now()).into()),
        }
    }

    /// The rows before the ledger is asked.
    pub(super) async fn admit(&self, request: Request, measured: &mut Measured) -> Result<Row, Stop> {
        let settings = &self.inner.settings;
        if !settings.methods.contains(request.method()) {
            return Ok(Row::Pass(Box::new(request)));
        }
        let key = key::read(request.headers(), &settings.header)?;
        if key.is_none() && settings.key == Key::Required {
            return Err(Error::new(REQUEST_HEADER_MISSING, format!("the header {} is missing", settings.header))
                .hint("send a key of its own with every request, such as a UUID")
                .into());
        }
        let protocol = Protocol::of(request.headers());
        let (mut parts, body) = request.into_parts();
        let caller = settings.caller.identify(&mut parts).await.map_err(Stop::Unidentified)?;
        let Some(key) = key else {
            return Ok(Row::Pass(Box::new(Request::from_parts(parts, body))));
        };
        measured.key(&key);
        let permit = self.permit()?;
        let key = self.operation_key(&key, &caller)?;
        let path = path_values(&mut parts).await;
        let Taken { subject, body, business_key, proof } = self.read(&parts, &path, body).await?;
        // Who is slow to send must not hold a place at the dependency, least of all its probe.
        let places = Places { pass: self.pass()?, _permit: permit };
        let admitted = Admitted { key, caller, protocol, parts, body, subject, business_key, proof, places };
        Ok(Row::Admitted(Box::new(admitted)))
    }

    /// A place in this process.
    fn permit(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.inner.room).try_acquire_owned().map_err(|_| {
            let what = format!("{} calls of this route are under way", self.inner.settings.in_flight_max);
            Refusal::from(Error::new(TOO_BUSY, what)).retry_after(std::time::Duration::from_secs(1))
        })
    }

    /// A place at the dependency.
    fn pass(&self) -> Result<Option<Pass>, Refusal> {
        let entered = self.inner.settings.dependency.as_ref().map(onefold_runtime::Dependency::enter).transpose();
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
    async fn read(&self, parts: &Parts, path: &PathValues, body: Body) -> Result<Taken, Error> {
        let settings = &self.inner.settings;
        let keys = self.inner.ledger.store().keyring();
        let around = around(parts, path, &self.inner.terms);
        let announced = parts.headers.get("content-digest").filter(|_| settings.streams);
        if let Some(sha256) = announced.and_then(|value| content_digest(value.as_bytes())) {
            settings.body.announced(&parts.headers)?;
            let subject = Subject::hashed(around, sha256, &keys)?;
            let (body, proof) = Proved::body(body, sha256, settings.body.bytes_max);
            return Ok(Taken { subject, body, business_key: None, proof });
        }
        let mut whole = Whole::read(&parts.headers, body, &settings.body).await?;
        let mode = if whole.is_empty() { &Mode::Raw } else { &self.inner.terms.fingerprint };
        let subject = match (mode, whole.in_memory()) {
            (Mode::Raw, None) => Subject::hashed(around, whole.sha256(), &keys)?,
            (Mode::Raw | Mode::Canonical | Mode::Fields(_), _) => {
                Subject::within(around, &*whole.bytes()?, mode, &keys)?
            }
        };
        let business_key = match &settings.business_key {
            Some(pointer) => business_key(&whole.bytes()?, pointer),
            None => None,
        };
        Ok(Taken { subject, body: Body::new(whole), business_key, proof: Proof::default() })
    }
}

/// What stands in the variable parts of a request's path, for whoever matched it. Behind axum's router nobody needs to
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
pub(super) enum Stop {
    Refused(Refusal),
    /// Nobody knows who calls.
    Unidentified(Box<Response>),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Refused(error.into())
    }
}

/// What a body stands in: method, route, what its path varies in, query and content type, each with its length.
fn around(parts: &Parts, path: &PathValues, terms: &Terms) -> Vec<u8> {
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

pub(super) fn taking(admitted: &mut Admitted) -> Taking {
    let mut origin = Origin::new(Source::Http);
    origin.business_key = admitted.business_key.take();
    origin.correlation_id = Correlation::current().map(|correlation| Arc::from(correlation.id()));
    Taking {
        tenant: admitted.key.tenant.clone(),
        id: admitted.key.id.clone(),
        subject: admitted.subject.clone(),
        origin,
    }
}

/// Whether the ledger is away, rather than refusing this request.
fn away(error: &Error) -> bool {
    // A process that drains still has attempts of this key under way: the ledger is not away.
    error.code() != SHUTTING_DOWN
        && matches!(error.code().descriptor().class, Class::Dependency | Class::Operational | Class::Contention)
}

/// Sends a request on as it is.
pub(super) async fn pass<F, Fut>(request: Request, perform: F, measured: &mut Measured) -> Response
where
    F: FnOnce(Request) -> Fut,
    Fut: Future<Output = Answered>,
{
    let protocol = Protocol::of(request.headers());
    measured.kind = AnswerKind::Passed;
    let began = Instant::now();
    let answered = perform(request).await;
    measured.upstream = Some(began.elapsed());
    let answered = answered.map(|mut response| {
        response.headers_mut().remove(super::meaning::ONEFOLD_EFFECT);
        response
    });
    answered.unwrap_or_else(|unanswered| unguarded(&unanswered).into_response(protocol))
}

/// No answer to a request that nobody guards.
pub(super) fn unguarded(unanswered: &super::performed::Unanswered) -> Refusal {
    use onefold_core::call::{Happened, Sent};
    let timeout = unanswered.happened == Happened::Timeout;
    let status = if timeout { axum::http::StatusCode::GATEWAY_TIMEOUT } else { axum::http::StatusCode::BAD_GATEWAY };
    match unanswered.sent {
        Sent::Nothing => Refusal::not_sent(status, &unanswered.detail),
        // The sender broke its own request.
        Sent::Something if unanswered.by_us => Error::new(REQUEST_BODY_INVALID, unanswered.detail.as_str()).into(),
        Sent::Something => Refusal::lost(status, &unanswered.detail),
    }
}
