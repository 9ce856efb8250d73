//! What the relay asks of a target.

use std::sync::Arc;
use std::time::Duration;

use super::BoxFuture;
use crate::error::{Code, Result};
use crate::event::{Attribute, ReplayId, SharedContract, StoredEvent, attributes};
use crate::outbox::DestinationTemplate;

/// An event on its way to a target.
#[derive(Debug, Clone)]
pub struct OutgoingEvent {
    /// The event.
    pub stored: Arc<StoredEvent>,
    /// The topic, exchange or subject, filled in; empty where a target has only one place.
    pub destination: Arc<str>,
    /// The replay that sends it.
    pub replay: Option<ReplayId>,
    /// The contract of its type, where the process knows it.
    pub contract: Option<SharedContract>,
}

impl OutgoingEvent {
    /// Its attributes as a `CloudEvent`.
    pub fn attributes(&self) -> Vec<Attribute<'_>> {
        attributes(&self.stored, self.contract.as_deref())
    }
}

/// Events of one lane, in the order in which they must appear.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The lane that is held; a target that can fence writers does it by lane.
    pub lane: u16,
    /// The fence of that lease.
    pub fence: u64,
    /// The events; those of one aggregate in their order.
    pub events: Vec<OutgoingEvent>,
    /// What is not acknowledged by then counts as unavailable. Shorter than the lease.
    pub within: Duration,
}

/// What a target said about one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Publication {
    /// It has it, durably.
    Published {
        /// Where: a partition and offset, a stream's sequence number.
        position: Option<Arc<str>>,
    },
    /// It does not take this event, others it may.
    Refused {
        /// Why, in one word for counting.
        code: Code,
        /// Why, in a sentence without payload or secret.
        reason: String,
        /// Whether the same event may be taken later.
        retry: RefusedRetry,
    },
    /// It cannot be told whether it has it: the target did not answer, or said that it takes nothing now.
    Unavailable {
        /// Why.
        code: Code,
        /// Why, in a sentence without payload or secret.
        reason: String,
        /// When it asked to be tried again.
        after: Option<Duration>,
    },
    /// It was not sent: an earlier event of its aggregate was not published.
    NotSent,
}

/// Whether a refused event may be taken later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedRetry {
    /// Perhaps; not before this time, where the target named one.
    After(Option<Duration>),
    /// Not as it is.
    Never,
}

/// A target that takes many events at once.
///
/// A later event of an aggregate is accepted only after the earlier ones were: at the first that is not published, the
/// aggregate stops, and what follows is [`Publication::NotSent`] or [`Publication::Unavailable`].
pub trait Publisher: Send + Sync {
    /// The target for people, without secrets: `kafka case.events.v1`.
    fn target(&self) -> String;
    /// The topic, exchange or subject of each event; none where a target has only one place.
    fn destination(&self) -> Option<DestinationTemplate> {
        None
    }
    /// What a paused relay that comes back after its lease may still do here; said at start. Nothing where it is fenced.
    fn unfenced(&self) -> Option<&'static str>;
    /// Whether the target exists, lets us in and is set up for these times; asked once, before the first delivery.
    fn check(&self, lease_for: Duration, within: Duration) -> BoxFuture<'_, Result<()>>;
    /// Sends the events of some lanes, each lane a delivery; answered in the same order, one answer for each event.
    fn publish(&self, deliveries: Vec<Delivery>) -> BoxFuture<'_, Vec<Vec<Publication>>>;
    /// The lane is no longer ours: what was kept open for it is closed.
    fn leave(&self, lane: u16) -> BoxFuture<'_, ()>;
}

impl<P: Publisher + ?Sized> Publisher for Arc<P> {
    fn target(&self) -> String {
        (**self).target()
    }
    fn destination(&self) -> Option<DestinationTemplate> {
        (**self).destination()
    }
    fn unfenced(&self) -> Option<&'static str> {
        (**self).unfenced()
    }
    fn check(&self, lease_for: Duration, within: Duration) -> BoxFuture<'_, Result<()>> {
        (**self).check(lease_for, within)
    }
    fn publish(&self, deliveries: Vec<Delivery>) -> BoxFuture<'_, Vec<Vec<Publication>>> {
        (**self).publish(deliveries)
    }
    fn leave(&self, lane: u16) -> BoxFuture<'_, ()> {
        (**self).leave(lane)
    }
}

impl<S: EventSender + ?Sized> EventSender for Arc<S> {
    fn target(&self) -> String {
        (**self).target()
    }
    fn destination(&self) -> Option<DestinationTemplate> {
        (**self).destination()
    }
    fn unfenced(&self) -> Option<&'static str> {
        (**self).unfenced()
    }
    fn check(&self, lease_for: Duration, within: Duration) -> BoxFuture<'_, Result<()>> {
        (**self).check(lease_for, within)
    }
    fn send<'a>(&'a self, event: &'a OutgoingEvent, within: Duration) -> BoxFuture<'a, Publication> {
        (**self).send(event, within)
    }
}

/// A target that is sent one event at a time; the runtime sends those of different aggregates at once.
pub trait EventSender: Send + Sync {
    /// As [`Publisher::target`].
    fn target(&self) -> String;
    /// As [`Publisher::destination`].
    fn destination(&self) -> Option<DestinationTemplate> {
        None
    }
    /// As [`Publisher::unfenced`].
    fn unfenced(&self) -> Option<&'static str>;
    /// As [`Publisher::check`].
    fn check(&self, lease_for: Duration, within: Duration) -> BoxFuture<'_, Result<()>>;
    /// Sends one event and waits for its acknowledgement, at most this long.
    fn send<'a>(&'a self, event: &'a OutgoingEvent, within: Duration) -> BoxFuture<'a, Publication>;
}
