//! Which events of a page may be on their way together, and what became of each.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use onefold_core::event::Aggregate;
use onefold_core::port::{OutgoingEvent, Publication};

use crate::client::{BATCH_BYTES_MAX, WAVE_BYTES_MAX};

/// Where a record goes: the records of a wave with one place are one batch.
pub(crate) type Place = (Arc<str>, i32);

/// An event of a page and how far it is.
#[derive(Debug)]
struct Item {
    outgoing: OutgoingEvent,
    aggregate: usize,
    place: Place,
    bytes: usize,
    batch_bytes_max: usize,
    company: Company,
    answer: Option<Publication>,
}

/// With whom a record may share its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Company {
    Others,
    /// With none: a batch with it was refused, and it is not known because of whom.
    Alone,
}

/// How many records of a key may be on their way at once, so that none is written without those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeysInWave {
    /// Many: they are in one batch, or in one transaction.
    InOneBatch,
    /// One: it is not known which batch a record is in.
    #[cfg_attr(not(feature = "rdkafka"), allow(dead_code, reason = "only rdkafka closes batches as it sees fit"))]
    One,
}

/// What is known of an event before it is sent.
#[derive(Debug)]
pub(crate) enum Judgement {
    /// It is to be sent.
    Send { place: Place, bytes: usize, batch_bytes_max: usize },
    /// It need not be.
    Answered(Publication),
}

/// Events on their way to their topics, those of one aggregate in their order.
#[derive(Debug, Default)]
pub(crate) struct Page {
    items: Vec<Item>,
    aggregates: HashMap<Aggregate, usize>,
    /// The events of each aggregate.
    events_of: Vec<Vec<usize>>,
    /// Aggregates of which an event was not published.
    stopped: HashSet<usize>,
}

impl Page {
    /// Adds an event behind those of its aggregate.
    pub(crate) fn push(&mut self, outgoing: OutgoingEvent, judgement: Judgement) {
        let next = self.aggregates.len();
        let aggregate = *self.aggregates.entry(outgoing.stored.event.aggregate.clone()).or_insert(next);
        if aggregate == next {
            self.events_of.push(Vec::new());
        }
        self.events_of[aggregate].push(self.items.len());
        let (place, bytes, batch_bytes_max, answer) = match judgement {
            Judgement::Send { place, bytes, batch_bytes_max } => (place, bytes, batch_bytes_max, None),
            Judgement::Answered(answer) => ((Arc::clone(&outgoing.destination), 0), 0, 0, Some(answer)),
        };
        let answer = if self.stopped.contains(&aggregate) { Some(Publication::NotSent) } else { answer };
        if answer.is_some() {
            self.stopped.insert(aggregate);
        }
        let company = Company::Others;
        self.items.push(Item { outgoing, aggregate, place, bytes, batch_bytes_max, company, answer });
    }

    /// The event at this place of the page, and its partition.
    pub(crate) fn event(&self, at: usize) -> (&OutgoingEvent, i32) {
        let item = &self.items[at];
        (&item.outgoing, item.place.1)
    }

    /// Whether this event has its answer.
    pub(crate) fn is_answered(&self, at: usize) -> bool {
        self.items[at].answer.is_some()
    }

    /// Whether nothing is left to send.
    pub(crate) fn is_done(&self) -> bool {
        self.items.iter().all(|item| item.answer.is_some())
    }

    /// The events that are sent next, in order: each place gets one batch, and each aggregate is in one batch.
    ///
    /// Never empty while something is left to send.
    pub(crate) fn next_wave(&self, keys: KeysInWave) -> Vec<usize> {
        let mut wave = Wave::new(keys);
        for (at, item) in self.items.iter().enumerate().filter(|(_, item)| item.answer.is_none()) {
            wave.offer(at, item);
        }
        wave.chosen
    }

    /// How many events each of these shares its batch with, itself included.
    pub(crate) fn companies(&self, wave: &[usize]) -> Vec<usize> {
        let mut batches: HashMap<&Place, usize> = HashMap::new();
        for at in wave {
            *batches.entry(&self.items[*at].place).or_default() += 1;
        }
        wave.iter().map(|at| batches[&self.items[*at].place]).collect()
    }

    /// The event was not refused by itself: it is tried again with no other one.
    pub(crate) fn isolate(&mut self, at: usize) {
        self.items[at].company = Company::Alone;
    }

    /// Gives an event its answer; where that is not `Published`, its aggregate stops.
    pub(crate) fn answer(&mut self, at: usize, answer: Publication) {
        let aggregate = self.items[at].aggregate;
        let stops = !matches!(answer, Publication::Published { .. });
        self.items[at].answer = Some(answer);
        if stops {
            self.stopped.insert(aggregate);
            for other in &self.events_of[aggregate] {
                self.items[*other].answer.get_or_insert(Publication::NotSent);
            }
        }
    }

    /// Nothing more is sent: whatever has no answer gets this one.
    pub(crate) fn end(&mut self, answer: &Publication) {
        for at in 0..self.items.len() {
            if self.items[at].answer.is_none() {
                self.answer(at, answer.clone());
            }
        }
    }

    /// What was published was so only in a transaction that is not committed: it is to be sent again.
    pub(crate) fn take_back(&mut self) {
        for item in &mut self.items {
            if matches!(item.answer, Some(Publication::Published { .. })) {
                item.answer = None;
            }
        }
    }

    /// The answers, in the order of the events.
    pub(crate) fn answers(self) -> Vec<Publication> {
        self.items.into_iter().map(|item| item.answer.unwrap_or(Publication::NotSent)).collect()
    }
}

/// A wave while it is put together.
struct Wave<'p> {
    keys: KeysInWave,
    chosen: Vec<usize>,
    /// The batch of each place: its bytes, and whether it takes more.
    batches: HashMap<&'p Place, (usize, Company)>,
    /// The batch that an aggregate is in.
    place_of: HashMap<usize, &'p Place>,
    /// Aggregates of which an event waits for the next wave.
    held: HashSet<usize>,
    bytes: usize,
}

impl<'p> Wave<'p> {
    fn new(keys: KeysInWave) -> Self {
        let (batches, place_of, held) = (HashMap::new(), HashMap::new(), HashSet::new());
        Self { keys, chosen: Vec::new(), batches, place_of, held, bytes: 0 }
    }

    fn offer(&mut self, at: usize, item: &'p Item) {
        if self.held.contains(&item.aggregate) {
            return;
        }
        if !self.fits(item) {
            self.held.insert(item.aggregate);
            return;
        }
        let (bytes, company) = self.batches.entry(&item.place).or_insert((0, item.company));
        *bytes += item.bytes;
        *company = item.company;
        self.place_of.insert(item.aggregate, &item.place);
        self.bytes += item.bytes;
        self.chosen.push(at);
    }

    fn fits(&self, item: &Item) -> bool {
        let beside = self.place_of.get(&item.aggregate);
        if beside.is_some_and(|place| self.keys == KeysInWave::One || **place != item.place) {
            return false;
        }
        if !self.chosen.is_empty() && self.bytes + item.bytes > WAVE_BYTES_MAX {
            return false;
        }
        let bytes_max = item.batch_bytes_max.min(BATCH_BYTES_MAX);
        self.batches.get(&item.place).is_none_or(|(bytes, company)| {
            *company == Company::Others && item.company == Company::Others && bytes + item.bytes <= bytes_max
        })
    }
}

#[cfg(test)]
mod tests;
