//! Who is told of an incident: at least once, under one id, by one process at a time.

use std::sync::Arc;

use onefold_core::incident::Incident;
use onefold_core::ports::{Announcement, IncidentEvent, Sink, Tell as _};
use onefold_core::retry::Category;

use crate::harness::Harness;
use crate::kinds::{SECOND, escalates};
use crate::outcomes::{completed, unknown};
use crate::scene::{Scene, key};

const WEBHOOK: Sink = Sink::Webhook;

async fn untold<H: Harness>(scene: &Scene<H>, sink: Sink) -> Vec<(IncidentEvent, String)> {
    let news = scene.store().untold(sink, 10).await.expect("read");
    news.into_iter().map(|(event, incident)| (event, incident.operation_id.as_str().to_owned())).collect()
}

async fn queue<H: Harness>(scene: &Scene<H>, id: &str, event: IncidentEvent, incidents: Vec<Incident>) {
    let announcement = Announcement { id: Arc::from(id), event, incidents };
    scene.store().queue(WEBHOOK, announcement).await.expect("written");
}

/// An opened incident is untold until it is queued, and queued until it is delivered, in this life and in the next.
pub async fn an_opened_incident_is_announced_until_it_is_delivered<H: Harness>() {
    let mut scene = Scene::<H>::new().await;
    let terms = escalates();
    for id in ["A", "B"] {
        let lease = scene.grant(&terms, id).await;
        scene.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
        scene.wait(SECOND);
    }
    let opened = |id: &str| (IncidentEvent::Opened, id.to_owned());
    assert_eq!(untold(&scene, WEBHOOK).await, [opened("A"), opened("B")]);
    let both: Vec<Incident> =
        scene.store().untold(WEBHOOK, 10).await.expect("read").into_iter().map(|(_, incident)| incident).collect();
    queue(&scene, "msg_1", IncidentEvent::Opened, both.clone()).await;
    queue(&scene, "msg_2", IncidentEvent::Opened, both.clone()).await;
    assert!(untold(&scene, WEBHOOK).await.is_empty());
    assert_eq!(untold(&scene, Sink::Log).await.len(), 2, "another sink has heard nothing");
    scene.reopen().await;
    let queued = scene.store().queued(WEBHOOK, 10).await.expect("read");
    let expected = Announcement { id: Arc::from("msg_1"), event: IncidentEvent::Opened, incidents: both };
    assert_eq!(queued, [expected], "one that is queued stays in its first announcement");
    scene.store().delivered(WEBHOOK, Arc::from("msg_1")).await.expect("written");
    scene.reopen().await;
    assert!(scene.store().queued(WEBHOOK, 10).await.expect("read").is_empty());
    assert!(untold(&scene, WEBHOOK).await.is_empty());
}

/// A closing is announced where the opening was; one that nobody heard of is not.
pub async fn a_closing_is_announced_where_the_opening_was<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let mut leases = Vec::new();
    for id in ["TOLD", "QUIET"] {
        let lease = scene.grant(&terms, id).await;
        scene.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
        leases.push(lease);
    }
    let told = scene.open_incident(&key(&terms, "TOLD")).await.expect("an incident");
    queue(&scene, "msg_1", IncidentEvent::Opened, vec![told]).await;
    for lease in &leases {
        scene.record(&terms, lease, completed(b"1")).await;
    }
    assert!(untold(&scene, WEBHOOK).await.is_empty(), "the opening comes first, and QUIET needs nobody any more");
    assert!(scene.store().queued(WEBHOOK, 10).await.expect("read")[0].incidents[0].closed_at.is_some());
    scene.store().delivered(WEBHOOK, Arc::from("msg_1")).await.expect("written");
    assert_eq!(untold(&scene, WEBHOOK).await, [(IncidentEvent::Closed, "TOLD".to_owned())]);
    let closed = scene.store().untold(WEBHOOK, 1).await.expect("read").remove(0).1;
    queue(&scene, "msg_2", IncidentEvent::Closed, vec![closed]).await;
    assert!(untold(&scene, WEBHOOK).await.is_empty());
    scene.store().delivered(WEBHOOK, Arc::from("msg_2")).await.expect("written");
    assert!(untold(&scene, WEBHOOK).await.is_empty());
    assert!(scene.store().queued(WEBHOOK, 10).await.expect("read").is_empty());
}

/// One process at a time has a sink's turn; it may renew it, and another takes it when it is over.
pub async fn one_process_at_a_time_has_the_turn<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let turn = |sink, holder: &str| {
        let (store, holder) = (Arc::clone(scene.store()), Arc::from(holder));
        async move { store.take_turn(sink, holder, 3600 * SECOND).await.expect("written") }
    };
    assert!(turn(WEBHOOK, "a").await);
    assert!(turn(WEBHOOK, "a").await, "renewed");
    assert!(!turn(WEBHOOK, "b").await);
    assert!(turn(Sink::Log, "b").await, "another sink has its own");
    let given_up = scene.store().take_turn(WEBHOOK, Arc::from("a"), std::time::Duration::ZERO).await;
    assert!(given_up.expect("written"));
    assert!(turn(WEBHOOK, "b").await);
}
