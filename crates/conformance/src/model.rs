//! A store of plain maps that applies the same rules: what every other store is compared with.
//!
//! It is as simple as it can be: no indexes, no batches, no files; whatever it does at all, it does
//! under one lock.

mod announcements;
mod incidents;
mod maintenance;
mod prune;
mod read;
mod registry;
mod write;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onefold_core::Timestamp;
use onefold_core::clock::{ClockHistory, ClockWatch, Confirmation};
use onefold_core::error::{DATABASE_IN_USE, Error, Result};
use onefold_core::fingerprint::{FingerprintKey, KeyId, Keyring};
use onefold_core::incident::Incident;
use onefold_core::ledger::{Entry, Note, PastAttempt, Transition};
use onefold_core::operation::{KindName, OperationKey};
use onefold_core::port::{ApiToken, BoxFuture, Clock, InstallationLock, Random, Store, StoredDeclaration};

use crate::harness::Harness;

/// A store in memory. Clones share what it holds.
#[derive(Clone)]
pub struct Model {
    clock: Arc<dyn Clock>,
    keyring: Arc<Keyring>,
    data: Arc<Mutex<Data>>,
    /// What this opening of it has seen of the time.
    watch: Arc<Mutex<ClockWatch>>,
}

/// What the model remembers.
#[derive(Default)]
struct Data {
    /// The highest time seen, and the monotonic clock then.
    last: Option<(Timestamp, std::time::Duration)>,
    /// What is known of the time.
    history: Option<ClockHistory>,
    seq: i64,
    entries: HashMap<OperationKey, (i64, Entry)>,
    attempts: BTreeMap<(OperationKey, u64), PastAttempt>,
    notes: Vec<(OperationKey, Note)>,
    /// By sequence; the one with an id keeps its place when it changes.
    incidents: BTreeMap<i64, Incident>,
    held: HashSet<String>,
    kinds: BTreeMap<KindName, StoredDeclaration>,
    tokens: BTreeMap<String, ApiToken>,
    told: Vec<announcements::AnnouncedIncident>,
    turns: announcements::Turns,
}

impl Model {
    /// A model that shares these keys.
    pub fn new(clock: Arc<dyn Clock>, keyring: Arc<Keyring>) -> Self {
        Self::on(clock, keyring, Arc::default())
    }

    /// The model that this data belongs to, opened now.
    fn on(clock: Arc<dyn Clock>, keyring: Arc<Keyring>, data: Arc<Mutex<Data>>) -> Self {
        let (now, steady) = (clock.now(), clock.boot());
        let begins = ClockHistory { confirmed: now, candidate: None };
        let history = *data.lock().unwrap_or_else(PoisonError::into_inner).history.get_or_insert(begins);
        Self { clock, keyring, data, watch: Arc::new(Mutex::new(ClockWatch::begin(history, now, steady))) }
    }

    fn look_at_clock(&self) -> Confirmation {
        let mut data = self.data();
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = ClockHistory { confirmed: self.clock.now(), candidate: None };
        let look = watch.look(data.history.unwrap_or(begins), self.clock.now(), self.clock.boot());
        (data.history, *watch) = (Some(look.history), look.watch);
        look.confirmation
    }

    fn data(&self) -> MutexGuard<'_, Data> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time that never goes back.
    fn now(&self, data: &mut Data) -> Timestamp {
        let monotonic = self.clock.monotonic();
        let shown = self.clock.now();
        let now = data.last.map_or(shown, |(at, then)| shown.max(at.plus(monotonic.saturating_sub(then))));
        data.last = Some((now, monotonic));
        now
    }
}

impl Data {
    fn entry(&self, key: &OperationKey) -> Option<&Entry> {
        self.entries.get(key).map(|(_, entry)| entry)
    }

    fn next_seq(&mut self) -> i64 {
        self.seq += 1;
        self.seq
    }

    /// Everything that one decision writes.
    fn carry_out(&mut self, mut transition: Transition) -> Entry {
        let key = transition.entry.key.clone();
        if transition.incident.is_some()
            && let Some(incident) = transition.settle_incident(self.open_incident(&key))
        {
            self.write_incident(incident);
        }
        if let Some(past) = transition.past {
            self.keep_attempt(past);
        }
        for note in transition.notes {
            self.notes.push((key.clone(), note));
        }
        let seq = self.entries.get(&key).map(|(seq, _)| *seq);
        let seq = seq.unwrap_or_else(|| self.next_seq());
        self.entries.insert(key, (seq, transition.entry.clone()));
        transition.entry
    }

    fn open_incident(&self, key: &OperationKey) -> Option<Incident> {
        self.incidents.values().find(|incident| incident.is_open() && is_of(incident, key)).cloned()
    }

    fn write_incident(&mut self, incident: Incident) {
        let known = self.incidents.iter().find(|(_, known)| known.id == incident.id).map(|(seq, _)| *seq);
        let seq = known.unwrap_or_else(|| self.next_seq());
        self.incidents.insert(seq, incident);
    }

    /// What is known later of an attempt replaces what was known before.
    fn keep_attempt(&mut self, attempt: PastAttempt) {
        self.attempts.insert((attempt.key.clone(), attempt.fence), attempt);
    }
}

fn is_of(incident: &Incident, key: &OperationKey) -> bool {
    incident.operation_key().as_ref() == Some(key)
}

/// An installation's name, for as long as it lives.
struct Name {
    data: Arc<Mutex<Data>>,
    name: String,
}

impl Drop for Name {
    fn drop(&mut self) {
        self.data.lock().unwrap_or_else(PoisonError::into_inner).held.remove(&self.name);
    }
}

impl Store for Model {
    fn name(&self) -> &'static str {
        "model"
    }

    fn keyring(&self) -> Arc<Keyring> {
        Arc::clone(&self.keyring)
    }

    fn lock_installation(&self, installation: &str) -> Result<InstallationLock> {
        if !self.data().held.insert(installation.to_owned()) {
            return Err(Error::new(DATABASE_IN_USE, format!("somebody runs as {installation:?}")));
        }
        Ok(InstallationLock::Alone(Box::new(Name { data: Arc::clone(&self.data), name: installation.to_owned() })))
    }

    fn remember(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn probe(&self) -> BoxFuture<'_, Result<()>> {
        self.remember()
    }

    fn finish(&self) -> BoxFuture<'_, Result<()>> {
        self.remember()
    }
}

/// A model that stays when its store is closed, so that the suite runs on it too.
#[derive(Default)]
pub struct ModelHarness {
    data: Arc<Mutex<Data>>,
}

impl Harness for ModelHarness {
    type Store = Model;

    async fn fresh() -> Self {
        Self::default()
    }

    async fn open(&self, clock: Arc<dyn Clock>, _random: Arc<dyn Random>) -> Model {
        let keyring = Arc::new(Keyring::new(FingerprintKey::new(KeyId(1), [7; 32]), Vec::new()));
        // A monotonic clock begins anew with every process; the highest time does not.
        let data = Arc::clone(&self.data);
        let mut held = data.lock().unwrap_or_else(PoisonError::into_inner);
        held.last = held.last.map(|(at, _)| (at, clock.monotonic()));
        drop(held);
        Model::on(clock, keyring, data)
    }
}
