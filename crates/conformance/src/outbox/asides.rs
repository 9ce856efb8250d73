//! Events that were set aside: order behind them, another try, a person.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use onefold_core::error::{EVENT_IN_FLIGHT, EVENT_MOVED_ON, EVENT_NOT_FOUND, EVENT_TARGET_REFUSED};
use onefold_core::event::{EventId, NewEvent, StoredEvent};
use onefold_core::operation::Tenant;
use onefold_core::outbox::{AsideStatus, AsideVerb, PayloadEdit, RelayName};
use onefold_core::port::{
    AsideDecision, AsideFilter, IncidentFilter, LedgerRead as _, OutboxOperate as _, Page, Publication, RefusedRetry,
};

use super::fixture::{OutboxHarness, RelayFixture, taken};

fn refuse(id: EventId, retry: RefusedRetry) -> impl Fn(&StoredEvent) -> Publication {
    move |stored| {
        if stored.event.id == id {
            let reason = "the target says no".to_owned();
            return Publication::Refused { code: EVENT_TARGET_REFUSED, reason, retry };
        }
        taken(stored)
    }
}

fn decision(id: EventId, verb: AsideVerb) -> AsideDecision {
    AsideDecision { id, relay: None, verb, who: Arc::from("ops"), why: Arc::from("the target was fixed") }
}

async fn open<H: OutboxHarness>(relay: &RelayFixture<H>) -> Vec<(EventId, AsideStatus)> {
    let asides = relay.store().asides(AsideFilter::default(), 100).await.expect("read");
    asides.iter().map(|aside| (aside.id, aside.status)).collect()
}

async fn open_incidents<H: OutboxHarness>(relay: &RelayFixture<H>) -> usize {
    let filter = IncidentFilter { open_only: true, ..IncidentFilter::default() };
    relay.store().incidents(filter, Page::default()).await.expect("read").items.len()
}

fn ids(events: &[NewEvent]) -> Vec<EventId> {
    events.iter().map(|event| event.id).collect()
}

/// A refused event waits, its aggregate's later events wait behind it, in this page and in later ones, and the others go
/// on. At its time it is tried again, and they follow.
pub async fn an_aggregate_waits_behind_its_refused_event<H: OutboxHarness>() {
    let mut relay = RelayFixture::<H>::new().await;
    let events = relay.staged(&["A", "A", "B"]).await;
    let once = RefusedRetry::After(Some(Duration::ZERO));
    assert_eq!(relay.publish("host/1", refuse(events[0].id, once)).await, [events[2].id]);
    let later = relay.staged(&["A", "B"]).await;
    relay.fixture.reopen().await;
    assert_eq!(relay.publish("host/1", taken).await, [later[1].id]);
    let behind = AsideStatus::Behind;
    let expected = [(events[0].id, AsideStatus::Waiting), (events[1].id, behind), (later[0].id, behind)];
    assert_eq!(open(&relay).await, expected);
    relay.fixture.wait(Duration::from_secs(2));
    let tried = relay.try_asides("host/1", taken).await;
    assert_eq!(tried, vec![("A".to_owned(), AsideStatus::Published); 3]);
    assert!(open(&relay).await.is_empty());
    let next = relay.staged(&["A"]).await;
    assert_eq!(relay.publish("host/1", taken).await, ids(&next), "the aggregate goes on as before");
}

/// A parked event is an incident, and nothing of its aggregate is tried until a person releases it.
pub async fn a_parked_event_waits_for_a_person<H: OutboxHarness>() {
    let relay = RelayFixture::<H>::new().await;
    let events = relay.staged(&["A", "A"]).await;
    relay.publish("host/1", refuse(events[0].id, RefusedRetry::Never)).await;
    assert_eq!(open_incidents(&relay).await, 1);
    let listed = async |tenant: &str, name: &str| {
        let tenant = Some(Tenant::parse(tenant).expect("a name"));
        let filter = AsideFilter { tenant, relay: Some(RelayName::parse(name).expect("a name")) };
        relay.store().asides(filter, 100).await.expect("read").len()
    };
    let found = (listed("default", "cases").await, listed("other", "cases").await, listed("default", "others").await);
    assert_eq!(found, (2, 0, 0), "a list is of one tenant and one relay where it is asked so");
    assert!(relay.try_asides("host/1", taken).await.is_empty(), "it is not tried by itself");
    let (_, relays) = relay.store().relays().await.expect("read");
    assert_eq!((relays[0].parked, relays[0].set_aside), (1, 1));
    relay.store().decide(decision(events[0].id, AsideVerb::Release)).await.expect("released");
    assert_eq!(open_incidents(&relay).await, 0);
    let tried = relay.try_asides("host/1", taken).await;
    assert_eq!(tried, vec![("A".to_owned(), AsideStatus::Published); 2]);
    let error = relay.store().decide(decision(events[0].id, AsideVerb::Skip)).await.unwrap_err();
    assert_eq!(error.code(), EVENT_MOVED_ON);
}

/// `skip` and `edit` wait for the last lease; then the followers go without it, or it goes with its new payload.
pub async fn a_person_skips_or_edits_only_after_the_last_lease<H: OutboxHarness>() {
    let relay = RelayFixture::<H>::new().await;
    let events = relay.staged(&["A", "A"]).await;
    relay.publish("host/1", refuse(events[0].id, RefusedRetry::Never)).await;
    let edit = AsideVerb::Edit(PayloadEdit {
        payload: Bytes::from_static(b"{\"fixed\":true}"),
        content_type: Arc::from("application/json"),
        old_digest: [7; 32],
    });
    for verb in [AsideVerb::Skip, edit] {
        let error = relay.store().decide(decision(events[0].id, verb)).await.unwrap_err();
        assert_eq!(error.code(), EVENT_IN_FLIGHT, "{error}");
    }
    assert_eq!(open(&relay).await[0].1, AsideStatus::Parked, "a refused decision changes nothing");
    let error = relay.store().decide(decision(EventId::from_bytes([9; 16]), AsideVerb::Release)).await.unwrap_err();
    assert_eq!(error.code(), EVENT_NOT_FOUND);
}
