//! Listening: connections within limits, a drain before the end, and a discovery file beside the database for the commands.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use onefold_core::error::{ADDRESS_UNAVAILABLE, CONFIGURATION_INVALID};
use onefold_core::port::Faults;
use onefold_core::{Error, Result};
use onefold_http::listen::{ListenAt, Listener};
use onefold_runtime::Shutdown;
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::api::{self, AdmissionRules, Api, Shared};
use crate::app::{App, Opener};
use crate::client::Client;
use crate::config::Config;
use crate::database::Creation;
use crate::identity::{Credentials, first_token};
use crate::metrics;
use crate::outcome_file;
use crate::part::Parts;

/// How often opened and closed incidents are looked for at the least.
pub(crate) const ANNOUNCE_EVERY: Duration = Duration::from_secs(2);

/// A server that listens.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    listener: Listener,
    api: Shared,
    router: Router,
    drain_for: Duration,
    discovery: Discovery,
    parts: Arc<Mutex<Parts>>,
    /// Where the gateway listens, if there is one.
    pub(crate) gateway: Option<String>,
    /// What else runs as long as it serves.
    beside: Vec<JoinHandle<()>>,
}

impl Server {
    /// Opens the database and binds the address; whatever is wrong is known before anything is served.
    pub(crate) async fn bind(config: &Config, creation: Creation, faults: Arc<dyn Faults>) -> Result<Self> {
        // First: a recorder that comes later has missed what was counted before.
        let metrics = metrics::start();
        let at = ListenAt::Tcp(config.listen);
        let listener = Listener::bind(&at, "--listen", None, config.connection_limits).await?;
        let ListenAt::Tcp(address) = *listener.at() else {
            return Err(Error::new(ADDRESS_UNAVAILABLE, "the API listens on an address, not on a socket file"));
        };
        let app = Arc::new(App::open_with(config, Opener::Server, creation, faults).await?);
        if config.token.is_none() {
            first_token(&config.token_file)?;
        }
        let credentials =
            Arc::new(Credentials::new(app.ledger.store().clone(), config.token.as_deref(), &config.token_file));
        closed_by_default(address, &credentials).await?;
        app.ledger.start().await?;
        app.ledger.close_undeclared_outages().await?;
        let parts = Parts::start(config, &app).await?;
        let instance = uuid::Uuid::new_v4().simple().to_string();
        let api = Api::new(app, instance.clone(), metrics);
        let gate = AdmissionRules::new(address, &config.hosts);
        let errors_base = config.errors_base.clone().unwrap_or_default();
        let router = api::served(&api, credentials, gate, config.body_bytes_max, errors_base);
        let waiting = record_waiting(&api, config);
        let gateway = parts.listens_at(crate::gateway::NAME);
        let parts = Arc::new(Mutex::new(parts));
        let reloading = reload_on_hangup(Arc::clone(&parts), Arc::clone(&api.app))?;
        let discovery = Discovery::write(&config.files.discovery, address, instance);
        Ok(Self {
            address,
            listener,
            api,
            router,
            drain_for: config.drain_for,
            discovery,
            parts,
            gateway,
            beside: vec![waiting, reloading],
        })
    }

    /// Serves until a signal to stop, then lets what is in flight end.
    pub(crate) async fn serve(self) -> Result<()> {
        let mut stopped = StopSignals::listen()?;
        let folding = self.api.metrics.clone().map(metrics::fold);
        let (api, parts, drain_for) = (&self.api, self.parts, self.drain_for);
        let mut draining = None;
        let stop = async {
            stopped.asked().await;
            tracing::info!("draining");
            api.drain();
            // The API drains beside the first stage.
            draining = Some(tokio::spawn(async move { parts.lock().await.drain(drain_for).await }));
        };
        self.listener.serve(self.router, stop, drain_for).await;
        if let Some(parts) = draining {
            let _ = parts.await;
        }
        for task in self.beside.into_iter().chain(folding) {
            task.abort();
        }
        self.api.app.ledger.shutdown(Shutdown::Drain { within: self.drain_for }).await;
        self.discovery.remove();
        Ok(())
    }
}

/// Records what runs left behind that could not reach the ledger, now and again.
fn record_waiting(api: &Shared, config: &Config) -> JoinHandle<()> {
    let (client, prefix, every) = (Client::within(api, config), config.files.outcomes.clone(), config.sweep_every);
    tokio::spawn(async move {
        loop {
            for waited in outcome_file::record_waiting(&client, &prefix).await {
                tracing::warn!(outcome = %waited, "an outcome waited in a file");
            }
            tokio::time::sleep(every).await;
        }
    })
}

/// Reads the configuration again on every hangup. A broken one changes nothing.
fn reload_on_hangup(parts: Arc<Mutex<Parts>>, app: Arc<App>) -> Result<JoinHandle<()>> {
    let mut hangup = listen_for(SignalKind::hangup())?;
    Ok(tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            let reloaded = parts.lock().await.reload();
            match reloaded {
                Ok(()) => {
                    tracing::info!("configuration reloaded");
                    if let Err(error) = app.ledger.close_undeclared_outages().await {
                        tracing::warn!(error_code = error.code().as_str(), "outages of removed dependencies stay open");
                    }
                }
                Err(error) => tracing::error!(
                    error_code = error.code().as_str(),
                    detail = error.detail(),
                    hint = error.next_step(),
                    "configuration not reloaded; the old one stays in force"
                ),
            }
        }
    }))
}

fn listen_for(kind: SignalKind) -> Result<tokio::signal::unix::Signal> {
    signal(kind)
        .map_err(|cause| Error::new(onefold_core::error::UNEXPECTED, "signals cannot be received").caused_by(cause))
}

/// Refuses to listen where others can reach it, unless people have credentials of their own.
async fn closed_by_default(address: SocketAddr, credentials: &Credentials) -> Result<()> {
    if address.ip().is_loopback() || credentials.any_named().await? {
        return Ok(());
    }
    Err(Error::new(
        CONFIGURATION_INVALID,
        format!("{address} can be reached from other machines, and there is no token yet"),
    )
    .hint("add one first: onefold token add NAME --role operator"))
}

/// The signals that end a server.
struct StopSignals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl StopSignals {
    fn listen() -> Result<Self> {
        Ok(Self { terminate: listen_for(SignalKind::terminate())?, interrupt: listen_for(SignalKind::interrupt())? })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Where a server of a database is, for the commands. A hint only: a command asks there first.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Discovery {
    pub(crate) url: String,
    pub(crate) instance: String,
    #[serde(skip)]
    path: PathBuf,
}

impl Discovery {
    fn write(path: &Path, address: SocketAddr, instance: String) -> Self {
        let discovery = Self { url: format!("http://{address}"), instance, path: path.to_owned() };
        // Without it the commands open the database themselves, which is as correct.
        if let Err(cause) = std::fs::write(&discovery.path, serde_json::json!(discovery).to_string()) {
            tracing::warn!(cause = %cause, "the commands will not find this server by its database");
        }
        discovery
    }

    /// The discovery file in this place, if there is one.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
