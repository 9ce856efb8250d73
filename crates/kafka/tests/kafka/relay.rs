//! What a relay does with the answers: it goes on behind the last event of the page that was published, and repeats.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use onefold_core::port::{Delivery, OutgoingEvent, Publication, Publisher};

use crate::events::delivery;
use crate::kcat::LoggedRecord;

/// Longer than any outage of a test takes.
const PATIENCE: Duration = Duration::from_mins(3);

/// What was acknowledged: where each event is.
pub(crate) type Positions = HashMap<String, String>;

/// Publishes every event, a page after the other.
pub(crate) async fn publish_all(
    publisher: &dyn Publisher,
    events: &[OutgoingEvent],
    page: usize,
    within: Duration,
) -> Positions {
    let mut relay = Relay::new(publisher, events, page, within);
    while relay.done < events.len() {
        relay.next_page().await;
    }
    relay.positions
}

/// Publishes events while faults happen, and two pages behind the last of them. What was published, and where it is.
pub(crate) async fn publish_during<'e>(
    publisher: &dyn Publisher,
    events: &'e [OutgoingEvent],
    faults: impl Future<Output = ()>,
) -> (&'e [OutgoingEvent], Positions) {
    let mut relay = Relay::new(publisher, events, 40, Duration::from_secs(6));
    let over = AtomicBool::new(false);
    let publishing = async {
        while !over.load(Ordering::SeqCst) {
            relay.next_page().await;
            // So that the events last for as long as the faults do.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let behind = relay.done + 2 * relay.page;
        while relay.done < behind {
            relay.next_page().await;
        }
    };
    let faults = async {
        faults.await;
        over.store(true, Ordering::SeqCst);
    };
    tokio::join!(publishing, faults);
    (&events[..relay.done], relay.positions)
}

/// A relay and how far it is.
struct Relay<'e> {
    publisher: &'e dyn Publisher,
    events: &'e [OutgoingEvent],
    page: usize,
    within: Duration,
    done: usize,
    positions: Positions,
    begun: Instant,
}

impl<'e> Relay<'e> {
    fn new(publisher: &'e dyn Publisher, events: &'e [OutgoingEvent], page: usize, within: Duration) -> Self {
        Self { publisher, events, page, within, done: 0, positions: Positions::new(), begun: Instant::now() }
    }

    /// Goes as far as the target acknowledges.
    async fn next_page(&mut self) {
        let left = &self.events[self.done..];
        assert!(!left.is_empty(), "the events did not last");
        assert!(self.begun.elapsed() < PATIENCE, "{} events are published, {} are not", self.done, left.len());
        let next: Vec<OutgoingEvent> = left.iter().take(self.page).cloned().collect();
        let answers = publish(self.publisher, Delivery { within: self.within, ..delivery(next) }).await;
        let published = answers.iter().take_while(|answer| matches!(answer, Publication::Published { .. })).count();
        for (event, answer) in left.iter().zip(&answers[..published]) {
            if let Publication::Published { position: Some(position) } = answer {
                self.positions.insert(event.stored.event.id.to_string(), position.to_string());
            }
        }
        self.done += published;
        if published < answers.len() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Publishes one page.
pub(crate) async fn publish(publisher: &dyn Publisher, delivery: Delivery) -> Vec<Publication> {
    let sent = delivery.events.len();
    let mut answers = publisher.publish(vec![delivery]).await;
    let answers = answers.pop().expect("an answer for the lane");
    assert_eq!(answers.len(), sent, "an answer for each event");
    answers
}

/// Every event is in the log, and each aggregate's events appeared first in their order.
pub(crate) fn assert_in_order(events: &[OutgoingEvent], log: &[LoggedRecord]) {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut appeared: HashMap<&str, Vec<&str>> = HashMap::new();
    for record in log.iter().filter(|record| seen.insert(record.id())) {
        appeared.entry(&record.key).or_default().push(record.id());
    }
    let mut expected: HashMap<&str, Vec<String>> = HashMap::new();
    for event in events {
        let event = &event.stored.event;
        expected.entry(&event.aggregate.id).or_default().push(event.id.to_string());
    }
    for (aggregate, ids) in expected {
        assert_eq!(appeared.get(aggregate).map(Vec::as_slice).unwrap_or_default(), ids, "{aggregate}");
    }
}

/// Whatever was acknowledged is where it was said to be.
pub(crate) fn assert_at(positions: &Positions, log: &[LoggedRecord]) {
    let ids: HashMap<String, &str> = log.iter().map(|record| (record.position(), record.id())).collect();
    for (id, position) in positions {
        assert_eq!(ids.get(position), Some(&id.as_str()), "{position}");
    }
}
