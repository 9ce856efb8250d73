//! Servers that cannot be relayed from: standbys, cached sequences, restored databases.

use std::sync::Arc;

use onefold_core::error::{DATABASE_RESTORED, SEQUENCE_CACHED, STANDBY_REFUSED};
use onefold_core::outbox::{Begin, Horizon, Snapshot};
use onefold_core::port::{OutboxOperate as _, PollSize, RelayStore as _};
use onefold_postgres::Postgres;

use crate::fixture::{options, run};
use crate::outbox_fixture::{LONG, OutboxFixture, event, spec};
use crate::outbox_lanes::verb;
use crate::server::Server;

#[tokio::test]
async fn a_sequence_with_a_cache_is_refused() {
    let outbox = OutboxFixture::new().await;
    let mut connection = outbox.connect().await;
    run(&mut connection, "ALTER TABLE onefold_events ALTER COLUMN seq SET CACHE 20").await;
    let error = outbox.declare(outbox.spec.clone()).await.unwrap_err();
    assert_eq!(error.code(), SEQUENCE_CACHED);
    assert!(error.next_step().contains("back to 1"), "{error}");
    run(&mut connection, "ALTER TABLE onefold_events ALTER COLUMN seq SET CACHE 1").await;
    outbox.declare(outbox.spec.clone()).await.unwrap();
}

#[tokio::test]
async fn a_relay_of_another_database_system_is_refused_until_it_is_rebased() {
    let outbox = OutboxFixture::new().await;
    outbox.stage(&[event("case.submitted", "CASE-7", "before")]).await;
    outbox.declare(spec("partners", &["*"])).await.unwrap();
    let held = outbox.hold("host/1", LONG).await;
    let mut connection = outbox.connect().await;
    run(&mut connection, "UPDATE onefold_relays SET system_id = '7' WHERE name = 'cases'").await;
    let error = outbox.declare(outbox.spec.clone()).await.unwrap_err();
    assert_eq!(error.code(), DATABASE_RESTORED);
    assert!(error.next_step().contains("onefold outbox rebase cases"), "{error}");
    outbox.store.rebase(verb("cases"), Begin::Now).await.unwrap();
    outbox.declare(outbox.spec.clone()).await.unwrap();
    let after = outbox.hold("host/2", LONG).await;
    assert_eq!(after.cursors.len(), 64);
    assert!(after.cursors.iter().zip(&held.cursors).all(|(new, old)| new.fence > old.fence));
    assert!(outbox.publish("host/2").await.is_empty(), "it begins now");
}

#[tokio::test]
async fn an_event_of_a_transaction_that_has_not_begun_stops_the_relay_until_it_is_rebased() {
    let outbox = OutboxFixture::new().await;
    let mut connection = outbox.connect().await;
    let foreign = "INSERT INTO onefold_events (txid, id, tenant, aggregate_type, aggregate_id, event_type,
        schema_version, payload, content_type)
        VALUES ('9000000000000', gen_random_uuid(), 'default', 'case', 'CASE-7', 'case.submitted', 1, 'restored', 'text')";
    run(&mut connection, foreign).await;
    let cursors = outbox.hold("host/1", LONG).await.cursors;
    for size in [PollSize::Events(10), PollSize::Places(10)] {
        let error = outbox.store.poll(outbox.spec.events.clone(), cursors.clone(), size).await.unwrap_err();
        assert_eq!(error.code(), DATABASE_RESTORED);
        assert!(error.next_step().contains("onefold outbox rebase"), "{error}");
    }
    outbox.store.rebase(verb("cases"), Begin::Oldest).await.unwrap();
    assert_eq!(outbox.publish("host/1").await, ["restored"]);
}

#[tokio::test]
async fn a_place_that_is_ahead_of_the_database_stops_the_relay() {
    let outbox = OutboxFixture::new().await;
    let mut cursors = outbox.hold("host/1", LONG).await.cursors;
    cursors[3].since = Horizon::Snapshot(Snapshot::new(9_000_000_000_000, Vec::new()));
    let poll = outbox.store.poll(outbox.spec.events.clone(), cursors, PollSize::Events(10)).await;
    assert_eq!(poll.unwrap_err().code(), DATABASE_RESTORED);
}

#[tokio::test]
async fn a_standby_is_refused() {
    let primary = Server::start(&["wal_level=replica", "max_wal_senders=4"]).await;
    let store = Postgres::open(&primary.url(), options()).await.unwrap();
    store.declare(vec![spec("cases", &["*"])], Arc::from("host/1")).await.unwrap();
    let request = onefold_core::port::LaneRequest {
        relay: spec("cases", &["*"]).name,
        holder: Arc::from("host/1"),
        lease_for: LONG,
        give_back: Vec::new(),
    };
    let held = store.hold_lanes(request).await.unwrap();
    let standby = primary.standby(&[]).await;
    let reading = Postgres::open(&standby.url(), options()).await.unwrap();
    let error = reading.declare(vec![spec("cases", &["*"])], Arc::from("host/1")).await.unwrap_err();
    assert_eq!(error.code(), STANDBY_REFUSED);
    let poll = reading.poll(held.events, held.cursors, PollSize::Events(10)).await;
    assert_eq!(poll.unwrap_err().code(), STANDBY_REFUSED);
}
