//! What people see and do: stopped relays, retired ones, retention.

use std::sync::Arc;

use onefold_core::error::{RELAY_NOT_FOUND, RELAY_STOPPED};
use onefold_core::event::StoredEvent;
use onefold_core::outbox::{Begin, PUBLISHED_WITHIN, PageSettlement, RelayName};
use onefold_core::port::{
    LaneRequest, OutboxOperate as _, Publication, RecentPublications, RefusedRetry, RelayStore as _, RelayVerb,
};

use super::fixture::{LONG, OutboxHarness, RelayFixture, relay, taken};

fn verb(relay: &str) -> RelayVerb {
    RelayVerb { relay: RelayName::parse(relay).expect("a name"), who: Arc::from("ops"), why: Arc::from("a test") }
}

/// A lane that stopped stays so in every process and after a restart, until a person starts it.
pub async fn a_stopped_lane_waits_for_a_person<H: OutboxHarness>() {
    let mut fixture = RelayFixture::<H>::new().await;
    fixture.staged(&["A"]).await;
    let holding = fixture.hold("host/1", LONG).await;
    let windows = fixture.open_windows(&holding).await;
    let window = windows.iter().find(|(_, events)| !events.is_empty()).expect("a window");
    let page = fixture.judged(&holding, window, &taken);
    let stopped = PageSettlement { stopped: Some(RELAY_STOPPED), ..page };
    fixture.store().settle(fixture.spec.name.clone(), vec![stopped], Vec::new()).await.expect("settled");
    fixture.fixture.reopen().await;
    let next = fixture.staged(&["A"]).await;
    assert!(fixture.publish("host/1", taken).await.is_empty());
    let (_, relays) = fixture.store().relays().await.expect("read");
    assert_eq!(
        (relays[0].stopped.as_ref().map(onefold_core::error::CodeName::as_str), relays[0].waiting),
        (Some("RELAY_STOPPED"), 1)
    );
    assert_eq!(fixture.store().start(verb("cases")).await.expect("started"), 1);
    assert_eq!(fixture.publish("host/1", taken).await, [next[0].id]);
    assert_eq!(fixture.store().start(verb("nobody")).await.unwrap_err().code(), RELAY_NOT_FOUND);
}

/// What a relay passed in the last hour is counted, and how much of it was published in time: what is late or set aside
/// was not.
pub async fn it_is_counted_what_was_published_in_time<H: OutboxHarness>() {
    let fixture = RelayFixture::<H>::new().await;
    let in_time = fixture.staged(&["A", "B", "C"]).await;
    let refused = in_time[0].id;
    let answer = |stored: &StoredEvent| {
        if stored.event.id == refused {
            let (code, reason) = (onefold_core::error::EVENT_TARGET_REFUSED, "no".to_owned());
            return Publication::Refused { code, reason, retry: RefusedRetry::Never };
        }
        taken(stored)
    };
    assert_eq!(fixture.publish("host/1", answer).await.len(), 2);
    let recent = async || fixture.store().relays().await.expect("read").1[0].recent;
    assert_eq!(recent().await, RecentPublications { passed: 3, on_time: 2 });
    fixture.staged(&["D"]).await;
    fixture.fixture.clock.advance(PUBLISHED_WITHIN * 2);
    assert_eq!(fixture.publish("host/1", taken).await.len(), 1);
    assert_eq!(recent().await, RecentPublications { passed: 4, on_time: 2 });
    fixture.fixture.clock.advance(RecentPublications::LOOK_BACK * 2);
    assert_eq!(recent().await.share_on_time(), None);
}

/// Retention takes what every relay has passed, and never what is unpublished or set aside; a retired relay holds
/// nothing back.
pub async fn retention_takes_only_what_every_relay_has_passed<H: OutboxHarness>() {
    let fixture = RelayFixture::<H>::new().await;
    let slow = relay("partners", &["*"]);
    fixture.declare(&slow).await;
    let events = fixture.staged(&["A", "B"]).await;
    let refused = events[0].id;
    fixture
        .publish("host/1", |stored| {
            if stored.event.id == refused {
                let reason = "no".to_owned();
                let code = onefold_core::error::EVENT_TARGET_REFUSED;
                return Publication::Refused { code, reason, retry: RefusedRetry::Never };
            }
            taken(stored)
        })
        .await;
    let (now, _) = fixture.store().relays().await.expect("read");
    let later = now.plus(LONG);
    let store = fixture.store();
    assert_eq!(store.prune_events(later, 100).await.expect("pruned"), 0, "partners has passed nothing");
    store.retire(verb("partners")).await.expect("retired");
    assert_eq!(store.prune_events(now.minus(LONG), 100).await.expect("pruned"), 0, "too young");
    assert_eq!(store.prune_events(later, 100).await.expect("pruned"), 1, "the other one is parked");
    assert!(store.event(refused).await.expect("read").is_some());
    assert!(store.event(events[1].id).await.expect("read").is_none());
}

/// What was staged after everything was pruned is published: numbers do not come back.
pub async fn what_is_staged_after_a_prune_is_published<H: OutboxHarness>() {
    let mut fixture = RelayFixture::<H>::new().await;
    let first = fixture.staged(&["A", "A"]).await;
    assert_eq!(fixture.publish("host/1", taken).await.len(), first.len());
    let (now, _) = fixture.store().relays().await.expect("read");
    assert_eq!(fixture.store().prune_events(now.plus(LONG), 100).await.expect("pruned"), 2);
    fixture.fixture.reopen().await;
    let second = fixture.staged(&["A"]).await;
    assert_eq!(fixture.publish("host/1", taken).await, [second[0].id]);
}

/// A retired relay has no lanes; declared again, it goes on from its place.
pub async fn a_retired_relay_has_no_lanes_until_it_is_declared_again<H: OutboxHarness>() {
    let fixture = RelayFixture::<H>::new().await;
    fixture.staged(&["A"]).await;
    assert_eq!(fixture.publish("host/1", taken).await.len(), 1);
    fixture.store().retire(verb("cases")).await.expect("retired");
    let request = LaneRequest {
        relay: fixture.spec.name.clone(),
        holder: Arc::from("host/1"),
        lease_for: LONG,
        give_back: Vec::new(),
    };
    assert_eq!(fixture.store().hold_lanes(request).await.unwrap_err().code(), RELAY_NOT_FOUND);
    let later = fixture.staged(&["A"]).await;
    fixture.declare(&fixture.spec).await;
    assert_eq!(fixture.publish("host/1", taken).await, [later[0].id]);
}

/// A relay of a restored database is given a new beginning, and its last holder loses it.
pub async fn a_rebased_relay_begins_anew<H: OutboxHarness>() {
    let fixture = RelayFixture::<H>::new().await;
    let events = fixture.staged(&["A", "A"]).await;
    assert_eq!(fixture.publish("host/1", taken).await.len(), 2);
    let held = fixture.hold("host/1", LONG).await;
    fixture.store().rebase(verb("cases"), Begin::Oldest).await.expect("rebased");
    let windows = fixture.hold("host/2", LONG).await;
    assert!(
        windows.held.cursors.iter().all(|cursor| held
            .held
            .cursors
            .iter()
            .all(|old| old.lane != cursor.lane || old.fence < cursor.fence))
    );
    assert_eq!(fixture.publish("host/2", taken).await, [events[0].id, events[1].id]);
}
