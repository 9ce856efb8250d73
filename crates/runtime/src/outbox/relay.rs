//! A relay: a name, the events that it wants and one target.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::error::{
    DATABASE_RESTORED, DECLARATION_INVALID, ErrorClass, RELAY_NOT_FOUND, RELAY_TABLE_INVALID, SEQUENCE_CACHED,
    STANDBY_REFUSED,
};
use onefold_core::outbox::{
    Begin, EventPattern, EventPatterns, OwnTable, RelayName, RelayRetry, RelaySpec, TargetUnavailable,
};
use onefold_core::port::{Clock, EventSender, Faults, LaneRequest, Publisher, Random, RelayStore};
use onefold_core::{Error, Result};
use tokio::sync::watch;

use super::delivery::EventJudge;
use super::handle::Outbox;
use super::lanes::{HeldSince, Lanes};
use super::limited::{LimitedPublisher, LimitedSender, TargetLimits};
use super::one_at_a_time::OneAtATime;
use super::outage::TargetWatch;
use super::turn::TurnResult;
use super::wake::Wake;
use crate::dependency::Dependencies;

/// A relay as it is being declared.
pub struct Relay {
    spec: Result<RelaySpec>,
    target: Option<RelayTarget>,
    judge: EventJudge,
    table: Option<OwnTable>,
    depends_on: Option<Arc<str>>,
    dependencies: Arc<Dependencies>,
    context: RelayContext,
}

/// What a relay sends to.
enum RelayTarget {
    /// It takes pages.
    Pages(Arc<dyn Publisher>),
    /// It takes single events, of so many aggregates at once.
    Each(Arc<dyn EventSender>, usize),
}

/// What a relay runs on.
#[derive(Clone)]
pub(crate) struct RelayContext {
    pub(crate) store: Arc<dyn RelayStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) faults: Arc<dyn Faults>,
    pub(crate) worker: Arc<str>,
    pub(crate) wake: Wake,
}

impl Relay {
    /// A relay of this name, on this outbox.
    pub fn new<S: RelayStore + 'static>(outbox: &Outbox<S>, name: &str) -> Self {
        let store: Arc<dyn RelayStore> = Arc::clone(&outbox.store) as _;
        let context = RelayContext {
            store,
            clock: Arc::clone(&outbox.settings.clock),
            random: Arc::clone(&outbox.settings.random),
            faults: Arc::clone(&outbox.settings.faults),
            worker: Arc::clone(&outbox.worker),
            wake: outbox.wake.clone(),
        };
        let spec = RelayName::parse(name).and_then(|name| {
            let all = EventPatterns::new(vec![EventPattern::All])?;
            Ok(RelaySpec::new(name, all, String::new()))
        });
        let judge = EventJudge { contracts: outbox.contracts.clone(), ..EventJudge::default() };
        let dependencies = Arc::clone(&outbox.dependencies);
        Self { spec, target: None, judge, table: None, depends_on: None, dependencies, context }
    }

    /// The relay of a configuration.
    pub fn of<S: RelayStore + 'static>(outbox: &Outbox<S>, spec: RelaySpec) -> Self {
        Self { spec: Ok(spec), ..Self::new(outbox, "relay") }
    }

    /// The events that it wants: types, `prefix.*` or `*`; all of them unless this is called.
    #[must_use]
    pub fn events<'p>(self, patterns: impl IntoIterator<Item = &'p str>) -> Self {
        let patterns: Result<Vec<EventPattern>> = patterns.into_iter().map(EventPattern::parse).collect();
        self.change(|spec| patterns.and_then(EventPatterns::new).map(|events| spec.events = events))
    }

    /// Publishes rows of this table instead of what was staged, on PostgreSQL; in no order that could be promised.
    #[must_use]
    pub fn from_table(self, table: OwnTable) -> Self {
        Self { table: Some(table), ..self }
    }

    /// Where it publishes to, a page at a time.
    #[must_use]
    pub fn to(mut self, publisher: impl Publisher + 'static) -> Self {
        let target = publisher.target();
        self.judge.destination = publisher.destination();
        self.target = Some(RelayTarget::Pages(Arc::new(publisher)));
        self.change(|spec| {
            spec.target = target;
            Ok(())
        })
    }

    /// Where it publishes to, an event at a time, to so many aggregates at once.
    #[must_use]
    pub fn to_each(mut self, sender: impl EventSender + 'static, in_flight_max: usize) -> Self {
        let target = sender.target();
        self.judge.destination = sender.destination();
        self.target = Some(RelayTarget::Each(Arc::new(sender), in_flight_max));
        self.change(|spec| {
            spec.target = target;
            Ok(())
        })
    }

    /// The dependency that the target is, by its name: its breaker, bulkhead and rate hold here, too
    /// ([`Ledger::dependency`](crate::Ledger::dependency)). An event is a call, or, where a target takes pages, a page.
    #[must_use]
    pub fn depends_on(mut self, dependency: &str) -> Self {
        self.depends_on = Some(Arc::from(dependency));
        self
    }

    /// Where it begins when it is new; now unless this is called.
    #[must_use]
    pub fn begin(self, begin: Begin) -> Self {
        self.change(|spec| {
            spec.begin = begin;
            Ok(())
        })
    }

    /// When a refused event is tried again.
    #[must_use]
    pub fn retry(self, retry: RelayRetry) -> Self {
        self.change(|spec| {
            spec.retry = retry;
            Ok(())
        })
    }

    /// How long a lane belongs to its holder, and how long a target may take to acknowledge a page.
    #[must_use]
    pub fn times(self, lease_for: Duration, delivery_within: Duration) -> Self {
        self.change(|spec| {
            (spec.lease_for, spec.delivery_within) = (lease_for, delivery_within);
            Ok(())
        })
    }

    /// Events of one page.
    #[must_use]
    pub fn page_max(self, page_max: usize) -> Self {
        self.change(|spec| {
            spec.page_max = page_max;
            Ok(())
        })
    }

    fn change(mut self, change: impl FnOnce(&mut RelaySpec) -> Result<()>) -> Self {
        self.spec = self.spec.and_then(|mut spec| change(&mut spec).map(|()| spec));
        self
    }

    /// The relay, checked; nothing is written yet.
    pub fn declared(self) -> Result<RunningRelay> {
        let spec = self.spec?;
        spec.check()?;
        let target = self.target.ok_or_else(|| {
            Error::new(DECLARATION_INVALID, format!("relay {:?} has no target", spec.name.as_str()))
                .hint("name one with .to(…)")
        })?;
        let limits = self.depends_on.map(|name| TargetLimits {
            dependencies: self.dependencies,
            name,
            clock: Arc::clone(&self.context.clock),
        });
        let publisher = target.publisher(limits, &self.context);
        // Two loops of one process are two holders: each lane has one.
        let [a, b, c, d, ..] = self.context.random.bytes();
        let holder = Arc::from(format!("{}/{:08x}", self.context.worker, u32::from_be_bytes([a, b, c, d])));
        Ok(RunningRelay { spec, publisher, judge: self.judge, table: self.table, context: self.context, holder })
    }

    /// Declares the relay and publishes until `stopped` is ready, then finishes its page and gives its lanes back.
    ///
    /// A target or a database that is away is waited for. What a person must fix first is an error: a standby, a
    /// restored database, a declaration that cannot be.
    pub async fn run(self, stopped: impl Future<Output = ()> + Send) -> Result<()> {
        self.declared()?.run(stopped).await
    }
}

impl RelayTarget {
    /// What takes pages, within the limits of its dependency.
    fn publisher(self, limits: Option<TargetLimits>, context: &RelayContext) -> Arc<dyn Publisher> {
        match (self, limits) {
            (Self::Pages(publisher), None) => publisher,
            (Self::Pages(publisher), Some(limits)) => Arc::new(LimitedPublisher { publisher, limits }),
            (Self::Each(sender, in_flight_max), limits) => {
                let sender: Arc<dyn EventSender> = match limits {
                    None => sender,
                    Some(limits) => Arc::new(LimitedSender { sender, limits }),
                };
                let (clock, faults) = (Arc::clone(&context.clock), Arc::clone(&context.faults));
                Arc::new(OneAtATime::new(sender, clock, faults, in_flight_max))
            }
        }
    }
}

/// A relay that is declared and checked.
pub struct RunningRelay {
    pub(crate) spec: RelaySpec,
    pub(crate) publisher: Arc<dyn Publisher>,
    pub(crate) judge: EventJudge,
    /// The table that it publishes rows of, where that is not the outbox.
    table: Option<OwnTable>,
    pub(crate) context: RelayContext,
    /// Who holds its lanes: this loop, and no other.
    pub(crate) holder: Arc<str>,
}

/// A relay that found nothing looks again after this, and then after twice as long each time.
pub(crate) const IDLE_FIRST: Duration = Duration::from_millis(10);
pub(crate) const IDLE_MAX: Duration = Duration::from_millis(250);
/// One that holds no lane, or whose database is away, looks again after this.
pub(crate) const LANELESS: Duration = Duration::from_secs(1);

impl RunningRelay {
    /// What it is called.
    pub fn name(&self) -> &RelayName {
        &self.spec.name
    }

    /// Publishes until `stopped` is ready.
    pub async fn run(self, stopped: impl Future<Output = ()> + Send) -> Result<()> {
        let mut stopped = std::pin::pin!(stopped);
        if let Some(table) = &self.table {
            return self.run_on_table(table.clone(), stopped).await;
        }
        let mut target = TargetWatch::new();
        tokio::select! {
            () = &mut stopped => return Ok(()),
            ready = self.make_ready(&mut target) => ready?,
        }
        // What is sent again goes beside what is new, and ends its page when this ends.
        let ending = watch::Sender::new(false);
        let live = async {
            let ended = self.publish_live(stopped, &mut target).await;
            ending.send_replace(true);
            ended
        };
        let (ended, ()) = tokio::join!(live, self.serve_replays(ending.subscribe()));
        ended
    }

    /// Publishes what is new until `stopped` is ready, then gives its lanes back.
    async fn publish_live(
        &self,
        mut stopped: Pin<&mut (impl Future<Output = ()> + Send)>,
        watch: &mut TargetWatch,
    ) -> Result<()> {
        let mut lanes = None;
        let mut idle = IDLE_FIRST;
        let ended = loop {
            let mut wakes = false;
            let wait = match self.turn(&mut lanes, watch).await {
                Ok(TurnResult::Worked) => {
                    idle = IDLE_FIRST;
                    Duration::ZERO
                }
                Ok(TurnResult::Idle) => {
                    wakes = true;
                    idle = (idle * 2).min(IDLE_MAX);
                    idle / 2
                }
                Ok(TurnResult::NoLane) => LANELESS,
                Ok(TurnResult::Unavailable(wait)) => wait,
                Err(error) if for_a_person(&error) => break Err(error),
                Err(error) => {
                    tracing::warn!(relay = %self.spec.name, error_code = %error.code(), detail = error.detail(), "a relay could not go on; it tries again");
                    lanes = None;
                    LANELESS
                }
            };
            tokio::select! {
                biased;
                () = &mut stopped => break Ok(()),
                () = self.context.wake.woken(), if wakes => idle = IDLE_FIRST,
                () = self.context.clock.sleep(wait) => {}
            }
        };
        self.leave(lanes).await;
        ended
    }

    /// Declares the relay and checks its target; waits for both.
    async fn make_ready(&self, watch: &mut TargetWatch) -> Result<()> {
        loop {
            match self.context.store.declare(vec![self.spec.clone()], Arc::clone(&self.context.worker)).await {
                Ok(()) => break,
                Err(error) if for_a_person(&error) || error.code() == DECLARATION_INVALID => return Err(error),
                Err(error) => {
                    tracing::warn!(relay = %self.spec.name, error_code = %error.code(), detail = error.detail(), "a relay could not be declared; it tries again");
                    self.context.clock.sleep(LANELESS).await;
                }
            }
        }
        self.target_ready(watch).await;
        Ok(())
    }

    /// Says what the target does not fence, and waits until it is there.
    pub(crate) async fn target_ready(&self, watch: &mut TargetWatch) {
        if self.judge.contracts.is_empty() {
            tracing::warn!(relay = %self.spec.name, "no event contract is declared in this process, so what others staged is published unchecked");
        }
        if let Some(unfenced) = self.publisher.unfenced() {
            tracing::warn!(relay = %self.spec.name, target = self.spec.target, unfenced, "what this target does not fence");
        }
        while let Err(error) = self.publisher.check(self.spec.lease_for, self.spec.delivery_within).await {
            let said = TargetUnavailable { code: error.code(), reason: error.to_string(), after: None };
            let seen = (&*self.context.clock, &*self.context.worker, self.context.clock.now());
            let wait = watch.failed(&*self.context.store, &self.spec, &said, seen).await;
            self.context.clock.sleep(wait).await;
        }
    }

    /// Renews the lanes, or takes some.
    pub(crate) async fn hold(&self, lanes: &mut Option<Lanes>, give_back: Vec<u16>) -> Result<()> {
        let since = HeldSince::read(&*self.context.clock);
        let request = LaneRequest {
            relay: self.spec.name.clone(),
            holder: Arc::clone(&self.holder),
            lease_for: self.spec.lease_for,
            give_back,
        };
        let before: Vec<u16> = lanes.iter().flat_map(|lanes| lanes.cursors.keys().copied()).collect();
        let held = Lanes::new(self.context.store.hold_lanes(request).await?, since);
        for lane in before.into_iter().filter(|lane| !held.cursors.contains_key(lane)) {
            self.publisher.leave(lane).await;
        }
        *lanes = Some(held);
        Ok(())
    }

    /// Gives every lane back, so that another process need not wait for the lease to end.
    async fn leave(&self, lanes: Option<Lanes>) {
        let Some(lanes) = lanes else { return };
        let held: Vec<u16> = lanes.cursors.keys().copied().collect();
        if held.is_empty() {
            return;
        }
        for lane in &held {
            self.publisher.leave(*lane).await;
        }
        let request = LaneRequest {
            relay: self.spec.name.clone(),
            holder: Arc::clone(&self.holder),
            lease_for: Duration::ZERO,
            give_back: held,
        };
        if let Err(error) = self.context.store.hold_lanes(request).await {
            tracing::debug!(relay = %self.spec.name, error_code = %error.code(), "lanes were not given back; their lease ends");
        }
    }
}

/// What no waiting changes.
pub(crate) fn for_a_person(error: &Error) -> bool {
    [STANDBY_REFUSED, DATABASE_RESTORED, SEQUENCE_CACHED, RELAY_NOT_FOUND, RELAY_TABLE_INVALID].contains(&error.code())
        || error.code().descriptor().class == ErrorClass::Bug
}
