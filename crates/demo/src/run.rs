//! One side, from the first delivery until nothing is left to deliver.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use onefold_core::error::UNEXPECTED;
use onefold_core::{Error, Result};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::child::{ChildEvent, ChildExit, ChildProcess};
use crate::ledger_location::LedgerLocation;
use crate::plan::Plan;
use crate::queue::{HandedDelivery, Queue};
use crate::request::{Request, Side};
use crate::wire::Addresses;
use crate::word::Word;

/// Worker processes a side has.
pub(super) const SLOTS: usize = 2;
/// How often the queue looks for what is due.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// A request that has no last word after this long looks failed to an operator.
const LOOKS_FAILED_AFTER: Duration = Duration::from_millis(300);
/// How long an operator takes to retry what was given up.
const OPERATOR_TAKES: Duration = Duration::from_millis(700);
/// Workers that may end without being told to; more are a defect.
const DEATHS_MAX: u32 = 3;
/// How long workers may take to end what is in flight.
const ENDING_MAX: Duration = Duration::from_secs(30);

/// What a side is run with.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) plan: Plan,
    pub(super) seed: u64,
    pub(super) requests: u32,
    pub(super) folder: PathBuf,
    pub(super) location: LedgerLocation,
    pub(super) addresses: Addresses,
}

/// What came of a side, by its own account.
#[derive(Debug, Default)]
pub(super) struct SideResult {
    /// The last word on each request.
    pub(super) words: HashMap<Request, Word>,
    pub(super) refused: u64,
    pub(super) killed: u32,
    pub(super) operator_retries: u32,
    pub(super) took: Duration,
}

/// Something that happened to a side.
#[derive(Debug)]
pub(super) enum Event {
    Child(usize, ChildEvent),
    /// The provider asks for a worker to be killed.
    Kill(usize),
}

/// A side at work.
pub(super) struct Run {
    side: Side,
    setting: Setting,
    queue: Queue,
    slots: Vec<Slot>,
    happened: mpsc::UnboundedSender<Event>,
    events: mpsc::UnboundedReceiver<Event>,
    /// Requests that have their last word, for the screen.
    settled: Arc<AtomicU32>,
    /// Requests in the order in which they were first handed out, for the operator who watches.
    watched: VecDeque<(Instant, Request)>,
    /// How often the operator pressed retry.
    pressed: HashMap<Request, u32>,
    deaths: u32,
    ran: SideResult,
}

#[derive(Default)]
struct Slot {
    life: Option<ChildProcess>,
    living: Option<JoinHandle<()>>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(living) = &self.living {
            living.abort();
        }
    }
}

impl Run {
    pub(super) fn new(side: Side, setting: &Setting) -> Self {
        // Unbounded, yet never long: a worker has few deliveries, and says a few lines for each.
        let (happened, events) = mpsc::unbounded_channel();
        Self {
            side,
            queue: Queue::of(setting.plan, setting.requests, SLOTS),
            setting: setting.clone(),
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
            happened,
            events,
            settled: Arc::default(),
            watched: VecDeque::new(),
            pressed: HashMap::new(),
            deaths: 0,
            ran: SideResult::default(),
        }
    }

    /// Where to say what happens to this side.
    pub(super) fn ear(&self) -> mpsc::UnboundedSender<Event> {
        self.happened.clone()
    }

    /// How many requests have their last word, as it changes.
    pub(super) fn settled(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.settled)
    }

    /// Delivers everything, again and again where need be, until each request has its last word.
    pub(super) async fn finish(mut self) -> Result<SideResult> {
        let started = Instant::now();
        for slot in 0..SLOTS {
            self.start(slot)?;
        }
        while !self.queue.is_empty() {
            self.hand_out().await;
            self.retry_what_looks_failed(Instant::now());
            tokio::select! {
                Some(event) = self.events.recv() => self.heed(event)?,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
        self.ran.took = started.elapsed();
        self.end().await?;
        Ok(std::mem::take(&mut self.ran))
    }

    async fn hand_out(&mut self) {
        let slots = &self.slots;
        while let Some(handed) = self.queue.hand_out(Instant::now(), |slot| slots[slot].life.is_some()) {
            let HandedDelivery { slot, ticket, request, delivery } = handed;
            if let Some(life) = &slots[slot].life {
                life.say(format!("{ticket} {request} {delivery}")).await;
            }
            if delivery == 1 {
                self.watched.push_back((Instant::now(), request));
            }
        }
    }

    fn heed(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Child(slot, ChildEvent::Line(line)) => {
                self.listen(slot, &line);
                Ok(())
            }
            Event::Child(slot, ChildEvent::Ended(how)) => {
                self.slots[slot] = Slot::default();
                self.queue.died(slot);
                self.bury(how)?;
                self.start(slot)
            }
            Event::Kill(slot) => {
                if let Some(life) = self.slots.get(slot).and_then(|slot| slot.life.as_ref()) {
                    life.kill();
                }
                Ok(())
            }
        }
    }

    fn listen(&mut self, slot: usize, line: &str) {
        if line == "refused" {
            self.ran.refused += 1;
            return;
        }
        let heard = line.split_once(' ').and_then(|(ticket, word)| Some((ticket.parse().ok()?, Word::parse(word)?)));
        let Some((ticket, word)) = heard else { return };
        if let Some(request) = self.queue.ended(slot, ticket) {
            self.believe(request, word);
        }
    }

    fn believe(&mut self, request: Request, word: Word) {
        let now = Instant::now();
        match word {
            Word::Later(wait) => return self.queue.again(request, now, wait),
            Word::Failed | Word::Unknown => self.press_retry(request, now, OPERATOR_TAKES),
            Word::Done | Word::Rejected => {}
        }
        let last = self.ran.words.entry(request).or_insert(word);
        // Another copy that gave up does not undo what one has done.
        if !matches!(last, Word::Done | Word::Rejected) {
            *last = word;
        }
        self.settled.store(u32::try_from(self.ran.words.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// An operator does not wait for ever, although nothing has failed yet.
    fn retry_what_looks_failed(&mut self, now: Instant) {
        while let Some((_, request)) = self.watched.pop_front_if(|(since, _)| *since + LOOKS_FAILED_AFTER <= now) {
            if !self.ran.words.contains_key(&request) {
                self.press_retry(request, now, Duration::ZERO);
            }
        }
    }

    /// The operator's button: one more delivery, if the plan has it pressed.
    fn press_retry(&mut self, request: Request, now: Instant, wait: Duration) {
        let pressed = self.pressed.entry(request).or_default();
        if self.setting.plan.operator_retries(request, *pressed) {
            *pressed += 1;
            self.ran.operator_retries += 1;
            self.queue.again(request, now, wait);
        }
    }

    fn bury(&mut self, how: ChildExit) -> Result<()> {
        match how {
            ChildExit::Killed => self.ran.killed += 1,
            ChildExit::Alone => self.deaths += 1,
        }
        if self.deaths > DEATHS_MAX {
            let detail = format!("workers of the {} side end on their own", self.side);
            let hint = "run it again with --keep, and read the logs in that folder";
            return Err(Error::new(UNEXPECTED, detail).hint(hint));
        }
        Ok(())
    }

    fn start(&mut self, slot: usize) -> Result<()> {
        let Setting { seed, folder, location, addresses, .. } = &self.setting;
        let args = [
            ("--side", self.side.name().into()),
            ("--slot", slot.to_string().into()),
            ("--seed", seed.to_string().into()),
            ("--folder", folder.clone().into_os_string()),
            ("--serves", addresses.serves.to_string().into()),
            ("--refuses", addresses.refuses.to_string().into()),
        ];
        let args: Vec<OsString> = std::iter::once("demo-worker".into())
            .chain(args.into_iter().flat_map(|(name, value): (_, OsString)| [name.into(), value]))
            .chain(location.argument().into_iter().flat_map(|(name, value)| [name.into(), value.into()]))
            .collect();
        let happened = self.happened.clone();
        let log = folder.join(format!("{}-{slot}.log", self.side));
        let (life, living) = ChildProcess::start(&args, location.variable(), &log, move |heard| {
            // Nobody listens any more when the side has ended.
            let _ = happened.send(Event::Child(slot, heard));
        })
        .map_err(|cause| Error::new(UNEXPECTED, format!("no worker can be started: {cause}")).caused_by(cause))?;
        self.slots[slot] = Slot { life: Some(life), living: Some(living) };
        Ok(())
    }

    /// Closes the workers' input and waits until they have ended.
    async fn end(&mut self) -> Result<()> {
        for slot in &mut self.slots {
            slot.life = None;
        }
        let ending = async {
            for slot in &mut self.slots {
                if let Some(living) = slot.living.take() {
                    let _ = living.await;
                }
            }
        };
        tokio::time::timeout(ENDING_MAX, ending)
            .await
            .map_err(|_| Error::new(UNEXPECTED, format!("a worker of the {} side does not end", self.side)))
    }
}
