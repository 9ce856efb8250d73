//! A route that takes hold once: its kind, and how it speaks HTTP.

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderName, Method, StatusCode};
use onefold_core::effect::{
    Class, Converging, EffectClass, ExternalCommand, FinancialOrLegal, HumanNotification, Local, MessagePublish,
    OnUnknown, Pure, Retention,
};
use onefold_core::error::{Code, DECLARATION_INVALID, IDEMPOTENCY_KEY_REUSED};
use onefold_core::fingerprint::Mode;
use onefold_core::{Error, Result};
use onefold_runtime::{Dependency, IntoReconciler, Kind};

use super::evidence::Evidence;
use super::key::IDEMPOTENCY_KEY;
use super::meaning::Answers;
use super::stored::STORED_HEADERS;
use super::whole::BodyLimits;
use crate::caller::{Anonymous, Caller, FromRequest, Identify};
use crate::rejection::Rejection;

/// Whether a request must carry a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A request without one is refused.
    Required,
    /// A request without one passes, unguarded.
    Optional,
}

/// How a route speaks HTTP. Every limit has its unit in its type or name.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting with a name of its own")]
pub struct RouteSettings {
    /// Whether a request must carry a key.
    pub key: Key,
    /// The header that the key stands in.
    pub header: HeaderName,
    /// Who calls.
    pub caller: Arc<dyn Identify>,
    /// Whether a stored answer is given to callers that nobody identified.
    pub replays_to_anyone: bool,
    /// Methods that are guarded; the others pass.
    pub methods: Vec<Method>,
    /// What each answer means.
    pub answers: Answers,
    /// Headers of an answer that are kept.
    pub stored_headers: Vec<HeaderName>,
    /// The status of a replayed success, where it differs from the stored one.
    pub replay_status: Option<StatusCode>,
    /// How bodies are read.
    pub body: BodyLimits,
    /// Whether a body with a `Content-Digest` is sent on as it comes, fingerprinted by that digest.
    pub streams: bool,
    /// Calls under way at once.
    pub in_flight_max: usize,
    /// Requests that may wait for another's end at once.
    pub waiters_max: usize,
    /// How long a duplicate waits for the attempt under way, unless it prefers otherwise.
    pub wait: Duration,
    /// How long it may prefer to wait at most.
    pub wait_max: Duration,
    /// The status for a duplicate that waited in vain: 409, 425 or 503.
    pub in_flight_status: StatusCode,
    /// What a key that was used for another request is answered with.
    pub reused: (StatusCode, Code),
    /// Where in an answer the evidence of its effect stands.
    pub evidence: Evidence,
    /// What is called, with its limits.
    pub dependency: Option<Dependency>,
    /// The header in which the upstream takes a key of its own.
    pub provider_key: Option<HeaderName>,
    /// Where in a JSON body the business key stands.
    pub business_key: Option<String>,
    /// Whether requests are sent on unguarded while the ledger does not answer.
    pub open: bool,
    /// Whether each request is a line of the log.
    pub access_log: bool,
}

impl Default for RouteSettings {
    fn default() -> Self {
        Self {
            key: Key::Required,
            header: IDEMPOTENCY_KEY,
            caller: Arc::new(Anonymous),
            replays_to_anyone: false,
            methods: vec![Method::POST, Method::PATCH],
            answers: Answers::default(),
            stored_headers: STORED_HEADERS.to_vec(),
            replay_status: None,
            body: BodyLimits::default(),
            streams: false,
            in_flight_max: 1_024,
            waiters_max: 4_096,
            wait: Duration::from_secs(5),
            wait_max: Duration::from_secs(30),
            in_flight_status: StatusCode::CONFLICT,
            reused: (StatusCode::UNPROCESSABLE_ENTITY, IDEMPOTENCY_KEY_REUSED),
            evidence: Evidence::default(),
            dependency: None,
            provider_key: None,
            business_key: None,
            open: false,
            access_log: false,
        }
    }
}

impl RouteSettings {
    /// How long answers and keys of callers are kept unless a route says otherwise.
    pub const RETENTION: Retention = Retention {
        result_for: Some(Duration::from_hours(24)),
        id_for: Some(Duration::from_hours(30 * 24)),
        redelivery_for: None,
    };

    /// Refuses settings that a class does not allow.
    pub(super) fn checked(self, class: EffectClass) -> Result<Self> {
        let guarded = matches!(
            class,
            EffectClass::ExternalCommand
                | EffectClass::MessagePublish
                | EffectClass::HumanNotification
                | EffectClass::FinancialOrLegal
        );
        if self.open && guarded {
            return Err(Error::new(DECLARATION_INVALID, format!("a route of class {class} may not be open"))
                .hint("without the ledger such an effect could happen twice: leave `open` out"));
        }
        if ![409, 425, 503].contains(&self.in_flight_status.as_u16()) {
            return Err(Error::new(DECLARATION_INVALID, "a request in flight is answered with 409, 425 or 503"));
        }
        if ![409, 422].contains(&self.reused.0.as_u16()) {
            return Err(Error::new(DECLARATION_INVALID, "a reused key is answered with 409 or 422"));
        }
        Ok(self)
    }
}

/// A route of class `C`: the class comes first and offers only the policies it allows.
pub struct Route<C> {
    pub(super) kind: Kind<C>,
    pub(super) settings: RouteSettings,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident -> $class:ident;)+) => {$(
        impl Route<$class> {
            $(#[$doc])*
            pub fn $name(name: impl Into<String>) -> Self {
                Self::of(Kind::$name(name))
            }
        }
    )+};
}

constructors! {
    /// Changes something to a state that a repetition leaves as it is.
    converging -> Converging;
    /// Changes the handler's own database: the handler calls `once_in` itself.
    local -> Local;
    /// Tells another system to do something.
    external_command -> ExternalCommand;
    /// Publishes a message.
    message_publish -> MessagePublish;
    /// Reaches a person.
    human_notification -> HumanNotification;
    /// Moves money or has legal force.
    financial_or_legal -> FinancialOrLegal;
}

impl Route<Pure> {
    /// Computes or reads; its answers are remembered.
    pub fn pure(name: impl Into<String>) -> Self {
        Self::of(Kind::pure(name).remember())
    }
}

impl<C: Class> Route<C> {
    fn of(kind: Kind<C>) -> Self {
        let kind = kind.retention(RouteSettings::RETENTION).result_bytes_max(64 * 1024 * 1024);
        Self { kind, settings: RouteSettings::default() }
    }

    /// What an unknown outcome may do. A policy that the class does not allow does not compile.
    #[must_use]
    pub fn on_unknown<P: OnUnknown<C> + IntoReconciler>(mut self, policy: P) -> Self {
        self.kind = self.kind.on_unknown(policy);
        self
    }

    /// How long one attempt may take.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.kind = self.kind.deadline(deadline);
        self
    }

    /// How long answers and keys are kept.
    #[must_use]
    pub fn retention(mut self, retention: Retention) -> Self {
        self.kind = self.kind.retention(retention);
        self
    }

    /// What of a body is compared.
    #[must_use]
    pub fn fingerprint(mut self, mode: Mode) -> Self {
        self.kind = self.kind.fingerprint(mode);
        self
    }

    /// Anything else that the declaration of a kind may say.
    #[must_use]
    pub fn kind(mut self, change: impl FnOnce(Kind<C>) -> Kind<C>) -> Self {
        self.kind = change(self.kind);
        self
    }

    /// Whether a request must carry a key.
    #[must_use]
    pub fn key(mut self, key: Key) -> Self {
        self.settings.key = key;
        self
    }

    /// Who calls, as an authenticating layer before this one left it in the request.
    #[must_use]
    pub fn caller(
        mut self,
        caller: impl Fn(&Parts) -> std::result::Result<Caller, Rejection> + Send + Sync + 'static,
    ) -> Self {
        self.settings.caller = Arc::new(FromRequest(caller));
        self
    }

    /// What a key that was used for another request is answered with.
    #[must_use]
    pub fn reused(mut self, status: StatusCode, code: Code) -> Self {
        self.settings.reused = (status, code);
        self
    }

    /// Anything else of how it speaks HTTP.
    #[must_use]
    pub fn settings(mut self, change: impl FnOnce(&mut RouteSettings)) -> Self {
        change(&mut self.settings);
        self
    }
}
