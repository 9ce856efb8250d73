//! What happens without a worker: sweeper, reconciler, a person.

use std::sync::Arc;

use onefold_core::ledger::{
    Question, ReconcileRequest, ReconcilerAnswer, ResolveRequest, SweepReason, Verb, reconcile, resolve, sweep,
};

use crate::scenario::{Under, World};
use crate::state::{Pending, State};
use crate::step::committed;

impl World {
    pub(crate) fn sweep(&self, state: &mut State, reason: SweepReason) {
        let now = state.now();
        if let Some(transition) = state.entry().and_then(|entry| sweep(entry, &self.sweeper(reason), now)) {
            state.commit(transition);
        }
    }

    pub(crate) fn put_question(&self, state: &mut State) {
        let Some(fence) = state.entry().map(|entry| entry.fence) else {
            return;
        };
        let took_hold = state.provider.effects > 0;
        if self.scenario.under == Under::Void && !took_hold {
            state.provider.voided.insert(fence);
        }
        state.question = Some(Pending { fence, asked_at: state.now(), took_hold });
    }

    pub(crate) fn deliver(&self, state: &mut State) {
        let Some(pending) = state.question.take() else {
            return;
        };
        let answer = if pending.took_hold {
            ReconcilerAnswer::TookHold(Self::completion("provider", 0))
        } else {
            ReconcilerAnswer::DidNot
        };
        self.reconcile(state, pending, answer);
    }

    pub(crate) fn cannot_tell(&self, state: &mut State) {
        let Some(fence) = state.entry().map(|entry| entry.fence) else {
            return;
        };
        let pending = Pending { fence, asked_at: state.now(), took_hold: false };
        self.reconcile(state, pending, ReconcilerAnswer::CannotTell);
    }

    fn reconcile(&self, state: &mut State, pending: Pending, answer: ReconcilerAnswer) {
        let request = ReconcileRequest {
            key: self.key.clone(),
            fence: pending.fence,
            question: if self.scenario.under == Under::Void { Question::Void } else { Question::Ask },
            answer,
            asked_at: pending.asked_at,
            terms: Arc::clone(&self.terms),
        };
        let decision = reconcile(state.entry(), &request, state.now());
        committed(state, decision);
    }

    pub(crate) fn person(&self, state: &mut State, verb: Verb) {
        let Some(entry) = state.entry() else {
            return;
        };
        let request = ResolveRequest {
            key: self.key.clone(),
            fence: entry.fence,
            status: entry.status,
            verb,
            who: Arc::from("ana"),
            why: Arc::from("looked at the provider's list"),
            terms: Some(Arc::clone(&self.terms)),
        };
        // A refusal changes nothing; what is refused is the rule's to say.
        if let Ok(decision) = resolve(state.entry(), &request, state.now()) {
            committed(state, decision);
        }
    }
}
