//! A target that is sent one event at a time: aggregates at once, the events of each one after another.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use onefold_core::Result;
use onefold_core::error::TARGET_UNAVAILABLE;
use onefold_core::event::Aggregate;
use onefold_core::outbox::DestinationTemplate;
use onefold_core::port::{
    BoxFuture, Clock, Delivery, EventSender, FaultPoint, Faults, OutgoingEvent, Publication, Publisher,
};
use tokio::task::JoinSet;

/// Sends a page to a target that takes single events: of each aggregate one at a time, many aggregates at once.
pub struct OneAtATime {
    sender: Arc<dyn EventSender>,
    clock: Arc<dyn Clock>,
    faults: Arc<dyn Faults>,
    in_flight_max: usize,
}

/// The events of one aggregate in one delivery, with their places in the page.
struct AggregateQueue {
    delivery: usize,
    events: VecDeque<(usize, OutgoingEvent)>,
}

impl OneAtATime {
    /// Sends through this one, to at most so many aggregates at once.
    pub fn new(
        sender: Arc<dyn EventSender>,
        clock: Arc<dyn Clock>,
        faults: Arc<dyn Faults>,
        in_flight_max: usize,
    ) -> Self {
        Self { sender, clock, faults, in_flight_max: in_flight_max.max(1) }
    }

    /// Sends the events of one aggregate until one is not published; the answers, with their places.
    async fn send_queue(
        sender: Arc<dyn EventSender>,
        clock: Arc<dyn Clock>,
        faults: Arc<dyn Faults>,
        queue: AggregateQueue,
        give_up: Duration,
    ) -> (usize, Vec<(usize, Publication)>) {
        let mut answers = Vec::with_capacity(queue.events.len());
        for (place, event) in queue.events {
            let left = give_up.saturating_sub(clock.monotonic());
            let publication = if left.is_zero() { too_late() } else { sender.send(&event, left).await };
            let published = matches!(publication, Publication::Published { .. });
            answers.push((place, publication));
            if !published {
                break;
            }
            faults.reach(FaultPoint::MID_PAGE);
        }
        (queue.delivery, answers)
    }
}

fn too_late() -> Publication {
    Publication::Unavailable {
        code: TARGET_UNAVAILABLE,
        reason: "the page was not acknowledged in time".to_owned(),
        after: None,
    }
}

/// The aggregates of all deliveries, each with its events in order.
fn queues(deliveries: Vec<Delivery>) -> Vec<AggregateQueue> {
    let mut queues: Vec<AggregateQueue> = Vec::new();
    let mut known: HashMap<(usize, Aggregate), usize> = HashMap::new();
    for (at, delivery) in deliveries.into_iter().enumerate() {
        for (place, event) in delivery.events.into_iter().enumerate() {
            let aggregate = event.stored.event.aggregate.clone();
            let queue = *known.entry((at, aggregate)).or_insert_with(|| {
                queues.push(AggregateQueue { delivery: at, events: VecDeque::new() });
                queues.len() - 1
            });
            queues[queue].events.push_back((place, event));
        }
    }
    queues
}

impl Publisher for OneAtATime {
    fn target(&self) -> String {
        self.sender.target()
    }

    fn destination(&self) -> Option<DestinationTemplate> {
        self.sender.destination()
    }

    fn unfenced(&self) -> Option<&'static str> {
        self.sender.unfenced()
    }

    fn check(&self, lease_for: Duration, within: Duration) -> BoxFuture<'_, Result<()>> {
        self.sender.check(lease_for, within)
    }

    fn publish(&self, deliveries: Vec<Delivery>) -> BoxFuture<'_, Vec<Vec<Publication>>> {
        Box::pin(async move {
            let within = deliveries.iter().map(|delivery| delivery.within).min().unwrap_or_default();
            let give_up = self.clock.monotonic().saturating_add(within);
            let mut answers: Vec<Vec<Publication>> =
                deliveries.iter().map(|delivery| vec![Publication::NotSent; delivery.events.len()]).collect();
            let mut waiting = queues(deliveries).into_iter();
            let mut sending = JoinSet::new();
            loop {
                while sending.len() < self.in_flight_max
                    && let Some(queue) = waiting.next()
                {
                    let (sender, clock) = (Arc::clone(&self.sender), Arc::clone(&self.clock));
                    sending.spawn(Self::send_queue(sender, clock, Arc::clone(&self.faults), queue, give_up));
                }
                let Some(sent) = sending.join_next().await else { break };
                // A sender that panicked answered nothing: its aggregate is read again.
                let Ok((delivery, sent)) = sent else { continue };
                for (place, publication) in sent {
                    answers[delivery][place] = publication;
                }
            }
            answers
        })
    }

    fn leave(&self, _lane: u16) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
