//! The whole way: writers on SQLite, two relay loops that share the work, and a server that is killed meanwhile.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use onefold_conformance::publisher::ConsumedEvent;
use onefold_conformance::publisher::events::{contracts, event};
use onefold_conformance::publisher::pages::assert_first_sight;
use onefold_core::outbox::Begin;
use onefold_core::port::{Committed, StageOrder, Staged};
use onefold_nats::NatsPublisher;
use onefold_runtime::{Ledger, PublicationWait, Relay};
use onefold_sqlite::Sqlite;
use tokio::sync::watch;

use crate::place::{consumed, make_stream, sender, shared};
use crate::server::{Server, free_port};

const PATIENCE: Duration = Duration::from_mins(3);
const WRITERS: i64 = 4;
const EVENTS: i64 = 150;
const AGGREGATES: i64 = 10;

async fn open(folder: &Path) -> Ledger<Sqlite> {
    Ledger::sqlite(folder.join("onefold.db")).await.unwrap()
}

/// Commits one event, and wakes the relays of this process.
async fn stage(ledger: &Ledger<Sqlite>, seq: i64, aggregate: &str) -> (Committed<()>, Staged) {
    let staged = event(None, seq, aggregate, format!("{{\"seq\":{seq}}}"));
    let mut transaction = ledger.store().begin().await.unwrap();
    let events = [staged.stored.event.clone()];
    let outbox = ledger.outbox().with_contracts(contracts());
    let staged = outbox.stage_all(&mut transaction, &events, StageOrder::AggregateIsLocked).await.unwrap();
    let committed = transaction.commit().await.unwrap();
    ledger.outbox().wake(&committed);
    (committed, staged[0])
}

/// Runs a relay until its sender is told to stop it.
fn run(ledger: &Ledger<Sqlite>, name: &str, to: NatsPublisher) -> watch::Sender<bool> {
    let relay = Relay::new(&ledger.outbox(), name)
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

/// Looks until so many different events are there.
async fn until_there(count: usize, look: impl AsyncFn() -> Vec<ConsumedEvent>) -> Vec<ConsumedEvent> {
    let begun = Instant::now();
    loop {
        let consumed = look().await;
        let different: HashSet<&str> = consumed.iter().map(ConsumedEvent::id).collect();
        if different.len() >= count {
            return consumed;
        }
        assert!(begun.elapsed() < PATIENCE, "{} of {count} events are there", different.len());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn aggregate(writer: i64, number: i64) -> String {
    format!("CASE-{writer}-{}", number % AGGREGATES)
}

async fn write_all(ledger: &Ledger<Sqlite>, writer: i64) {
    for number in 0..EVENTS {
        stage(ledger, writer * EVENTS + number, &aggregate(writer, number)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn none_is_lost_and_first_sight_is_in_order_while_the_server_and_a_relay_die() {
    let mut server = Server::start("").await;
    let stream = make_stream(&server.url(), |_| {}).await;
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let to = || sender(&server.url(), &format!("{stream}.events"));
    let (first, second) = (run(&ledger, "cases", to()), run(&ledger, "cases", to()));
    let faults = async {
        for _ in 0..2 {
            tokio::time::sleep(Duration::from_millis(400)).await;
            server.kill();
            server.restart().await;
        }
        // The other one has the lane from here on.
        first.send_replace(true);
        server.kill();
        server.restart().await;
    };
    tokio::join!(faults, write_all(&ledger, 0), write_all(&ledger, 1), write_all(&ledger, 2), write_all(&ledger, 3),);
    let count = usize::try_from(WRITERS * EVENTS).unwrap();
    let there = until_there(count, async || consumed(&server.url(), &stream).await).await;
    let ids = (0..WRITERS * EVENTS).map(|seq| {
        let aggregate = aggregate(seq / EVENTS, seq % EVENTS);
        let id = event(None, seq, &aggregate, "").stored.event.id.to_string();
        (aggregate, id)
    });
    assert_first_sight(ids, &there);
    second.send_replace(true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_target_does_not_touch_another_relay() {
    let stream = make_stream(&shared(), |_| {}).await;
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path()).await;
    let nobody = format!("nats://127.0.0.1:{}", free_port());
    let dead = run(&ledger, "dead", sender(&nobody, "nowhere"));
    let alive = run(&ledger, "alive", sender(&shared(), &format!("{stream}.events")));
    let mut last = None;
    for seq in 0..40 {
        last = Some(stage(&ledger, seq, &aggregate(0, seq)).await);
    }
    let there = until_there(40, async || consumed(&shared(), &stream).await).await;
    assert_eq!(there.len(), 40);
    let (committed, staged) = last.unwrap();
    let waited = ledger.outbox().wait_published(&committed, &staged, None, Duration::from_millis(50)).await.unwrap();
    assert_eq!(waited, PublicationWait::NotYet, "the dead one has passed nothing");
    for stop in [dead, alive] {
        stop.send_replace(true);
    }
}
