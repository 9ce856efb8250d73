//! What is sent again: which events, by one process at a time, until it is done or a person ends it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use onefold_core::error::{EVENT_TARGET_REFUSED, LIMIT_EXCEEDED, RELAY_NOT_FOUND, REPLAY_ENDED, REPLAY_NOT_FOUND};
use onefold_core::event::{AggregateType, EventId, EventType, NewEvent, ReplayId, StoredEvent};
use onefold_core::operation::Tenant;
use onefold_core::outbox::{
    AsideVerb, EventReplay, PayloadEdit, RelayName, ReplayFilter, ReplayRefusal, ReplayRequest, ReplaySpec,
    ReplayState, ReplayedPage,
};
use onefold_core::port::{
    AsideDecision, AsideFilter, OutboxOperate as _, Publication, Random as _, RefusedRetry, RelayVerb, ReplayCancel,
    ReplayListFilter, ReplayOperate as _, ReplayStore as _,
};

use super::fixture::{LONG, OutboxHarness, RelayFixture, taken};

fn of_type(name: &str) -> ReplayFilter {
    ReplayFilter { event_type: Some(EventType::parse(name).expect("a type")), ..ReplayFilter::of(Tenant::default()) }
}

fn spec(filter: ReplayFilter, events_max: u64) -> ReplaySpec {
    let relay = RelayName::parse("cases").expect("a name");
    ReplaySpec::new(relay, filter, Some(events_max), Some(1_000)).expect("bounded")
}

async fn asked<H: OutboxHarness>(fixture: &RelayFixture<H>, spec: ReplaySpec) -> EventReplay {
    fixture.store().request_replay(request(fixture, spec)).await.expect("asked for")
}

fn request<H: OutboxHarness>(fixture: &RelayFixture<H>, spec: ReplaySpec) -> ReplayRequest {
    let [chance @ .., _, _, _, _, _, _] = fixture.fixture.random.bytes();
    let id = ReplayId::fresh(onefold_core::Timestamp::from_micros(1_000_000), chance);
    ReplayRequest { id, spec, who: Arc::from("ops"), why: Arc::from("a hole in the topic") }
}

async fn held<H: OutboxHarness>(fixture: &RelayFixture<H>, holder: &str, lease_for: Duration) -> Option<EventReplay> {
    fixture.store().hold_replay(fixture.spec.name.clone(), Arc::from(holder), lease_for).await.expect("held")
}

/// The ids of a page, and what became of it where the target takes everything.
async fn page<H: OutboxHarness>(
    fixture: &RelayFixture<H>,
    replay: &EventReplay,
    limit: usize,
) -> (Vec<Arc<StoredEvent>>, ReplayedPage) {
    let page = fixture.store().replay_page(replay.clone(), limit).await.expect("read");
    let published = u64::try_from(page.events.len()).expect("few");
    (page.events, ReplayedPage { pos: page.looked_to, published, refusals: Vec::new() })
}

async fn settled<H: OutboxHarness>(
    fixture: &RelayFixture<H>,
    replay: &EventReplay,
    page: ReplayedPage,
) -> Option<EventReplay> {
    fixture.store().settle_replay(replay.clone(), page, LONG).await.expect("answered")
}

/// Everything that a replay sends, and the replay at its end.
async fn sent<H: OutboxHarness>(fixture: &RelayFixture<H>, spec: ReplaySpec) -> (Vec<Arc<StoredEvent>>, EventReplay) {
    asked(fixture, spec).await;
    let mut replay = held(fixture, "host/1", LONG).await.expect("it is free");
    let mut sent = Vec::new();
    while replay.state == ReplayState::Running {
        let limit = replay.page_max(3);
        let (events, became) = page(fixture, &replay, limit).await;
        sent.extend(events);
        replay = settled(fixture, &replay, became).await.expect("it is held");
    }
    (sent, replay)
}

fn ids(events: &[Arc<StoredEvent>]) -> Vec<EventId> {
    events.iter().map(|stored| stored.event.id).collect()
}

fn new_ids(events: &[NewEvent]) -> Vec<EventId> {
    events.iter().map(|event| event.id).collect()
}

/// What the relay has passed is sent again, within type, time and aggregate, up to the cap and in order. What it has not
/// passed is left to it: its place does not move.
pub async fn a_replay_sends_what_was_passed_and_is_within_its_bounds<H: OutboxHarness>() {
    let fixture = RelayFixture::<H>::new().await;
    let first = fixture.staged(&["A", "B", "A", "C", "A"]).await;
    let other = fixture.event("case.opened", "A");
    H::stage(fixture.store(), vec![other.clone()]).await.expect("staged");
    let (noon, _) = fixture.store().relays().await.expect("read");
    fixture.fixture.wait(Duration::from_secs(10));
    let noon = noon.plus(Duration::from_secs(5));
    let late = fixture.staged(&["A", "B"]).await;
    fixture.publish("host/1", taken).await;
    let waiting = fixture.staged(&["A"]).await;
    let submitted = [new_ids(&first), new_ids(&late)].concat();

    let by_type = spec(of_type("case.submitted"), 100);
    let counted = fixture.store().count_replay(by_type.clone(), 100).await.expect("counted");
    assert_eq!(counted, 7, "a dry run counts what would be sent");
    assert_eq!(fixture.store().count_replay(by_type.clone(), 3).await.expect("counted"), 3);
    let (events, replay) = sent(&fixture, by_type).await;
    assert_eq!(ids(&events), submitted);
    assert_eq!((replay.state, replay.published, replay.refused), (ReplayState::Done, 7, 0));
    assert!(replay.ended_at.is_some());

    let (events, replay) = sent(&fixture, spec(of_type("case.submitted"), 4)).await;
    assert_eq!((ids(&events), replay.published), (submitted[..4].to_vec(), 4), "the cap holds");

    let before = ReplayFilter { to: Some(noon), ..ReplayFilter::of(Tenant::default()) };
    let (events, _) = sent(&fixture, spec(before, 100)).await;
    assert_eq!(ids(&events), [new_ids(&first), vec![other.id]].concat());
    let after = ReplayFilter { from: Some(noon), ..ReplayFilter::of(Tenant::default()) };
    assert_eq!(ids(&sent(&fixture, spec(after, 100)).await.0), new_ids(&late));
    let aggregate = Some((AggregateType::parse("case").expect("a name"), Arc::from("B")));
    let of_b = ReplayFilter { aggregate, ..ReplayFilter::of(Tenant::default()) };
    assert_eq!(ids(&sent(&fixture, spec(of_b, 100)).await.0), [first[1].id, late[1].id]);
    let stranger = Tenant::parse("other").expect("a name");
    let of_other = ReplayFilter { tenant: stranger, ..of_type("case.submitted") };
    assert_eq!(fixture.store().count_replay(spec(of_other, 5), 5).await.expect("counted"), 0);

    let (_, relays) = fixture.store().relays().await.expect("read");
    assert_eq!(relays[0].waiting, 1, "the live cursor is where it was");
    assert_eq!(fixture.publish("host/1", taken).await, new_ids(&waiting));
}

/// A replay is held by one process. Another goes on from the last settled page when the lease is over, and what the first
/// one still writes changes nothing.
pub async fn a_replay_is_taken_over_from_its_last_page_and_closed_to_its_last_holder<H: OutboxHarness>() {
    let mut fixture = RelayFixture::<H>::new().await;
    let events = new_ids(&fixture.staged(&["A", "B", "C", "D", "E"]).await);
    fixture.publish("host/1", taken).await;
    assert!(held(&fixture, "host/1", LONG).await.is_none(), "nothing was asked for");
    let asked_for = asked(&fixture, spec(of_type("case.submitted"), 100)).await;
    let first = held(&fixture, "host/1", LONG).await.expect("it is free");
    assert!(held(&fixture, "host/2", LONG).await.is_none(), "it is held");
    assert_eq!(held(&fixture, "host/1", Duration::ZERO).await.expect("renewed").fence, first.fence);
    let (sent, became) = page(&fixture, &first, 2).await;
    assert_eq!(ids(&sent), events[..2]);
    let refusal = ReplayRefusal::new(events[1], EVENT_TARGET_REFUSED, "no");
    let became = ReplayedPage { published: 1, refusals: vec![refusal.clone()], ..became };
    let store = fixture.store();
    let after = store.settle_replay(first, became, Duration::ZERO).await.expect("answered").expect("it is held");
    // Read, sent, and not settled: its process is gone.
    let (sent, lost) = page(&fixture, &after, 2).await;
    assert_eq!(ids(&sent), events[2..4]);
    fixture.fixture.reopen().await;
    let second = held(&fixture, "host/2", LONG).await.expect("the lease is over");
    assert!(second.fence > after.fence);
    assert_eq!((&second.id, second.published, second.refused), (&asked_for.id, 1, 1));
    assert_eq!(second.refusals, [refusal]);
    assert!(settled(&fixture, &after, lost).await.is_none(), "another process holds it");
    let (sent, became) = page(&fixture, &second, 100).await;
    assert_eq!(ids(&sent), events[2..], "from the last settled page on");
    let done = settled(&fixture, &second, became).await.expect("it is held");
    assert_eq!((done.state, done.published), (ReplayState::Done, 4));
    assert!(held(&fixture, "host/2", LONG).await.is_none(), "it is done");
}

/// What a person edited is sent as edited, what was skipped is sent; what is set aside is left to the live relay, and its
/// row stays as it is.
pub async fn a_replay_sends_the_edited_payload_and_leaves_alone_what_is_set_aside<H: OutboxHarness>() {
    let fixture = RelayFixture::<H>::new().await;
    let events = fixture.staged(&["A", "B", "C"]).await;
    let (edited, parked) = (events[0].id, events[1].id);
    fixture
        .publish("host/1", |stored| {
            if [edited, parked].contains(&stored.event.id) {
                let (code, reason) = (EVENT_TARGET_REFUSED, "no".to_owned());
                return Publication::Refused { code, reason, retry: RefusedRetry::Never };
            }
            taken(stored)
        })
        .await;
    fixture.fixture.wait(LONG * 2);
    let edit = AsideVerb::Edit(PayloadEdit {
        payload: Bytes::from_static(b"{\"fixed\":true}"),
        content_type: Arc::from("application/vnd.fixed+json"),
        old_digest: [7; 32],
    });
    let (who, why): (Arc<str>, Arc<str>) = (Arc::from("ops"), Arc::from("fixed"));
    let decision = AsideDecision { id: edited, relay: None, verb: edit, who, why };
    fixture.store().decide(decision).await.expect("edited");
    assert_eq!(fixture.try_asides("host/1", taken).await.len(), 1);
    let before = fixture.store().asides(AsideFilter::default(), 10).await.expect("read");
    let (events_sent, _) = sent(&fixture, spec(of_type("case.submitted"), 100)).await;
    assert_eq!(ids(&events_sent), [edited, events[2].id]);
    let first = &events_sent[0].event;
    assert_eq!((&first.payload[..], &*first.content_type), (&b"{\"fixed\":true}"[..], "application/vnd.fixed+json"));
    assert_eq!(fixture.store().asides(AsideFilter::default(), 10).await.expect("read"), before);
}

/// A replay that a person cancelled is closed to its holder; it is ended once, and listed with who and why.
pub async fn a_cancelled_replay_is_closed_to_its_holder<H: OutboxHarness>() {
    let fixture = RelayFixture::<H>::new().await;
    fixture.staged(&["A", "B"]).await;
    fixture.publish("host/1", taken).await;
    let asked_for = asked(&fixture, spec(of_type("case.submitted"), 100)).await;
    let replay = held(&fixture, "host/1", LONG).await.expect("it is free");
    let (_, became) = page(&fixture, &replay, 1).await;
    let cancel = |id: &ReplayId, tenant: &str| ReplayCancel {
        id: id.clone(),
        tenant: Tenant::parse(tenant).expect("a name"),
        who: Arc::from("ops"),
        why: Arc::from("too much"),
    };
    let store = fixture.store();
    let other = store.cancel_replay(cancel(&asked_for.id, "other")).await.unwrap_err();
    assert_eq!(other.code(), REPLAY_NOT_FOUND, "another tenant's");
    let ended = store.cancel_replay(cancel(&asked_for.id, "default")).await.expect("cancelled");
    assert_eq!(ended.state, ReplayState::Cancelled);
    assert!(settled(&fixture, &replay, became).await.is_none());
    assert!(held(&fixture, "host/1", LONG).await.is_none());
    let again = store.cancel_replay(cancel(&asked_for.id, "default")).await.unwrap_err();
    assert_eq!(again.code(), REPLAY_ENDED);
    let listed = store.replays(ReplayListFilter::default(), 10).await.expect("read");
    assert_eq!(listed, [ended]);
    assert_eq!((&*listed[0].who, &*listed[0].why), ("ops", "a hole in the topic"));
    let filter = ReplayListFilter { relay: RelayName::parse("others").ok(), ..ReplayListFilter::default() };
    let others = store.replays(filter, 10).await.expect("read");
    assert!(others.is_empty());
}

/// Replays of one relay are sent one after another; of a relay that nobody serves there is none, and there are not many
/// unfinished ones.
pub async fn replays_wait_for_each_other_and_there_are_few<H: OutboxHarness>() {
    let fixture = RelayFixture::<H>::new().await;
    let store = fixture.store();
    let some = spec(of_type("case.submitted"), 1);
    let first = asked(&fixture, some.clone()).await;
    for _ in 1..ReplaySpec::UNFINISHED_MAX {
        fixture.fixture.wait(Duration::from_secs(1));
        asked(&fixture, some.clone()).await;
    }
    let error = store.request_replay(request(&fixture, some.clone())).await.unwrap_err();
    assert_eq!(error.code(), LIMIT_EXCEEDED);
    assert_eq!(held(&fixture, "host/1", LONG).await.expect("it is free").id, first.id, "the oldest first");
    assert!(held(&fixture, "host/2", LONG).await.is_none(), "one at a time");
    let nobody = ReplaySpec { relay: RelayName::parse("nobody").expect("a name"), ..some.clone() };
    assert_eq!(store.count_replay(nobody.clone(), 1).await.unwrap_err().code(), RELAY_NOT_FOUND);
    assert_eq!(store.request_replay(request(&fixture, nobody)).await.unwrap_err().code(), RELAY_NOT_FOUND);
    let verb = RelayVerb { relay: fixture.spec.name.clone(), who: Arc::from("ops"), why: Arc::from("a test") };
    store.retire(verb).await.expect("retired");
    assert_eq!(store.request_replay(request(&fixture, some)).await.unwrap_err().code(), RELAY_NOT_FOUND);
}
