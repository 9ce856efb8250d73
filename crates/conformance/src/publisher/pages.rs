//! What a relay does with the answers: it goes on behind the last event of the page that was published, and repeats.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use onefold_core::port::{Delivery, OutgoingEvent, Publication, Publisher};

use super::ConsumedEvent;
use super::events::delivery;

/// Longer than any outage of a test takes.
const PATIENCE: Duration = Duration::from_mins(3);
const PAGE: usize = 40;

/// Publishes one page.
pub async fn publish(publisher: &dyn Publisher, delivery: Delivery) -> Vec<Publication> {
    let sent = delivery.events.len();
    let mut answers = publisher.publish(vec![delivery]).await;
    let answers = answers.pop().expect("an answer for the lane");
    assert_eq!(answers.len(), sent, "an answer for each event");
    answers
}

/// Whether every event of a page was published.
pub fn all_published(answers: &[Publication]) -> bool {
    answers.iter().all(|answer| matches!(answer, Publication::Published { .. }))
}

/// Publishes events while faults happen, and two pages behind the last of them. What was published.
pub async fn publish_during<'e>(
    publisher: &dyn Publisher,
    events: &'e [OutgoingEvent],
    within: Duration,
    faults: impl Future<Output = ()>,
) -> &'e [OutgoingEvent] {
    let over = AtomicBool::new(false);
    let publishing = async {
        let (mut done, begun) = (0, Instant::now());
        while !over.load(Ordering::SeqCst) {
            done += next_page(publisher, &events[done..], within, begun).await;
            // So that the events last for as long as the faults do.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let behind = done + 2 * PAGE;
        while done < behind {
            done += next_page(publisher, &events[done..], within, begun).await;
        }
        &events[..done]
    };
    let faults = async {
        faults.await;
        over.store(true, Ordering::SeqCst);
    };
    tokio::join!(publishing, faults).0
}

/// Goes as far as the target acknowledges.
async fn next_page(publisher: &dyn Publisher, left: &[OutgoingEvent], within: Duration, begun: Instant) -> usize {
    assert!(!left.is_empty(), "the events did not last");
    assert!(begun.elapsed() < PATIENCE, "{} events are not published", left.len());
    let next: Vec<OutgoingEvent> = left.iter().take(PAGE).cloned().collect();
    let answers = publish(publisher, Delivery { within, ..delivery(next) }).await;
    let refused = answers.iter().find(|answer| matches!(answer, Publication::Refused { .. }));
    assert_eq!(refused, None, "an outage is nobody's fault but the target's");
    let done = answers.iter().take_while(|answer| matches!(answer, Publication::Published { .. })).count();
    if done < answers.len() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    done
}

/// Every event was there, and each aggregate's events appeared first in their order.
pub fn assert_in_order(events: &[OutgoingEvent], consumed: &[ConsumedEvent]) {
    let ids = events.iter().map(|event| {
        let event = &event.stored.event;
        (event.aggregate.id.to_string(), event.id.to_string())
    });
    assert_first_sight(ids, consumed);
}

/// The same for ids with their aggregates, in the order of each aggregate.
pub fn assert_first_sight(ids: impl IntoIterator<Item = (String, String)>, consumed: &[ConsumedEvent]) {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut appeared: HashMap<&str, Vec<&str>> = HashMap::new();
    for event in consumed.iter().filter(|event| seen.insert(event.id())) {
        appeared.entry(event.aggregate()).or_default().push(event.id());
    }
    let mut expected: HashMap<String, Vec<String>> = HashMap::new();
    for (aggregate, id) in ids {
        expected.entry(aggregate).or_default().push(id);
    }
    for (aggregate, ids) in expected {
        assert_eq!(appeared.get(&*aggregate).map(Vec::as_slice).unwrap_or_default(), ids, "{aggregate}");
    }
}
