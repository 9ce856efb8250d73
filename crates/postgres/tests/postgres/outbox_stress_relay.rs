//! A relay that is killed and paused at random, as the stress test runs it: a simple loop over the port.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use onefold_core::outbox::{CursorStep, LaneCursor, Moved, WindowEnd};
use onefold_core::port::{LaneRequest, PollSize, RelayStore as _};
use onefold_testing::SeededRandom;

use crate::outbox_fixture::{found, payload, settlement};
use crate::outbox_stress::{Seen, StressRun, WindowKeeping};

const PAGE: usize = 3;
/// Kills and pauses of one run.
const FAULTS_MAX: usize = 30;
const LEASE: Duration = Duration::from_secs(1);
/// Steps of all relays together, after which what has not come is lost.
const STEPS_MAX: usize = 20_000;

/// The next events of a lane, with their numbers.
struct StressPage {
    cursor: LaneCursor,
    events: Vec<(i64, Seen)>,
    end: WindowEnd,
}

impl StressPage {
    fn last(&self) -> Option<i64> {
        self.events.last().map(|(seq, _)| *seq)
    }
}

/// One relay, and what it has in hand.
pub(crate) struct StressRelay {
    run: Arc<StressRun>,
    random: SeededRandom,
    holder: Arc<str>,
    cursors: Vec<LaneCursor>,
    /// Windows whose end is only remembered.
    remembered: HashMap<u16, LaneCursor>,
}

/// What a fault does to a relay.
enum Fault {
    None,
    Killed,
    Paused,
}

impl StressRelay {
    pub(crate) fn new(run: Arc<StressRun>, number: u64) -> Self {
        let random = SeededRandom::new(run.seed.wrapping_add(1_000 + number));
        Self {
            run,
            random,
            holder: Arc::from(format!("host/{number}")),
            cursors: Vec::new(),
            remembered: HashMap::new(),
        }
    }

    pub(crate) async fn relay(mut self) {
        let mut connection = self.run.connect().await;
        while !self.run.finished.load(Ordering::SeqCst) {
            let step = self.run.steps.fetch_add(1, Ordering::SeqCst);
            self.run.clock.advance(Duration::from_millis(5));
            self.hold().await;
            let pages = self.pages().await;
            if self.publish(&pages).await {
                self.settle(&pages).await;
            }
            if step > STEPS_MAX || self.run.complete(&mut connection).await {
                self.run.finished.store(true, Ordering::SeqCst);
            }
        }
    }

    async fn hold(&mut self) {
        let give_back = |lanes: Vec<u16>| LaneRequest {
            relay: self.run.spec.name.clone(),
            holder: Arc::clone(&self.holder),
            lease_for: LEASE,
            give_back: lanes,
        };
        let held = self.run.store.hold_lanes(give_back(Vec::new())).await.unwrap();
        let held = if held.surplus.is_empty() {
            held
        } else {
            self.run.store.hold_lanes(give_back(held.surplus)).await.unwrap()
        };
        let fences: HashMap<u16, u64> = held.cursors.iter().map(|cursor| (cursor.lane, cursor.fence)).collect();
        self.remembered.retain(|lane, cursor| fences.get(lane) == Some(&cursor.fence));
        let remembered = |cursor: LaneCursor| self.remembered.get(&cursor.lane).cloned().unwrap_or(cursor);
        self.cursors = held.cursors.into_iter().map(remembered).collect();
    }

    /// The next page of each lane, in a window that is stored by then.
    async fn pages(&mut self) -> Vec<StressPage> {
        let size = PollSize::Events(10_000);
        let poll = self.run.store.poll(self.run.spec.events.clone(), self.cursors.clone(), size).await.unwrap();
        let (mut steps, mut pages) = (Vec::new(), Vec::new());
        for (cursor, lane) in self.cursors.iter().zip(&poll.lanes) {
            let step = cursor.next(found(lane.events.len(), lane.unwanted), &poll.seen, Moved::LongAgo);
            let after = cursor.clone().after(&step);
            let read =
                lane.events.iter().take(PAGE).map(|(_, event)| {
                    (event.seq, (event.event.aggregate.id.to_string(), payload(event).parse().unwrap()))
                });
            let read: Vec<_> = read.collect();
            let end = if read.len() == lane.events.len() { WindowEnd::Reached } else { WindowEnd::Open };
            if !read.is_empty() {
                pages.push(StressPage { cursor: after.clone(), events: read, end });
            }
            match step {
                CursorStep::Wait | CursorStep::Publish => {}
                CursorStep::OpenWindow(_) if self.run.keeping == WindowKeeping::Remembered => {
                    self.remembered.insert(after.lane, after);
                }
                step => steps.push((cursor.clone(), step)),
            }
        }
        let opened: HashSet<u16> = steps.iter().map(|(cursor, _)| cursor.lane).collect();
        let moved = self.run.store.move_cursors(self.run.spec.name.clone(), steps).await.unwrap();
        pages.retain(|page: &StressPage| {
            let lane = page.cursor.lane;
            !opened.contains(&lane) || moved.contains(&lane)
        });
        pages
    }

    /// Sends pages in two parts; whether the relay is still there to settle them.
    async fn publish(&mut self, pages: &[StressPage]) -> bool {
        for part in 0..3 {
            match self.fault() {
                Fault::None => {}
                Fault::Paused => self.pause().await,
                Fault::Killed => {
                    self.kill(pages);
                    return false;
                }
            }
            for StressPage { events, .. } in pages.iter().filter(|_| part < 2) {
                let half = events.len() / 2;
                let sent = if part == 0 { &events[..half] } else { &events[half..] };
                self.run.topic.lock().unwrap().extend(sent.iter().map(|(_, seen)| seen.clone()));
            }
        }
        true
    }

    fn fault(&self) -> Fault {
        let spent = self.run.faults.load(Ordering::SeqCst) >= FAULTS_MAX;
        let fault = match self.random.draw() % 100 {
            0..6 if !spent => Fault::Killed,
            6..12 if !spent => Fault::Paused,
            _ => return Fault::None,
        };
        self.run.faults.fetch_add(1, Ordering::SeqCst);
        fault
    }

    /// Longer than every lease, while the others go on.
    async fn pause(&self) {
        self.run.clock.advance(LEASE * 2);
        let until = self.run.steps.load(Ordering::SeqCst) + 6;
        for _ in 0..200 {
            if self.run.steps.load(Ordering::SeqCst) >= until || self.run.finished.load(Ordering::SeqCst) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Comes back as another process.
    fn kill(&mut self, pages: &[StressPage]) {
        self.run.duplicates_max.fetch_add(pages.len() * PAGE, Ordering::SeqCst);
        self.run.clock.advance(LEASE * 2);
        self.holder = Arc::from(format!("{}'", self.holder));
        self.remembered.clear();
        self.cursors.clear();
    }

    async fn settle(&mut self, pages: &[StressPage]) {
        if self.run.keeping == WindowKeeping::Remembered {
            return self.settle_remembered(pages).await;
        }
        let settled = pages.iter().map(|page| settlement(&page.cursor, page.last(), page.end)).collect();
        let settling = self.run.store.settle(self.run.spec.name.clone(), settled, Vec::new());
        // Killed while it waits for the answer: nobody learns whether the page was settled.
        if matches!(self.fault(), Fault::Killed) {
            let _ = tokio::time::timeout(Duration::ZERO, settling).await;
            return self.kill(pages);
        }
        let moved = settling.await.unwrap();
        let fenced = pages.iter().filter(|page| !moved.contains(&page.cursor.lane)).count();
        self.run.duplicates_max.fetch_add(fenced * PAGE, Ordering::SeqCst);
    }

    /// Moves on at the end of a window; before, only this process knows how far it has come.
    async fn settle_remembered(&mut self, pages: &[StressPage]) {
        let mut steps = Vec::new();
        for page in pages {
            let Some(remembered) = self.remembered.get_mut(&page.cursor.lane) else { continue };
            remembered.pos = page.last().unwrap_or(0);
            if page.end == WindowEnd::Reached {
                let done = self.remembered.remove(&page.cursor.lane).unwrap();
                steps.push((done, CursorStep::CloseWindow));
            }
        }
        let asked = steps.len();
        let moved = self.run.store.move_cursors(self.run.spec.name.clone(), steps).await.unwrap();
        self.run.duplicates_max.fetch_add((asked - moved.len()) * PAGE, Ordering::SeqCst);
    }
}
