//! The part that publishes events: every `[[relay]]` of the configuration, each with its target.

mod retention;
mod target;
mod undeclared;

use std::sync::Arc;
use std::time::Duration;

use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::outbox::{OwnTable, RelayName};
use onefold_core::port::BoxFuture;
use onefold_core::{Error, Result};
use onefold_runtime::{Relay, RunningRelay};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::undeclared::DeclaredHere;

use crate::app::App;
use crate::config::Config;
use crate::database::Database;
use crate::part::{DrainStage, Part, PartKinds};

/// The name of this part.
pub(crate) const NAME: &str = "relays";

/// Starts every declared relay; whatever is wrong with a declaration is known before. A target that is away is waited for.
pub(crate) fn start(config: &Config, app: &Arc<App>) -> Result<Box<dyn Part>> {
    let relays = declared(config, app)?;
    tokio::spawn(DeclaredHere::of(config).report(Arc::clone(app)));
    let pruning = tokio::spawn(retention::run(Arc::clone(app), config.prune_every));
    Ok(Box::new(Relays { app: Arc::clone(app), running: Running::start(relays), pruning, next: None, said: None }))
}

/// The relays of a configuration, each with what sends to its target.
fn declared(config: &Config, app: &Arc<App>) -> Result<Vec<RunningRelay>> {
    let outbox = app.ledger.outbox().with_contracts(config.contracts.clone());
    let mut relays = Vec::new();
    for relay in &config.relays {
        let mut declared = Relay::of(&outbox, relay.spec.clone());
        if let Some(table) = &relay.table {
            if let Database::Sqlite(_) = app.ledger.store() {
                return Err(on_sqlite(&relay.spec.name, table));
            }
            declared = declared.from_table(table.clone());
        }
        if let Some(dependency) = &relay.depends_on {
            declared = declared.depends_on(dependency);
        }
        relays.push(target::aimed(declared, relay, config)?.declared()?);
    }
    Ok(relays)
}

fn on_sqlite(relay: &RelayName, table: &OwnTable) -> Error {
    let what = format!("relay {:?}: table {} cannot be relayed from SQLite", relay.as_str(), table.quoted());
    Error::new(CONFIGURATION_INVALID, what)
        .hint("a table of one's own needs PostgreSQL; here, stage events in the outbox and leave table out")
}

/// The part.
struct Relays {
    app: Arc<App>,
    running: Running,
    pruning: JoinHandle<()>,
    /// What the next configuration says.
    next: Option<Vec<RunningRelay>>,
    /// What is said about the next configuration.
    said: Option<DeclaredHere>,
}

/// Relays at work.
struct Running {
    stop: watch::Sender<bool>,
    loops: Vec<JoinHandle<()>>,
}

impl Running {
    fn start(relays: Vec<RunningRelay>) -> Self {
        let stop = watch::Sender::new(false);
        let loops = relays.into_iter().map(|relay| tokio::spawn(run(relay, stop.subscribe()))).collect();
        Self { stop, loops }
    }

    /// Lets pages in flight end, and gives lanes back.
    async fn end(self) {
        self.stop.send_replace(true);
        for running in self.loops {
            let _ = running.await;
        }
    }
}

async fn run(relay: RunningRelay, mut stop: watch::Receiver<bool>) {
    let name = relay.name().to_string();
    let stopped = async move {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    if let Err(error) = relay.run(stopped).await {
        tracing::error!(relay = name, error_code = %error.code(), detail = error.detail(), next_step = error.next_step(), "a relay stopped: a person must act");
    }
}

impl Part for Relays {
    fn name(&self) -> &'static str {
        NAME
    }

    fn stage(&self) -> DrainStage {
        DrainStage::Relays
    }

    fn prepare(&mut self, next: &Config) -> Result<PartKinds> {
        self.next = Some(declared(next, &self.app)?);
        self.said = Some(DeclaredHere::of(next));
        Ok(Vec::new())
    }

    fn apply(&mut self) {
        let Some(next) = self.next.take() else { return };
        if let Some(said) = self.said.take() {
            tokio::spawn(said.report(Arc::clone(&self.app)));
        }
        let before = std::mem::replace(&mut self.running, Running::start(Vec::new()));
        let stop = self.running.stop.clone();
        // The same lanes have one holder: the next ones begin when the last ones have given theirs back.
        self.running.loops.push(tokio::spawn(async move {
            before.end().await;
            let loops: Vec<_> = next.into_iter().map(|relay| tokio::spawn(run(relay, stop.subscribe()))).collect();
            for running in loops {
                let _ = running.await;
            }
        }));
    }

    fn stop(self: Box<Self>, within: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.pruning.abort();
            // What was not settled is published again, with the same ids.
            let _ = tokio::time::timeout(within, self.running.end()).await;
        })
    }
}
