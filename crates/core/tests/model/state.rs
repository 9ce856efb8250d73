//! What the world looks like at one moment: store, workers, wire, provider, reconciler.

use std::collections::{BTreeMap, BTreeSet};

use onefold_core::Timestamp;
use onefold_core::incident::Incident;
use onefold_core::ledger::{AttemptId, Entry, PastAttempt, Status, Transition};

use crate::scenario::{Scenario, at};

/// One moment. What tells two of them apart is in `view`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) tick: u8,
    pub(crate) store: Store,
    pub(crate) workers: Vec<Worker>,
    /// How many more things may go wrong.
    pub(crate) mishaps: u8,
    pub(crate) provider: Provider,
    /// A question put to the provider whose answer is not in the ledger yet.
    pub(crate) question: Option<Pending>,
    /// Claims that a slow ledger has not decided yet, and whose connection is dead.
    pub(crate) stalled: BTreeSet<AttemptId>,
    /// Grants of which some server knows that an answer was not handed over, and has not said so yet.
    pub(crate) undelivered: BTreeSet<Grant>,
    /// The fence whose holder is proved dead.
    pub(crate) dead: Option<u64>,
    /// Whether anybody ever sent anything, crashed, or let a lease pass.
    pub(crate) touched: bool,
    /// A promise about a single step that was broken on the way here.
    pub(crate) broken: Option<&'static str>,
}

impl State {
    pub(crate) fn start(scenario: &Scenario) -> Self {
        let worker = Worker { attempts_left: scenario.attempts_each, phase: Phase::Idle };
        Self {
            tick: 0,
            store: Store::default(),
            workers: vec![worker; usize::from(scenario.workers)],
            mishaps: scenario.mishaps,
            provider: Provider::default(),
            question: None,
            stalled: BTreeSet::new(),
            undelivered: BTreeSet::new(),
            dead: None,
            touched: false,
            broken: None,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        at(self.tick)
    }

    pub(crate) fn entry(&self) -> Option<&Entry> {
        self.store.entry.as_ref()
    }

    pub(crate) fn status(&self) -> Option<Status> {
        self.entry().map(|entry| entry.status)
    }

    /// Writes a decision as a store would, and notes what no single write may do.
    pub(crate) fn commit(&mut self, transition: Transition) {
        let before = self.store.entry.clone();
        self.store.write(transition);
        let (Some(before), Some(after)) = (before, self.store.entry.as_ref()) else {
            return;
        };
        if after.fence < before.fence {
            self.broken = Some("the fence went back");
        }
        let completed = before.status == Status::Completed;
        if completed && (after.status != Status::Completed || after.result != before.result) {
            self.broken = Some("a stored result changed");
        }
        let taken_over = after.fence > before.fence && before.status == Status::Started;
        if taken_over && at(self.tick) < before.lease_until {
            self.broken = Some("a live lease was taken over");
        }
    }
}

/// The rows of one operation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Store {
    pub(crate) entry: Option<Entry>,
    pub(crate) past: BTreeMap<u64, PastAttempt>,
    pub(crate) incident: Option<Incident>,
}

impl Store {
    fn write(&mut self, mut transition: Transition) {
        let changes_incident = transition.incident.is_some();
        let written = transition.settle_incident(self.incident.clone());
        if changes_incident {
            self.incident = written.filter(Incident::is_open);
        }
        if let Some(attempt) = transition.past {
            self.past.insert(attempt.fence, attempt);
        }
        self.entry = Some(transition.entry);
    }
}

/// A process that performs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Worker {
    pub(crate) attempts_left: u8,
    pub(crate) phase: Phase,
}

/// Where a worker stands; it may pause anywhere for as long as time lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Phase {
    /// Free to claim.
    Idle,
    /// Its claim was committed; the answer never came.
    Unanswered(AttemptId),
    /// Granted until this deadline, and nothing sent.
    Holding(Grant, Timestamp),
    /// Its last check passed and the first byte went out.
    Sent(Grant, ProviderReply),
    /// It recorded; whether the ledger's answer came back is open.
    Reported(Grant, WorkerReport),
    /// It released; whether the ledger's answer came back is open.
    GaveBack(Grant),
}

impl Phase {
    /// The grant under which it may still speak.
    pub(crate) fn grant(&self) -> Option<Grant> {
        match self {
            Self::Holding(grant, _) | Self::Sent(grant, _) | Self::Reported(grant, _) | Self::GaveBack(grant) => {
                Some(*grant)
            }
            Self::Idle | Self::Unanswered(_) => None,
        }
    }

    /// The grant under which it may be acting.
    pub(crate) fn acting(&self) -> Option<Grant> {
        match self {
            Self::Holding(grant, _) | Self::Sent(grant, _) => Some(*grant),
            Self::Idle | Self::Unanswered(_) | Self::Reported(..) | Self::GaveBack(_) => None,
        }
    }
}

/// What a worker knows of its grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Grant {
    pub(crate) fence: u64,
    pub(crate) attempt_id: AttemptId,
}

/// What the provider answered a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ProviderReply {
    /// Nothing yet, or the answer was lost.
    Nothing,
    /// It took hold.
    Done,
    /// It was not taken, and nothing took hold.
    TurnedAway,
}

/// What a worker records; always true as far as it can know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum WorkerReport {
    Completed,
    Unknown,
    /// This attempt did not take hold; it may be tried again.
    NotApplied,
    /// This attempt did not take hold, and trying again as it is makes no sense.
    GaveUp,
}

/// The other side.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Provider {
    /// Requests sent and not arrived, by fence, with the tick of the last check.
    pub(crate) wire: BTreeMap<u64, u8>,
    /// How many effects there are.
    pub(crate) effects: u8,
    /// When the effect behind the remembered key was made.
    pub(crate) key_since: Option<u8>,
    /// Attempts that it refuses from now on.
    pub(crate) voided: BTreeSet<u64>,
}

/// An answer on its way from the provider to the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Pending {
    pub(crate) fence: u64,
    pub(crate) asked_at: Timestamp,
    pub(crate) took_hold: bool,
}
