//! What must hold in every state, and what must be reachable for that to mean something.

use onefold_core::error::{DUPLICATE_SUSPECTED, OUTCOME_CONFLICT};
use onefold_core::incident::Incident;
use onefold_core::ledger::{Claim, Entry, SettledBy, SideEffect, Status, SweepReason, decide, record, sweep};
use stateright::Property;

use crate::scenario::{TICK, Under, World};
use crate::state::{Phase, ProviderReply, State, Worker, WorkerReport};

pub(crate) const ONE_EFFECT: &str = "there is at most one effect that was not declared repeatable";
pub(crate) const NOBODY_NEEDED: &str = "nobody is needed where nobody acted and nobody fell silent";

pub(crate) const COMPLETED: &str = "an operation completes";
pub(crate) const REPLAYED: &str = "a duplicate is answered with the record";
pub(crate) const INCIDENT: &str = "an unknown operation has an incident";
pub(crate) const SAME_FENCE: &str = "a lost grant is given again with the same fence";
pub(crate) const DUPLICATE: &str = "a superseded attempt reports an effect";
pub(crate) const CLOSED: &str = "the holder's record closes the incident of an unknown operation";
pub(crate) const GRANTED_AFTER_NO: &str = "the provider's no leads to a second grant";

/// Every property of a policy: invariants, and what must be reachable under it.
pub(crate) fn all(under: Under) -> Vec<Property<World>> {
    let mut properties = invariants();
    properties.extend(reachable(under));
    properties
}

fn always(name: &'static str, rule: fn(&World, &State) -> bool) -> Property<World> {
    Property::always(name, rule)
}

fn sometimes(name: &'static str, situation: fn(&World, &State) -> bool) -> Property<World> {
    Property::sometimes(name, situation)
}

fn invariants() -> Vec<Property<World>> {
    vec![
        always(ONE_EFFECT, |world, state| world.repeatable() || state.provider.effects <= 1),
        always("no single step breaks its promise", |_, state| state.broken.is_none()),
        always("an unknown operation has an incident or a question", |_, state| {
            holds(state, |entry| {
                entry.status != Status::Unknown || entry.incident.is_some() || entry.next_ask_at.is_some()
            })
        }),
        always("the entry points at the open incident, and only at that", |_, state| {
            let open = state.store.incident.as_ref().map(|open| &open.id);
            state.entry().and_then(|entry| entry.incident.as_ref()) == open
        }),
        always("an unknown effect waits for a repetition only where one is declared", |world, state| {
            let declared = matches!(world.scenario.under, Under::SameKey | Under::Rerun);
            holds(state, |entry| declared || !waits_unknown(entry))
        }),
        always("waiting under one key ends by the clock", |world, state| {
            let one_key = world.scenario.under == Under::SameKey;
            holds(state, |entry| !(one_key && waits_unknown(entry)) || entry.escalate_at.is_some())
        }),
        always("completed by its holder means that it happened", |_, state| {
            let happened = state.provider.effects > 0;
            let by_holder = |entry: &Entry| entry.settled_by == Some(SettledBy::Holder);
            holds(state, |entry| entry.status != Status::Completed || !by_holder(entry) || happened)
        }),
        always("final and not applied means that it did not happen", |_, state| {
            let happened = state.provider.effects > 0;
            let final_no =
                |entry: &Entry| entry.status == Status::FailedFinal && entry.side_effect == SideEffect::NotApplied;
            holds(state, |entry| !(final_no(entry) && happened))
        }),
        always("what completed keeps no incident open but a suspicion", |_, state| {
            let suspects = |incident: &Incident| {
                incident.causes.iter().any(|cause| cause.code == DUPLICATE_SUSPECTED || cause.code == OUTCOME_CONFLICT)
            };
            state.status() != Some(Status::Completed) || state.store.incident.as_ref().is_none_or(suspects)
        }),
        always("only what is settled has a time of completion", |_, state| {
            holds(state, |entry| entry.completed_at.is_some() == entry.is_settled())
        }),
        always(NOBODY_NEEDED, |_, state| state.touched || state.status() != Some(Status::Unknown)),
        always("nothing is ever left without a way forward", has_way_forward),
    ]
}

fn holds(state: &State, rule: impl Fn(&Entry) -> bool) -> bool {
    state.entry().is_none_or(rule)
}

fn waits_unknown(entry: &Entry) -> bool {
    entry.status == Status::FailedRetryable && entry.side_effect == SideEffect::Unknown
}

/// Settled, claimable, in the sweeper's reach, or somebody is to look at it: also with every worker gone.
fn has_way_forward(world: &World, state: &State) -> bool {
    let Some(entry) = state.entry() else {
        return true;
    };
    match entry.status {
        Status::Completed | Status::FailedFinal | Status::Released => true,
        Status::Unknown => entry.incident.is_some() || entry.next_ask_at.is_some(),
        Status::FailedRetryable if entry.escalate_at.is_some() => true,
        Status::FailedRetryable => {
            let request = world.claim_request(World::attempt_id(u8::MAX));
            let decision = decide(Some(entry), &request, state.now().plus(TICK)).expect("one key is in use");
            matches!(decision.answer, Claim::Granted(_))
        }
        Status::Started => {
            let over = state.now() >= entry.lease_until;
            !over || sweep(entry, &world.sweeper(SweepReason::Expired), state.now()).is_some()
        }
    }
}

fn reachable(under: Under) -> Vec<Property<World>> {
    let mut properties = vec![
        sometimes(COMPLETED, |_, state| state.status() == Some(Status::Completed)),
        sometimes(REPLAYED, |world, state| {
            state.workers.iter().any(|worker| {
                worker.phase == Phase::Idle && worker.attempts_left > 0 && {
                    let request = world.claim_request(world.fresh(state));
                    let decision = decide(state.entry(), &request, state.now()).expect("one key is in use");
                    matches!(decision.answer, Claim::Replay(_))
                }
            })
        }),
        sometimes(INCIDENT, |_, state| state.status() == Some(Status::Unknown) && state.store.incident.is_some()),
        sometimes(SAME_FENCE, given_again),
    ];
    match under {
        Under::SameKey | Under::Rerun => {
            properties.push(sometimes(DUPLICATE, |_, state| {
                state.store.incident.as_ref().is_some_and(|open| open.error_code == DUPLICATE_SUSPECTED)
            }));
        }
        Under::Ask | Under::Void => properties.push(sometimes(GRANTED_AFTER_NO, granted_after_no)),
        Under::Escalate => {}
    }
    properties.push(sometimes(CLOSED, closed_by_its_holder));
    properties
}

fn given_again(world: &World, state: &State) -> bool {
    let Some(entry) = state.entry() else {
        return false;
    };
    state.workers.iter().any(|worker| {
        let Phase::Unanswered(attempt_id) = worker.phase else {
            return false;
        };
        let request = world.claim_request(attempt_id);
        let claim = decide(Some(entry), &request, state.now()).expect("one key is in use").answer;
        matches!(claim, Claim::Granted(lease) if lease.fence == entry.fence)
    })
}

fn granted_after_no(world: &World, state: &State) -> bool {
    let said_no = |entry: &&Entry| {
        entry.status == Status::Released && matches!(entry.settled_by, Some(SettledBy::Ask | SettledBy::Void))
    };
    let Some(entry) = state.entry().filter(said_no) else {
        return false;
    };
    let request = world.claim_request(world.fresh(state));
    let claim = decide(Some(entry), &request, state.now()).expect("one key is in use").answer;
    let somebody_is_free = state.workers.iter().any(|worker| worker.attempts_left > 0);
    somebody_is_free && matches!(claim, Claim::Granted(lease) if lease.fence == entry.fence + 1)
}

fn closed_by_its_holder(world: &World, state: &State) -> bool {
    let (Some(entry), Some(open)) = (state.entry(), &state.store.incident) else {
        return false;
    };
    let heard = |worker: &Worker| match worker.phase {
        Phase::Sent(grant, ProviderReply::Done) if grant.fence == entry.fence => Some(grant),
        Phase::Sent(..)
        | Phase::Idle
        | Phase::Unanswered(_)
        | Phase::Holding(..)
        | Phase::Reported(..)
        | Phase::GaveBack(_) => None,
    };
    let Some(grant) = state.workers.iter().find_map(heard).filter(|_| entry.status == Status::Unknown) else {
        return false;
    };
    let decision = record(Some(entry), None, &world.record_request(grant, WorkerReport::Completed), state.now());
    decision.transition.is_some_and(|mut transition| {
        let written = transition.settle_incident(Some(open.clone()));
        transition.entry.status == Status::Completed && written.is_some_and(|incident| !incident.is_open())
    })
}
