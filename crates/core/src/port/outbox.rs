//! What the outbox asks of a store: stage, hold lanes, read windows, settle pages.

use std::sync::Arc;
use std::time::Duration;

use super::BoxFuture;
use super::own_table::OwnTableStore;
use super::replay::ReplayStore;
use super::transaction::Transact;
use crate::error::Result;
use crate::event::{Aggregate, EventId, NewEvent, StoredEvent};
use crate::operation::Tenant;
use crate::outbox::{
    AsideEvent, AsideVerb, Begin, CursorStep, EventPatterns, EventPlace, Horizon, LaneCursor, PageSettlement,
    RelayName, RelaySpec,
};
use crate::port::{IncidentWrite, SubjectChange};
use crate::time::Timestamp;

/// Stages events in the user's own transaction.
pub trait Staging: Transact {
    /// Writes the events; those whose id is staged already are left as they are. Calls no target and notifies nobody.
    ///
    /// `EVENT_ID_REUSED` where a staged event with the same id is another one.
    fn stage<'a>(
        &'a self,
        connection: &'a mut Self::Connection,
        events: &'a [NewEvent],
        order: StageOrder,
    ) -> BoxFuture<'a, Result<Vec<Staged>>>;
}

/// Who keeps two writers of one aggregate apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageOrder {
    /// The transaction locked the aggregate's row before it staged.
    AggregateIsLocked,
    /// Staging takes a lock of its own on the aggregate, until the end of the transaction.
    LockAggregate,
}

/// An event that is staged with the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staged {
    /// Its id.
    pub id: EventId,
    /// Its place.
    pub seq: i64,
    /// Whether this transaction wrote it.
    pub wrote: StagedBy,
}

/// Which transaction wrote a staged event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StagedBy {
    /// This one.
    ThisTransaction,
    /// An earlier one: the same event was staged before.
    Earlier,
}

/// Lanes that a process wants to hold for a relay.
#[derive(Debug, Clone)]
pub struct LaneRequest {
    /// The relay.
    pub relay: RelayName,
    /// The process.
    pub holder: Arc<str>,
    /// How long without another request.
    pub lease_for: Duration,
    /// Lanes that it gives back.
    pub give_back: Vec<u16>,
}

/// The lanes of a relay that a process holds.
#[derive(Debug, Clone)]
pub struct HeldLanes {
    /// Their cursors; a lane that was renewed keeps its fence.
    pub cursors: Vec<LaneCursor>,
    /// When the leases end.
    pub lease_until: Timestamp,
    /// The store's time.
    pub now: Timestamp,
    /// What the relay wants, as it was last declared by any process.
    pub events: EventPatterns,
    /// Lanes to give back after the page in hand: others want their share.
    pub surplus: Vec<u16>,
    /// Aggregates of these lanes of which an event is set aside.
    pub blocked: Vec<(u16, Aggregate)>,
    /// Events of the relay that are set aside and have not ended.
    pub set_aside: usize,
}

/// How much a poll reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollSize {
    /// Whole events, so many at most in all lanes together.
    Events(usize),
    /// Only where they lie, the lowest numbers first, so many at most.
    Places(usize),
}

/// What a poll found in one lane.
#[derive(Debug, Clone)]
pub struct LanePoll {
    /// The lane.
    pub lane: u16,
    /// Wanted events, in the order of their numbers; empty when places were asked for.
    pub events: Vec<(EventPlace, Arc<StoredEvent>)>,
    /// Where wanted events lie, in the order of their numbers; empty when events were asked for.
    pub places: Vec<EventPlace>,
    /// Events of types that the relay does not want.
    pub unwanted: usize,
}

/// What one statement found beyond the cursors of all lanes.
#[derive(Debug, Clone)]
pub struct Poll {
    /// Everything up to here was seen.
    pub seen: Horizon,
    /// The lanes, in the order that was asked.
    pub lanes: Vec<LanePoll>,
    /// Whether there was more than the size allowed; what was found is then only a part. Of places it is the lowest
    /// numbers of each lane, at least the first of a lane that has any; of events it may be any: ask for places.
    pub truncated: bool,
}

/// An event that was set aside, with the event itself; an edited payload is in its place.
pub type AsideWithEvent = (AsideEvent, Arc<StoredEvent>);

/// An event, and what each relay that has set it aside says about it.
pub type EventWithAsides = (StoredEvent, Vec<AsideEvent>);

/// What a relay's loop asks of a store. Writes happen under a lane's fence: where another process holds it, they change
/// nothing, and the lane is missing in the answer.
pub trait RelayStore: IncidentWrite + ReplayStore + OwnTableStore {
    /// Writes the relays that a process serves, and gives a new one its lanes and its beginning. Refuses a server that
    /// cannot be relayed from.
    fn declare(&self, relays: Vec<RelaySpec>, by: Arc<str>) -> BoxFuture<'_, Result<()>>;
    /// Renews the lanes that the process holds, takes free ones up to its share, and gives some back.
    fn hold_lanes(&self, request: LaneRequest) -> BoxFuture<'_, Result<HeldLanes>>;
    /// Reads what lies beyond the cursors: in a stored window what is left of it, else what `since` does not see.
    fn poll(&self, events: EventPatterns, cursors: Vec<LaneCursor>, size: PollSize) -> BoxFuture<'_, Result<Poll>>;
    /// The events at these places, in their order.
    fn events_at(&self, places: Vec<EventPlace>) -> BoxFuture<'_, Result<Vec<Arc<StoredEvent>>>>;
    /// Moves cursors, in one durable commit, whatever the database is set to; the lanes that moved.
    fn move_cursors(&self, relay: RelayName, steps: Vec<(LaneCursor, CursorStep)>) -> BoxFuture<'_, Result<Vec<u16>>>;
    /// Writes what pages changed, with the incidents of what was parked, in one commit; the lanes that moved.
    fn settle(
        &self,
        relay: RelayName,
        pages: Vec<PageSettlement>,
        incidents: Vec<SubjectChange>,
    ) -> BoxFuture<'_, Result<Vec<u16>>>;
    /// Events of these lanes that were set aside and whose turn it is, each followed by those that wait behind it.
    fn asides_due(&self, relay: RelayName, lanes: Vec<u16>, limit: usize)
    -> BoxFuture<'_, Result<Vec<AsideWithEvent>>>;
}

/// A relay as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct RelayState {
    /// Its name.
    pub name: RelayName,
    /// What it wants.
    pub events: EventPatterns,
    /// Where it publishes to.
    pub target: String,
    /// Who declared it last.
    pub declared_by: Arc<str>,
    /// When.
    pub declared_at: Timestamp,
    /// When it was retired.
    pub retired_at: Option<Timestamp>,
    /// Wanted events that it has not passed.
    pub waiting: u64,
    /// When the oldest of them was staged.
    pub oldest: Option<Timestamp>,
    /// Events that a person must decide about.
    pub parked: u64,
    /// Events that are tried again, and those behind them.
    pub set_aside: u64,
    /// Why lanes of it stopped.
    pub stopped: Option<crate::error::CodeName>,
    /// What it published of late.
    pub recent: RecentPublications,
}

/// What a relay passed in the last hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecentPublications {
    /// Events.
    pub passed: u64,
    /// Of these, the ones that were published in time ([`PUBLISHED_WITHIN`](crate::outbox::PUBLISHED_WITHIN)).
    pub on_time: u64,
}

impl RecentPublications {
    /// How far back is looked.
    pub const LOOK_BACK: Duration = Duration::from_hours(1);

    /// The share that was in time; none where nothing was passed.
    pub fn share_on_time(self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a share for people")]
        (self.passed > 0).then(|| self.on_time as f64 / self.passed as f64)
    }
}

/// What people ask of the outbox.
pub trait OutboxOperate: Send + Sync {
    /// Every relay, by name, with the store's time.
    fn relays(&self) -> BoxFuture<'_, Result<(Timestamp, Vec<RelayState>)>>;
    /// An event, and what each relay that has set it aside says about it.
    fn event(&self, id: EventId) -> BoxFuture<'_, Result<Option<EventWithAsides>>>;
    /// Events that were set aside and have not ended, oldest first.
    fn asides(&self, filter: AsideFilter, limit: usize) -> BoxFuture<'_, Result<Vec<AsideEvent>>>;
    /// Whether this relay, or every relay that wants it, has passed an event.
    fn published(&self, id: EventId, relay: Option<RelayName>) -> BoxFuture<'_, Result<bool>>;
    /// Decides about an event, for one relay or for every relay that has it set aside; what it is then.
    fn decide(&self, decision: AsideDecision) -> BoxFuture<'_, Result<Vec<AsideEvent>>>;
    /// Starts the lanes that stopped; how many did.
    fn start(&self, verb: RelayVerb) -> BoxFuture<'_, Result<usize>>;
    /// Ends a relay that nobody serves any more: its place no longer holds retention back.
    fn retire(&self, verb: RelayVerb) -> BoxFuture<'_, Result<()>>;
    /// Gives a relay a new beginning, after its database was restored.
    fn rebase(&self, verb: RelayVerb, begin: Begin) -> BoxFuture<'_, Result<()>>;
    /// Deletes events that every relay has passed and that were staged before this time; how many.
    fn prune_events(&self, before: Timestamp, limit: usize) -> BoxFuture<'_, Result<usize>>;
}

/// Which events that were set aside; each part narrows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AsideFilter {
    /// Of this tenant.
    pub tenant: Option<Tenant>,
    /// By this relay.
    pub relay: Option<RelayName>,
}

/// A person's decision about an event that was set aside.
#[derive(Debug, Clone)]
pub struct AsideDecision {
    /// The event.
    pub id: EventId,
    /// One relay; none for every relay that has it set aside.
    pub relay: Option<RelayName>,
    /// What is decided.
    pub verb: AsideVerb,
    /// Who decides.
    pub who: Arc<str>,
    /// Why.
    pub why: Arc<str>,
}

/// A person's decision about a relay.
#[derive(Debug, Clone)]
pub struct RelayVerb {
    /// The relay.
    pub relay: RelayName,
    /// Who decides.
    pub who: Arc<str>,
    /// Why.
    pub why: Arc<str>,
}
