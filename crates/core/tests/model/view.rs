//! What tells two moments apart: everything that a rule can still read, and nothing else.
//!
//! Who and where, when something was last touched, how often an incident was seen: that is for people.
//! A time that has passed is only past. Merging such moments keeps the exploration small.

use std::hash::{Hash, Hasher};

use onefold_core::Timestamp;
use onefold_core::effect::Policy;
use onefold_core::ledger::{Entry, OVERDUE_FOR, SideEffect, Status};

use crate::scenario::{Late, World};
use crate::state::{Pending, Phase, State, WorkerReport};

impl Hash for State {
    fn hash<H: Hasher>(&self, view: &mut H) {
        (self.tick, &self.workers, self.mishaps, &self.provider, self.dead, self.touched, self.broken).hash(view);
        (&self.stalled, &self.undelivered).hash(view);
        if let Some(entry) = self.entry() {
            let after_deadline = |question: &Pending| (question.took_hold, question.asked_at.since(entry.deadline));
            (self.question.is_some(), self.question.as_ref().map(after_deadline)).hash(view);
            hash_entry(entry, self.now(), view);
        }
        for attempt in self.store.past.values() {
            (attempt.fence, attempt.attempt_id, attempt.ending, attempt.status, attempt.recorded).hash(view);
        }
        for cause in self.store.incident.iter().flat_map(|incident| &incident.causes) {
            cause.code.hash(view);
        }
    }
}

fn hash_entry<H: Hasher>(entry: &Entry, now: Timestamp, view: &mut H) {
    (entry.status, entry.fence, entry.attempt_id, entry.side_effect, entry.recorded, entry.settled_by).hash(view);
    if !entry.is_settled() {
        entry.attempts.hash(view);
    }
    (entry.incident.is_some(), entry.completed_at.is_some()).hash(view);
    let ahead = |time: Option<Timestamp>| time.map(|time| time.max(now));
    match entry.status {
        Status::Started => {
            let answered_once = entry.updated_at == entry.attempt_started_at;
            (entry.lease_until.max(now), entry.deadline, answered_once).hash(view);
        }
        Status::FailedRetryable => (ahead(entry.next_attempt_at), ahead(entry.escalate_at)).hash(view),
        Status::Unknown => {
            let asked = entry.next_ask_at.map(|due| due.max(now.minus(OVERDUE_FOR)));
            (asked, entry.asks, entry.category).hash(view);
        }
        Status::Completed => entry.result.hash(view),
        Status::FailedFinal => entry.category.hash(view),
        Status::Released => {}
    }
    if entry.side_effect == SideEffect::Unknown {
        entry.deadline.hash(view);
    }
    let window_runs = entry.side_effect == SideEffect::Unknown || entry.status == Status::Started;
    if window_runs && matches!(entry.contract.policy(), Policy::SameKey { .. }) {
        entry.first_attempt_at.hash(view);
    }
}

impl World {
    /// The same moment without what nobody can refer to any more.
    pub(crate) fn settle(&self, state: &mut State) {
        if state.mishaps == 0 {
            // Without another lost answer nobody speaks twice; a caller that does not know goes on listening.
            for worker in &mut state.workers {
                if let Phase::GaveBack(_)
                | Phase::Reported(_, WorkerReport::Completed | WorkerReport::NotApplied | WorkerReport::GaveUp) =
                    worker.phase
                {
                    worker.phase = Phase::Idle;
                }
            }
        }
        // Workers are alike: their order says nothing.
        state.workers.sort_unstable();
        let spoken_for = |fence: &u64| {
            state.workers.iter().any(|worker| worker.phase.grant().is_some_and(|grant| grant.fence == *fence))
        };
        state.store.past.retain(|fence, _| spoken_for(fence));
        // A request that will be refused, and that nobody listens for, changes nothing any more.
        let voided = &state.provider.voided;
        state.provider.wire.retain(|fence, _| spoken_for(fence) || !voided.contains(fence));
        let on_its_way = |fence: &u64| spoken_for(fence) || state.provider.wire.contains_key(fence);
        let voided = state.provider.voided.iter().copied().filter(on_its_way).collect();
        state.provider.voided = voided;
        if self.scenario.late == Late::Unbounded {
            state.provider.wire.values_mut().for_each(|sent_at| *sent_at = 0);
        }
        let fence = state.entry().map(|entry| entry.fence);
        let started = state.status() == Some(Status::Started);
        state.dead = state.dead.filter(|dead| started && Some(*dead) == fence);
        state.question = state.question.filter(|question| Some(question.fence) == fence);
        // Of a grant that is over nothing can be given back.
        state.undelivered.retain(|grant| started && Some(grant.fence) == fence);
    }
}
