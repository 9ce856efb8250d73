//! What may happen next.

use onefold_core::ledger::{AttemptId, Entry, Resolution, SideEffect, Status, Sweep, SweepReason, Verb};
use onefold_core::retry::Jitter;
use stateright::{Model, Property};

use crate::properties;
use crate::scenario::{Connections, Late, Under, World};
use crate::state::{Grant, Phase, ProviderReply, State, WorkerReport};

/// One thing that happens. Workers are meant by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Time passes.
    Tick,
    /// A worker claims under a fresh attempt id and hears the answer.
    Claim(u8),
    /// A worker claims; the grant is committed, its answer lost.
    ClaimUnanswered(u8),
    /// A worker claims on a connection that dies before the ledger decides.
    ClaimStalled(u8),
    /// The ledger decides such a claim; a grant has nobody to be handed to, and the server is to say so.
    DecideStalled(AttemptId),
    /// A worker claims; the grant is committed, and no byte of its answer is handed over: the server is to say so.
    ClaimUndelivered(u8),
    /// It asks again, on another connection or another server.
    AskAgain(u8),
    /// It asks again, and that answer is not handed over either.
    AskAgainUndelivered(u8),
    /// A server says of this grant that an answer was not handed over; however late.
    TellUndelivered(Grant),
    /// A worker dies; its restart knows nothing.
    Crash(u8),
    /// A holder says that it is alive.
    Renew(u8),
    /// A holder's last check passes and the first byte goes out.
    Send(u8),
    /// The request of this fence arrives and is taken.
    Arrive(u64),
    /// The request of this fence arrives and is turned away.
    TurnAway(u64),
    /// A worker records.
    Record(u8, WorkerReport),
    /// The answer to its record was lost; it records the same again.
    RecordAgain(u8),
    /// A holder that sent nothing releases.
    Release(u8),
    /// The answer to its release was lost; it releases again.
    ReleaseAgain(u8),
    /// A careless holder that has said "unknown" says that nothing was sent.
    ReleaseAfterUnknown(u8),
    /// The sweeper looks whether something is overdue.
    Sweep,
    /// The sweeper learns that the holder is dead.
    SweepDead,
    /// The reconciler asks or voids; the provider answers truly.
    PutQuestion,
    /// That answer reaches the ledger.
    Deliver,
    /// The reconciler asks; the provider cannot tell.
    CannotTell,
    /// A person resolves with what the provider shows.
    Resolve(Finding),
    /// A person has a failed operation tried again.
    Retry,
}

impl Action {
    /// Whether something goes wrong that a run allows only so often.
    fn is_mishap(self) -> bool {
        match self {
            Self::ClaimUnanswered(_)
            | Self::ClaimStalled(_)
            | Self::ClaimUndelivered(_)
            | Self::AskAgainUndelivered(_)
            | Self::ReleaseAfterUnknown(_)
            | Self::Crash(_)
            | Self::TurnAway(_)
            | Self::Record(_, WorkerReport::GaveUp)
            | Self::RecordAgain(_)
            | Self::ReleaseAgain(_)
            | Self::CannotTell => true,
            Self::Tick
            | Self::Claim(_)
            | Self::DecideStalled(_)
            | Self::AskAgain(_)
            | Self::TellUndelivered(_)
            | Self::Renew(_)
            | Self::Send(_)
            | Self::Arrive(_)
            | Self::Record(_, WorkerReport::Completed | WorkerReport::Unknown | WorkerReport::NotApplied)
            | Self::Release(_)
            | Self::Sweep
            | Self::SweepDead
            | Self::PutQuestion
            | Self::Deliver
            | Self::Resolve(_)
            | Self::Retry => false,
        }
    }
}

/// What a person finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    TookHold,
    DidNotHappen,
    Failed,
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::start(&self.scenario)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.broken.is_some() {
            return;
        }
        // Time counts from the first claim: before it there is nothing to wait for.
        if state.tick < self.scenario.end && state.entry().is_some() {
            actions.push(Action::Tick);
        }
        for (worker, _) in (0..).zip(&state.workers) {
            self.worker_actions(state, worker, actions);
        }
        actions.extend(state.stalled.iter().map(|attempt_id| Action::DecideStalled(*attempt_id)));
        actions.extend(state.undelivered.iter().map(|grant| Action::TellUndelivered(*grant)));
        for fence in state.provider.wire.keys() {
            actions.extend([Action::Arrive(*fence), Action::TurnAway(*fence)]);
        }
        if let Some(entry) = state.entry() {
            self.keeper_actions(state, entry, actions);
            self.person_actions(state, entry, actions);
        }
        if state.mishaps == 0 {
            actions.retain(|action| !action.is_mishap());
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        self.apply(&mut next, action);
        next.mishaps -= u8::from(action.is_mishap());
        self.settle(&mut next);
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self.scenario.under)
    }
}

impl World {
    fn worker_actions(&self, state: &State, number: u8, actions: &mut Vec<Action>) {
        let worker = &state.workers[usize::from(number)];
        // Every lease ends within the time that is looked at, so that nothing is left half-way.
        let time_left = state.tick + self.scenario.deadline <= self.scenario.end;
        let free = matches!(worker.phase, Phase::Idle | Phase::Reported(..) | Phase::GaveBack(_));
        if free && worker.attempts_left > 0 && time_left {
            actions.extend([Action::Claim(number), Action::ClaimUnanswered(number)]);
            if self.scenario.connections == Connections::Dying {
                actions.extend([Action::ClaimStalled(number), Action::ClaimUndelivered(number)]);
            }
        }
        match worker.phase {
            Phase::Idle => {}
            Phase::Unanswered(_) => {
                actions.extend([Action::AskAgain(number), Action::Crash(number)]);
                if self.scenario.connections == Connections::Dying {
                    actions.push(Action::AskAgainUndelivered(number));
                }
            }
            Phase::Holding(_, deadline) => {
                actions.extend([Action::Release(number), Action::Renew(number), Action::Crash(number)]);
                actions.extend([
                    Action::Record(number, WorkerReport::NotApplied),
                    Action::Record(number, WorkerReport::GaveUp),
                ]);
                if state.now() < deadline {
                    actions.push(Action::Send(number));
                }
            }
            Phase::Sent(_, heard) => {
                actions.extend([
                    Action::Record(number, WorkerReport::Unknown),
                    Action::Renew(number),
                    Action::Crash(number),
                ]);
                match heard {
                    ProviderReply::Nothing => {}
                    ProviderReply::Done => actions.push(Action::Record(number, WorkerReport::Completed)),
                    ProviderReply::TurnedAway => actions.push(Action::Record(number, WorkerReport::NotApplied)),
                }
            }
            Phase::Reported(_, said) => {
                actions.push(Action::RecordAgain(number));
                if said == WorkerReport::Unknown {
                    actions.push(Action::ReleaseAfterUnknown(number));
                }
            }
            Phase::GaveBack(_) => actions.push(Action::ReleaseAgain(number)),
        }
    }

    fn keeper_actions(&self, state: &State, entry: &Entry, actions: &mut Vec<Action>) {
        if !matches!(entry.status, Status::Completed | Status::FailedFinal | Status::Released) {
            actions.push(Action::Sweep);
        }
        if entry.status == Status::Started && state.dead == Some(entry.fence) {
            actions.push(Action::SweepDead);
        }
        let asks = matches!(self.scenario.under, Under::Ask | Under::Void);
        let due = entry.status == Status::Unknown && entry.next_ask_at.is_some_and(|due| due <= state.now());
        match state.question {
            Some(_) => actions.push(Action::Deliver),
            None if asks && due => actions.extend([Action::PutQuestion, Action::CannotTell]),
            None => {}
        }
    }

    fn person_actions(&self, state: &State, entry: &Entry, actions: &mut Vec<Action>) {
        if state.store.incident.is_none() {
            return;
        }
        let open = entry.status == Status::Unknown
            || (entry.status == Status::FailedRetryable && entry.side_effect == SideEffect::Unknown);
        if open && state.provider.effects > 0 {
            actions.push(Action::Resolve(Finding::TookHold));
        }
        // A person sees no effect; whether that may be said already is for the rule to decide. What may
        // come at any time has no rule, so there a person says it only when nothing is on its way.
        let bounded = self.scenario.late != Late::Unbounded;
        let sees_none = state.provider.effects == 0 && (bounded || state.provider.wire.is_empty());
        if open && sees_none {
            actions.push(Action::Resolve(Finding::DidNotHappen));
        }
        if open && sees_none && state.now() >= entry.deadline.plus(self.terms.settle) {
            actions.push(Action::Resolve(Finding::Failed));
        }
        if entry.status == Status::FailedFinal {
            actions.push(Action::Retry);
        }
    }

    /// What the sweeper brings.
    pub(crate) fn sweeper(&self, reason: SweepReason) -> Sweep<'_> {
        Sweep { reason, terms: Some(&self.terms), clock_slack: self.terms.clock_slack, jitter: Jitter(0) }
    }

    /// The verb behind a person's finding.
    pub(crate) fn verb(finding: Finding) -> Verb {
        Verb::Resolve(match finding {
            Finding::TookHold => Resolution::TookHold(Self::completion("person", 0)),
            Finding::DidNotHappen => Resolution::DidNotHappen { force: false },
            Finding::Failed => Resolution::Failed(onefold_core::error::PERMISSION.name()),
        })
    }

    /// Whether a request whose last check was at `sent_at` may still arrive.
    pub(crate) fn may_arrive(&self, sent_at: u8, tick: u8) -> bool {
        match self.scenario.late {
            Late::AtMost(ticks) => tick <= sent_at + ticks,
            Late::Unbounded => true,
        }
    }
}
