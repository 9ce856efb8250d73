//! Listening: connections within limits, a drain before the end, and a note beside the database for the commands.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::service::TowerToHyperService;
use onefold_core::error::{ADDRESS_UNAVAILABLE, CONFIGURATION_INVALID};
use onefold_core::ports::Faults;
use onefold_core::{Error, Result};
use onefold_http::connection::{self, ConnectionLimits, Drain};
use onefold_http::gateway::cannot_listen;
use onefold_runtime::Shutdown;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::api::{self, Api, Gate, Shared};
use crate::app::{App, Opener};
use crate::client::Client;
use crate::config::Config;
use crate::database::Creation;
use crate::gateway::Running;
use crate::identity::{Credentials, first_token};
use crate::measure;
use crate::outcome_file;

/// How often opened and closed incidents are looked for at the least.
pub(crate) const ANNOUNCE_EVERY: Duration = Duration::from_secs(2);

/// A server that listens.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    listener: TcpListener,
    api: Shared,
    router: Router,
    limits: ConnectionLimits,
    drain_for: Duration,
    note: Note,
    pub(crate) gateway: Option<Running>,
    /// What else runs as long as it serves.
    beside: Vec<JoinHandle<()>>,
}

impl Server {
    /// Opens the database and binds the address; whatever is wrong is known before anything is served.
    pub(crate) async fn bind(config: &Config, creation: Creation, faults: Arc<dyn Faults>) -> Result<Self> {
        // First: a recorder that comes later has missed what was counted before.
        let metrics = measure::start();
        let listener =
            TcpListener::bind(config.listen).await.map_err(|cause| cannot_listen(&config.listen, "--listen", cause))?;
        let address = listener.local_addr().map_err(|cause| {
            Error::new(ADDRESS_UNAVAILABLE, "the address of the listener is not known").caused_by(cause)
        })?;
        let app = Arc::new(App::open_with(config, Opener::Server, creation, faults).await?);
        if config.token.is_none() {
            first_token(&config.token_file)?;
        }
        let credentials =
            Arc::new(Credentials::new(app.ledger.store().clone(), config.token.as_deref(), &config.token_file));
        closed_by_default(address, &credentials).await?;
        app.ledger.start().await?;
        let gateway = Running::start(config, &app).await?;
        let notifying = config
            .notify
            .as_ref()
            .map(|notify| crate::notify::start(notify, &app, config.sweep_every.min(ANNOUNCE_EVERY)))
            .transpose()?;
        let instance = uuid::Uuid::new_v4().simple().to_string();
        let api = Api::new(app, instance.clone(), metrics);
        let gate = Gate::new(address, &config.hosts);
        let errors_base = config.errors_base.clone().unwrap_or_default();
        let router = api::served(&api, credentials, gate, config.body_bytes_max, errors_base);
        let waiting = record_waiting(&api, config);
        let hangup = if gateway.is_none() { Some(without_routes(config)?) } else { None };
        let note = Note::write(&config.files.note, address, instance);
        Ok(Self {
            address,
            listener,
            api,
            router,
            limits: config.connection_limits,
            drain_for: config.drain_for,
            note,
            gateway,
            beside: [Some(waiting), hangup, notifying].into_iter().flatten().collect(),
        })
    }

    /// Serves until a signal to stop, then lets what is under way end.
    pub(crate) async fn serve(self) -> Result<()> {
        let mut stopped = Stop::listen()?;
        let folding = self.api.metrics.clone().map(measure::fold);
        let drain = Drain::default();
        let room = Arc::new(Semaphore::new(self.limits.connections_max));
        loop {
            let accepted = tokio::select! {
                () = stopped.asked() => break,
                accepted = accept(&self.listener, &room) => accepted,
            };
            let Some((stream, place)) = accepted else { continue };
            let service = TowerToHyperService::new(self.router.clone());
            let (limits, signal) = (self.limits, drain.signal());
            tokio::spawn(async move {
                connection::serve(stream, service, limits, signal).await;
                drop(place);
            });
        }
        tracing::info!("draining");
        self.api.drain();
        drop(self.listener);
        // Both drain at once.
        let gateway = self.gateway.map(|gateway| tokio::spawn(gateway.stop(self.drain_for)));
        if tokio::time::timeout(self.drain_for, drain.finish()).await.is_err() {
            tracing::warn!("connections were still open when the time to drain was over");
        }
        if let Some(gateway) = gateway {
            let _ = gateway.await;
        }
        // What was not told is in the store, and is told after the next start.
        for task in self.beside.into_iter().chain(folding) {
            task.abort();
        }
        self.api.app.ledger.shutdown(Shutdown::Drain { within: self.drain_for }).await;
        self.note.remove();
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

/// A server without routes has nothing to read again, and says so: a signal that reloads elsewhere must not end it.
fn without_routes(config: &Config) -> Result<JoinHandle<()>> {
    let mut hangup = listen_for(SignalKind::hangup())?;
    let config = config.clone();
    Ok(tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            match config.again() {
                Ok(again) if again.gateway.is_some() => {
                    tracing::warn!("the configuration has routes now; start the server again to serve them");
                }
                Ok(_) => tracing::info!("nothing to read again: the configuration has no routes"),
                Err(error) => tracing::error!(
                    error_code = error.code().as_str(),
                    detail = error.detail(),
                    hint = error.next_step(),
                    "the configuration is broken; the server goes on with the old one"
                ),
            }
        }
    }))
}

fn listen_for(kind: SignalKind) -> Result<tokio::signal::unix::Signal> {
    signal(kind)
        .map_err(|cause| Error::new(onefold_core::error::UNEXPECTED, "signals cannot be received").caused_by(cause))
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Answers are small and waited for.
            let _ = stream.set_nodelay(true);
            Some((stream, place))
        }
        Err(cause) => {
            // Out of descriptors, most likely: those in use must end first.
            tracing::warn!(cause = %cause, "a connection could not be accepted");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

/// Refuses to listen where others can reach it, unless people have credentials of their own.
async fn closed_by_default(address: SocketAddr, credentials: &Credentials) -> Result<()> {
    if address.ip().is_loopback() || credentials.any_named().await? {
        return Ok(());
    }
    Err(Error::new(
        CONFIGURATION_INVALID,
        format!("{address} can be reached from other machines, and nobody has a token"),
    )
    .hint("add one first: onefold token add NAME --role operator"))
}

/// The signals that end a server.
struct Stop {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Stop {
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

/// Where a server of a database is, for the commands. A hint only: whoever reads it asks there first.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) url: String,
    pub(crate) instance: String,
    #[serde(skip)]
    path: PathBuf,
}

impl Note {
    fn write(path: &Path, address: SocketAddr, instance: String) -> Self {
        let note = Self { url: format!("http://{address}"), instance, path: path.to_owned() };
        // Without it the commands open the database themselves, which is as correct.
        if let Err(cause) = std::fs::write(&note.path, serde_json::json!(note).to_string()) {
            tracing::warn!(cause = %cause, "the commands will not find this server by its database");
        }
        note
    }

    /// The note in this place, if there is one.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
