//! What may be done, drawn at random.

use std::time::Duration;

use onefold_core::ledger::ReleaseReason;
use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy as _, any, prop_oneof};
use proptest::sample::{Index, select};

/// One thing that somebody does.
#[derive(Debug, Clone)]
pub(super) enum Command {
    /// Steps in one commit.
    Act(Vec<Move>),
    Sweep,
    SweepDead(&'static str),
    /// An answer of the provider about an operation, in its current or an earlier state.
    Answer {
        operation: usize,
        kind: usize,
        voided: bool,
        answer: ReconcilerReply,
        fence: SeenState,
    },
    /// A person's verb.
    Resolve {
        operation: usize,
        kind: usize,
        verb: VerbCase,
        who: &'static str,
        seen: SeenState,
    },
    Prune {
        days: u64,
        results_only: bool,
    },
    Wait(Duration),
    Reopen,
}

/// One step of a batch.
#[derive(Debug, Clone)]
pub(super) enum Move {
    Claim {
        operation: usize,
        kind: usize,
        attempt: Option<Index>,
        other_request: bool,
        installation: Option<&'static str>,
    },
    Record {
        grant: Index,
        outcome: usize,
        forged: Forgery,
    },
    Renew {
        grant: Index,
        forged: Forgery,
    },
    Release {
        grant: Index,
        forged: Forgery,
        reason: ReleaseReason,
    },
}

/// What of a grant is not as it was given.
#[derive(Debug, Clone, Copy)]
pub(super) enum Forgery {
    Nothing,
    FenceAhead,
    FenceBehind,
    Attempt,
}

/// What somebody saw of an operation before they spoke.
#[derive(Debug, Clone, Copy)]
pub(super) enum SeenState {
    AsItStands,
    OtherFence,
    OtherStatus,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum ReconcilerReply {
    TookHold,
    TookHoldProved,
    DidNot,
    CannotTell,
    Later,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum VerbCase {
    Retry,
    AskNow,
    TookHold,
    TookHoldProved,
    DidNotHappen,
    DidNotHappenForced,
    Failed,
}

/// Ids that are drawn from: few, so that commands meet.
pub(super) const IDS: [&str; 3] = ["A", "a", "\u{e9}"];
/// Kinds that are drawn from, one per policy.
pub(super) const KINDS: usize = 7;
/// Outcomes that are drawn from.
pub(super) const OUTCOMES: usize = 9;

const INSTALLATIONS: [&str; 2] = ["alpha", "beta"];

fn operation() -> BoxedStrategy<(usize, usize)> {
    (0..IDS.len(), 0..KINDS).boxed()
}

fn forged() -> BoxedStrategy<Forgery> {
    prop_oneof![
        8 => Just(Forgery::Nothing),
        1 => Just(Forgery::FenceAhead),
        1 => Just(Forgery::FenceBehind),
        1 => Just(Forgery::Attempt),
    ]
    .boxed()
}

fn seen() -> BoxedStrategy<SeenState> {
    prop_oneof![8 => Just(SeenState::AsItStands), 1 => Just(SeenState::OtherFence), 1 => Just(SeenState::OtherStatus)]
        .boxed()
}

fn step() -> BoxedStrategy<Move> {
    let attempt = prop_oneof![4 => Just(None), 1 => any::<Index>().prop_map(Some)];
    let other_request = prop_oneof![9 => Just(false), 1 => Just(true)];
    let installation = prop_oneof![Just(None), select(&INSTALLATIONS[..]).prop_map(Some)];
    let claim = (operation(), attempt, other_request, installation).prop_map(
        |((operation, kind), attempt, other_request, installation)| Move::Claim {
            operation,
            kind,
            attempt,
            other_request,
            installation,
        },
    );
    let record = (any::<Index>(), 0..OUTCOMES, forged()).prop_map(|(grant, outcome, forged)| Move::Record {
        grant,
        outcome,
        forged,
    });
    let renew = (any::<Index>(), forged()).prop_map(|(grant, forged)| Move::Renew { grant, forged });
    let reason = prop_oneof![Just(ReleaseReason::NothingSent), Just(ReleaseReason::AnswerUndelivered)];
    let release =
        (any::<Index>(), forged(), reason).prop_map(|(grant, forged, reason)| Move::Release { grant, forged, reason });
    prop_oneof![5 => claim, 5 => record, 1 => renew, 1 => release].boxed()
}

fn answer() -> BoxedStrategy<Command> {
    let answers = [
        ReconcilerReply::TookHold,
        ReconcilerReply::TookHoldProved,
        ReconcilerReply::DidNot,
        ReconcilerReply::CannotTell,
        ReconcilerReply::Later,
    ];
    (operation(), any::<bool>(), select(answers.to_vec()), seen())
        .prop_map(|((operation, kind), voided, answer, fence)| Command::Answer {
            operation,
            kind,
            voided,
            answer,
            fence,
        })
        .boxed()
}

fn resolve() -> BoxedStrategy<Command> {
    let verbs = [
        VerbCase::Retry,
        VerbCase::AskNow,
        VerbCase::TookHold,
        VerbCase::TookHoldProved,
        VerbCase::DidNotHappen,
        VerbCase::DidNotHappenForced,
        VerbCase::Failed,
    ];
    (operation(), select(verbs.to_vec()), select(vec!["ada", "grace"]), seen())
        .prop_map(|((operation, kind), verb, who, seen)| Command::Resolve { operation, kind, verb, who, seen })
        .boxed()
}

/// Waits that end just before, at and after what the kinds' terms make of them.
fn wait() -> BoxedStrategy<Command> {
    let millis = [1, 500, 1_000, 5_000, 9_999, 10_000, 15_000, 30_000, 60_000, 934_999, 935_000, 3_600_000, 86_400_000];
    select(millis.to_vec()).prop_map(|millis| Command::Wait(Duration::from_millis(millis))).boxed()
}

/// One command.
pub(super) fn command() -> BoxedStrategy<Command> {
    prop_oneof![
        12 => vec(step(), 1..4).prop_map(Command::Act),
        3 => Just(Command::Sweep),
        1 => select(&INSTALLATIONS[..]).prop_map(Command::SweepDead),
        3 => answer(),
        3 => resolve(),
        1 => (0..3_u64, any::<bool>()).prop_map(|(days, results_only)| Command::Prune { days, results_only }),
        6 => wait(),
        1 => Just(Command::Reopen),
    ]
    .boxed()
}
