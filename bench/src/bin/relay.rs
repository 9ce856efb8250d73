//! Draining an outbox on PostgreSQL to a target that takes everything at once: our relay, against SKIP LOCKED and UPDATE,
//! on an empty table, and again behind millions of published events with a long reader beside. Then from commit to
//! published.

use std::sync::Arc;
use std::time::Duration;

use onefold_bench::outbox::latency::Latency;
use onefold_bench::outbox::ours::{Acknowledging, Ours};
use onefold_bench::outbox::skip_locked::SkipLocked;
use onefold_bench::outbox::{backend_time, case_sql, payload_sql, pool, run_sql, stage_ours};
use onefold_bench::schemas::{Schemas, show_version, url};
use onefold_bench::side::{self, Side, Slice, Workload};
use onefold_bench::{Scale, last_line_with, median, point, rate};
use sqlx::PgPool;
use tokio::runtime::Runtime;

const NAME: &str = "relay";
const EVENTS: usize = 300_000;
const PUBLISHED: usize = 4_000_000;
const LATENCY: &str = "bench_relay_latency";

/// What the outbox holds when a round begins.
struct Setting {
    name: &'static str,
    /// The schemas of ours and of the peer.
    schemas: [&'static str; 2],
    published: usize,
}

const SETTINGS: [Setting; 2] = [
    Setting { name: "drained", schemas: ["bench_relay_ours", "bench_relay_peer"], published: 0 },
    Setting {
        name: "drained-behind-published",
        schemas: ["bench_relay_ours_aged", "bench_relay_peer_aged"],
        published: PUBLISHED,
    },
];

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

/// Becomes one side, on a schema of its own.
fn serve(args: &[String], runtime: Runtime) {
    let [schema] = args else { panic!("a side: {args:?}") };
    let url = url();
    if schema == LATENCY {
        return side::serve(Latency::open(&url, schema));
    }
    if schema.contains("ours") {
        let ours = runtime.block_on(Ours::open(&url, schema, 1));
        let target = Arc::new(Acknowledging::default());
        // Declares the relay: what is there already is not its own.
        runtime.block_on(ours.drain(&target, 0));
        return side::serve(Draining(|events| runtime.block_on(ours.drain(&target, events))));
    }
    let peer = runtime.block_on(SkipLocked::open(&url, schema));
    side::serve(Draining(|events| runtime.block_on(peer.drain(events))));
}

/// A side that publishes what was staged.
struct Draining<F>(F);

impl<F: Fn(usize) -> Duration> Workload for Draining<F> {
    fn run(&mut self, slice: &Slice) -> Duration {
        self.0(slice.operations)
    }
}

async fn compare(scale: Scale) {
    let url = url();
    show_version(&url).await;
    let admin = pool(&url, "bench_relay", 2).await;
    let mut ratios = vec![];
    for setting in &SETTINGS {
        ratios.push(in_setting(&url, &admin, setting, scale).await);
    }
    latency(&url, scale).await;
    // The harder of the two.
    let hardest = ratios.into_iter().min_by(|a, b| a.ratio.total_cmp(&b.ratio)).expect("two settings");
    last_line_with(NAME, hardest.ratio, hardest.ours, hardest.peer);
}

/// Events a second of both, and how they compare.
struct Compared {
    ratio: f64,
    ours: f64,
    peer: f64,
}

async fn in_setting(url: &str, admin: &PgPool, setting: &Setting, scale: Scale) -> Compared {
    let schemas = Schemas::fresh(url, &setting.schemas).await;
    let [ours, peer] = setting.schemas;
    // Each opens its tables; what was published long ago is there before the relay is declared.
    drop(Ours::open(url, ours, 1).await);
    let mut sides = if setting.published == 0 {
        [Side::start(&[ours]), Side::start(&[peer])]
    } else {
        let peer_side = Side::start(&[peer]);
        let published = scale.of(setting.published);
        println!("staging {published} events that were published long ago");
        stage_ours(admin, ours, published).await;
        stage_peer(admin, peer, published, "now()").await;
        [Side::start(&[ours]), peer_side]
    };
    let reader = if setting.published == 0 { None } else { Some(long_reader(admin).await) };
    let mut figures = [Figures::default(), Figures::default()];
    let events = scale.of(EVENTS);
    for round in 1..=scale.rounds {
        stage_ours(admin, ours, events).await;
        stage_peer(admin, peer, events, "NULL").await;
        for (place, side) in sides.iter_mut().enumerate() {
            let backends = if place == 0 { format!("onefold {ours}") } else { peer.to_owned() };
            let before = backend_time(admin, &backends).await;
            let took = side.run(&Slice { callers: 1, operations: events, prefix: "drain".to_owned() });
            let spent = backend_time(admin, &backends).await.saturating_sub(before);
            figures[place].add(events, took, spent);
        }
        let [ours, peer] = &figures;
        println!("{} · round {round}: ours {}, peer {}", setting.name, ours.last(), peer.last());
    }
    let [ours_figures, peer_figures] = figures;
    let compared = Compared {
        ratio: ours_figures.rate() / peer_figures.rate(),
        ours: ours_figures.rate(),
        peer: peer_figures.rate(),
    };
    println!(
        "{}: {:.2} times SKIP LOCKED and UPDATE in wall time, {:.2} times in the server's processor time an event \
         ({:.1} µs against {:.1} µs); rows changed in the table of events: ours {}, peer {}",
        setting.name,
        compared.ratio,
        peer_figures.backend() / ours_figures.backend(),
        ours_figures.backend(),
        peer_figures.backend(),
        changed_rows(admin, ours, "onefold_events").await,
        changed_rows(admin, peer, "outbox").await,
    );
    point(NAME, "ours", setting.published, compared.ours);
    point(NAME, "skip-locked", setting.published, compared.peer);
    drop((sides, reader));
    schemas.drop().await;
    compared
}

/// What rounds showed.
#[derive(Default)]
struct Figures {
    rates: Vec<f64>,
    backend: Vec<f64>,
}

impl Figures {
    fn add(&mut self, events: usize, took: Duration, spent: Duration) {
        self.rates.push(rate(events, took));
        self.backend.push(spent.as_secs_f64() * 1e6 / events as f64);
    }

    fn rate(&self) -> f64 {
        median(self.rates.clone())
    }

    /// Microseconds of the server's processes an event.
    fn backend(&self) -> f64 {
        median(self.backend.clone())
    }

    fn last(&self) -> String {
        let (rate, backend) = (self.rates.last().unwrap_or(&0.0), self.backend.last().unwrap_or(&0.0));
        format!("{rate:.0}/s ({backend:.1} µs of the server's processor)")
    }
}

async fn stage_peer(admin: &PgPool, schema: &str, events: usize, published_at: &str) {
    let sql = format!(
        "INSERT INTO {schema}.outbox (id, aggregate_type, aggregate_id, event_type, payload, published_at) \
         SELECT gen_random_uuid(), 'case', {}, 'case.submitted', {}, {published_at} FROM generate_series(1, {events}) AS n; \
         ANALYZE {schema}.outbox",
        case_sql(),
        payload_sql()
    );
    run_sql(admin, sql).await;
}

/// A transaction that sees the past for as long as it is open.
async fn long_reader(admin: &PgPool) -> sqlx::Transaction<'static, sqlx::Postgres> {
    let mut reader = admin.begin().await.expect("begun");
    let sql = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";
    sqlx::query(sql).execute(&mut *reader).await.expect("set");
    sqlx::query("SELECT count(*) FROM pg_class").execute(&mut *reader).await.expect("read");
    reader
}

/// Updates and deletions of a table: each leaves a dead row behind.
async fn changed_rows(admin: &PgPool, schema: &str, table: &str) -> i64 {
    // The server's processes report what they did within a second.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let sql = "SELECT n_tup_upd + n_tup_del FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = $2";
    sqlx::query_scalar(sql).bind(schema).bind(table).fetch_one(admin).await.expect("statistics")
}

async fn latency(url: &str, scale: Scale) {
    let schemas = Schemas::fresh(url, &[LATENCY]).await;
    let mut side = Side::start(&[LATENCY]);
    for (name, callers, events) in [("woken", 1, 500), ("polled", 1, 200), ("loaded", 64, 20_000)] {
        side.run(&Slice { callers, operations: scale.of(events), prefix: name.to_owned() });
        println!("commit to published, {name}, {callers} writers: {}", side.note());
    }
    drop(side);
    schemas.drop().await;
}
