//! What the world looks like at one moment: store, workers, wire, provider, reconciler.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use onefold_core::Timestamp;
use onefold_core::effect::Policy;
use onefold_core::incident::Incident;
use onefold_core::ledger::{Attempt, AttemptId, Entry, Status, Transition};

use crate::scenario::at;

/// One moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) tick: u8,
    pub(crate) store: Store,
    pub(crate) workers: Vec<Worker>,
    pub(crate) provider: Provider,
    /// A question put to the provider whose answer is not in the ledger yet.
    pub(crate) question: Option<Pending>,
    /// The fence whose holder is proved dead.
    pub(crate) dead: Option<u64>,
    /// Whether a holder ever crashed or let its lease pass.
    pub(crate) fell_silent: bool,
    /// A promise about a single step that was broken on the way here.
    pub(crate) broken: Option<&'static str>,
}

impl State {
    pub(crate) fn start(workers: u8, attempts_each: u8) -> Self {
        let worker = Worker { attempts_left: attempts_each, phase: Phase::Idle };
        Self {
            tick: 0,
            store: Store::default(),
            workers: vec![worker; usize::from(workers)],
            provider: Provider::default(),
            question: None,
            dead: None,
            fell_silent: false,
            broken: None,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        at(self.tick)
    }

    pub(crate) fn entry(&self) -> Option<&Entry> {
        self.store.entry.as_ref().map(|row| &row.0)
    }

    pub(crate) fn status(&self) -> Option<Status> {
        self.entry().map(|entry| entry.status)
    }

    /// Writes a decision as a store would, and notes what no single write may do.
    pub(crate) fn commit(&mut self, transition: Transition) {
        let before = self.store.entry.clone();
        self.store.write(transition);
        let (Some(Row(before)), Some(Row(after))) = (before, self.store.entry.as_ref()) else {
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
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Store {
    pub(crate) entry: Option<Row>,
    pub(crate) past: BTreeMap<u64, Kept>,
    pub(crate) incident: Option<Open>,
}

impl Store {
    fn write(&mut self, mut transition: Transition) {
        let changes_incident = transition.incident.is_some();
        let written = transition.settle_incident(self.incident.clone().map(|open| open.0));
        if changes_incident {
            self.incident = written.filter(Incident::is_open).map(Open);
        }
        if let Some(attempt) = transition.past {
            self.past.insert(attempt.fence, Kept(attempt));
        }
        self.entry = Some(Row(transition.entry));
    }
}

/// A stored entry. What is written for people only (who, where, when it was last touched) does not
/// tell two states apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row(pub(crate) Entry);

impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let entry = &self.0;
        (entry.status, entry.fence, entry.attempt_id, entry.deadline, entry.attempts, entry.side_effect).hash(state);
        (entry.next_attempt_at, entry.escalate_at, entry.next_ask_at, entry.asks).hash(state);
        (&entry.recorded, entry.settled_by, entry.category, &entry.result).hash(state);
        (entry.incident.is_some(), entry.completed_at.is_some()).hash(state);
        if entry.status == Status::Started {
            entry.lease_until.hash(state);
        }
        if matches!(entry.contract.policy(), Policy::SameKey { .. }) {
            entry.first_attempt_at.hash(state);
        }
    }
}

/// A kept attempt. Only what a rule reads tells two states apart; when it ended is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept(pub(crate) Attempt);

impl Hash for Kept {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0.fence, self.0.attempt_id, self.0.ending, self.0.status, self.0.recorded).hash(state);
    }
}

/// An open incident. How often it was seen, and when, is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Open(pub(crate) Incident);

impl Hash for Open {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.error_code.hash(state);
        for cause in &self.0.causes {
            cause.code.hash(state);
        }
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
    /// Granted, and nothing sent.
    Holding(Grant),
    /// Its last check passed and the first byte went out.
    Sent(Grant, Heard),
    /// It recorded; whether the ledger's answer came back is open.
    Reported(Grant, Said),
    /// It released; whether the ledger's answer came back is open.
    GaveBack(Grant),
}

impl Phase {
    /// The grant under which it may be acting.
    pub(crate) fn acting(&self) -> Option<Grant> {
        match self {
            Self::Holding(grant) | Self::Sent(grant, _) => Some(*grant),
            Self::Idle | Self::Unanswered(_) | Self::Reported(..) | Self::GaveBack(_) => None,
        }
    }
}

/// What a worker knows of its grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Grant {
    pub(crate) fence: u64,
    pub(crate) attempt_id: AttemptId,
    pub(crate) deadline: Timestamp,
}

/// What the provider answered a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Heard {
    /// Nothing yet, or the answer was lost.
    Nothing,
    /// It took hold.
    Done,
    /// It was not taken, and nothing took hold.
    TurnedAway,
}

/// What a worker records; always true as far as it can know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Said {
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
    /// The attempts of which each made an effect.
    pub(crate) effects: BTreeSet<u64>,
    /// When the effect behind the remembered key was made.
    pub(crate) key_since: Option<u8>,
    /// Attempts that it refuses from now on.
    pub(crate) voided: BTreeSet<u64>,
    /// Whether anybody ever sent anything.
    pub(crate) reached: bool,
}

/// An answer on its way from the provider to the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Pending {
    pub(crate) fence: u64,
    pub(crate) asked_at: Timestamp,
    pub(crate) took_hold: bool,
}
