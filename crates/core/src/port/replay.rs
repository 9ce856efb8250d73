//! What a replay asks of a store: to be asked for, held by one process, read page by page, settled, cancelled.

use std::sync::Arc;
use std::time::Duration;

use super::BoxFuture;
use crate::error::Result;
use crate::event::{ReplayId, StoredEvent};
use crate::operation::Tenant;
use crate::outbox::{EventReplay, RelayName, ReplayRequest, ReplaySpec, ReplayedPage};

/// What a relay's loop asks of a store about its replays.
pub trait ReplayStore: Send + Sync {
    /// Takes the oldest unfinished replay of a relay, or renews it; none where there is none or another process holds
    /// it. A process that takes it over raises its fence.
    fn hold_replay(
        &self,
        relay: RelayName,
        holder: Arc<str>,
        lease_for: Duration,
    ) -> BoxFuture<'_, Result<Option<EventReplay>>>;
    /// The next events of a replay, in the order of their numbers, so many at most.
    fn replay_page(&self, replay: EventReplay, limit: usize) -> BoxFuture<'_, Result<ReplayPage>>;
    /// Writes what a page came to and renews the lease; none where another process holds the replay, or a person ended
    /// it. The live cursor and what it has set aside stay as they are.
    fn settle_replay(
        &self,
        replay: EventReplay,
        page: ReplayedPage,
        lease_for: Duration,
    ) -> BoxFuture<'_, Result<Option<EventReplay>>>;
}

/// Events of a replay.
///
/// Those that the relay wants and has passed, and that are within the filter. What it has not passed, or has set aside,
/// it sends by itself. What a person edited is sent as edited.
#[derive(Debug, Clone)]
pub struct ReplayPage {
    /// The events.
    pub events: Vec<Arc<StoredEvent>>,
    /// The last place that was looked at.
    pub looked_to: i64,
}

/// What people ask of replays.
pub trait ReplayOperate: Send + Sync {
    /// Events that a replay would send now, counted up to this limit.
    fn count_replay(&self, spec: ReplaySpec, limit: u64) -> BoxFuture<'_, Result<u64>>;
    /// Writes a replay down, with who and why; a process that serves the relay sends it.
    fn request_replay(&self, request: ReplayRequest) -> BoxFuture<'_, Result<EventReplay>>;
    /// Replays, the newest first.
    fn replays(&self, filter: ReplayListFilter, limit: usize) -> BoxFuture<'_, Result<Vec<EventReplay>>>;
    /// Ends a replay. A page that is on its way may still arrive.
    fn cancel_replay(&self, cancel: ReplayCancel) -> BoxFuture<'_, Result<EventReplay>>;
}

/// Which replays; each part narrows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayListFilter {
    /// Of this tenant.
    pub tenant: Option<Tenant>,
    /// Of this relay.
    pub relay: Option<RelayName>,
    /// This one.
    pub id: Option<ReplayId>,
}

/// A person ends a replay.
#[derive(Debug, Clone)]
pub struct ReplayCancel {
    /// Which one.
    pub id: ReplayId,
    /// Whose; another tenant's is not found.
    pub tenant: Tenant,
    /// Who decides.
    pub who: Arc<str>,
    /// Why.
    pub why: Arc<str>,
}
