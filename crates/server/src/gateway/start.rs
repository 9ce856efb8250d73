//! Listening beside the API, and reading the configuration again without dropping a request.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::effect::Terms;
use onefold_core::error::{CONFIGURATION_INVALID, UNEXPECTED};
use onefold_core::{Error, Result};
use onefold_http::ErrorsBase;
use onefold_http::gateway::{Gateway, ListenAt, Listener, ServerTls, Table};
use onefold_http::idempotent::Guard;
use onefold_runtime::Reconciler;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::build::{self, Callers, Dependencies};
use super::declare::{DeclaredCaller, DeclaredGateway};
use crate::app::App;
use crate::config::Config;
use crate::question;

/// A gateway that listens.
pub(crate) struct Running {
    pub(crate) at: ListenAt,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
    reloading: JoinHandle<()>,
}

/// What a new configuration changes.
struct Reload {
    config: Config,
    app: Arc<App>,
    gateway: Arc<Gateway>,
    tls: Option<ServerTls>,
    dependencies: Dependencies,
    callers: Callers,
}

impl Running {
    /// Starts the gateway of a configuration that has routes; whatever is wrong is known before anything is served.
    pub(crate) async fn start(config: &Config, app: &Arc<App>) -> Result<Option<Self>> {
        let Some(declared) = &config.gateway else { return Ok(None) };
        closed_by_default(&config.gateway_listen, declared)?;
        let tls = declared.tls.as_ref().map(ServerTls::read).transpose()?;
        let dependencies = Dependencies::default().follow(&declared.dependencies);
        let callers = Callers::default().follow(&declared.routes)?;
        let Ready { table, kinds } = Ready::of(declared, &dependencies, &callers, app)?;
        warn_of_ways_around(declared);
        let table = with_error_pages(table, config);
        for (terms, reconciler) in kinds {
            app.ledger.declare(Arc::unwrap_or_clone(terms), reconciler)?;
        }
        let listener = Listener::bind(&config.gateway_listen, tls.clone(), declared.limits).await?;
        let at = listener.at().clone();
        let gateway = Arc::new(Gateway::new(table));
        let hangup = signal(SignalKind::hangup())
            .map_err(|cause| Error::new(UNEXPECTED, "signals cannot be heard").caused_by(cause))?;
        let (app, config_now) = (Arc::clone(app), config.clone());
        let reload = Reload { config: config_now, app, gateway: Arc::clone(&gateway), tls, dependencies, callers };
        let (stop, mut stopped) = watch::channel(false);
        let stopped = async move { drop(stopped.wait_for(|stop| *stop).await) };
        let serving = tokio::spawn(listener.serve(gateway, stopped, config.drain_for));
        Ok(Some(Self { at, stop, serving, reloading: tokio::spawn(reload.on(hangup)) }))
    }

    /// Lets what is under way end; connections get `drain_for`.
    pub(crate) async fn stop(self, drain_for: Duration) {
        self.reloading.abort();
        let _ = self.stop.send(true);
        // A second more than the listener itself waits.
        let _ = tokio::time::timeout(drain_for + Duration::from_secs(1), self.serving).await;
    }
}

impl Reload {
    /// Reads the configuration again on every signal. A broken one changes nothing.
    async fn on(mut self, mut hangup: tokio::signal::unix::Signal) {
        while hangup.recv().await.is_some() {
            match self.again() {
                Ok(routes) => tracing::info!(routes, "the routes were read again"),
                Err(error) => tracing::error!(
                    error_code = error.code().as_str(),
                    detail = error.detail(),
                    hint = error.next_step(),
                    "the configuration is broken; the old routes stay"
                ),
            }
        }
    }

    fn again(&mut self) -> Result<usize> {
        let config = self.config.again()?;
        let Some(declared) = &config.gateway else {
            return Err(Error::new(CONFIGURATION_INVALID, "the configuration has no [[route]] any more")
                .hint("stop the server to end its gateway"));
        };
        if config.gateway_listen != self.config.gateway_listen {
            return Err(Error::new(CONFIGURATION_INVALID, "the gateway's address has changed")
                .hint("start the server again to listen elsewhere"));
        }
        closed_by_default(&config.gateway_listen, declared)?;
        let tls = match (&self.tls, &declared.tls) {
            (None, None) => None,
            (Some(tls), Some(files)) => Some((tls, ServerTls::read(files)?)),
            (None, Some(_)) | (Some(_), None) => {
                return Err(Error::new(CONFIGURATION_INVALID, "TLS was added or removed")
                    .hint("start the server again: clients must be told as well"));
            }
        };
        let routes = declared.routes.len();
        let dependencies = self.dependencies.follow(&declared.dependencies);
        let callers = self.callers.follow(&declared.routes)?;
        let Ready { table, kinds } = Ready::of(declared, &dependencies, &callers, &self.app)?;
        warn_of_ways_around(declared);
        let table = with_error_pages(table, &config);
        // The last that can fail, and it declares all or none.
        self.app.ledger.redeclare(kinds)?;
        self.gateway.exchange(table);
        if let Some((tls, later)) = tls {
            tls.exchange(&later);
        }
        self.dependencies = dependencies;
        self.callers = callers;
        self.config = config;
        Ok(routes)
    }
}

/// Routes that may serve as soon as their kinds are declared. Files were read and settings checked; nothing has changed.
struct Ready {
    table: Table,
    kinds: Vec<(Arc<Terms>, Option<Reconciler>)>,
}

impl Ready {
    fn of(declared: &DeclaredGateway, dependencies: &Dependencies, callers: &Callers, app: &App) -> Result<Self> {
        let mut kinds = Vec::with_capacity(declared.routes.len());
        let table = build::table(declared, callers, |route| {
            let terms = Arc::new(route.terms.clone());
            let reconciler = question::of(route.question.as_ref(), &terms, build::credential(route)?)?;
            let guard = Guard::new(&app.ledger, Arc::clone(&terms), build::settings(route, dependencies)?)?;
            kinds.push((terms, reconciler));
            Ok(Arc::new(guard))
        })?;
        Ok(Self { table, kinds })
    }
}

/// Says where `otherwise` is a second way to a guarded upstream: whatever that upstream takes for a route's path, and the
/// route does not, is performed unguarded.
fn warn_of_ways_around(declared: &DeclaredGateway) {
    let Some(otherwise) = &declared.otherwise else { return };
    for route in &declared.routes {
        if route.upstreams.iter().any(|upstream| upstream.is_same_server(otherwise)) {
            tracing::warn!(
                route = %route.terms.kind,
                lookalikes = ?declared.otherwise_lookalikes,
                "`otherwise` sends requests to the upstream of a guarded route, unguarded"
            );
        }
    }
}

/// The table, knowing where the pages of error codes are.
fn with_error_pages(table: Table, config: &Config) -> Table {
    let table = table.errors_at(config.errors_base.clone());
    if table.errors_base().as_str() == ErrorsBase::UNRESOLVABLE {
        tracing::warn!(
            "a route takes /errors/, so a problem's `type` has no page here; set errors_base to a place that has"
        );
    }
    table
}

/// Refuses to listen where others can reach it, unless every caller is known or openness is meant.
fn closed_by_default(at: &ListenAt, declared: &DeclaredGateway) -> Result<()> {
    let certified = declared.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    let known = declared.routes.iter().all(|route| route.caller != DeclaredCaller::Anonymous);
    let reachable = match at {
        ListenAt::Unix(_) => false,
        ListenAt::Tcp(address) => !address.ip().is_loopback(),
    };
    if !reachable || declared.open || certified || known && declared.otherwise.is_none() {
        return Ok(());
    }
    let what = format!("the gateway at {at} can be reached from other machines, and somebody may call it unknown");
    Err(Error::new(CONFIGURATION_INVALID, what).hint(
        "give [gateway] tls with client_ca, or every route a caller and no `otherwise`; or say [gateway] open = true",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(gateway: &str, caller: &str) -> DeclaredGateway {
        let text = format!(
            "[gateway]\n{gateway}\n[[route]]\nname = \"pay\"\nmatch = \"POST /p\"\nupstream = \"http://127.0.0.1:1\"\nclass = \"external-command\"\ncaller = {caller}\n"
        );
        super::super::declare::read("x.toml", &text).unwrap().unwrap()
    }

    #[test]
    fn only_known_callers_reach_it_from_elsewhere_unless_that_is_meant() {
        let anywhere = ListenAt::Tcp("0.0.0.0:7080".parse().unwrap());
        let tls = "tls = { certificate = \"a\", key = \"b\", client_ca = \"c\" }";
        let rows = [
            ("", "\"anonymous\"", false),
            ("", "\"certificate\"", true),
            ("open = true", "\"anonymous\"", true),
            (tls, "\"anonymous\"", true),
            ("tls = { certificate = \"a\", key = \"b\" }", "\"anonymous\"", false),
            ("otherwise = \"http://127.0.0.1:1\"", "\"certificate\"", false),
        ];
        for (gateway, caller, allowed) in rows {
            let checked = closed_by_default(&anywhere, &declared(gateway, caller));
            assert_eq!(checked.is_ok(), allowed, "{gateway} {caller}");
        }
        let here = ListenAt::Tcp("127.0.0.1:7080".parse().unwrap());
        let socket = ListenAt::Unix("/run/x.sock".into());
        assert!(closed_by_default(&here, &declared("", "\"anonymous\"")).is_ok());
        assert!(closed_by_default(&socket, &declared("", "\"anonymous\"")).is_ok());
    }
}
