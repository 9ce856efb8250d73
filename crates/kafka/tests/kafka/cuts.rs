//! Connections that break while records are on their way.

use std::time::Duration;

use crate::events::events;
use crate::kcat;
use crate::proxy::broker_behind_proxy;
use crate::relay::{assert_at, assert_in_order, publish_during};
use crate::topics::{create, publisher};

#[tokio::test(flavor = "multi_thread")]
async fn an_aggregates_order_survives_broken_connections() {
    let (broker, proxy) = broker_behind_proxy().await;
    for policy in ["delete", "compact"] {
        let topic = create(&broker.direct(0), 3, &[("cleanup.policy", policy), ("max.message.bytes", "4000")]).await;
        // A page takes several batches of each aggregate.
        let before = proxy.connections();
        let events = events(&topic, 30_000, 7, 300);
        let publisher = publisher(&proxy.address(), &topic);
        let faults = async {
            for _ in 0..20 {
                tokio::time::sleep(Duration::from_millis(150)).await;
                proxy.cut();
            }
        };
        let (events, positions) = publish_during(&publisher, &events, faults).await;
        assert!(proxy.connections() > before + 5, "nothing was cut: {policy}");
        let log = kcat::committed(&broker.direct(0), &topic);
        assert_in_order(events, &log);
        assert_at(&positions, &log);
    }
}
