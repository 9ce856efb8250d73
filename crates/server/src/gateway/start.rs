//! Listening beside the API, and reading the configuration again without dropping a request.

use std::sync::Arc;
use std::time::Duration;

use onefold_config::CallerDeclaration;
use onefold_core::error::{CONFIGURATION_INVALID, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::port::BoxFuture;
use onefold_core::{Error, Result};
use onefold_gateway::{Gateway, Table};
use onefold_http::ErrorsBase;
use onefold_http::idempotent::Guard;
use onefold_http::listen::{ListenAt, Listener, ServerTls};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::build::{self, Callers};
use super::declare::DeclaredGateway;
use crate::app::App;
use crate::config::Config;
use crate::part::{DrainStage, Part, PartKinds};
use crate::reconcile_http;

/// The name of this part.
pub(crate) const NAME: &str = "gateway";

/// A gateway that listens.
struct RunningGateway {
    app: Arc<App>,
    at: ListenAt,
    /// Where it was told to listen.
    listen: ListenAt,
    gateway: Arc<Gateway>,
    tls: Option<ServerTls>,
    callers: Callers,
    next: Option<NextConfig>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

/// What the next configuration says.
struct NextConfig {
    table: Table,
    callers: Callers,
    tls: Option<ServerTls>,
}

/// Starts the gateway of a configuration that has routes; whatever is wrong is known before anything is served.
pub(crate) async fn start(config: &Config, app: &Arc<App>) -> Result<Box<dyn Part>> {
    let declared = declared(config)?;
    closed_by_default(&config.gateway_listen, declared)?;
    let tls = declared.declared.access.tls.as_ref().map(ServerTls::read).transpose()?;
    let callers = Callers::default().follow(&declared.routes)?;
    let Ready { table, kinds } = Ready::of(declared, &callers, app)?;
    warn_of_ways_around(declared);
    let table = with_error_pages(table, config);
    for (terms, reconciler) in kinds {
        app.ledger.declare(Arc::unwrap_or_clone(terms), reconciler)?;
    }
    let listen = config.gateway_listen.clone();
    let listener = Listener::bind(&listen, "--gateway-listen", tls.clone(), declared.declared.limits).await?;
    let at = listener.at().clone();
    let gateway = Arc::new(Gateway::new(table));
    let (stop, mut stopped) = watch::channel(false);
    let stopped = async move { drop(stopped.wait_for(|stop| *stop).await) };
    let serving = tokio::spawn(listener.serve(Arc::clone(&gateway).router(), stopped, config.drain_for));
    Ok(Box::new(RunningGateway { app: Arc::clone(app), at, listen, gateway, tls, callers, next: None, stop, serving }))
}

fn declared(config: &Config) -> Result<&DeclaredGateway> {
    config.gateway.as_ref().ok_or_else(|| Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a part without its declaration"))
}

impl Part for RunningGateway {
    fn name(&self) -> &'static str {
        NAME
    }

    fn stage(&self) -> DrainStage {
        DrainStage::Listeners
    }

    fn listens_at(&self) -> Option<String> {
        Some(self.at.to_string())
    }

    fn prepare(&mut self, next: &Config) -> Result<PartKinds> {
        let declared = declared(next)?;
        if next.gateway_listen != self.listen {
            return Err(Error::new(CONFIGURATION_INVALID, "the gateway's address has changed")
                .hint("restart the server to listen elsewhere"));
        }
        closed_by_default(&next.gateway_listen, declared)?;
        let tls = match (&self.tls, &declared.declared.access.tls) {
            (None, None) => None,
            (Some(_), Some(files)) => Some(ServerTls::read(files)?),
            (None, Some(_)) | (Some(_), None) => {
                return Err(Error::new(CONFIGURATION_INVALID, "TLS was added or removed")
                    .hint("restart the server: clients must be told as well"));
            }
        };
        let callers = self.callers.follow(&declared.routes)?;
        let Ready { table, kinds } = Ready::of(declared, &callers, &self.app)?;
        warn_of_ways_around(declared);
        self.next = Some(NextConfig { table: with_error_pages(table, next), callers, tls });
        Ok(kinds)
    }

    fn apply(&mut self) {
        let Some(NextConfig { table, callers, tls }) = self.next.take() else { return };
        self.gateway.exchange(table);
        self.callers = callers;
        if let (Some(tls), Some(later)) = (&self.tls, tls) {
            tls.exchange(&later);
        }
    }

    fn stop(self: Box<Self>, within: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let _ = self.stop.send(true);
            // A second more than the listener itself waits.
            let _ = tokio::time::timeout(within + Duration::from_secs(1), self.serving).await;
        })
    }
}

/// Routes that may serve as soon as their kinds are declared. Files were read and settings checked; nothing has changed.
struct Ready {
    table: Table,
    kinds: PartKinds,
}

impl Ready {
    fn of(declared: &DeclaredGateway, callers: &Callers, app: &App) -> Result<Self> {
        let mut kinds = Vec::with_capacity(declared.routes.len());
        let table = build::table(declared, callers, |route| {
            let terms = Arc::new(route.kind.terms.clone());
            let reconciler = reconcile_http::of(route.kind.question.as_ref(), &terms, build::credential(route)?)?;
            let guard = Guard::new(&app.ledger, Arc::clone(&terms), build::settings(route)?);
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
                route = route.name(),
                lookalikes = declared.declared.access.otherwise_lookalikes.as_str(),
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
    let access = &declared.declared.access;
    let certified = access.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    let known = declared.routes.iter().all(|route| route.declared.forward.caller != Some(CallerDeclaration::Anonymous));
    let reachable = match at {
        ListenAt::Unix(_) => false,
        ListenAt::Tcp(address) => !address.ip().is_loopback(),
    };
    if !reachable || access.open || certified || known && declared.otherwise.is_none() {
        return Ok(());
    }
    let what = format!("the gateway at {at} can be reached from other machines, and not every caller is identified");
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
