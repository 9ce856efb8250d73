//! A route that takes hold once: its kind, and how it speaks HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderName;
use axum::http::request::Parts;
use onefold_config::{GuardDeclaration, GuardedMethod, KeyRequirement, ReusedDeclaration, StatusMeaning};
use onefold_core::effect::{
    Class, Converging, ExternalCommand, FinancialOrLegal, HumanNotification, Local, MessagePublish, OnUnknown, Pure,
    Retention,
};
use onefold_core::error::{Code, Result};
use onefold_core::fingerprint::Mode;
use onefold_runtime::{IntoReconciler, Kind};

use super::settings::{RouteContext, RouteSettings};
use crate::caller::{Caller, FromRequest};
use crate::problem_response::ProblemResponse;

/// A route of class `C`: the class comes first and offers only the policies it allows.
///
/// Every key that `[[route]]` of `onefold.toml` has for the guard of a route is a method here, with the same name, the
/// same values and the same default. What is wrong is told when the route is declared to a ledger.
pub struct Route<C> {
    kind: Kind<C>,
    guard: GuardDeclaration,
    context: RouteContext,
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
    /// Reaches a person.
    human_notification -> HumanNotification;
    /// Moves money or has legal force.
    financial_or_legal -> FinancialOrLegal;
}

impl Route<MessagePublish> {
    /// Publishes a message; a broker that drops repetitions of a key makes it one.
    pub fn message_publish(name: impl Into<String>, policy: impl OnUnknown<MessagePublish> + IntoReconciler) -> Self {
        Self::of(Kind::message_publish(name, policy))
    }
}

impl Route<Pure> {
    /// Computes or reads; its answers are remembered.
    pub fn pure(name: impl Into<String>) -> Self {
        Self::of(Kind::pure(name))
    }
}

impl<C: Class> Route<C> {
    fn of(kind: Kind<C>) -> Self {
        Self { kind, guard: GuardDeclaration::default(), context: RouteContext::default() }
    }

    /// Its kind, to be declared, and its settings, checked.
    pub(super) fn resolve(self) -> Result<(Kind<C>, RouteSettings)> {
        let Self { kind, guard, context } = self;
        let kind = kind.declare(|declared| guard.complete(declared));
        let settings = RouteSettings::resolve(guard, C::CLASS, context);
        let settings = settings.map_err(|mistake| mistake.of(&format!("route {:?}", kind.name())))?;
        Ok((kind, settings))
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

    /// How long answers and keys are kept; 24 hours and 30 days where it is not said.
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

    /// Who calls, as an authenticating layer before this one left it in the request.
    #[must_use]
    pub fn caller(
        mut self,
        caller: impl Fn(&Parts) -> std::result::Result<Caller, ProblemResponse> + Send + Sync + 'static,
    ) -> Self {
        self.context.caller = Arc::new(FromRequest(caller));
        self
    }

    /// The dependency that is called: its limits hold for this route, as for all who depend on it. Failures are counted
    /// against it, and incidents name it.
    #[must_use]
    pub fn depends_on(mut self, dependency: &str) -> Self {
        self.kind = self.kind.depends_on(dependency);
        self
    }

    /// The header in which the service behind gets the operation's key. `on_unknown = { same_key = "HEADER", … }` of a
    /// file says the same.
    #[must_use]
    pub fn provider_key(mut self, header: HeaderName) -> Self {
        self.context.provider_key = Some(header);
        self
    }

    fn guarded(mut self, change: impl FnOnce(&mut GuardDeclaration)) -> Self {
        change(&mut self.guard);
        self
    }

    /// Whether a request must carry a key; by default it must.
    #[must_use]
    pub fn key(self, key: KeyRequirement) -> Self {
        self.guarded(|guard| guard.key = key)
    }

    /// The header that holds the key.
    #[must_use]
    pub fn header(self, header: impl AsRef<str>) -> Self {
        self.guarded(|guard| header.as_ref().clone_into(&mut guard.header))
    }

    /// Shows stored answers to anonymous callers.
    #[must_use]
    pub fn anonymous_replay(self) -> Self {
        self.guarded(|guard| guard.anonymous_replay = true)
    }

    /// Methods that are guarded; the others pass.
    #[must_use]
    pub fn methods(self, methods: impl IntoIterator<Item = GuardedMethod>) -> Self {
        self.guarded(|guard| guard.methods = Some(methods.into_iter().collect()))
    }

    /// What statuses of the service behind mean, where that differs from what every caller must assume.
    #[must_use]
    pub fn answers(self, answers: impl IntoIterator<Item = (u16, StatusMeaning)>) -> Self {
        self.guarded(|guard| guard.answers = answers.into_iter().collect::<BTreeMap<_, _>>())
    }

    /// Believes the `Onefold-Effect` header of the service behind.
    #[must_use]
    pub fn trust_effect_header(self) -> Self {
        self.guarded(|guard| guard.trust_effect_header = true)
    }

    /// Where the reference to the effect is: `/id` in the body, or `header:X-Reference`.
    #[must_use]
    pub fn evidence(self, place: impl Into<String>) -> Self {
        self.guarded(|guard| guard.evidence = Some(place.into()))
    }

    /// Where in a JSON body the key is by which operations are found, as a pointer.
    #[must_use]
    pub fn business_key(self, pointer: impl Into<String>) -> Self {
        self.guarded(|guard| guard.business_key = Some(pointer.into()))
    }

    /// How long a duplicate waits for the request in flight, unless it prefers otherwise.
    #[must_use]
    pub fn wait(self, wait: Duration) -> Self {
        self.guarded(|guard| guard.wait = wait)
    }

    /// How many may wait at once; with 0 none waits.
    #[must_use]
    pub fn waiters_max(self, waiters: usize) -> Self {
        self.guarded(|guard| guard.waiters_max = waiters)
    }

    /// The status for a duplicate whose wait ended without an answer: 409, 425 or 503.
    #[must_use]
    pub fn in_flight_status(self, status: u16) -> Self {
        self.guarded(|guard| guard.in_flight_status = status)
    }

    /// Guarded requests in flight at once; more get 503.
    #[must_use]
    pub fn in_flight_max(self, requests: usize) -> Self {
        self.guarded(|guard| guard.in_flight_max = requests)
    }

    /// What a key that was used for another request is answered with: 422 or 409, and a code.
    #[must_use]
    pub fn reused(self, status: u16, code: Code) -> Self {
        self.guarded(|guard| guard.reused = ReusedDeclaration { status, code })
    }

    /// The status of a replayed success, where it differs from the stored one.
    #[must_use]
    pub fn replay_status(self, status: u16) -> Self {
        self.guarded(|guard| guard.replay_status = Some(status))
    }

    /// Bytes of the largest request body.
    #[must_use]
    pub fn body_bytes_max(self, bytes: usize) -> Self {
        self.guarded(|guard| guard.body_bytes_max = bytes)
    }

    /// How long a request's body may take to arrive.
    #[must_use]
    pub fn read_within(self, within: Duration) -> Self {
        self.guarded(|guard| guard.read_within = within)
    }

    /// Bytes of the largest answer body that is stored; a larger one passes and is not replayed.
    #[must_use]
    pub fn answer_bytes_max(self, bytes: usize) -> Self {
        self.guarded(|guard| guard.answer_bytes_max = bytes)
    }

    /// Further headers to store; never those that belong to one client.
    #[must_use]
    pub fn stored_headers<N: AsRef<str>>(self, names: impl IntoIterator<Item = N>) -> Self {
        let names = names.into_iter().map(|name| name.as_ref().to_owned());
        self.guarded(|guard| guard.stored_headers = names.collect())
    }

    /// Sends a body with a `Content-Digest` on as it comes, fingerprinted by that digest.
    #[must_use]
    pub fn streams(self) -> Self {
        self.guarded(|guard| guard.streams = true)
    }

    /// Lets requests pass **unguarded** while the ledger is unavailable, where the class allows it.
    #[must_use]
    pub fn open(self) -> Self {
        self.guarded(|guard| guard.open = true)
    }

    /// Writes a log line for each request.
    #[must_use]
    pub fn access_log(self) -> Self {
        self.guarded(|guard| guard.access_log = Some(true))
    }
}

#[cfg(test)]
mod tests;
