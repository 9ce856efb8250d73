use std::collections::BTreeMap;

use bytes::Bytes;
use onefold_core::error::{EVENT_TOO_LARGE, TARGET_UNAVAILABLE};
use onefold_core::event::{AggregateType, EventId, EventType, NewEvent, StoredEvent};
use onefold_core::operation::Tenant;
use onefold_core::port::RefusedRetry;
use onefold_core::time::Timestamp;

use super::*;

fn outgoing(seq: u8, aggregate: &str) -> OutgoingEvent {
    let event = NewEvent {
        id: EventId::from_bytes([seq; 16]),
        aggregate: Aggregate {
            tenant: Tenant::default(),
            aggregate_type: AggregateType::parse("case").unwrap(),
            id: Arc::from(aggregate),
        },
        event_type: EventType::parse("case.submitted").unwrap(),
        schema_version: 1,
        payload: Bytes::new(),
        content_type: Arc::from("application/json"),
        headers: BTreeMap::new(),
        correlation_id: None,
    };
    let stored = StoredEvent { seq: i64::from(seq), created_at: Timestamp::from_micros(0), event };
    OutgoingEvent { stored: Arc::new(stored), destination: Arc::from("cases"), replay: None, contract: None }
}

fn to(partition: i32, bytes: usize) -> Judgement {
    Judgement::Send { place: (Arc::from("cases"), partition), bytes, batch_bytes_max: 1_000 }
}

/// A page of (aggregate, partition, bytes).
fn page(events: &[(&str, i32, usize)]) -> Page {
    let mut page = Page::default();
    for (seq, (aggregate, partition, bytes)) in (0..).zip(events) {
        page.push(outgoing(seq, aggregate), to(*partition, *bytes));
    }
    page
}

fn published() -> Publication {
    Publication::Published { position: None }
}

fn refused() -> Publication {
    Publication::Refused { code: EVENT_TOO_LARGE, reason: "large".to_owned(), retry: RefusedRetry::Never }
}

#[test]
fn a_client_whose_batches_are_not_known_has_one_event_of_an_aggregate_on_its_way() {
    let mut page = page(&[("A", 0, 10), ("A", 0, 10), ("B", 0, 10), ("A", 0, 10), ("B", 0, 10)]);
    for wave in [[0, 2].as_slice(), &[1, 4], &[3]] {
        assert_eq!(page.next_wave(KeysInWave::One), wave);
        for at in wave {
            page.answer(*at, published());
        }
    }
    assert!(page.is_done());
}

#[test]
fn an_aggregate_is_in_one_batch_at_a_time() {
    let full = page(&[("a", 0, 600), ("a", 0, 600), ("a", 0, 10), ("b", 1, 10), ("b", 1, 10)]);
    assert_eq!(
        full.next_wave(KeysInWave::InOneBatch),
        [0, 3, 4],
        "what follows the one that does not fit waits, however small it is"
    );
    let two_places = page(&[("a", 0, 10), ("a", 1, 10), ("a", 0, 10)]);
    assert_eq!(two_places.next_wave(KeysInWave::InOneBatch), [0]);
}

#[test]
fn a_batch_fits_its_topic() {
    let many = page(&[("a", 0, 600), ("b", 0, 300), ("c", 0, 200), ("d", 0, 100)]);
    assert_eq!(many.next_wave(KeysInWave::InOneBatch), [0, 1, 3]);
    let large = page(&[("a", 0, 5_000), ("b", 0, 1)]);
    assert_eq!(large.next_wave(KeysInWave::InOneBatch), [0], "one that may be too large goes alone");
}

#[test]
fn waves_end_with_every_event_answered() {
    let mut page = page(&[("a", 0, 900), ("a", 0, 900), ("b", 0, 900), ("a", 1, 900)]);
    let mut waves = Vec::new();
    while !page.is_done() {
        let wave = page.next_wave(KeysInWave::InOneBatch);
        assert!(!wave.is_empty());
        for at in &wave {
            page.answer(*at, published());
        }
        waves.push(wave);
    }
    assert_eq!(waves, [vec![0], vec![1], vec![2, 3]]);
    assert_eq!(page.answers(), vec![published(); 4]);
}

#[test]
fn an_aggregate_stops_at_its_first_failure_and_the_others_go_on() {
    let mut page = page(&[("a", 0, 600), ("a", 0, 600), ("b", 1, 600), ("b", 1, 600)]);
    page.answer(0, refused());
    page.answer(2, published());
    assert_eq!(page.next_wave(KeysInWave::InOneBatch), [3]);
    page.answer(3, published());
    assert_eq!(page.answers(), [refused(), Publication::NotSent, published(), published()]);
}

#[test]
fn what_was_refused_beforehand_stops_its_aggregate_too() {
    let mut page = Page::default();
    page.push(outgoing(0, "a"), to(0, 10));
    page.push(outgoing(1, "a"), Judgement::Answered(refused()));
    page.push(outgoing(2, "a"), to(0, 10));
    assert_eq!(page.next_wave(KeysInWave::InOneBatch), [0]);
    page.answer(0, published());
    assert_eq!(page.answers(), [published(), refused(), Publication::NotSent]);
}

#[test]
fn a_refused_batch_is_tried_again_one_by_one() {
    let mut page = page(&[("a", 0, 10), ("b", 0, 10), ("c", 0, 10)]);
    let wave = page.next_wave(KeysInWave::InOneBatch);
    assert_eq!(page.companies(&wave), [3, 3, 3]);
    for at in wave {
        page.isolate(at);
    }
    for at in 0..3 {
        assert_eq!(page.next_wave(KeysInWave::InOneBatch), [at]);
        page.answer(at, published());
    }
}

#[test]
fn an_aborted_transaction_is_sent_again_without_what_was_refused() {
    let mut page = page(&[("a", 0, 600), ("b", 0, 300), ("b", 0, 100)]);
    page.answer(0, published());
    page.answer(1, refused());
    page.take_back();
    assert_eq!(page.next_wave(KeysInWave::InOneBatch), [0]);
}

#[test]
fn the_end_is_said_once_for_an_aggregate() {
    let mut page = page(&[("a", 0, 600), ("a", 0, 600), ("b", 1, 600)]);
    let gone = Publication::Unavailable { code: TARGET_UNAVAILABLE, reason: "gone".to_owned(), after: None };
    page.end(&gone);
    assert_eq!(page.answers(), [gone.clone(), Publication::NotSent, gone]);
}
