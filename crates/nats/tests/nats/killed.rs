//! A server that is killed in the middle of a page.

use std::time::Duration;

use onefold_conformance::publisher::events::events;
use onefold_conformance::publisher::pages::{assert_in_order, publish_during};

use crate::place::{consumed, make_stream, publisher};
use crate::server::Server;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_readable_after_the_server_was_killed() {
    let mut server = Server::start("").await;
    let stream = make_stream(&server.url(), |_| {}).await;
    let publisher = publisher(&server.url(), &format!("{stream}.events"));
    let events = events(publisher.destination().as_ref(), 60_000, 20);
    let faults = async {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            server.kill();
            server.restart().await;
        }
    };
    let done = publish_during(&*publisher, &events, Duration::from_secs(6), faults).await;
    assert_in_order(done, &consumed(&server.url(), &stream).await);
}
