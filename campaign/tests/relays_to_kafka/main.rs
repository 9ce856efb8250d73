//! Writers, relays, PostgreSQL and Kafka together: relays are killed and paused, the broker dies and comes back,
//! connections are cut. Nothing is lost, and what appears first of an aggregate is in order.
//!
//! 12,000 events; 200,000 with `cargo xtask test --full --only brokers`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails where it stands")]

#[path = "../../../crates/kafka/tests/kafka/broker.rs"]
#[allow(dead_code, reason = "shared with the Kafka target's tests, which use the rest")]
mod broker;
#[path = "../crash/fixture.rs"]
#[allow(dead_code, reason = "shared with the crash campaign, which uses the rest")]
mod fixture;
#[path = "../../../crates/kafka/tests/kafka/kcat.rs"]
#[allow(dead_code, reason = "shared with the Kafka target's tests, which use the rest")]
mod kcat;
#[path = "../../../crates/kafka/tests/kafka/proxy.rs"]
#[allow(dead_code, reason = "shared with the Kafka target's tests, which use the rest")]
mod proxy;
mod relays;
mod topic;
mod trouble;
mod writers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kcat::{LoggedRecord, committed};
use relays::{PAGE_MAX, Relays};
use trouble::Trouble;
use writers::{Writers, Written};

/// No event may take longer to arrive, on a busy machine either.
const PATIENCE: Duration = Duration::from_mins(5);

/// How many events: `cargo xtask test --full` asks for all of them.
fn events() -> u64 {
    if std::env::var_os("ONEFOLD_CAMPAIGN_FULL").is_some() { 200_000 } else { 12_000 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_dies_every_event_reaches_kafka_and_is_first_seen_in_order() {
    let (broker, proxy) = proxy::broker_behind_proxy().await;
    topic::create(&broker.direct(0)).await;
    let relays = Relays::start(&proxy.address());
    let writers = Arc::new(Writers::new(relays.schema(), events()).await);
    let mut trouble = Trouble::new(broker, proxy, relays);
    let writing = tokio::spawn(Arc::clone(&writers).run());
    trouble.during(&writers).await;
    let written = writing.await.unwrap();
    let records = all_arrived(&trouble, &written).await;
    assert_first_sight_in_order(&records, &written);
    let repeated = records.len() - written.len();
    let most = trouble.deaths() * relays::LANES * PAGE_MAX;
    println!(
        "{} events, {} deaths and pauses, {repeated} came again (at most {most})",
        written.len(),
        trouble.deaths()
    );
    assert!(repeated <= most, "{repeated} came again, more than {most}");
}

/// Waits until everything that was committed can be read.
async fn all_arrived(trouble: &Trouble, written: &Written) -> Vec<LoggedRecord> {
    let begun = Instant::now();
    loop {
        let records = committed(&trouble.broker(), topic::NAME);
        let seen: BTreeSet<&str> = records.iter().map(LoggedRecord::id).collect();
        if seen.len() >= written.len() {
            return records;
        }
        assert!(begun.elapsed() < PATIENCE, "{} of {} events arrived", seen.len(), written.len());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Each aggregate's events are those that were committed, and appear first in the order of their commits.
fn assert_first_sight_in_order(records: &[LoggedRecord], written: &Written) {
    let mut seen = BTreeSet::new();
    let mut first: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for record in records.iter().filter(|record| seen.insert(record.id())) {
        first.entry(&record.key).or_default().push(written.number(record.id()));
    }
    for (aggregate, numbers) in &first {
        assert!(numbers.is_sorted(), "{aggregate} was first seen as {numbers:?}");
    }
    let arrived: usize = first.values().map(Vec::len).sum();
    assert_eq!(arrived, written.len(), "events that were rolled back must not arrive");
}
