//! Nothing is published that a crash of the server takes back, whatever its writer waited for.

use std::sync::Arc;

use onefold_core::port::{LaneRequest, OutboxOperate as _, RelayStore as _};
use onefold_postgres::Postgres;

use crate::fixture::options;
use crate::outbox_fixture::{LONG, event, open_windows, spec, stage};
use crate::server::Server;

/// Without these the server would flush its log by itself before the test can crash it.
const LAZY: [&str; 3] = ["synchronous_commit=off", "wal_writer_delay=10s", "checkpoint_timeout=1h"];

#[tokio::test]
async fn what_a_window_shows_survives_a_crash_although_its_writer_did_not_wait() {
    let mut server = Server::start(&LAZY).await;
    let spec = spec("cases", &["*"]);
    let published = {
        let store = Postgres::open(&server.url(), options()).await.unwrap();
        store.declare(vec![spec.clone()], Arc::from("host/1")).await.unwrap();
        let request = LaneRequest {
            relay: spec.name.clone(),
            holder: Arc::from("host/1"),
            lease_for: LONG,
            give_back: Vec::new(),
        };
        let cursors = store.hold_lanes(request).await.unwrap().cursors;
        let staged = stage(&store, &[event("case.submitted", "CASE-7", "{}")]).await.unwrap();
        let windows = open_windows(&store, &spec, &cursors).await;
        let seen: Vec<_> = windows.iter().flat_map(|(_, events)| events).map(|event| event.event.id).collect();
        assert_eq!(seen, [staged[0].id], "from here on it is sent");
        seen
    };
    server.kill();
    server.run().await;
    let store = Postgres::open(&server.url(), options()).await.unwrap();
    assert!(store.event(published[0]).await.unwrap().is_some(), "it was published and is gone");
}

/// The test above can fail: a commit that nothing follows is lost by the same crash.
#[tokio::test]
async fn what_no_window_has_shown_may_be_lost_by_such_a_writer() {
    let mut server = Server::start(&LAZY).await;
    let lost = {
        let store = Postgres::open(&server.url(), options()).await.unwrap();
        store.declare(vec![spec("cases", &["*"])], Arc::from("host/1")).await.unwrap();
        stage(&store, &[event("case.submitted", "CASE-7", "{}")]).await.unwrap()
    };
    server.kill();
    server.run().await;
    let store = Postgres::open(&server.url(), options()).await.unwrap();
    assert!(store.event(lost[0].id).await.unwrap().is_none());
}
