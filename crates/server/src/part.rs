//! The parts that `serve` runs beside the API: started all or none, read again all or none, drained in a stated order.
//!
//! A part is declared in `onefold.toml`. A new one is a line of [`PARTS`] and an implementation of [`Part`].

use std::sync::Arc;
use std::time::Duration;

use onefold_core::effect::KindSpec;
use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::port::BoxFuture;
use onefold_core::{Error, Result};
use onefold_runtime::Reconciler;

use crate::app::App;
use crate::config::Config;
use crate::{gateway, notify, relays};

/// Kinds that a part declares, each with how its provider is asked.
pub(crate) type PartKinds = Vec<(Arc<KindSpec>, Option<Reconciler>)>;

/// When a part stops: the earlier ones first, so that nothing new comes in while what is in flight ends. The API drains
/// with the listeners; the ledger comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DrainStage {
    /// What publishes events: a page in flight ends, and its part goes to another server.
    Relays,
    /// What others call: requests in flight end, new ones are refused.
    Listeners,
    /// What tells people of incidents, which may still open while the listeners drain.
    Announcements,
}

/// A running part of the server.
pub(crate) trait Part: Send {
    /// What it is called in the log.
    fn name(&self) -> &'static str;
    /// When it stops.
    fn stage(&self) -> DrainStage;
    /// Where it listens, if it does.
    fn listens_at(&self) -> Option<String> {
        None
    }
    /// Reads what a new configuration says of it. Whatever can fail fails here; nothing changes yet.
    fn prepare(&mut self, next: &Config) -> Result<PartKinds>;
    /// Puts in force what was prepared last.
    fn apply(&mut self);
    /// Lets what is in flight end, for this long at most.
    fn stop(self: Box<Self>, within: Duration) -> BoxFuture<'static, ()>;
}

/// A part on its way up.
type Starting<'a> = BoxFuture<'a, Result<Box<dyn Part>>>;

/// A part that a configuration may declare.
struct PartSpec {
    name: &'static str,
    declared: fn(&Config) -> bool,
    start: for<'a> fn(&'a Config, &'a Arc<App>) -> Starting<'a>,
}

const PARTS: &[PartSpec] = &[
    PartSpec {
        name: gateway::NAME,
        declared: |config| config.gateway.is_some(),
        start: |config, app| Box::pin(gateway::start(config, app)),
    },
    PartSpec {
        name: relays::NAME,
        declared: |config| !config.relays.is_empty(),
        start: |config, app| Box::pin(std::future::ready(relays::start(config, app))),
    },
    PartSpec {
        name: notify::NAME,
        declared: |config| config.notify.is_some(),
        start: |config, app| Box::pin(notify::start(config, app)),
    },
];

/// Everything that a server runs beside its API.
pub(crate) struct Parts {
    app: Arc<App>,
    config: Config,
    running: Vec<Box<dyn Part>>,
}

impl Parts {
    /// Starts every part that is declared; if one cannot start, none runs.
    pub(crate) async fn start(config: &Config, app: &Arc<App>) -> Result<Self> {
        let mut parts = Self { app: Arc::clone(app), config: config.clone(), running: Vec::new() };
        for spec in PARTS.iter().filter(|spec| (spec.declared)(config)) {
            match (spec.start)(config, app).await {
                Ok(part) => parts.running.push(part),
                Err(error) => {
                    parts.drain(Duration::ZERO).await;
                    return Err(error);
                }
            }
        }
        Ok(parts)
    }

    /// Where the part of this name listens.
    pub(crate) fn listens_at(&self, name: &str) -> Option<String> {
        self.running.iter().find(|part| part.name() == name)?.listens_at()
    }

    /// Reads the configuration again: everything in it is put in force, or nothing.
    pub(crate) fn reload(&mut self) -> Result<()> {
        let next = self.config.again()?;
        for spec in PARTS {
            self.refuse_new_or_gone(spec, &next)?;
        }
        let mut kinds = App::configured_kinds(&next)?;
        for part in &mut self.running {
            kinds.extend(part.prepare(&next)?);
        }
        // The last that can fail, and it declares all or none.
        self.app.redeclare(kinds, &next)?;
        for part in &mut self.running {
            part.apply();
        }
        for setting in self.config.needing_restart(&next) {
            tracing::warn!(setting, "a changed setting takes effect at the next start");
        }
        self.config = next;
        Ok(())
    }

    fn refuse_new_or_gone(&self, spec: &PartSpec, next: &Config) -> Result<()> {
        let runs = self.running.iter().any(|part| part.name() == spec.name);
        let what = match (runs, (spec.declared)(next)) {
            (true, false) => "is not declared any more",
            (false, true) => "is declared now and was not at the start",
            (true, true) | (false, false) => return Ok(()),
        };
        Err(Error::new(CONFIGURATION_INVALID, format!("the {} {what}", spec.name))
            .hint("restart the server to start or end a part"))
    }

    /// Stops every part, stage by stage; those of one stage at once.
    pub(crate) async fn drain(&mut self, within: Duration) {
        let mut parts = std::mem::take(&mut self.running);
        parts.sort_by_key(|part| part.stage());
        while let Some(stage) = parts.first().map(|part| part.stage()) {
            let later = parts.partition_point(|part| part.stage() == stage);
            let rest = parts.split_off(later);
            let stopping: Vec<_> = parts.into_iter().map(|part| tokio::spawn(part.stop(within))).collect();
            for stopped in stopping {
                let _ = stopped.await;
            }
            parts = rest;
        }
    }
}
