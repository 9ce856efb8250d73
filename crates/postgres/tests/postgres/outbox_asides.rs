//! Events that were set aside, what people decide about them, retention, and what people see.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use onefold_core::Timestamp;
use onefold_core::error::{Code, EVENT_IN_FLIGHT, EVENT_MOVED_ON, EVENT_NOT_FOUND};
use onefold_core::event::{EventId, StoredEvent};
use onefold_core::outbox::{AsideEvent, AsideStatus, AsideVerb, LaneCursor, PayloadEdit, WindowEnd};
use onefold_core::port::{AsideDecision, OutboxOperate as _, RelayStore as _};
use sqlx::Row as _;

use crate::fixture::run;
use crate::outbox_fixture::{LONG, OutboxFixture, aside, event, events, payload, settlement, spec};
use crate::outbox_lanes::verb;

/// Passes everything in one window, and sets the events of an aggregate aside, the first of them so.
async fn set_aside(outbox: &OutboxFixture, aggregate: &str, first: AsideStatus) -> (LaneCursor, Vec<Arc<StoredEvent>>) {
    let held = outbox.hold("host/1", LONG).await;
    let mut refused = None;
    for (window, read) in outbox.open_windows(&held.cursors).await {
        let mut page = settlement(&window, read.last().map(|event| event.seq), WindowEnd::Reached);
        let mut status = first;
        for event in read.iter().filter(|event| &*event.event.aggregate.id == aggregate) {
            page.asides.push(aside(outbox, window.lane, event, status));
            status = AsideStatus::Behind;
        }
        outbox.store.settle(outbox.relay(), vec![page.clone()], Vec::new()).await.unwrap();
        if !page.asides.is_empty() {
            refused = Some((window, read));
        }
    }
    refused.unwrap()
}

async fn due(outbox: &OutboxFixture, lane: u16) -> Vec<(String, AsideStatus)> {
    let due = outbox.store.asides_due(outbox.relay(), vec![lane], 100).await.unwrap();
    due.iter().map(|(aside, stored)| (payload(stored), aside.status)).collect()
}

fn decision(id: EventId, verb: AsideVerb) -> AsideDecision {
    AsideDecision { id, relay: None, verb, who: Arc::from("ana"), why: Arc::from("a test") }
}

async fn refused(outbox: &OutboxFixture, id: EventId, verb: AsideVerb) -> Code {
    outbox.store.decide(decision(id, verb)).await.unwrap_err().code()
}

#[tokio::test]
async fn a_refused_event_is_tried_again_with_those_behind_it_in_their_order() {
    let outbox = OutboxFixture::new().await;
    outbox.stage(&events("CASE-7", 3)).await;
    outbox.stage(&[event("case.submitted", "CASE-8", "other")]).await;
    let (lane, read) = set_aside(&outbox, "CASE-7", AsideStatus::Waiting).await;
    let held = outbox.hold("host/1", LONG).await;
    assert_eq!((held.set_aside, held.blocked.len()), (3, 1));
    assert_eq!(held.blocked[0], (lane.lane, read[0].event.aggregate.clone()));
    let expected = ["0", "1", "2"].map(|number| format!("{{\"number\": {number}}}"));
    let found = due(&outbox, lane.lane).await;
    assert_eq!(found.iter().map(|(payload, _)| payload).collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
    assert!(due(&outbox, (lane.lane + 1) % 64).await.is_empty());
    // The first is published, the second not yet.
    let asides = outbox.store.asides_due(outbox.relay(), vec![lane.lane], 100).await.unwrap();
    let mut page = settlement(&lane, None, WindowEnd::Open);
    let later = held.now.plus(LONG);
    let waiting = AsideEvent { status: AsideStatus::Waiting, next_attempt_at: later, ..asides[1].0.clone() };
    page.asides = vec![AsideEvent { status: AsideStatus::Published, ..asides[0].0.clone() }, waiting];
    outbox.store.settle(outbox.relay(), vec![page.clone()], Vec::new()).await.unwrap();
    assert!(due(&outbox, lane.lane).await.is_empty(), "its time has not come, and the third waits behind it");
    // What ended stays so, even if a later page says otherwise.
    page.asides = vec![asides[0].0.clone()];
    outbox.store.settle(outbox.relay(), vec![page], Vec::new()).await.unwrap();
    assert_eq!(outbox.store.asides(onefold_core::port::AsideFilter::default(), 10).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_parked_event_blocks_its_aggregate_until_a_person_decides() {
    let outbox = OutboxFixture::new().await;
    outbox.stage(&events("CASE-7", 2)).await;
    let (lane, read) = set_aside(&outbox, "CASE-7", AsideStatus::Parked).await;
    assert!(due(&outbox, lane.lane).await.is_empty());
    let id = read[0].event.id;
    let mut connection = outbox.connect().await;
    // It was sent under a lease that has not ended.
    run(&mut connection, "UPDATE onefold_events_aside SET tried_until = 9000000000000000").await;
    assert_eq!(refused(&outbox, id, AsideVerb::Skip).await, EVENT_IN_FLIGHT);
    run(&mut connection, "UPDATE onefold_events_aside SET tried_until = 0").await;
    let edit =
        PayloadEdit { payload: Bytes::from("edited"), content_type: Arc::from("text/plain"), old_digest: [7; 32] };
    let decided = outbox.store.decide(decision(id, AsideVerb::Edit(edit.clone()))).await.unwrap();
    assert_eq!((decided[0].status, decided[0].edit.as_ref()), (AsideStatus::Waiting, Some(&edit)));
    let asides = outbox.store.asides_due(outbox.relay(), vec![lane.lane], 100).await.unwrap();
    assert_eq!((payload(&asides[0].1), &*asides[0].1.event.content_type), ("edited".to_owned(), "text/plain"));
    assert_eq!(asides[0].0.edit.as_ref(), Some(&edit));
    // Handed out, it may be on its way until the lease ends.
    assert_eq!(refused(&outbox, id, AsideVerb::Skip).await, EVENT_IN_FLIGHT);
    run(&mut connection, "UPDATE onefold_events_aside SET tried_until = 0").await;
    outbox.store.decide(decision(id, AsideVerb::Skip)).await.unwrap();
    assert_eq!(due(&outbox, lane.lane).await, [("{\"number\": 1}".to_owned(), AsideStatus::Behind)]);
    assert_eq!(refused(&outbox, id, AsideVerb::Release).await, EVENT_MOVED_ON);
    assert_eq!(outbox.store.event(id).await.unwrap().unwrap().0, *read[0], "what was staged stays as it was");
    assert_eq!(refused(&outbox, EventId::from_bytes([9; 16]), AsideVerb::Skip).await, EVENT_NOT_FOUND);
    let audit = "SELECT verb || ' ' || who || ' ' || why || ' ' || coalesce(encode(old_digest, 'hex'), '-') \
                 FROM onefold_outbox_audit ORDER BY seq";
    let audit: Vec<String> = sqlx::query_scalar(audit).fetch_all(&mut connection).await.unwrap();
    assert_eq!(audit, [format!("edit ana a test {}", "07".repeat(32)), "skip ana a test -".to_owned()]);
}

#[tokio::test]
async fn what_no_relay_waits_for_is_pruned_and_nothing_else() {
    let outbox = OutboxFixture::new().await;
    outbox.declare(spec("orders", &["order.*"])).await.unwrap();
    outbox.stage(&events("CASE-7", 2)).await;
    outbox.stage(&[event("case.submitted", "CASE-8", "done"), event("order.paid", "ORDER-1", "unread")]).await;
    let (lane, read) = set_aside(&outbox, "CASE-7", AsideStatus::Parked).await;
    outbox.stage(&[event("case.submitted", "CASE-9", "not read")]).await;
    let (now, relays) = outbox.store.relays().await.unwrap();
    let shown: Vec<_> = relays.iter().map(|r| (r.name.as_str(), r.waiting, r.parked, r.set_aside)).collect();
    assert_eq!(shown, [("cases", 1, 1, 1), ("orders", 1, 0, 0)]);
    assert!(relays[0].oldest > Some(read[1].created_at));
    let later = now.plus(Duration::from_secs(1));
    assert_eq!(outbox.store.prune_events(Timestamp::from_micros(1), 100).await.unwrap(), 0);
    assert_eq!(outbox.store.prune_events(later, 100).await.unwrap(), 1, "the one that is done and wanted no more");
    outbox.store.retire(verb("orders")).await.unwrap();
    assert_eq!(outbox.store.prune_events(later, 100).await.unwrap(), 1, "nobody waits for the order any more");
    let mut connection = outbox.connect().await;
    run(&mut connection, "UPDATE onefold_events_aside SET tried_until = 0").await;
    outbox.store.decide(decision(read[0].event.id, AsideVerb::Skip)).await.unwrap();
    assert_eq!(outbox.store.prune_events(later, 1).await.unwrap(), 1);
    assert_eq!(due(&outbox, lane.lane).await.len(), 1, "what waits behind it is kept");
    outbox.publish("host/1").await;
    assert_eq!(outbox.store.prune_events(later, 100).await.unwrap(), 1);
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM onefold_events").fetch_one(&mut connection).await.unwrap();
    assert_eq!(left, 1);
}

#[tokio::test]
async fn pruning_goes_on_behind_what_is_kept() {
    let outbox = OutboxFixture::new().await;
    outbox.stage(&events("CASE-7", 30)).await;
    set_aside(&outbox, "CASE-7", AsideStatus::Parked).await;
    outbox.stage(&events("CASE-8", 25)).await;
    outbox.publish("host/1").await;
    let later = outbox.store.relays().await.unwrap().0.plus(Duration::from_secs(1));
    let mut deleted = Vec::new();
    for _ in 0..4 {
        deleted.push(outbox.store.prune_events(later, 10).await.unwrap());
    }
    assert_eq!(deleted, [10, 10, 5, 0]);
}

#[tokio::test]
async fn people_see_each_event_for_each_relay_that_wants_it() {
    let outbox = OutboxFixture::new().await;
    outbox.declare(spec("orders", &["order.*"])).await.unwrap();
    outbox.stage(&events("CASE-7", 2)).await;
    outbox.stage(&[event("order.paid", "ORDER-1", "paid")]).await;
    let mut connection = outbox.connect().await;
    let see = async |connection: &mut sqlx::PgConnection| {
        let sql = "SELECT relay || ' ' || event_type || ' ' || status || ' ' || attempts || ' ' || \
                   (published_at IS NOT NULL) || ' ' || (next_attempt_at IS NOT NULL) FROM onefold_outbox ORDER BY seq, relay";
        sqlx::query(sql).fetch_all(connection).await.unwrap().iter().map(|row| row.get(0)).collect::<Vec<String>>()
    };
    let new = |relay: &str, name: &str| format!("{relay} {name} NEW 0 false false");
    let all = [
        new("cases", "case.submitted"),
        new("cases", "case.submitted"),
        new("cases", "order.paid"),
        new("orders", "order.paid"),
    ];
    assert_eq!(see(&mut connection).await, all);
    set_aside(&outbox, "CASE-7", AsideStatus::Parked).await;
    let seen = see(&mut connection).await;
    assert_eq!(seen[0], "cases case.submitted FAILED 1 false false");
    assert_eq!(seen[1], "cases case.submitted NEW 0 false true");
    assert_eq!(seen[2], "cases order.paid PUBLISHED 1 true false");
    assert_eq!(seen[3], new("orders", "order.paid"));
    outbox.store.retire(verb("orders")).await.unwrap();
    assert_eq!(see(&mut connection).await.len(), 3);
}
