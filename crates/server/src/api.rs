//! The ledger over HTTP, for any language.
//!
//! | file | what it answers |
//! |---|---|
//! | `claims` | may I perform? |
//! | `records` | what happened: complete, fail, unknown, release, renew |
//! | `operations` | get, list, timeline, result |
//! | `incidents` | the work list |
//! | `verbs`, `verb_bodies` | what a person decides, about one incident and about many |
//! | `events`, `event_verbs` | the outbox: stage, look, decide about what was set aside |
//! | `relays` | how far each relay is; start, retire, rebase |
//! | `replays` | what is sent again: ask, look, cancel |
//! | `prune` | retention, applied now |
//! | `grants` | how long callers take |
//! | `health` | alive, ready, metrics |
//! | `pages` | error codes and runbooks, for anyone |
//! | `admission` | who is let in |
//! | `problem_response`, `documented_problems` | every error; which operation answers which |
//! | `fields`, `names`, `choices` | how fields are read, and what the description says of them |
//! | `undelivered` | grants whose caller is gone |

mod admission;
mod choices;
mod claims;
mod documented_problems;
mod event_verbs;
mod events;
pub(crate) mod fields;
mod grants;
mod health;
mod incidents;
mod names;
mod openapi;
mod operations;
mod outbox_shapes;
mod pages;
mod problem_response;
mod prune;
mod records;
mod relays;
mod replay_shapes;
mod replays;
mod shapes;
mod undelivered;
mod verb_bodies;
mod verbs;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::{Extension, Router};
use metrics_exporter_prometheus::PrometheusHandle;
use onefold_core::Result;
use onefold_core::error::{AUTHORIZATION_DENIED, Error};
use onefold_http::ErrorsBase;

use crate::app::App;
use crate::identity::{Credentials, Identity, Permission};

use admission::Admission;
pub(crate) use admission::AdmissionRules;
pub(crate) use shapes::hexadecimal;

/// What every handler is handed.
pub(crate) struct Api {
    pub(crate) app: Arc<App>,
    /// Told apart from any other server on the same address.
    pub(crate) instance: String,
    pub(crate) metrics: Option<PrometheusHandle>,
    pub(crate) grants: grants::Grants,
    draining: AtomicBool,
}

/// How handlers share it.
pub(crate) type Shared = Arc<Api>;

impl Api {
    pub(crate) fn new(app: Arc<App>, instance: String, metrics: Option<PrometheusHandle>) -> Shared {
        Arc::new(Self { app, instance, metrics, grants: grants::Grants::default(), draining: AtomicBool::new(false) })
    }

    /// From now on not ready: a load balancer sends nothing new.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// Refuses a caller whose role does not allow it.
pub(crate) fn need(who: &Identity, permission: Permission) -> Result<()> {
    if who.role.may(permission) {
        return Ok(());
    }
    let needs = match permission {
        Permission::Look => "reader",
        Permission::Act => "caller",
        Permission::Decide => "operator",
        Permission::Administer => "administrator",
    };
    Err(Error::new(AUTHORIZATION_DENIED, format!("{} is {}; this call needs {needs}", who.name, who.role.as_str()))
        .hint(format!("use a token with the role {needs}; `onefold token list` shows the roles")))
}

/// The API behind a gate that asks for credentials.
pub(crate) fn served(
    api: &Shared,
    credentials: Arc<Credentials>,
    gate: AdmissionRules,
    body_bytes_max: usize,
    errors_base: ErrorsBase,
) -> Router {
    // One layer: each costs every request an allocation or two, and a copy of all that is below it.
    let gate = Arc::new(Admission { rules: gate, credentials, body_bytes_max, errors_base });
    routes(api).layer(middleware::from_fn_with_state(gate, admission::guard))
}

/// The API for a command in the same process, which has the file and needs no credential.
pub(crate) fn here(api: &Shared, who: Identity) -> Router {
    routes(api)
        .layer(DefaultBodyLimit::max(64 * 1024 * 1024))
        .layer(Extension(who))
        .layer(onefold_http::catch_panics())
        .layer(middleware::from_fn(onefold_http::correlate))
}

fn routes(api: &Shared) -> Router {
    let (documented, _) = openapi::routes().split_for_parts();
    documented
        .fallback(onefold_http::no_route)
        .method_not_allowed_fallback(onefold_http::no_method)
        .with_state(Arc::clone(api))
}
