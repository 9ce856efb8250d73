//! Who is told of an incident: at least once, under one id, by one process at a time.

use std::sync::Arc;

use onefold_core::incident::Incident;
use onefold_core::port::{Announcement, AnnouncementQueue as _, IncidentEvent, Sink};
use onefold_core::retry::Category;

use crate::fixture::{StoreFixture, key};
use crate::harness::Harness;
use crate::kinds::{SECOND, escalates};
use crate::ledger::outcomes::{completed, unknown};

const WEBHOOK: Sink = Sink::Webhook;

async fn untold<H: Harness>(fixture: &StoreFixture<H>, sink: Sink) -> Vec<(IncidentEvent, String)> {
    let news = fixture.store().untold(sink, 10).await.expect("read");
    news.into_iter().map(|(event, incident)| (event, incident.subject.id.to_string())).collect()
}

async fn queue<H: Harness>(fixture: &StoreFixture<H>, id: &str, event: IncidentEvent, incidents: Vec<Incident>) {
    let announcement = Announcement { id: Arc::from(id), event, incidents };
    fixture.store().queue(WEBHOOK, announcement).await.expect("written");
}

/// An opened incident is untold until it is queued, and queued until it is delivered, in this life and in the next.
pub async fn an_opened_incident_is_announced_until_it_is_delivered<H: Harness>() {
    let mut fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for id in ["A", "B"] {
        let lease = fixture.grant(&terms, id).await;
        fixture.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
        fixture.wait(SECOND);
    }
    let opened = |id: &str| (IncidentEvent::Opened, id.to_owned());
    assert_eq!(untold(&fixture, WEBHOOK).await, [opened("A"), opened("B")]);
    let both: Vec<Incident> =
        fixture.store().untold(WEBHOOK, 10).await.expect("read").into_iter().map(|(_, incident)| incident).collect();
    queue(&fixture, "msg_1", IncidentEvent::Opened, both.clone()).await;
    queue(&fixture, "msg_2", IncidentEvent::Opened, both.clone()).await;
    assert!(untold(&fixture, WEBHOOK).await.is_empty());
    assert_eq!(untold(&fixture, Sink::Log).await.len(), 2, "another sink has heard nothing");
    fixture.reopen().await;
    let queued = fixture.store().queued(WEBHOOK, 10).await.expect("read");
    let expected = Announcement { id: Arc::from("msg_1"), event: IncidentEvent::Opened, incidents: both };
    assert_eq!(queued, [expected], "one that is queued stays in its first announcement");
    fixture.store().delivered(WEBHOOK, Arc::from("msg_1")).await.expect("written");
    fixture.reopen().await;
    assert!(fixture.store().queued(WEBHOOK, 10).await.expect("read").is_empty());
    assert!(untold(&fixture, WEBHOOK).await.is_empty());
}

/// A closing is announced where the opening was; one that nobody heard of is not.
pub async fn a_closing_is_announced_where_the_opening_was<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let mut leases = Vec::new();
    for id in ["TOLD", "QUIET"] {
        let lease = fixture.grant(&terms, id).await;
        fixture.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
        leases.push(lease);
    }
    let told = fixture.open_incident(&key(&terms, "TOLD")).await.expect("an incident");
    queue(&fixture, "msg_1", IncidentEvent::Opened, vec![told]).await;
    for lease in &leases {
        fixture.record(&terms, lease, completed(b"1")).await;
    }
    assert!(untold(&fixture, WEBHOOK).await.is_empty(), "the opening comes first, and QUIET needs nobody any more");
    assert!(fixture.store().queued(WEBHOOK, 10).await.expect("read")[0].incidents[0].closed_at.is_some());
    fixture.store().delivered(WEBHOOK, Arc::from("msg_1")).await.expect("written");
    assert_eq!(untold(&fixture, WEBHOOK).await, [(IncidentEvent::Closed, "TOLD".to_owned())]);
    let closed = fixture.store().untold(WEBHOOK, 1).await.expect("read").remove(0).1;
    queue(&fixture, "msg_2", IncidentEvent::Closed, vec![closed]).await;
    assert!(untold(&fixture, WEBHOOK).await.is_empty());
    fixture.store().delivered(WEBHOOK, Arc::from("msg_2")).await.expect("written");
    assert!(untold(&fixture, WEBHOOK).await.is_empty());
    assert!(fixture.store().queued(WEBHOOK, 10).await.expect("read").is_empty());
}

/// One process at a time has a sink's turn; it may renew it, and another takes it when it is over.
pub async fn one_process_at_a_time_has_the_turn<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let turn = |sink, holder: &str| {
        let (store, holder) = (Arc::clone(fixture.store()), Arc::from(holder));
        async move { store.take_turn(sink, holder, 3600 * SECOND).await.expect("written") }
    };
    assert!(turn(WEBHOOK, "a").await);
    assert!(turn(WEBHOOK, "a").await, "renewed");
    assert!(!turn(WEBHOOK, "b").await);
    assert!(turn(Sink::Log, "b").await, "another sink has its own");
    let given_up = fixture.store().take_turn(WEBHOOK, Arc::from("a"), std::time::Duration::ZERO).await;
    assert!(given_up.expect("written"));
    assert!(turn(WEBHOOK, "b").await);
}
