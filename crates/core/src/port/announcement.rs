//! Who was told of which incident.

use std::sync::Arc;
use std::time::Duration;

use super::BoxFuture;
use crate::error::Result;
use crate::incident::Incident;
use crate::ledger::named;

named! {
    /// Where incidents are announced.
    Sink {
        /// The log of the process whose turn it is.
        Log = "log",
        /// The webhook of the configuration.
        Webhook = "webhook",
    }
}

named! {
    /// What became of an incident.
    IncidentEvent {
        /// It was opened.
        Opened = "opened",
        /// It was closed, after its opening had been announced.
        Closed = "closed",
    }
}

/// Incidents with one event, announced together under an id that stays the same however often it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// The id.
    pub id: Arc<str>,
    /// What became of them.
    pub event: IncidentEvent,
    /// The incidents, as they are now.
    pub incidents: Vec<Incident>,
}

impl Announcement {
    /// Announcements from rows of one incident each, gathered by id; the order of the rows is kept.
    pub fn gathered(rows: impl IntoIterator<Item = (String, IncidentEvent, Incident)>) -> Vec<Self> {
        let mut gathered: Vec<Self> = Vec::new();
        for (id, event, incident) in rows {
            match gathered.iter_mut().find(|known| *known.id == *id) {
                Some(known) => known.incidents.push(incident),
                None => gathered.push(Self { id: Arc::from(id), event, incidents: vec![incident] }),
            }
        }
        gathered
    }
}

/// Keeps who was told of what, so that a restart loses no opened incident.
///
/// An announcement is queued before it is sent, and taken off once it was delivered: at least once, under one id.
pub trait AnnouncementQueue: Send + Sync {
    /// Whether this holder announces to the sink now: one at a time, for as long as it holds the turn.
    fn take_turn(&self, sink: Sink, holder: Arc<str>, hold_for: Duration) -> BoxFuture<'_, Result<bool>>;
    /// Incidents that are not announced and not queued, oldest first: opened ones, and closed ones whose opening was
    /// delivered. One that was closed before it was queued is not announced.
    fn untold(&self, sink: Sink, limit: usize) -> BoxFuture<'_, Result<Vec<(IncidentEvent, Incident)>>>;
    /// Queues an announcement. An incident that is queued already stays where it is.
    fn queue(&self, sink: Sink, announcement: Announcement) -> BoxFuture<'_, Result<()>>;
    /// Announcements that were not delivered, oldest first.
    fn queued(&self, sink: Sink, limit: usize) -> BoxFuture<'_, Result<Vec<Announcement>>>;
    /// The announcement was delivered.
    fn delivered(&self, sink: Sink, id: Arc<str>) -> BoxFuture<'_, Result<()>>;
}
