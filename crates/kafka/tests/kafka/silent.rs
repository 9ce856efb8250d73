//! A broker that takes requests and does not answer.

use std::time::Duration;

use onefold_core::port::{Delivery, OutgoingEvent, Publication};

use crate::events::{WITHIN, delivery, events};
use crate::kcat;
use crate::proxy::{Mode, broker_behind_proxy};
use crate::relay::{assert_in_order, publish};
use crate::topics::{create, publisher};

fn is_published(answers: &[Publication]) -> bool {
    answers.iter().all(|answer| matches!(answer, Publication::Published { .. }))
}

/// A first page that gives the client so much time that only our own ends the next one.
fn unhurried(events: Vec<OutgoingEvent>) -> Delivery {
    Delivery { within: Duration::from_mins(10), ..delivery(events) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_may_have_been_written_is_sent_again_under_its_id() {
    let (broker, proxy) = broker_behind_proxy().await;
    let topic = create(&broker.direct(0), 1, &[]).await;
    let publisher = publisher(&proxy.address(), &topic);
    let all = events(&topic, 6, 2, 10);
    assert!(is_published(&publish(&publisher, unhurried(all[..2].to_vec())).await));

    proxy.set(Mode::KeepReplies);
    let page = Delivery { within: Duration::from_secs(3), ..delivery(all[2..].to_vec()) };
    let unanswered = tokio::time::timeout(Duration::from_mins(1), publish(&publisher, page.clone())).await;
    let unanswered = unanswered.expect("a page ends although nobody answers");
    assert!(!unanswered.iter().any(|answer| matches!(answer, Publication::Published { .. })), "{unanswered:?}");
    // A client may send the second of an aggregate only when the first is acknowledged.
    let sent = unanswered.iter().filter(|answer| matches!(answer, Publication::Unavailable { .. })).count();
    assert!(sent >= 2, "{unanswered:?}");
    let ids = |log: &[kcat::LoggedRecord]| -> Vec<String> { log.iter().map(|record| record.id().to_owned()).collect() };
    let written = kcat::committed(&broker.direct(0), &topic);
    assert_eq!(written.len(), 2 + sent, "the broker has written what it could not acknowledge");

    proxy.set(Mode::Pass);
    proxy.cut();
    assert!(is_published(&publish(&publisher, Delivery { within: WITHIN, ..page }).await));
    let log = kcat::committed(&broker.direct(0), &topic);
    assert_in_order(&all, &log);
    assert_eq!(ids(&log)[2..2 + sent], ids(&log)[2 + sent..2 + 2 * sent], "again, with the same ids");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_ends_in_time_where_nothing_reaches_the_broker_and_nothing_follows_it() {
    let (broker, proxy) = broker_behind_proxy().await;
    for policy in ["delete", "compact"] {
        let topic = create(&broker.direct(0), 1, &[("cleanup.policy", policy)]).await;
        let publisher = publisher(&proxy.address(), &topic);
        let all = events(&topic, 4, 1, 10);
        assert!(is_published(&publish(&publisher, unhurried(all[..1].to_vec())).await));
        proxy.set(Mode::KeepAll);
        let page = Delivery { within: Duration::from_secs(3), ..delivery(all[1..3].to_vec()) };
        let unanswered = tokio::time::timeout(Duration::from_mins(1), publish(&publisher, page)).await;
        let unanswered = unanswered.expect("a page ends although nobody answers");
        assert!(!unanswered.iter().any(|answer| matches!(answer, Publication::Published { .. })), "{unanswered:?}");
        proxy.set(Mode::Pass);
        proxy.cut();
        // Another page goes first: what was given up must not appear behind it by itself.
        assert!(is_published(&publish(&publisher, delivery(all[3..].to_vec())).await));
        let log = kcat::committed(&broker.direct(0), &topic);
        let ids: Vec<&str> = log.iter().map(kcat::LoggedRecord::id).collect();
        assert_eq!(ids.len(), 2, "{policy}: {ids:?}");
    }
}
