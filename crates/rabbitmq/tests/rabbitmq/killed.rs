//! A broker that is killed while two relays publish what writers stage.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use onefold_conformance::publisher::ConsumedEvent;
use onefold_conformance::publisher::events::{contracts, event};
use onefold_conformance::publisher::pages::assert_first_sight;
use onefold_core::outbox::Begin;
use onefold_core::port::StageOrder;
use onefold_rabbitmq::RabbitMqPublisher;
use onefold_runtime::{Ledger, Relay};
use onefold_sqlite::Sqlite;
use tokio::sync::watch;

use crate::broker::Broker;
use crate::place::{Queue, sender};

const PATIENCE: Duration = Duration::from_mins(4);
const WRITERS: i64 = 4;
const EVENTS: i64 = 150;
const AGGREGATES: i64 = 10;

async fn write_all(ledger: &Ledger<Sqlite>, writer: i64) {
    let outbox = ledger.outbox().with_contracts(contracts());
    for number in 0..EVENTS {
        let seq = writer * EVENTS + number;
        let staged = event(None, seq, &aggregate(writer, number), format!("{{\"seq\":{seq}}}"));
        let mut transaction = ledger.store().begin().await.unwrap();
        let events = [staged.stored.event.clone()];
        outbox.stage_all(&mut transaction, &events, StageOrder::AggregateIsLocked).await.unwrap();
        let committed = transaction.commit().await.unwrap();
        outbox.wake(&committed);
    }
}

fn aggregate(writer: i64, number: i64) -> String {
    format!("CASE-{writer}-{}", number % AGGREGATES)
}

/// Runs a relay until its sender is told to stop it.
fn run(ledger: &Ledger<Sqlite>, to: RabbitMqPublisher) -> watch::Sender<bool> {
    let relay = Relay::new(&ledger.outbox(), "cases")
        .begin(Begin::Oldest)
        .times(Duration::from_secs(4), Duration::from_secs(2))
        .page_max(20)
        .to_each(to, 8);
    let stop = watch::Sender::new(false);
    let mut stopped = stop.subscribe();
    tokio::spawn(relay.run(async move {
        let _ = stopped.wait_for(|stop| *stop).await;
    }));
    stop
}

#[tokio::test(flavor = "multi_thread")]
async fn none_is_lost_and_first_sight_is_in_order_while_the_broker_and_a_relay_die() {
    let mut broker = Broker::start("").await;
    let queue = Queue::make(&broker.url(), "#", &[]).await;
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::sqlite(folder.path().join("onefold.db")).await.unwrap();
    let to = || sender(&broker.url(), &queue.name, "{event_type}");
    let (first, second) = (run(&ledger, to()), run(&ledger, to()));
    let faults = async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        broker.kill();
        // The other one has the lane from here on.
        first.send_replace(true);
        broker.restart().await;
    };
    tokio::join!(faults, write_all(&ledger, 0), write_all(&ledger, 1), write_all(&ledger, 2), write_all(&ledger, 3));
    let begun = Instant::now();
    let there = loop {
        let consumed = queue.consumed().await;
        let different: HashSet<&str> = consumed.iter().map(ConsumedEvent::id).collect();
        if i64::try_from(different.len()).unwrap() >= WRITERS * EVENTS {
            break consumed;
        }
        assert!(begun.elapsed() < PATIENCE, "{} events are there", different.len());
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let ids = (0..WRITERS * EVENTS).map(|seq| {
        let aggregate = aggregate(seq / EVENTS, seq % EVENTS);
        let id = event(None, seq, &aggregate, "").stored.event.id.to_string();
        (aggregate, id)
    });
    assert_first_sight(ids, &there);
    second.send_replace(true);
}
