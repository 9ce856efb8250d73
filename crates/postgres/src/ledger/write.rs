//! Claim, record, renew, release: fresh operations are inserted, known grants settled, and only the rest is read,
//! decided, locked and decided again.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use onefold_core::error::{ErrorClass, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::ledger::{self, Claim, Decision, Entry, Note, ResolveRequest, Resolved};
use onefold_core::operation::OperationKey;
use onefold_core::port::{BoxFuture, CommitPoint, LedgerWrite, Step, StepAnswer};
use onefold_core::{Error, Result, Timestamp};
use sqlx::PgConnection;

use crate::Postgres;
use crate::connection::RetryLoop;
use crate::error::translate;
use crate::ledger::fast_path::FastPath;
use crate::ledger::row;
use crate::ledger::transition::{LockedElsewhere, LockedRows, add_note};

/// When an operation that somebody's own transaction is at is worth asking for again.
const BUSY_FOR: Duration = Duration::from_millis(250);

impl LedgerWrite for Postgres {
    fn act(&self, steps: Arc<Vec<Step>>) -> BoxFuture<'static, Result<Vec<Result<StepAnswer>>>> {
        // Not in a task of its own, which would cost a lone caller: whatever is cut short here leaves no transaction open.
        let store = self.clone();
        Box::pin(async move { store.commit(&steps).await })
    }

    /// While one batch is on its way to the disk the next is written: two keep a server busy.
    fn batches_in_flight_max(&self) -> usize {
        2
    }

    fn resolve(&self, requests: Vec<ResolveRequest>) -> BoxFuture<'_, Result<Vec<Result<Resolved>>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let mut tries = store.tries_until_commit();
            loop {
                match store.answered(store.resolve_all(&requests, &mut tries)).await {
                    Err(error) if tries.again(&error).await => {}
                    ended => return ended.map_err(|error| tries.told(error)),
                }
            }
        }))
    }

    fn append_audit(&self, key: OperationKey, note: Note) -> BoxFuture<'_, Result<()>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let adding = async {
                let mut transaction = store.inner.connected.begin().await?;
                add_note(&mut transaction, &store.inner.sql, &key, &note).await?;
                transaction.commit().await.map_err(translate)
            };
            store.answered(adding).await
        }))
    }
}

impl Postgres {
    /// Everything that is lost on the way is asked for again: attempt ids make that safe.
    async fn commit(&self, steps: &[Step]) -> Result<Vec<Result<StepAnswer>>> {
        self.inner.track.check()?;
        let granted = self.take_granted(steps);
        let mut tries = self.tries();
        loop {
            let mut batch = Batch::of(self, steps, &granted);
            let ended = self.answered(batch.carry_out()).await;
            match ended {
                Ok(()) => return batch.answers(),
                Err(error) if tries.again(&error).await => {}
                Err(error) => return batch.answers_before(&error),
            }
        }
    }

    /// The grants of this process that these steps record.
    fn take_granted(&self, steps: &[Step]) -> HashMap<OperationKey, Entry> {
        let mut granted = self.inner.granted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = HashMap::new();
        for step in steps {
            if let Step::Record(request) = step
                && let Some(entry) = granted.take(request)
            {
                taken.insert(request.key.clone(), entry);
            }
        }
        taken
    }
}

/// A batch in flight.
struct Batch<'a> {
    store: &'a Postgres,
    steps: &'a [Step],
    granted: &'a HashMap<OperationKey, Entry>,
    answers: Vec<Option<Result<StepAnswer>>>,
    /// Steps without an answer, by operation in the order in which rows are locked, each in the order they came.
    waiting: BTreeMap<OperationKey, VecDeque<usize>>,
    /// Operations that exist, as far as this batch has seen.
    known: HashSet<OperationKey>,
    /// Operations that somebody's own transaction is at.
    busy: HashSet<OperationKey>,
    /// What this batch granted for the first time.
    fresh: Vec<Entry>,
}

impl<'a> Batch<'a> {
    fn of(store: &'a Postgres, steps: &'a [Step], granted: &'a HashMap<OperationKey, Entry>) -> Self {
        let mut waiting: BTreeMap<OperationKey, VecDeque<usize>> = BTreeMap::new();
        for (index, step) in steps.iter().enumerate() {
            waiting.entry(step.key().clone()).or_default().push_back(index);
        }
        Self {
            store,
            steps,
            granted,
            answers: steps.iter().map(|_| None).collect(),
            waiting,
            known: HashSet::new(),
            busy: HashSet::new(),
            fresh: Vec::new(),
        }
    }

    async fn carry_out(&mut self) -> Result<()> {
        while !self.waiting.is_empty() {
            self.write_fresh().await?;
            self.decide_rest().await?;
        }
        Ok(())
    }

    /// Every answer.
    fn answers(self) -> Result<Vec<Result<StepAnswer>>> {
        let unanswered = || Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a step of a batch was left without an answer");
        self.store.inner.granted.lock().unwrap_or_else(PoisonError::into_inner).keep(self.fresh);
        self.answers.into_iter().map(|answer| answer.ok_or_else(unanswered)).collect()
    }

    /// What was committed before the store failed is answered; a failure that lies in a step is the batch's own.
    fn answers_before(self, error: &Error) -> Result<Vec<Result<StepAnswer>>> {
        let of_the_store = matches!(
            error.code().descriptor().class,
            ErrorClass::Contention | ErrorClass::Dependency | ErrorClass::Operational
        );
        if !of_the_store || self.answers.iter().all(Option::is_none) {
            return Err(error.share());
        }
        Ok(self.answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(error.share()))).collect())
    }

    /// The next step of every operation.
    fn heads(&self) -> impl Iterator<Item = (&OperationKey, &'a Step)> {
        self.waiting.iter().filter_map(|(key, steps)| Some((key, &self.steps[*steps.front()?])))
    }

    /// The steps of one operation.
    fn steps_of(&self, key: &OperationKey) -> Vec<&'a Step> {
        self.waiting.get(key).into_iter().flatten().map(|index| &self.steps[*index]).collect()
    }

    /// Answers the next step of an operation.
    fn answer(&mut self, key: &OperationKey, answer: Result<StepAnswer>) {
        let Some(steps) = self.waiting.get_mut(key) else { return };
        if let Some(index) = steps.pop_front() {
            self.answers[index] = Some(answer);
        }
        if steps.is_empty() {
            self.waiting.remove(key);
        }
    }

    /// Grants what is absent and completes what was granted here; most steps need only this.
    async fn write_fresh(&mut self) -> Result<()> {
        let now = self.store.inner.clock.now();
        let mut fresh = FastPath::default();
        for (key, step) in self.heads() {
            match step {
                Step::Claim(request) if !self.known.contains(key) => fresh.claim(request),
                Step::Record(request) if !self.known.contains(key) => {
                    if let Some(before) = self.granted.get(key) {
                        fresh.record(before, request, now);
                    }
                }
                Step::Claim(_) | Step::Record(_) | Step::Renew(_) | Step::Release(_) => {}
            }
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let (written, busy) = self.store.write_fresh(&fresh).await?;
        if busy {
            self.busy.extend(fresh.claimed().cloned());
        }
        self.known.extend(fresh.keys().cloned());
        self.fresh.extend(written.granted);
        for (key, answer) in written.answers {
            self.answer(&key, Ok(answer));
        }
        Ok(())
    }

    /// What is left: read, and where the rule changes nothing answered; the rest is locked and decided again.
    async fn decide_rest(&mut self) -> Result<()> {
        let keys: Vec<OperationKey> = self.waiting.keys().cloned().collect();
        if keys.is_empty() {
            return Ok(());
        }
        let mut transaction = self.store.inner.connected.begin().await?;
        let (entries, now) = self.store.read(&mut transaction, &keys).await?;
        let mut movers = Vec::new();
        for key in keys {
            if self.answer_unchanged(&key, entries.get(&key), now) == NextStep::Move {
                movers.push(key);
            }
        }
        if movers.is_empty() {
            return transaction.rollback().await.map_err(translate);
        }
        let mut moving = self.store.lock(&mut transaction, &movers, LockedElsewhere::Await).await?;
        let answers = self.decide_locked(&mut transaction, &mut moving, &movers).await?;
        moving.write(&mut transaction, &self.store.inner.sql).await?;
        let faults = &*self.store.inner.faults;
        let decided = || answers.iter().filter_map(|(_, answer)| answer.as_ref().ok());
        CommitPoint::BeforeCommit.reach(faults, decided());
        transaction.commit().await.map_err(translate)?;
        CommitPoint::AfterCommit.reach(faults, decided());
        for (key, answer) in answers {
            self.answer(&key, answer);
        }
        Ok(())
    }

    /// Answers the steps of an operation until one would change it.
    fn answer_unchanged(&mut self, key: &OperationKey, entry: Option<&Entry>, now: Timestamp) -> NextStep {
        for step in self.steps_of(key) {
            if let (Step::Claim(_), None) = (step, entry) {
                if !self.busy.contains(key) {
                    // It was there when it was inserted, and is gone: inserted again.
                    self.known.remove(key);
                    return NextStep::Wait;
                }
                self.answer(key, Ok(StepAnswer::Claim(Claim::InFlight { retry_after: BUSY_FOR })));
                continue;
            }
            if step.past_fence(entry).is_some() {
                return NextStep::Move;
            }
            match step.decide(entry, None, now) {
                Ok(Decision { transition: Some(_), .. }) => return NextStep::Move,
                Ok(Decision { answer, transition: None }) => self.answer(key, Ok(answer)),
                Err(error) => self.answer(key, Err(error)),
            }
        }
        NextStep::Wait
    }

    /// Decides on rows that nobody else can change, each step on what the one before it left.
    async fn decide_locked(
        &self,
        connection: &mut PgConnection,
        moving: &mut LockedRows,
        movers: &[OperationKey],
    ) -> Result<Vec<(OperationKey, Result<StepAnswer>)>> {
        let mut wanted = Vec::new();
        for key in movers {
            let steps = self.steps_of(key);
            // A claim before it may raise the fence, and what is the present attempt now is a past one then.
            let may_rise = steps.iter().any(|step| matches!(step, Step::Claim(_)));
            let fence_of = |step: &Step| match step {
                Step::Record(request) if may_rise => Some(request.fence),
                Step::Claim(_) | Step::Record(_) | Step::Renew(_) | Step::Release(_) => {
                    step.past_fence(moving.entry(key))
                }
            };
            wanted.extend(steps.into_iter().filter_map(fence_of).map(|fence| (key.clone(), fence)));
        }
        let attempts = self.store.find_attempts(connection, &wanted).await?;
        let mut answers = Vec::new();
        for key in movers {
            for step in self.steps_of(key) {
                let entry = moving.entry(key);
                if let (Step::Claim(_), None) = (step, entry) {
                    break;
                }
                let past = step.past_fence(entry).map(|fence| (key.clone(), fence));
                let past = past.and_then(|at| moving.attempt(&at).or_else(|| attempts.get(&at)));
                match step.decide(entry, past, moving.now) {
                    Err(error) => answers.push((key.clone(), Err(error))),
                    Ok(Decision { answer, transition }) => {
                        if let Some(transition) = transition {
                            moving.carry_out(*transition);
                        }
                        answers.push((key.clone(), Ok(answer)));
                    }
                }
            }
        }
        Ok(answers)
    }
}

/// What becomes of an operation after its steps were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextStep {
    /// Nothing now.
    Wait,
    /// A step changes it.
    Move,
}

impl Postgres {
    /// These operations, where they exist, and the server's time.
    pub(crate) async fn read(
        &self,
        connection: &mut PgConnection,
        keys: &[OperationKey],
    ) -> Result<(HashMap<OperationKey, Entry>, Timestamp)> {
        let query = row::bind_keys(row::query(&self.inner.sql.find), keys).bind(self.inner.clock.given());
        let rows = query.fetch_all(connection).await.map_err(translate)?;
        let mut now = None;
        let mut entries = HashMap::with_capacity(rows.len());
        for found in &rows {
            now = now.max(Some(row::time(found, row::AFTER_OPERATION)?));
            if let Some(entry) = row::optional_entry(found)? {
                entries.insert(entry.key.clone(), entry);
            }
        }
        let now = now.unwrap_or_else(|| self.inner.clock.now());
        self.inner.clock.heard(now);
        Ok((entries, now))
    }
}

impl Postgres {
    async fn resolve_all(
        &self,
        requests: &[ResolveRequest],
        tries: &mut RetryLoop<'_>,
    ) -> Result<Vec<Result<Resolved>>> {
        let mut transaction = self.inner.connected.begin().await?;
        let keys: Vec<_> = requests.iter().map(|request| request.key.clone()).collect();
        let mut moving = self.lock(&mut transaction, &keys, LockedElsewhere::Await).await?;
        let mut resolved = Vec::with_capacity(requests.len());
        for request in requests {
            resolved.push(ledger::resolve(moving.entry(&request.key), request, moving.now).map(|decided| {
                if let Some(transition) = decided.transition {
                    moving.carry_out(*transition);
                }
                decided.answer
            }));
        }
        moving.write(&mut transaction, &self.inner.sql).await?;
        tries.committing();
        transaction.commit().await.map_err(translate)?;
        Ok(resolved)
    }
}
