//! The order of the outbox: the production window rule under every interleaving of three writers and two polls.
//!
//! Each writer takes its number, waits for its aggregate and stages, commits. A relay polls in between, publishes a
//! page, and may die before the page is settled. Two rules that other outboxes use run beside ours: the same schedules
//! must find them wrong, or the schedules prove nothing.

use std::collections::{BTreeMap, BTreeSet};

use onefold_core::outbox::{CursorStep, EventPlace, Found, Horizon, LaneCursor, LaneHealth, Moved, Snapshot};

/// What a schedule is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The writer takes its transaction's number.
    Begin(usize),
    /// It locks its aggregate and stages an event; impossible while another writer holds the lock.
    Stage(usize),
    /// It commits.
    Commit(usize),
    /// The relay polls and publishes a page.
    Poll,
    /// The same, and dies before the page is settled.
    PollAndDie,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    place: EventPlace,
    writer: usize,
}

/// The database as writers change it and snapshots show it.
#[derive(Debug, Default)]
struct Database {
    numbers: BTreeMap<usize, u64>,
    running: BTreeSet<u64>,
    last_done: u64,
    next: u64,
    seq: i64,
    locks: BTreeMap<u32, usize>,
    rows: Vec<Row>,
    committed: BTreeSet<usize>,
    staged_order: BTreeMap<u32, Vec<usize>>,
}

const FIRST_NUMBER: u64 = 10;

impl Database {
    fn new() -> Self {
        Self { next: FIRST_NUMBER, last_done: FIRST_NUMBER - 1, ..Self::default() }
    }

    fn begin(&mut self, writer: usize) {
        if !self.numbers.contains_key(&writer) {
            self.numbers.insert(writer, self.next);
            self.running.insert(self.next);
            self.next += 1;
        }
    }

    /// Whether the writer could take the lock.
    fn stage(&mut self, writer: usize, aggregate: Option<u32>) -> bool {
        self.begin(writer);
        let Some(aggregate) = aggregate else { return true };
        if self.locks.contains_key(&aggregate) {
            return false;
        }
        self.locks.insert(aggregate, writer);
        self.seq += 1;
        self.rows.push(Row { place: EventPlace { seq: self.seq, txid: self.numbers[&writer] }, writer });
        self.staged_order.entry(aggregate).or_default().push(writer);
        true
    }

    fn commit(&mut self, writer: usize) {
        self.begin(writer);
        let number = self.numbers[&writer];
        self.running.remove(&number);
        self.last_done = self.last_done.max(number);
        self.committed.insert(writer);
        self.locks.retain(|_, holder| *holder != writer);
    }

    /// As PostgreSQL takes it: `xmax` is one above the highest number that has ended.
    fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.last_done + 1, self.running.iter().copied().collect())
    }

    fn visible(&self) -> impl Iterator<Item = Row> {
        self.rows.iter().copied().filter(|row| self.committed.contains(&row.writer))
    }
}

/// A rule of delivery: what a poll publishes.
trait Delivery {
    fn poll(&mut self, database: &Database, page: usize, dies: bool) -> Vec<usize>;
}

/// The production rule.
struct Windows(LaneCursor);

impl Windows {
    fn new() -> Self {
        Self(LaneCursor {
            lane: 0,
            fence: 1,
            since: Horizon::Snapshot(Snapshot::new(FIRST_NUMBER, Vec::new())),
            until: None,
            pos: 0,
            health: LaneHealth::default(),
            stopped: None,
        })
    }

    fn left(&self, database: &Database) -> Vec<Row> {
        let mut left: Vec<Row> = match self.0.window() {
            Some(window) => {
                database.visible().filter(|row| window.contains(row.place) && row.place.seq > self.0.pos).collect()
            }
            None => database.visible().filter(|row| !self.0.since.sees(row.place)).collect(),
        };
        left.sort_by_key(|row| row.place.seq);
        left
    }

    fn step(&mut self, database: &Database) -> (CursorStep, Vec<Row>) {
        let seen = Horizon::Snapshot(database.snapshot());
        let left = self.left(database);
        let found = if left.is_empty() { Found::Nothing } else { Found::Wanted };
        let step = self.0.next(found, &seen, Moved::LongAgo);
        self.0 = self.0.clone().after(&step);
        (step, left)
    }
}

impl Delivery for Windows {
    fn poll(&mut self, database: &Database, page: usize, dies: bool) -> Vec<usize> {
        let (mut step, mut left) = self.step(database);
        if let CursorStep::OpenWindow(_) = step {
            (step, left) = self.step(database);
        }
        if step != CursorStep::Publish {
            return Vec::new();
        }
        left.truncate(page);
        if !dies {
            self.0.pos = left.last().map_or(self.0.pos, |row| row.place.seq);
            if self.left(database).is_empty() {
                self.step(database);
            }
        }
        left.into_iter().map(|row| row.writer).collect()
    }
}

/// Ordered by transaction and number, below the lowest running transaction.
struct ByTransaction((u64, i64));

impl Delivery for ByTransaction {
    fn poll(&mut self, database: &Database, page: usize, dies: bool) -> Vec<usize> {
        let horizon = lowest_running(database);
        let mut found: Vec<Row> = database
            .visible()
            .filter(|row| (row.place.txid, row.place.seq) > self.0 && row.place.txid < horizon)
            .collect();
        found.sort_by_key(|row| (row.place.txid, row.place.seq));
        found.truncate(page);
        if let (Some(last), false) = (found.last(), dies) {
            self.0 = (last.place.txid, last.place.seq);
        }
        found.into_iter().map(|row| row.writer).collect()
    }
}

/// Windows of transaction numbers, up to the lowest running one.
#[derive(Default)]
struct BelowLowestRunning {
    lo: u64,
    hi: Option<u64>,
    pos: i64,
}

impl Delivery for BelowLowestRunning {
    fn poll(&mut self, database: &Database, page: usize, dies: bool) -> Vec<usize> {
        let hi = *self.hi.get_or_insert_with(|| lowest_running(database));
        let mut found: Vec<Row> = database
            .visible()
            .filter(|row| row.place.txid >= self.lo && row.place.txid < hi && row.place.seq > self.pos)
            .collect();
        found.sort_by_key(|row| row.place.seq);
        found.truncate(page);
        if !dies {
            if found.len() < page {
                *self = Self { lo: hi, hi: None, pos: 0 };
            } else if let Some(last) = found.last() {
                self.pos = last.place.seq;
            }
        }
        found.into_iter().map(|row| row.writer).collect()
    }
}

fn lowest_running(database: &Database) -> u64 {
    database.running.first().copied().unwrap_or(database.last_done + 1)
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    schedules: usize,
    inverted: usize,
    lost: usize,
}

/// Plays one schedule; nothing where a writer would wait for a lock, because that is another schedule.
fn play(schedule: &[Step], aggregates: [Option<u32>; 3], mut rule: impl Delivery, page: usize, tally: &mut Tally) {
    let mut database = Database::new();
    let mut published = Vec::new();
    for step in schedule {
        match *step {
            Step::Begin(writer) => database.begin(writer),
            Step::Stage(writer) => {
                if !database.stage(writer, aggregates[writer]) {
                    return;
                }
            }
            Step::Commit(writer) => database.commit(writer),
            Step::Poll => published.extend(rule.poll(&database, page, false)),
            Step::PollAndDie => published.extend(rule.poll(&database, page, true)),
        }
    }
    for _ in 0..12 {
        published.extend(rule.poll(&database, page, false));
    }
    tally.schedules += 1;
    let mut first_sight: Vec<usize> = Vec::new();
    for writer in published {
        if !first_sight.contains(&writer) {
            first_sight.push(writer);
        }
    }
    let inverted = database.staged_order.iter().any(|(aggregate, staged)| {
        let seen: Vec<usize> =
            first_sight.iter().copied().filter(|writer| aggregates[*writer] == Some(*aggregate)).collect();
        let expected: Vec<usize> = staged.iter().copied().filter(|writer| seen.contains(writer)).collect();
        seen != expected
    });
    tally.inverted += usize::from(inverted);
    tally.lost += usize::from(database.rows.iter().any(|row| !first_sight.contains(&row.writer)));
}

/// Every order of these sequences that keeps each of them.
fn interleavings(sequences: &[Vec<Step>], so_far: &mut Vec<Step>, visit: &mut impl FnMut(&[Step])) {
    fn descend(sequences: &[Vec<Step>], at: &mut [usize], so_far: &mut Vec<Step>, visit: &mut impl FnMut(&[Step])) {
        let mut ended = true;
        for index in 0..sequences.len() {
            if let Some(step) = sequences[index].get(at[index]) {
                ended = false;
                at[index] += 1;
                so_far.push(*step);
                descend(sequences, at, so_far, visit);
                so_far.pop();
                at[index] -= 1;
            }
        }
        if ended {
            visit(so_far);
        }
    }
    let mut at = vec![0; sequences.len()];
    descend(sequences, &mut at, so_far, visit);
}

/// Two writers on one aggregate; the third on none, on another or on the same.
const AGGREGATES: [[Option<u32>; 3]; 3] =
    [[Some(1), Some(1), None], [Some(1), Some(1), Some(2)], [Some(1), Some(1), Some(1)]];

/// Both polls live, or one of them dies.
const RELAYS: [[Step; 2]; 3] =
    [[Step::Poll, Step::Poll], [Step::PollAndDie, Step::Poll], [Step::Poll, Step::PollAndDie]];

fn explore<D: Delivery>(rule: impl Fn() -> D, relays: &[[Step; 2]]) -> Tally {
    let mut tally = Tally::default();
    let writers = (0..3).map(|writer| vec![Step::Begin(writer), Step::Stage(writer), Step::Commit(writer)]);
    for polls in relays {
        let sequences: Vec<Vec<Step>> = writers.clone().chain([polls.to_vec()]).collect();
        interleavings(&sequences, &mut Vec::new(), &mut |schedule| {
            for aggregates in AGGREGATES {
                for page in [1, 10] {
                    play(schedule, aggregates, rule(), page, &mut tally);
                }
            }
        });
    }
    tally
}

#[test]
fn windows_between_snapshots_lose_nothing_and_invert_nothing() {
    let tally = explore(Windows::new, &RELAYS);
    assert_eq!((tally.inverted, tally.lost), (0, 0), "{tally:?}");
    assert!(tally.schedules >= 36_960, "{tally:?}");
}

#[test]
fn the_same_schedules_find_the_order_by_transaction_wrong() {
    let tally = explore(|| ByTransaction((0, 0)), &RELAYS[..1]);
    assert!(tally.inverted > 0, "{tally:?}");
}

#[test]
fn the_same_schedules_find_windows_below_the_lowest_running_transaction_wrong() {
    let tally = explore(BelowLowestRunning::default, &RELAYS[..1]);
    assert!(tally.inverted > 0, "{tally:?}");
}
