//! What one run of the checker assumes: policy, lateness, memory, and what is taken out.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::Timestamp;
use onefold_core::effect::{EffectClass, EffectContract, KindSpec, Policy};
use onefold_core::fingerprint::{FingerprintInput, FingerprintKey, KeyId, Keyring, Mode};
use onefold_core::ledger::{AttemptId, Holder, Origin, Source};
use onefold_core::operation::{KindName, OperationId, OperationKey, Tenant};
use onefold_core::retry::{Category, Schedule};

/// An hour: backoffs of seconds are over by the next tick, an unasked question is overdue after one.
pub(crate) const TICK: Duration = Duration::from_hours(1);

/// The time of a tick.
pub(crate) fn at(tick: u8) -> Timestamp {
    Timestamp::from_micros(0).plus(TICK * u32::from(tick))
}

/// The policy under test, each with a class that allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Under {
    SameKey,
    Ask,
    Void,
    Escalate,
    Rerun,
}

/// How much later than its last check a request may arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    /// So many ticks; what has not arrived by then never does.
    AtMost(u8),
    /// At any time.
    Unbounded,
}

/// How long the provider really knows a key that it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// So many ticks after the effect.
    Ticks(u8),
    Forever,
}

/// What the world leaves out, to show that it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Without {
    /// Nothing: the rules as they are.
    Nothing,
    /// A stale holder speaks with the fence and attempt of the present one.
    Fence,
    /// A caller that lost the answer to a claim asks again under a new attempt id.
    AttemptId,
    /// An undelivered answer counts as its holder's word: a grant goes back although it was answered twice.
    AnswerCount,
    /// An attempt that said "unknown" is believed when it says "nothing was sent" afterwards.
    OwnWord,
}

/// Whether a claim's connection may die before its answer is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connections {
    /// An answer is heard, or lost on its way without a server knowing.
    Lasting,
    /// A connection may also die before the claim is decided or before its answer is written, and a server says so later.
    Dying,
}

/// One run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) under: Under,
    pub(crate) workers: u8,
    pub(crate) attempts_each: u8,
    /// How many things may go wrong besides pauses, late sends and lost answers of the provider: crashes,
    /// lost answers of the ledger, refusals, providers that cannot tell.
    pub(crate) mishaps: u8,
    /// The last tick.
    pub(crate) end: u8,
    pub(crate) lease: u8,
    pub(crate) deadline: u8,
    pub(crate) settle: u8,
    /// What the kind declares as `provider_memory`.
    pub(crate) declared_memory: u8,
    pub(crate) memory: Memory,
    pub(crate) late: Late,
    pub(crate) connections: Connections,
    pub(crate) without: Without,
}

impl Scenario {
    /// Two workers with two attempts each; a send is late by no more than `settle`.
    pub(crate) fn of(under: Under) -> Self {
        let full = std::env::var("ONEFOLD_MODEL_FULL").is_ok_and(|value| value == "1");
        let (mishaps, end) = match under {
            Under::SameKey | Under::Ask => (1, 4),
            Under::Rerun => (1, 3),
            // A void needs no wait, so all that matters happens early.
            Under::Void => (1, 2),
            Under::Escalate => (2, 4),
        };
        Self {
            under,
            workers: if full { 3 } else { 2 },
            attempts_each: 2,
            mishaps,
            end,
            lease: 1,
            deadline: 1,
            settle: 1,
            declared_memory: 3,
            memory: Memory::Ticks(3),
            late: Late::AtMost(1),
            connections: Connections::Lasting,
            without: Without::Nothing,
        }
    }

    fn contract(&self) -> EffectContract {
        let (class, policy) = match self.under {
            Under::SameKey => {
                let provider_memory = TICK * u32::from(self.declared_memory);
                (EffectClass::ExternalCommand, Policy::SameKey { provider_memory })
            }
            Under::Ask => (EffectClass::ExternalCommand, Policy::Ask { settle: TICK * u32::from(self.settle) }),
            Under::Void => (EffectClass::ExternalCommand, Policy::Void),
            Under::Escalate => (EffectClass::ExternalCommand, Policy::Escalate),
            Under::Rerun => (EffectClass::Converging, Policy::Rerun),
        };
        EffectContract::new(class, policy).expect("the pair is in the table of effect classes")
    }

    fn terms(&self) -> KindSpec {
        let mut terms = KindSpec::new(KindName::parse("notice.issue").expect("a kind name"), self.contract());
        terms.lease_for = TICK * u32::from(self.lease);
        terms.deadline_for = TICK * u32::from(self.deadline);
        terms.settle = TICK * u32::from(self.settle);
        terms.clock_slack = Duration::ZERO;
        terms.ask_schedule = [TICK].into();
        terms.retry.attempts_max = 3;
        // No wait after a silent holder, so that one claim expires and grants in one move.
        terms.retry = terms.retry.with(Category::HolderLost, Some(Schedule::seconds(&[0])), "one move in the model");
        terms.checked().expect("terms that do not contradict themselves")
    }

    /// The world in which this scenario plays.
    pub(crate) fn world(self) -> World {
        let terms = Arc::new(self.terms());
        let keys = Arc::new(Keyring::new(FingerprintKey::new(KeyId(1), [7; 32]), Vec::new()));
        let input = FingerprintInput::new(b"{}".as_slice(), &Mode::Raw, &keys).expect("raw bytes have a fingerprint");
        let id = OperationId::parse("CASE-1").expect("an operation id");
        let key = OperationKey::new(Tenant::default(), terms.kind.clone(), id);
        let holder = Holder { worker: Arc::from("worker"), installation: Some(Arc::from("installation")) };
        World { scenario: self, terms, input, key, origin: Origin::new(Source::Api), holder }
    }
}

/// A scenario with everything its requests are made of.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) terms: Arc<KindSpec>,
    pub(crate) input: FingerprintInput,
    pub(crate) key: OperationKey,
    pub(crate) origin: Origin,
    pub(crate) holder: Holder,
}

impl World {
    /// Whether a second effect was declared harmless.
    pub(crate) fn repeatable(&self) -> bool {
        self.scenario.under == Under::Rerun
    }

    /// The id of the nth claim: no two claims share one.
    pub(crate) fn attempt_id(nth: u8) -> AttemptId {
        let mut bytes = [0; 16];
        bytes[0] = nth;
        AttemptId::from_random(bytes)
    }
}
