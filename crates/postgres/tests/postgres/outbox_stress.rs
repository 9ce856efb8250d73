//! Order, loss and duplicates while writers, bystanders and relays do their worst. Counted in steps, not in seconds.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onefold_core::outbox::RelaySpec;
use onefold_core::port::{RelayStore as _, StageOrder, Staging as _};
use onefold_postgres::{Postgres, PostgresOptions, Time};
use onefold_testing::{ManualClock, SeededRandom, seed};
use sqlx::{Connection as _, PgConnection};

use crate::asking::until;
use crate::fixture::{Database, options, run};
use crate::outbox_fixture::{event, spec};
use crate::outbox_order::{NaiveReader, NaiveRule};
use crate::outbox_stress_relay::StressRelay;

const AGGREGATES: u64 = 10;
const WRITERS: u64 = 10;
const TRANSACTIONS: usize = 40;
const RELAYS: u64 = 3;

/// What a relay does with the end of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowKeeping {
    /// Stores it before the first event is sent.
    Stored,
    /// Remembers it, and moves on when the window is done.
    Remembered,
}

/// An event as a target or a reader sees it: an aggregate and its version.
pub(crate) type Seen = (String, u64);

pub(crate) struct StressRun {
    database: Database,
    pub(crate) store: Postgres,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) spec: RelaySpec,
    pub(crate) keeping: WindowKeeping,
    pub(crate) seed: u64,
    pub(crate) topic: Mutex<Vec<Seen>>,
    written: AtomicBool,
    pub(crate) finished: AtomicBool,
    /// Reads of the simpler rules.
    reads: [AtomicUsize; 2],
    pub(crate) steps: AtomicUsize,
    pub(crate) faults: AtomicUsize,
    /// Duplicates that kills and lost lanes explain: a page for each lane in hand.
    pub(crate) duplicates_max: AtomicUsize,
}

/// What came of a run.
#[derive(Debug, Default)]
struct Verdict {
    events: usize,
    lost: usize,
    inverted: usize,
    duplicates: usize,
    duplicates_max: usize,
    faults: usize,
}

impl StressRun {
    async fn new(keeping: WindowKeeping) -> Arc<Self> {
        let database = Database::new().await;
        let clock = Arc::new(ManualClock::default());
        let far = Duration::from_hours(100_000);
        let options = PostgresOptions {
            clock: clock.clone(),
            time: Time::Clock,
            answer_wait: far,
            connections_max: 8,
            ..options()
        };
        let store = Postgres::open(&database.url(), options).await.unwrap();
        let spec = spec("cases", &["*"]);
        store.declare(vec![spec.clone()], Arc::from("host/1")).await.unwrap();
        let this = Self {
            database,
            store,
            clock,
            spec,
            keeping,
            seed: seed("ONEFOLD_SEED"),
            topic: Mutex::default(),
            written: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            reads: Default::default(),
            steps: AtomicUsize::new(0),
            faults: AtomicUsize::new(0),
            duplicates_max: AtomicUsize::new(0),
        };
        let mut connection = this.connect().await;
        run(&mut connection, "CREATE TABLE aggregates (id int PRIMARY KEY, version bigint NOT NULL DEFAULT 0)").await;
        run(&mut connection, "CREATE TABLE others (id int)").await;
        run(&mut connection, &format!("INSERT INTO aggregates SELECT generate_series(0, {})", AGGREGATES - 1)).await;
        Arc::new(this)
    }

    pub(crate) async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.database.url()).await.unwrap()
    }

    /// Writers that all lock the aggregate, some long after they took their number.
    async fn write(&self, random: &SeededRandom) {
        let mut connection = self.connect().await;
        for number in 0..TRANSACTIONS {
            run(&mut connection, "BEGIN").await;
            if chance(random, 60) {
                run(&mut connection, "INSERT INTO others VALUES (1)").await;
                linger(random, 4).await;
            }
            let first = random.draw() % AGGREGATES;
            let second = random.draw() % AGGREGATES;
            let aggregates = if chance(random, 30) && first < second { vec![first, second] } else { vec![first] };
            for aggregate in aggregates {
                self.write_one(&mut connection, aggregate, random).await;
            }
            linger(random, 2).await;
            self.end(&mut connection, &format!("{:016x}-{number}", random.draw()), random).await;
        }
    }

    /// Ends a transaction in one of the ways there are; a prepared one is nobody's until its second commit.
    async fn end(&self, connection: &mut PgConnection, name: &str, random: &SeededRandom) {
        if chance(random, 10) {
            return run(connection, "ROLLBACK").await;
        }
        if chance(random, 90) {
            return run(connection, "COMMIT").await;
        }
        run(connection, &format!("PREPARE TRANSACTION '{name}'")).await;
        linger(random, 4).await;
        let second = if chance(random, 20) { "ROLLBACK" } else { "COMMIT" };
        run(connection, &format!("{second} PREPARED '{name}'")).await;
    }

    async fn write_one(&self, connection: &mut PgConnection, aggregate: u64, random: &SeededRandom) {
        let savepoint = chance(random, 40);
        if savepoint {
            run(connection, "SAVEPOINT s").await;
        }
        self.write_plainly(connection, aggregate).await;
        if savepoint && chance(random, 30) {
            run(connection, "ROLLBACK TO SAVEPOINT s").await;
        }
    }

    /// Locks the aggregate, and stages its next version.
    async fn write_plainly(&self, connection: &mut PgConnection, aggregate: u64) {
        let sql = "UPDATE aggregates SET version = version + 1 WHERE id = $1 RETURNING version";
        let asked = sqlx::query_scalar(sql).bind(i32::try_from(aggregate).unwrap());
        let version: i64 = asked.fetch_one(&mut *connection).await.unwrap();
        let staged = [event("case.changed", &aggregate.to_string(), &version.to_string())];
        self.store.stage(connection, &staged, StageOrder::AggregateIsLocked).await.unwrap();
    }

    /// Transactions that have nothing to do with events.
    async fn stand_by(&self, random: &SeededRandom) {
        let mut connection = self.connect().await;
        while !self.written.load(Ordering::SeqCst) {
            run(&mut connection, "BEGIN; INSERT INTO others VALUES (2)").await;
            linger(random, 20).await;
            run(&mut connection, "COMMIT").await;
        }
    }

    /// What a simpler rule reads of the same events.
    async fn read_naively(&self, rule: NaiveRule) -> Vec<Seen> {
        let mut connection = self.connect().await;
        let mut reader = NaiveReader::new(self.connect().await, rule);
        let mut seen = Vec::new();
        loop {
            let read = reader.read().await;
            seen.extend(read.into_iter().map(|(aggregate, version)| (aggregate, version.parse().unwrap())));
            self.reads[usize::from(rule == NaiveRule::XminWindows)].fetch_add(1, Ordering::SeqCst);
            if self.finished.load(Ordering::SeqCst) && seen.len() == count(&mut connection).await {
                return seen;
            }
            tokio::task::yield_now().await;
        }
    }

    /// The schedule that inverts an aggregate for the simpler rules, looked at between its steps: chance brings it often,
    /// and not in every run. The later writer has the smallest number, then a bystander, then the earlier writer.
    async fn provoke(&self) {
        let mut connections = [self.connect().await, self.connect().await, self.connect().await];
        let [first, second, bystander] = &mut connections;
        run(second, "BEGIN; INSERT INTO others VALUES (3)").await;
        run(bystander, "BEGIN; INSERT INTO others VALUES (4)").await;
        run(first, "BEGIN; INSERT INTO others VALUES (5)").await;
        for writer in [first, second] {
            self.write_plainly(writer, 0).await;
            run(writer, "COMMIT").await;
        }
        let oldest = "SELECT pg_snapshot_xmin(pg_current_snapshot()) = pg_current_xact_id()";
        let bystander = tokio::sync::Mutex::new(bystander);
        until("the bystander is the oldest", async || {
            let mut bystander = bystander.lock().await;
            let is_oldest: bool = sqlx::query_scalar(oldest).fetch_one(&mut **bystander).await.unwrap();
            is_oldest.then_some(())
        })
        .await;
        let before = self.reads.each_ref().map(|reads| reads.load(Ordering::SeqCst));
        until("both readers have read twice", async || {
            let read = |at: usize| self.reads[at].load(Ordering::SeqCst) >= before[at] + 2;
            (read(0) && read(1)).then_some(())
        })
        .await;
        run(&mut **bystander.lock().await, "COMMIT").await;
    }

    /// Whether everything that was committed has come.
    pub(crate) async fn complete(&self, connection: &mut PgConnection) -> bool {
        if !self.written.load(Ordering::SeqCst) {
            return false;
        }
        let count = count(connection).await;
        let distinct: HashSet<Seen> = self.topic.lock().unwrap().iter().cloned().collect();
        distinct.len() == count
    }

    async fn verdict(&self, seen: &[Seen]) -> Verdict {
        let mut connection = self.connect().await;
        let sql = "SELECT id::text, version FROM aggregates";
        let versions: Vec<(String, i64)> = sqlx::query_as(sql).fetch_all(&mut connection).await.unwrap();
        let events = versions.iter().map(|(_, version)| usize::try_from(*version).unwrap()).sum();
        let mut firsts: HashSet<&Seen> = HashSet::new();
        let mut last: BTreeMap<&str, u64> = BTreeMap::new();
        let mut inverted = 0;
        for one in seen {
            if firsts.insert(one) {
                let highest = last.entry(&one.0).or_default();
                inverted += usize::from(one.1 < *highest);
                *highest = one.1.max(*highest);
            }
        }
        Verdict {
            events,
            lost: events - firsts.len(),
            inverted,
            duplicates: seen.len() - firsts.len(),
            duplicates_max: self.duplicates_max.load(Ordering::SeqCst),
            faults: self.faults.load(Ordering::SeqCst),
        }
    }
}

/// Events that are committed.
async fn count(connection: &mut PgConnection) -> usize {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM onefold_events").fetch_one(connection).await.unwrap();
    usize::try_from(count).unwrap()
}

fn chance(random: &SeededRandom, percent: u64) -> bool {
    random.draw() % 100 < percent
}

/// Lets others go first, for some milliseconds at most.
async fn linger(random: &SeededRandom, millis_max: u64) {
    tokio::time::sleep(Duration::from_micros(random.draw() % (millis_max * 1_000))).await;
}

/// Runs writers, bystanders, relays and readers to the end: what the target saw, and what the readers read.
async fn stress(run: &Arc<StressRun>) -> [Vec<Seen>; 3] {
    let spawn_with = |number: u64| (Arc::clone(run), SeededRandom::new(run.seed.wrapping_add(number)));
    let writers: Vec<_> = (0..WRITERS)
        .map(spawn_with)
        .map(|(run, random)| tokio::spawn(async move { run.write(&random).await }))
        .collect();
    let mut others: Vec<_> = (100..102)
        .map(spawn_with)
        .map(|(run, random)| tokio::spawn(async move { run.stand_by(&random).await }))
        .collect();
    others.extend((0..RELAYS).map(|number| tokio::spawn(StressRelay::new(Arc::clone(run), number).relay())));
    let readers = [NaiveRule::TxidOrder, NaiveRule::XminWindows].map(|rule| {
        let run = Arc::clone(run);
        tokio::spawn(async move { run.read_naively(rule).await })
    });
    for writer in writers {
        writer.await.unwrap();
    }
    run.provoke().await;
    run.written.store(true, Ordering::SeqCst);
    for other in others {
        other.await.unwrap();
    }
    let [by_txid, by_xmin] = readers;
    let topic = std::mem::take(&mut *run.topic.lock().unwrap());
    [topic, by_txid.await.unwrap(), by_xmin.await.unwrap()]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_is_lost_and_first_sight_is_in_order_while_relays_are_killed_and_paused() {
    let run = StressRun::new(WindowKeeping::Stored).await;
    let [topic, by_txid, by_xmin] = stress(&run).await;
    let verdict = run.verdict(&topic).await;
    println!("{verdict:?}");
    assert!(verdict.events > 300 && verdict.faults > 10, "{verdict:?}");
    assert_eq!((verdict.lost, verdict.inverted), (0, 0), "{verdict:?}");
    assert!(verdict.duplicates <= verdict.duplicates_max, "{verdict:?}");
    // The same events by rules that look right: a run in which they hold too would prove nothing.
    let (by_txid, by_xmin) = (run.verdict(&by_txid).await, run.verdict(&by_xmin).await);
    println!("by txid {by_txid:?}\nby xmin {by_xmin:?}");
    assert!(by_txid.inverted > 0, "{by_txid:?}");
    assert!(by_xmin.inverted > 0, "{by_xmin:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sequence_with_a_cache_inverts_the_order() {
    let run = StressRun::new(WindowKeeping::Stored).await;
    let mut connection = run.connect().await;
    crate::fixture::run(&mut connection, "ALTER TABLE onefold_events ALTER COLUMN seq SET CACHE 20").await;
    let [topic, ..] = stress(&run).await;
    let verdict = run.verdict(&topic).await;
    println!("{verdict:?}");
    assert!(verdict.inverted > 0, "{verdict:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_whose_end_is_not_stored_is_repeated_by_more_than_a_page() {
    let run = StressRun::new(WindowKeeping::Remembered).await;
    let [topic, ..] = stress(&run).await;
    let verdict = run.verdict(&topic).await;
    println!("{verdict:?}");
    assert!(verdict.duplicates > verdict.duplicates_max, "{verdict:?}");
}
