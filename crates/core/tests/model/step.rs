//! How each thing that happens changes the world. Every move of the ledger is the production rule's.

use std::sync::Arc;

use onefold_core::ledger::{
    AttemptId, AttemptResult, Claim, ClaimRequest, Completion, Decision, Entry, Failure, Outcome, PastAttempt,
    RecordRequest, Recorded, ReleaseReason, ReleaseRequest, RenewRequest, SideEffect, Status, StoredResult,
    SweepReason, Verb, decide, record, release, renew,
};
use onefold_core::retry::{Category, Jitter};

use crate::action::Action;
use crate::scenario::{Memory, Under, Without, World};
use crate::state::{Grant, Phase, ProviderReply, State, WorkerReport};

impl World {
    /// Carries out an action that is possible in this state.
    pub(crate) fn apply(&self, state: &mut State, action: Action) {
        match action {
            Action::Tick => self.tick(state),
            Action::Claim(worker) => self.claim(state, worker, self.fresh(state)),
            Action::ClaimUnanswered(worker) => self.claim_unanswered(state, worker),
            Action::ClaimStalled(worker) => self.claim_stalled(state, worker),
            Action::DecideStalled(attempt_id) => self.decide_stalled(state, attempt_id),
            Action::ClaimUndelivered(worker) => {
                self.claim_unanswered(state, worker);
                undelivered(state, worker);
            }
            Action::AskAgain(worker) => self.ask_again(state, worker),
            Action::AskAgainUndelivered(worker) => self.ask_again_undelivered(state, worker),
            Action::TellUndelivered(grant) => self.tell_undelivered(state, grant),
            Action::Crash(worker) => crash(state, worker),
            Action::Renew(worker) => self.renew(state, worker),
            Action::Send(worker) => send(state, worker),
            Action::Arrive(fence) => self.arrive(state, fence),
            Action::TurnAway(fence) => answered(state, fence, ProviderReply::TurnedAway),
            Action::Record(worker, said) => {
                self.record(state, worker, said);
            }
            Action::RecordAgain(worker) => self.record_again(state, worker),
            Action::Release(worker) | Action::ReleaseAgain(worker) | Action::ReleaseAfterUnknown(worker) => {
                self.release(state, worker);
            }
            Action::Sweep => self.sweep(state, SweepReason::Expired),
            Action::SweepDead => self.sweep(state, SweepReason::HolderDead),
            Action::PutQuestion => self.put_question(state),
            Action::Deliver => self.deliver(state),
            Action::CannotTell => self.cannot_tell(state),
            Action::Resolve(finding) => self.person(state, Self::verb(finding)),
            Action::Retry => self.person(state, Verb::Retry),
        }
    }

    fn tick(&self, state: &mut State) {
        state.tick += 1;
        let tick = state.tick;
        state.provider.wire.retain(|_, sent_at| self.may_arrive(*sent_at, tick));
        let Some(entry) = state.entry().filter(|entry| entry.status == Status::Started) else {
            return;
        };
        let over = state.now() >= entry.lease_until;
        let held = state.workers.iter().any(|worker| match worker.phase {
            Phase::Unanswered(attempt_id) => attempt_id == entry.attempt_id,
            Phase::Holding(grant, _) | Phase::Sent(grant, _) => grant.fence == entry.fence,
            Phase::Idle | Phase::Reported(..) | Phase::GaveBack(_) => false,
        });
        // A grant that nobody heard, and that no server has given back yet, falls silent too.
        let unheard = state.undelivered.iter().any(|grant| grant.fence == entry.fence);
        state.touched |= over && (held || unheard);
    }

    /// An attempt id that nobody has used.
    pub(crate) fn fresh(&self, state: &State) -> AttemptId {
        let left: u8 = state.workers.iter().map(|worker| worker.attempts_left).sum();
        Self::attempt_id(self.scenario.workers * self.scenario.attempts_each - left)
    }

    pub(crate) fn claim_request(&self, attempt_id: AttemptId) -> ClaimRequest {
        ClaimRequest {
            key: self.key.clone(),
            input: self.input.clone(),
            attempt_id,
            terms: Arc::clone(&self.terms),
            origin: self.origin.clone(),
            holder: self.holder.clone(),
            jitter: Jitter(0),
        }
    }

    fn claim(&self, state: &mut State, worker: u8, attempt_id: AttemptId) {
        let decision = decide(state.entry(), &self.claim_request(attempt_id), state.now()).expect("one key is in use");
        let claim = committed(state, decision);
        let claimant = &mut state.workers[usize::from(worker)];
        let new = !matches!(claimant.phase, Phase::Unanswered(asked) if asked == attempt_id);
        claimant.phase = match claim {
            Claim::Granted(lease) => {
                claimant.attempts_left -= u8::from(new);
                Phase::Holding(Grant { fence: lease.fence, attempt_id }, lease.deadline)
            }
            Claim::Replay(_)
            | Claim::InFlight { .. }
            | Claim::Conflict
            | Claim::Unknown { .. }
            | Claim::Waiting { .. } => Phase::Idle,
        };
    }

    fn claim_unanswered(&self, state: &mut State, worker: u8) {
        let attempt_id = self.fresh(state);
        self.claim(state, worker, attempt_id);
        let claimant = &mut state.workers[usize::from(worker)];
        if claimant.phase.acting().is_some() {
            claimant.phase = Phase::Unanswered(attempt_id);
        }
    }

    fn claim_stalled(&self, state: &mut State, worker: u8) {
        let attempt_id = self.fresh(state);
        state.stalled.insert(attempt_id);
        let claimant = &mut state.workers[usize::from(worker)];
        claimant.attempts_left -= 1;
        claimant.phase = Phase::Unanswered(attempt_id);
    }

    /// Decides a claim for nobody.
    fn decide_stalled(&self, state: &mut State, attempt_id: AttemptId) {
        state.stalled.remove(&attempt_id);
        let decision = decide(state.entry(), &self.claim_request(attempt_id), state.now()).expect("one key is in use");
        if let Claim::Granted(lease) = committed(state, decision) {
            state.undelivered.insert(Grant { fence: lease.fence, attempt_id });
        }
    }

    fn ask_again_undelivered(&self, state: &mut State, worker: u8) {
        let Phase::Unanswered(attempt_id) = state.workers[usize::from(worker)].phase else {
            return;
        };
        self.ask_again(state, worker);
        if state.workers[usize::from(worker)].phase.acting().is_some() {
            state.workers[usize::from(worker)].phase = Phase::Unanswered(attempt_id);
            undelivered(state, worker);
        }
    }

    fn tell_undelivered(&self, state: &mut State, grant: Grant) {
        state.undelivered.remove(&grant);
        let reason = if self.scenario.without == Without::AnswerCount {
            ReleaseReason::NothingSent
        } else {
            ReleaseReason::AnswerUndelivered
        };
        self.release_grant(state, grant, reason);
    }

    fn ask_again(&self, state: &mut State, worker: u8) {
        let Phase::Unanswered(attempt_id) = state.workers[usize::from(worker)].phase else {
            return;
        };
        let renamed =
            self.scenario.without == Without::AttemptId && state.workers[usize::from(worker)].attempts_left > 0;
        self.claim(state, worker, if renamed { self.fresh(state) } else { attempt_id });
    }

    fn renew(&self, state: &mut State, worker: u8) {
        let Some(grant) = state.workers[usize::from(worker)].phase.acting() else {
            return;
        };
        let request = RenewRequest {
            key: self.key.clone(),
            fence: grant.fence,
            attempt_id: grant.attempt_id,
            terms: Arc::clone(&self.terms),
        };
        let decision = renew(state.entry(), &request, state.now());
        committed(state, decision);
    }

    fn arrive(&self, state: &mut State, fence: u64) {
        let tick = state.tick;
        let provider = &mut state.provider;
        if provider.voided.contains(&fence) {
            return answered(state, fence, ProviderReply::TurnedAway);
        }
        let one_key = self.scenario.under == Under::SameKey;
        let remembered = provider.key_since.is_some_and(|since| match self.scenario.memory {
            Memory::Ticks(ticks) => tick < since + ticks,
            Memory::Forever => true,
        });
        if !(one_key && remembered) {
            // More than two tell nothing new; of repeatable ones the first does.
            provider.effects = (provider.effects + 1).min(if self.repeatable() { 1 } else { 2 });
            provider.key_since = one_key.then_some(tick);
        }
        answered(state, fence, ProviderReply::Done);
    }

    /// What an attempt completed with; each attempt's is its own, so that a change would show.
    pub(crate) fn completion(by: &str, fence: u64) -> Completion {
        Completion { result: StoredResult::json(format!("\"{by} {fence}\"").into_bytes()), evidence: None }
    }

    pub(crate) fn record_request(&self, grant: Grant, said: WorkerReport) -> RecordRequest {
        let failure = |category, side_effect| Failure::technical(category, side_effect);
        let outcome = match said {
            WorkerReport::Completed => Outcome::Completed(Self::completion("fence", grant.fence)),
            WorkerReport::Unknown => Outcome::Unknown(failure(Category::DownstreamTimeout, SideEffect::Unknown)),
            WorkerReport::NotApplied => {
                Outcome::FailedRetryable(failure(Category::DownstreamUnavailable, SideEffect::NotApplied))
            }
            WorkerReport::GaveUp => Outcome::FailedFinal(failure(Category::Permission, SideEffect::NotApplied)),
        };
        RecordRequest {
            key: self.key.clone(),
            fence: grant.fence,
            attempt_id: grant.attempt_id,
            outcome,
            terms: Arc::clone(&self.terms),
            jitter: Jitter(0),
        }
    }

    /// The name under which a worker speaks: its own, unless fences are taken out.
    fn speaks_as(&self, entry: Option<&Entry>, grant: Grant) -> Grant {
        match entry {
            Some(entry) if self.scenario.without == Without::Fence => {
                Grant { fence: entry.fence, attempt_id: entry.attempt_id }
            }
            Some(_) | None => grant,
        }
    }

    fn record(&self, state: &mut State, worker: u8, said: WorkerReport) -> Option<Recorded> {
        let phase = state.workers[usize::from(worker)].phase;
        let (Phase::Holding(grant, _) | Phase::Sent(grant, _) | Phase::Reported(grant, _)) = phase else {
            return None;
        };
        let request = self.record_request(self.speaks_as(state.entry(), grant), said);
        let past = state.store.past.get(&request.fence);
        let decision = record(state.entry(), past, &request, state.now());
        let answer = committed(state, decision);
        state.workers[usize::from(worker)].phase = Phase::Reported(grant, said);
        Some(answer)
    }

    fn record_again(&self, state: &mut State, worker: u8) {
        let Phase::Reported(_, said) = state.workers[usize::from(worker)].phase else {
            return;
        };
        let was_settled = state.entry().is_some_and(Entry::is_settled);
        let answer = self.record(state, worker, said);
        if was_settled && matches!(answer, Some(Recorded::Settled { .. })) {
            state.broken = Some("a record that was made before settled it anew");
        }
    }

    fn release(&self, state: &mut State, worker: u8) {
        let phase = state.workers[usize::from(worker)].phase;
        let (Phase::Holding(grant, _) | Phase::GaveBack(grant) | Phase::Reported(grant, _)) = phase else {
            return;
        };
        self.release_grant(state, self.speaks_as(state.entry(), grant), ReleaseReason::NothingSent);
        state.workers[usize::from(worker)].phase = match phase {
            // It sent something, whatever it says: it may still hear the provider's answer.
            Phase::Reported(..) => phase,
            Phase::Idle | Phase::Unanswered(_) | Phase::Holding(..) | Phase::Sent(..) | Phase::GaveBack(_) => {
                Phase::GaveBack(grant)
            }
        };
    }

    fn release_grant(&self, state: &mut State, grant: Grant, reason: ReleaseReason) {
        let request = ReleaseRequest {
            key: self.key.clone(),
            fence: grant.fence,
            attempt_id: grant.attempt_id,
            terms: Arc::clone(&self.terms),
            reason,
        };
        let past = state.store.past.get(&grant.fence).cloned();
        let past = past.map(|past| match self.scenario.without {
            Without::OwnWord => PastAttempt { ending: AttemptResult::Expired, ..past },
            Without::Nothing | Without::Fence | Without::AttemptId | Without::AnswerCount => past,
        });
        let decision = release(state.entry(), past.as_ref(), &request, state.now());
        committed(state, decision);
    }
}

/// The grant that this worker was just given is not handed over.
fn undelivered(state: &mut State, worker: u8) {
    if let Phase::Unanswered(attempt_id) = state.workers[usize::from(worker)].phase
        && let Some(entry) = state.entry().filter(|entry| entry.attempt_id == attempt_id)
    {
        let grant = Grant { fence: entry.fence, attempt_id };
        state.undelivered.insert(grant);
    }
}

/// Writes what a rule decided and hands on its answer.
pub(crate) fn committed<A>(state: &mut State, decision: Decision<A>) -> A {
    if let Some(transition) = decision.transition {
        state.commit(*transition);
    }
    decision.answer
}

fn crash(state: &mut State, worker: u8) {
    let phase = std::mem::replace(&mut state.workers[usize::from(worker)].phase, Phase::Idle);
    let held = match phase {
        Phase::Unanswered(attempt_id) => {
            state.entry().filter(|entry| entry.attempt_id == attempt_id).map(|entry| entry.fence)
        }
        Phase::Holding(grant, _) | Phase::Sent(grant, _) => Some(grant.fence),
        Phase::Idle | Phase::Reported(..) | Phase::GaveBack(_) => None,
    };
    state.dead = held.or(state.dead);
    state.touched = true;
}

fn send(state: &mut State, worker: u8) {
    let sender = &mut state.workers[usize::from(worker)];
    if let Phase::Holding(grant, _) = sender.phase {
        sender.phase = Phase::Sent(grant, ProviderReply::Nothing);
        state.provider.wire.insert(grant.fence, state.tick);
        state.touched = true;
    }
}

/// The request of this fence has arrived; its sender hears of it, if it still listens.
fn answered(state: &mut State, fence: u64, heard: ProviderReply) {
    state.provider.wire.remove(&fence);
    for worker in &mut state.workers {
        if let Phase::Sent(grant, ProviderReply::Nothing) | Phase::Reported(grant, WorkerReport::Unknown) = worker.phase
            && grant.fence == fence
        {
            worker.phase = Phase::Sent(grant, heard);
        }
    }
}
