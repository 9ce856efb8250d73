//! The handle: stages events, wakes relays, waits for publication.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::error::LIMIT_EXCEEDED;
use onefold_core::event::{EventContracts, EventId, EventLimits, EventType, NewEvent, ReplayId};
use onefold_core::ledger::check_reason;
use onefold_core::operation::{OperationKey, Tenant};
use onefold_core::outbox::{EventReplay, RelayName, ReplayRequest, ReplaySpec};
use onefold_core::port::{Committed, OutboxOperate, ReplayOperate, StageOrder, Staged, Staging};
use onefold_core::{Error, Result};

use super::event::{self, Event};
use super::wake::Wake;
use crate::dependency::Dependencies;
use crate::settings::Settings;

/// The outbox of a process. Cheap to clone.
pub struct Outbox<S> {
    pub(crate) store: Arc<S>,
    pub(crate) settings: Settings,
    pub(crate) worker: Arc<str>,
    pub(crate) wake: Wake,
    pub(crate) contracts: EventContracts,
    /// What relays share with everyone who calls the same dependency.
    pub(crate) dependencies: Arc<Dependencies>,
    limits: EventLimits,
    /// What the events that are staged here belong to.
    correlation_id: Option<Arc<str>>,
}

impl<S> Clone for Outbox<S> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            settings: self.settings.clone(),
            worker: Arc::clone(&self.worker),
            wake: self.wake.clone(),
            contracts: self.contracts.clone(),
            dependencies: Arc::clone(&self.dependencies),
            limits: self.limits,
            correlation_id: self.correlation_id.clone(),
        }
    }
}

/// Whether an event was published in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicationWait {
    /// Every relay that wants it has passed it.
    Published,
    /// Not yet. It is committed, and will be.
    NotYet,
}

/// How long a caller may wait for a publication.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl<S> Outbox<S> {
    pub(crate) fn new(
        store: Arc<S>,
        settings: Settings,
        worker: Arc<str>,
        wake: Wake,
        dependencies: Arc<Dependencies>,
    ) -> Self {
        let (contracts, limits) = (EventContracts::default(), EventLimits::default());
        Self { store, settings, worker, wake, contracts, dependencies, limits, correlation_id: None }
    }

    /// The same for one request: its correlation id goes with every event that is staged here.
    ///
    /// The trace needs no word: an event belongs to the trace of the span that it is staged in.
    #[must_use]
    pub fn correlated(&self, correlation_id: &str) -> Self {
        Self { correlation_id: Some(Arc::from(correlation_id)), ..self.clone() }
    }

    /// The same with every contract that this process knows.
    ///
    /// Its relays then publish nothing that breaks its contract or has none, wherever it was staged, and nothing else can
    /// be staged here. Without contracts, `stage` holds an event to its own type's contract, and relays let pass what
    /// others have staged.
    #[must_use]
    pub fn with_contracts(mut self, contracts: EventContracts) -> Self {
        self.contracts = contracts;
        self
    }

    /// Wakes the relays of this process: something was committed. Without it they find it by polling.
    pub fn wake<T>(&self, _committed: &Committed<T>) {
        self.wake.wake();
    }
}

impl<S: Staging> Outbox<S> {
    /// Stages an event in your transaction: it commits with your change, or not at all.
    ///
    /// Lock the aggregate's row before you stage, or use [`Outbox::stage_ordered`]: two writers of one aggregate that
    /// lock nothing have no order. Calls no target; a relay publishes it after the commit. What breaks the contract of its
    /// type is refused, and nothing is staged.
    pub async fn stage<E: Event + Sync>(&self, connection: &mut S::Connection, event: &E) -> Result<Staged> {
        let new = self.checked(event, self.fresh_id(), self.settings.tenant.clone())?;
        self.stage_one(connection, new, StageOrder::AggregateIsLocked).await
    }

    /// The same, where there is no row to lock: staging itself keeps writers of the aggregate apart until they commit.
    pub async fn stage_ordered<E: Event + Sync>(&self, connection: &mut S::Connection, event: &E) -> Result<Staged> {
        let new = self.checked(event, self.fresh_id(), self.settings.tenant.clone())?;
        self.stage_one(connection, new, StageOrder::LockAggregate).await
    }

    /// Stages events that you built yourself: with headers, an id of their own. Their types need contracts
    /// ([`Outbox::with_contracts`]).
    pub async fn stage_all(
        &self,
        connection: &mut S::Connection,
        events: &[NewEvent],
        order: StageOrder,
    ) -> Result<Vec<Staged>> {
        for event in events {
            self.limits.check(event)?;
            self.contracts.check(event)?;
        }
        self.store.stage(connection, events, order).await
    }

    /// Events of an operation: their ids are derived from it, so a second run stages nothing new.
    pub fn of(&self, operation: &OperationKey) -> OperationEvents<'_, S> {
        OperationEvents { outbox: self, operation: operation.clone(), staged: Vec::new() }
    }

    /// The event to be staged, held to the limits and to its contract.
    fn checked<E: Event>(&self, event: &E, id: EventId, tenant: Tenant) -> Result<NewEvent> {
        let new = event::of(event, id, tenant, self.correlation_id.clone())?;
        self.limits.check(&new)?;
        event::check::<E>(&new, &self.contracts)?;
        Ok(new)
    }

    async fn stage_one(&self, connection: &mut S::Connection, event: NewEvent, order: StageOrder) -> Result<Staged> {
        let id = event.id;
        let staged = self.store.stage(connection, std::slice::from_ref(&event), order).await?;
        staged.into_iter().next().ok_or_else(|| {
            Error::new(onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED, format!("event {id} was not staged"))
        })
    }

    fn fresh_id(&self) -> EventId {
        let [chance @ .., _, _, _, _, _, _] = self.settings.random.bytes();
        EventId::fresh(self.settings.clock.now(), chance)
    }
}

impl<S: ReplayOperate> Outbox<S> {
    /// Asks for events to be sent again to a relay's target, by whichever process serves that relay.
    pub async fn replay(&self, spec: ReplaySpec, who: &str, why: &str) -> Result<EventReplay> {
        check_reason(why)?;
        let [chance @ .., _, _, _, _, _, _] = self.settings.random.bytes();
        let id = ReplayId::fresh(self.settings.clock.now(), chance);
        self.store.request_replay(ReplayRequest { id, spec, who: Arc::from(who), why: Arc::from(why) }).await
    }
}

impl<S: OutboxOperate> Outbox<S> {
    /// Waits until every relay that wants the event has passed it, or this one; at most this long, and never before the
    /// commit.
    pub async fn wait_published<T: Sync>(
        &self,
        _committed: &Committed<T>,
        staged: &Staged,
        relay: Option<&RelayName>,
        within: Duration,
    ) -> Result<PublicationWait> {
        if within > WAIT_MAX {
            return Err(Error::new(
                LIMIT_EXCEEDED,
                format!("waiting for a publication ends after {} s", WAIT_MAX.as_secs()),
            )
            .hint("do not hold a caller for longer: the event is committed and will be published"));
        }
        self.wake.wake();
        let clock = &self.settings.clock;
        let give_up = clock.monotonic().saturating_add(within);
        loop {
            if self.store.published(staged.id, relay.cloned()).await? {
                return Ok(PublicationWait::Published);
            }
            if clock.monotonic() >= give_up {
                return Ok(PublicationWait::NotYet);
            }
            clock.sleep(LOOK_EVERY).await;
        }
    }
}

/// Stages the events of one operation.
pub struct OperationEvents<'o, S> {
    outbox: &'o Outbox<S>,
    operation: OperationKey,
    /// The last ordinal of each type: the second event of a type has another id.
    staged: Vec<(EventType, u32)>,
}

impl<S: Staging> OperationEvents<'_, S> {
    /// Stages an event under the id that follows from the operation, its type and how many of that type came before.
    pub async fn stage<E: Event + Sync>(&mut self, connection: &mut S::Connection, event: &E) -> Result<Staged> {
        self.stage_in(connection, event, StageOrder::AggregateIsLocked).await
    }

    /// The same, where there is no row to lock ([`Outbox::stage_ordered`]).
    pub async fn stage_ordered<E: Event + Sync>(
        &mut self,
        connection: &mut S::Connection,
        event: &E,
    ) -> Result<Staged> {
        self.stage_in(connection, event, StageOrder::LockAggregate).await
    }

    async fn stage_in<E: Event + Sync>(
        &mut self,
        connection: &mut S::Connection,
        event: &E,
        order: StageOrder,
    ) -> Result<Staged> {
        let event_type = EventType::parse(E::CONTRACT.event_type())?;
        let ordinal = self.next_ordinal(&event_type);
        let id = EventId::of_operation(&self.operation, &event_type, ordinal);
        let tenant: Tenant = self.operation.tenant.clone();
        let new = self.outbox.checked(event, id, tenant)?;
        self.outbox.stage_one(connection, new, order).await
    }

    fn next_ordinal(&mut self, event_type: &EventType) -> u32 {
        if let Some((_, last)) = self.staged.iter_mut().find(|(known, _)| known == event_type) {
            *last += 1;
            return *last;
        }
        self.staged.push((event_type.clone(), 0));
        0
    }
}
