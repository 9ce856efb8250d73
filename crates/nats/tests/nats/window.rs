//! Repeated ids: dropped within the stream's window, which is longer than a paused relay may take.

use std::time::Duration;

use onefold_conformance::publisher::events::{delivery, event, replayed};
use onefold_conformance::publisher::pages::{all_published, publish};
use onefold_core::error::TARGET_NOT_READY;
use onefold_core::port::{EventSender as _, Publication};

use crate::place::{consumed, make_stream, paged, publisher, sender, shared};

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_forgets_ids_within_a_lease_and_a_delivery_is_refused_with_what_to_do() {
    let (lease_for, within) = (Duration::from_secs(30), Duration::from_secs(15));
    for (window, is_enough) in [(45, false), (46, true)] {
        let stream = make_stream(&shared(), |config| config.duplicate_window = Duration::from_secs(window)).await;
        let sender = sender(&shared(), &format!("{stream}.events"));
        let checked = sender.check(lease_for, within).await;
        assert_eq!(checked.is_ok(), is_enough, "{window}: {checked:?}");
        if let Err(error) = checked {
            assert_eq!(error.code(), TARGET_NOT_READY);
            let command = format!("nats stream edit {stream} --dupe-window=46s");
            assert!(error.next_step().contains(&command), "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_a_template_leads_to_is_looked_at_before_the_first_event() {
    let stream = make_stream(&shared(), |config| config.duplicate_window = Duration::from_secs(2)).await;
    let sender = sender(&shared(), &format!("{stream}.{{event_type}}"));
    sender.check(Duration::from_secs(30), Duration::from_secs(15)).await.unwrap();
    let publisher = paged(sender);
    let to = publisher.destination();
    let answers = publish(&*publisher, delivery(vec![event(to.as_ref(), 1, "CASE-1", "{}")])).await;
    assert!(matches!(answers[..], [Publication::Unavailable { code, .. }] if code == TARGET_NOT_READY), "{answers:?}");
    assert_eq!(consumed(&shared(), &stream).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_sent_again_is_there_once_and_a_replayed_one_twice() {
    let stream = make_stream(&shared(), |_| {}).await;
    let first = publisher(&shared(), &format!("{stream}.events"));
    // A relay that was paused: the same events, from another connection.
    let second = publisher(&shared(), &format!("{stream}.events"));
    let page = vec![event(first.destination().as_ref(), 1, "CASE-1", "{}")];
    let before = publish(&*first, delivery(page.clone())).await;
    let again = publish(&*second, delivery(page.clone())).await;
    assert_eq!(before, again, "it is published, where it was");
    assert!(matches!(&before[..], [Publication::Published { position: Some(at) }] if **at == *format!("{stream}/1")));
    assert_eq!(consumed(&shared(), &stream).await.len(), 1);
    assert!(all_published(&publish(&*first, delivery(vec![replayed(&page[0], "rpl_1")])).await));
    assert_eq!(consumed(&shared(), &stream).await.len(), 2);
}
