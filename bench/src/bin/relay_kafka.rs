//! From commit to acknowledged by Kafka: our relay, against the same client that only sends what it has in memory, and
//! against Debezium Server on a table of its own, into the same broker.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onefold::outbox::{Begin, Relay};
use onefold_bench::outbox::debezium::Debezium;
use onefold_bench::outbox::kafka::{ClientAlone, CountedPublisher, Topic, publisher};
use onefold_bench::outbox::ours::Ours;
use onefold_bench::outbox::{case_sql, payload_sql, pool, run_sql, stage_ours};
use onefold_bench::schemas::{Schemas, show_version, url};
use onefold_bench::side::{self, Side, Slice, Workload};
use onefold_bench::{Scale, last_line, machine, median, point, rate};
use sqlx::PgPool;
use tokio::runtime::Runtime;

const NAME: &str = "relay-kafka";
const EVENTS: usize = 100_000;
const OURS: &str = "bench_relay_kafka_ours";
const CLIENT: &str = "client";
const DEBEZIUM: &str = "bench_relay_kafka_debezium";

fn main() {
    let runtime = Runtime::new().expect("threads");
    match side::asked() {
        Some(args) => serve(&args, runtime),
        None => {
            let scale = Scale::from_args();
            runtime.block_on(compare(scale));
        }
    }
}

/// Becomes one side.
fn serve(args: &[String], runtime: Runtime) {
    let [name] = args else { panic!("a side: {args:?}") };
    if name == CLIENT {
        let client = runtime.block_on(ClientAlone::open());
        return side::serve(Sending { runtime, client });
    }
    side::serve(Relaying::open(runtime, name));
}

/// The client that only sends.
struct Sending {
    runtime: Runtime,
    client: ClientAlone,
}

impl Workload for Sending {
    fn run(&mut self, slice: &Slice) -> Duration {
        self.runtime.block_on(self.client.send(slice.operations))
    }
}

/// Our relay, which runs all the time.
struct Relaying {
    runtime: Runtime,
    admin: PgPool,
    target: Arc<CountedPublisher>,
}

impl Relaying {
    fn open(runtime: Runtime, schema: &str) -> Self {
        let url = url();
        let (admin, target) = runtime.block_on(async {
            let ours = Ours::open(&url, schema, 1).await;
            let target = publisher(&Topic::make("bench-ours").await);
            let relay = Relay::new(&ours.outbox, "bench").events(["case.*"]).to(Arc::clone(&target));
            let running = relay.begin(Begin::Oldest).declared().expect("a relay");
            tokio::spawn(async move {
                running.run(std::future::pending()).await.expect("the relay runs");
                drop(ours);
            });
            (pool(&url, "bench_relay_kafka", 1).await, target)
        });
        Self { runtime, admin, target }
    }
}

impl Workload for Relaying {
    /// One commit of so many events; measured from its end on.
    fn run(&mut self, slice: &Slice) -> Duration {
        self.runtime.block_on(async {
            let until = self.target.count() + slice.operations;
            stage_ours(&self.admin, OURS, slice.operations).await;
            let began = Instant::now();
            self.target.reached(until).await;
            began.elapsed()
        })
    }
}

/// Debezium, and the topic that it writes to.
struct Peer {
    debezium: Debezium,
    topic: Topic,
    admin: PgPool,
}

impl Peer {
    async fn run(&self, events: usize) -> Duration {
        let until = self.topic.records().await + events;
        let sql = format!(
            "INSERT INTO {DEBEZIUM}.outbox (id, aggregatetype, aggregateid, type, payload) SELECT gen_random_uuid(), 'case', \
             {}, 'case.submitted', convert_from({}, 'UTF8') FROM generate_series(1, {events}) AS n",
            case_sql(),
            payload_sql()
        );
        run_sql(&self.admin, sql).await;
        let began = Instant::now();
        self.topic.reached(until).await;
        began.elapsed()
    }
}

async fn compare(scale: Scale) {
    let url = url();
    show_version(&url).await;
    let folder = tempfile::tempdir_in(".").expect("a folder on the disk");
    let schemas = Schemas::fresh(&url, &[OURS, DEBEZIUM]).await;
    let admin = pool(&url, "bench_relay_kafka", 1).await;
    let mut ours = Side::start(&[OURS]);
    let mut client = Side::start(&[CLIENT]);
    let peer = match Debezium::folder() {
        None => {
            println!("Debezium is left out: a measured run downloads it");
            None
        }
        Some(distribution) => {
            let topic = Topic::make("bench-debezium").await;
            let debezium = Debezium::start(&distribution, folder.path(), &url, &admin, DEBEZIUM, topic.name()).await;
            Some(Peer { debezium, topic, admin: admin.clone() })
        }
    };
    let events = scale.of(EVENTS);
    let slice = |round: usize| Slice { callers: 1, operations: events, prefix: format!("r{round}") };
    // Connections, statements, and a virtual machine that compiles while it runs.
    ours.run(&slice(0));
    client.run(&slice(0));
    if let Some(peer) = &peer {
        peer.run(events).await;
    }
    let mut rates: [Vec<f64>; 3] = Default::default();
    for round in 1..=scale.rounds {
        rates[0].push(rate(events, ours.run(&slice(round))));
        rates[1].push(rate(events, client.run(&slice(round))));
        if let Some(peer) = &peer {
            rates[2].push(rate(events, peer.run(events).await));
        }
        let last: Vec<String> =
            rates.iter().filter_map(|rates| rates.last()).map(|rate| format!("{rate:.0}/s")).collect();
        println!("round {round}: ours, the client alone, Debezium: {}", last.join(", "));
    }
    let memory = (ours.memory_peak(), peer.as_ref().map(|peer| machine::memory_peak(&peer.debezium.process())));
    let [ours_rates, client_rates, peer_rates] = rates;
    let (ours_rate, client_rate) = (median(ours_rates), median(client_rates));
    point(NAME, "ours", 1, ours_rate);
    point(NAME, "client-alone", 1, client_rate);
    if let (Some(peer), (ours_memory, Some(peer_memory))) = (peer, memory) {
        let peer_rate = median(peer_rates);
        point(NAME, "debezium", 1, peer_rate);
        println!(
            "against Debezium Server 3.6: {:.2} times as fast ({ours_rate:.0}/s against {peer_rate:.0}/s), with {:.2} of its \
             memory ({ours_memory} MB against {peer_memory} MB at most)",
            ours_rate / peer_rate,
            ours_memory as f64 / peer_memory as f64,
        );
        peer.debezium.stop().await;
    }
    drop((ours, client));
    schemas.drop().await;
    last_line(NAME, ours_rate, client_rate);
}
