//! The ledger's rules under a model checker.
//!
//! Workers crash, pause, lose answers and send late; the store, the provider, the sweeper, the
//! reconciler and a person act whenever they may. Every move of the ledger is made by the production
//! functions of `onefold_core::ledger`; nothing of the rules is written a second time here.
//!
//! | file | what it holds |
//! |---|---|
//! | `scenario` | what a run assumes, and what it takes out |
//! | `state` | one moment of the world |
//! | `action` | what may happen next |
//! | `step` · `keepers` | what it changes: workers and provider · sweeper, reconciler, person |
//! | `view` | what tells two moments apart |
//! | `properties` | what must hold, and what must be reachable |
//!
//! Three workers instead of two: `ONEFOLD_MODEL_FULL=1`.

#![expect(clippy::expect_used, reason = "a model that cannot be built fails its test")]

mod action;
mod keepers;
mod outbox_order;
mod properties;
mod scenario;
mod state;
mod step;
mod view;

use std::collections::BTreeSet;
use std::time::Instant;

use stateright::{Checker, Expectation, HasDiscoveries, Model};

use properties::{NOBODY_NEEDED, ONE_EFFECT};
use scenario::{Connections, Late, Memory, Scenario, Under, Without};

/// What a run found.
struct Found {
    /// Invariants that were broken.
    broken: BTreeSet<&'static str>,
    /// Promised situations that were not reached.
    unreached: BTreeSet<&'static str>,
    /// A way to each broken invariant, for the message of a failing test.
    story: String,
}

/// Looks at every state of a scenario, or until `enough` is found.
fn explore(scenario: Scenario, enough: HasDiscoveries) -> Found {
    let started = Instant::now();
    let checker = scenario.world().checker().threads(2).finish_when(enough).spawn_bfs().join();
    assert!(checker.is_done(), "the exploration was cut short");
    let (states, took) = (checker.unique_state_count(), started.elapsed());
    println!(
        "{:?}, late {:?}, without {:?}: {states} states in {took:.1?}",
        scenario.under, scenario.late, scenario.without
    );
    let discoveries = checker.discoveries();
    let (invariants, situations): (Vec<_>, Vec<_>) = checker
        .model()
        .properties()
        .into_iter()
        .partition(|property| matches!(property.expectation, Expectation::Always));
    let broken: BTreeSet<_> =
        invariants.iter().map(|property| property.name).filter(|name| discoveries.contains_key(name)).collect();
    let unreached =
        situations.iter().map(|property| property.name).filter(|name| !discoveries.contains_key(name)).collect();
    let story = broken.iter().map(|name| {
        let steps = discoveries[name].clone().into_actions();
        let steps: Vec<_> = steps.iter().map(|action| format!("{action:?}")).collect();
        format!("{name}: {}", steps.join(" → "))
    });
    let found = Found { story: story.collect::<Vec<_>>().join("\n"), broken, unreached };
    assert!(states > 10_000 || !found.broken.is_empty(), "only {states} states: something keeps the model from moving");
    found
}

/// Every invariant holds in every state, and every promised situation is reached.
fn assert_holds(scenario: Scenario) {
    let found = explore(scenario, HasDiscoveries::AnyFailures);
    assert!(found.broken.is_empty(), "{}", found.story);
    assert!(found.unreached.is_empty(), "never reached: {:?}", found.unreached);
}

/// This invariant holds in every state, whatever becomes of the others.
fn assert_never(scenario: Scenario, invariant: &'static str) {
    let found = explore(scenario, HasDiscoveries::AnyOf([invariant].into()));
    assert!(!found.broken.contains(invariant), "{}", found.story);
}

/// The checker finds a way to break this invariant.
fn assert_finds(scenario: Scenario, invariant: &'static str) {
    let found = explore(scenario, HasDiscoveries::AnyOf([invariant].into()));
    println!("{}", found.story);
    assert!(found.broken.contains(invariant), "not found: {invariant}");
}

#[test]
fn same_key_keeps_every_promise_while_the_provider_remembers() {
    assert_holds(Scenario::of(Under::SameKey));
}

#[test]
fn ask_keeps_every_promise_while_a_send_is_late_by_no_more_than_settle() {
    assert_holds(Scenario::of(Under::Ask));
}

#[test]
fn void_keeps_every_promise() {
    assert_holds(Scenario::of(Under::Void));
}

#[test]
fn escalate_keeps_every_promise() {
    assert_holds(Scenario::of(Under::Escalate));
}

#[test]
fn rerun_keeps_every_promise() {
    assert_holds(Scenario::of(Under::Rerun));
}

/// A lease shorter than the deadline: a holder is taken for lost while it may still send.
#[test]
fn ask_breaks_no_promise_when_a_lease_ends_before_the_deadline() {
    let scenario = Scenario { deadline: 2, end: 5, mishaps: 0, ..Scenario::of(Under::Ask) };
    let found = explore(scenario, HasDiscoveries::AnyFailures);
    assert!(found.broken.is_empty(), "{}", found.story);
}

#[test]
fn ask_acts_twice_when_a_send_may_arrive_at_any_time() {
    assert_finds(Scenario { late: Late::Unbounded, ..Scenario::of(Under::Ask) }, ONE_EFFECT);
}

#[test]
fn ask_acts_twice_when_a_send_may_be_later_than_settle() {
    assert_finds(Scenario { late: Late::AtMost(3), ..Scenario::of(Under::Ask) }, ONE_EFFECT);
}

#[test]
fn same_key_acts_once_whenever_a_send_arrives_if_the_provider_never_forgets() {
    let scenario =
        Scenario { late: Late::Unbounded, memory: Memory::Forever, end: 3, mishaps: 0, ..Scenario::of(Under::SameKey) };
    assert_never(scenario, ONE_EFFECT);
}

/// `provider_memory` is the time within which a repetition *arrives*, so it is declared shorter than
/// the provider's own by what a send may be late.
#[test]
fn same_key_acts_twice_when_the_provider_forgets_before_a_late_repetition_arrives() {
    assert_finds(Scenario { late: Late::AtMost(2), ..Scenario::of(Under::SameKey) }, ONE_EFFECT);
}

#[test]
fn void_acts_once_whenever_a_send_arrives() {
    assert_never(Scenario { late: Late::Unbounded, ..Scenario::of(Under::Void) }, ONE_EFFECT);
}

#[test]
fn without_the_fence_a_stale_holder_makes_room_for_a_second_effect() {
    for under in [Under::Ask, Under::Void, Under::Escalate] {
        assert_finds(Scenario { without: Without::Fence, ..Scenario::of(under) }, ONE_EFFECT);
    }
}

/// Claims are sent again under their attempt id while the first one is stalled, answered or given back; every
/// connection may die, before or after the ledger decides.
fn with_dying_connections(under: Under) -> Scenario {
    Scenario { connections: Connections::Dying, attempts_each: 1, mishaps: 2, end: 2, ..Scenario::of(under) }
}

#[test]
fn a_grant_that_its_caller_may_have_heard_never_goes_back() {
    for under in [Under::SameKey, Under::Ask, Under::Void, Under::Escalate] {
        let found = explore(with_dying_connections(under), HasDiscoveries::AnyFailures);
        assert!(found.broken.is_empty(), "{}", found.story);
    }
}

/// A claim is stalled and its connection dies; the caller asks again, hears its grant and acts; then a server
/// says of the first answer that nobody heard it.
#[test]
fn a_grant_that_goes_back_although_it_was_answered_twice_makes_room_for_a_second_effect() {
    for under in [Under::Ask, Under::Void, Under::Escalate] {
        assert_finds(Scenario { without: Without::AnswerCount, ..with_dying_connections(under) }, ONE_EFFECT);
    }
}

#[test]
fn an_attempt_that_takes_its_unknown_back_makes_room_for_a_second_effect() {
    for under in [Under::Ask, Under::Void, Under::Escalate] {
        assert_finds(Scenario { without: Without::OwnWord, mishaps: 2, ..Scenario::of(under) }, ONE_EFFECT);
    }
}

#[test]
fn without_the_attempt_id_a_lost_answer_needs_a_person_although_nobody_acted() {
    for under in [Under::Ask, Under::Escalate] {
        assert_finds(Scenario { without: Without::AttemptId, ..Scenario::of(under) }, NOBODY_NEEDED);
    }
}
