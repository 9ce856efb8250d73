//! Who calls: a stable, verified subject. Never the token itself, which rotates.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use onefold_core::operation::Tenant;
use onefold_core::port::BoxFuture;

use crate::problem_response::ProblemResponse;

/// Whose request it is. Two callers with one key have two operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Not identified: one key is one operation, no matter who sends it.
    Anonymous,
    /// A verified subject.
    Known {
        /// Its stable name, such as a token's issuer and subject.
        subject: Arc<str>,
        /// For whom; the ledger's own tenant where nothing is said.
        tenant: Option<Tenant>,
    },
}

impl Caller {
    /// A verified subject of the ledger's own tenant.
    pub fn known(subject: impl Into<Arc<str>>) -> Self {
        Self::Known { subject: subject.into(), tenant: None }
    }
}

/// Finds out who calls. It runs on every request, replays included.
pub trait Identify: Send + Sync + 'static {
    /// Who calls; or the answer that refuses it, before anything is claimed.
    fn identify<'a>(&'a self, parts: &'a mut Parts) -> BoxFuture<'a, Result<Caller, Box<Response>>>;
}

/// Asks nothing: every request is [`Caller::Anonymous`].
#[derive(Debug, Clone, Copy)]
pub struct Anonymous;

impl Identify for Anonymous {
    fn identify<'a>(&'a self, _parts: &'a mut Parts) -> BoxFuture<'a, Result<Caller, Box<Response>>> {
        Box::pin(std::future::ready(Ok(Caller::Anonymous)))
    }
}

/// Reads the caller that an authenticating layer before this one left in the request.
pub struct FromRequest<F>(pub F);

impl<F> Identify for FromRequest<F>
where
    F: Fn(&Parts) -> Result<Caller, ProblemResponse> + Send + Sync + 'static,
{
    fn identify<'a>(&'a self, parts: &'a mut Parts) -> BoxFuture<'a, Result<Caller, Box<Response>>> {
        let found = (self.0)(parts).map_err(|rejection| Box::new(rejection.into_response()));
        Box::pin(std::future::ready(found))
    }
}
