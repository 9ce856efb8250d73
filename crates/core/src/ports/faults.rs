//! Named places where a test may stop the process.

use super::StepAnswer;
use crate::ledger::Claim;

/// A named place where a test may stop the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultPoint {
    /// A batch with a grant is written but not committed.
    BeforeClaimCommit,
    /// It is committed; nobody has heard of it.
    AfterClaimCommit,
    /// The closure returned; nothing is recorded.
    AfterEffect,
    /// A batch with an outcome is written but not committed.
    BeforeRecordCommit,
    /// It is committed; nobody has heard of it.
    AfterRecordCommit,
}

impl FaultPoint {
    /// Every point.
    pub const ALL: [Self; 5] = [
        Self::BeforeClaimCommit,
        Self::AfterClaimCommit,
        Self::AfterEffect,
        Self::BeforeRecordCommit,
        Self::AfterRecordCommit,
    ];

    /// The name that a test passes to a child process.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BeforeClaimCommit => "before-claim-commit",
            Self::AfterClaimCommit => "after-claim-commit",
            Self::AfterEffect => "after-effect",
            Self::BeforeRecordCommit => "before-record-commit",
            Self::AfterRecordCommit => "after-record-commit",
        }
    }
}

/// Lets a test stop the process at a named place. The product's own does nothing.
pub trait Faults: Send + Sync {
    /// Called whenever the place is reached.
    fn reach(&self, point: FaultPoint);
}

/// Where a commit is, for the places where a test may stop the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Around {
    /// Everything is written but not committed.
    BeforeCommit,
    /// It is committed; nobody has heard of it.
    AfterCommit,
}

impl Around {
    /// Reaches the places that a batch with these answers passes.
    pub fn reach<'a>(self, faults: &dyn Faults, answers: impl Iterator<Item = &'a StepAnswer>) {
        let (mut granted, mut recorded) = (false, false);
        for answer in answers {
            granted |= matches!(answer, StepAnswer::Claim(Claim::Granted(_)));
            recorded |= matches!(answer, StepAnswer::Record(_));
        }
        let (claim, record) = match self {
            Self::BeforeCommit => (FaultPoint::BeforeClaimCommit, FaultPoint::BeforeRecordCommit),
            Self::AfterCommit => (FaultPoint::AfterClaimCommit, FaultPoint::AfterRecordCommit),
        };
        if granted {
            faults.reach(claim);
        }
        if recorded {
            faults.reach(record);
        }
    }
}

/// No faults.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn reach(&self, _point: FaultPoint) {}
}
