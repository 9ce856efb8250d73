//! Staging: with the transaction or not at all, and once for an id.

use onefold_core::error::EVENT_ID_REUSED;
use onefold_core::port::{OutboxOperate as _, StagedBy};

use super::fixture::{OutboxHarness, RelayFixture};

/// An event is there after its commit, with all it carries, and after a rollback it is not.
pub async fn an_event_commits_with_its_transaction_or_not_at_all<H: OutboxHarness>() {
    let mut relay = RelayFixture::<H>::new().await;
    let mut kept = relay.event("case.submitted", "CASE-Ü");
    kept.headers.insert(onefold_core::event::HeaderName::parse("traceparent").expect("a name"), "00-a-b-01".to_owned());
    let gone = relay.event("case.submitted", "CASE-8");
    let staged = H::stage(relay.store(), vec![kept.clone()]).await.expect("staged");
    H::stage_and_roll_back(relay.store(), vec![gone.clone()]).await.expect("staged and taken back");
    relay.fixture.reopen().await;
    let (stored, asides) = relay.store().event(kept.id).await.expect("read").expect("there");
    assert_eq!((stored.event, stored.seq, asides.len()), (kept, staged[0].seq, 0));
    assert!(relay.store().event(gone.id).await.expect("read").is_none());
}

/// A second run stages nothing new and hears so; several events of one call have rising places.
pub async fn the_same_event_staged_again_stages_nothing<H: OutboxHarness>() {
    let relay = RelayFixture::<H>::new().await;
    let events = vec![relay.event("case.submitted", "A"), relay.event("case.opened", "A")];
    let first = H::stage(relay.store(), events.clone()).await.expect("staged");
    assert!(first[0].seq < first[1].seq && first.iter().all(|staged| staged.wrote == StagedBy::ThisTransaction));
    let third = relay.event("case.closed", "A");
    let again: Vec<_> = events.iter().cloned().chain([third]).collect();
    let second = H::stage(relay.store(), again).await.expect("staged");
    let wrote: Vec<StagedBy> = second.iter().map(|staged| staged.wrote).collect();
    assert_eq!(wrote, [StagedBy::Earlier, StagedBy::Earlier, StagedBy::ThisTransaction]);
    assert_eq!((second[0].seq, second[1].seq), (first[0].seq, first[1].seq));
    assert!(second[2].seq > first[1].seq);
}

/// An id belongs to one event: with another payload, type or aggregate it is refused, and nothing is written.
pub async fn an_id_with_another_content_is_refused<H: OutboxHarness>() {
    let relay = RelayFixture::<H>::new().await;
    let event = relay.staged(&["A"]).await.remove(0);
    let mut payload = event.clone();
    payload.payload = bytes::Bytes::from_static(b"{}");
    let mut aggregate = event.clone();
    aggregate.aggregate.id = std::sync::Arc::from("B");
    let mut version = event.clone();
    version.schema_version = 2;
    for other in [payload, aggregate, version] {
        let beside = relay.event("case.submitted", "C");
        let error = H::stage(relay.store(), vec![beside.clone(), other]).await.unwrap_err();
        assert_eq!(error.code(), EVENT_ID_REUSED, "{error}");
        assert!(relay.store().event(beside.id).await.expect("read").is_none(), "its transaction is taken back");
    }
    let (stored, _) = relay.store().event(event.id).await.expect("read").expect("there");
    assert_eq!(stored.event, event);
}
