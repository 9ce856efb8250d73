//! Named places where a test may stop the process.

use super::StepAnswer;
use crate::ledger::Claim;
use crate::outbox::PageSettlement;

/// A named place where a test may stop the process. Each room has its own list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FaultPoint(&'static str);

impl FaultPoint {
    /// A batch with a grant is written but not committed.
    pub const BEFORE_CLAIM_COMMIT: Self = Self("before-claim-commit");
    /// It is committed; nobody has heard of it.
    pub const AFTER_CLAIM_COMMIT: Self = Self("after-claim-commit");
    /// The closure returned; nothing is recorded.
    pub const AFTER_EFFECT: Self = Self("after-effect");
    /// A batch with an outcome is written but not committed.
    pub const BEFORE_RECORD_COMMIT: Self = Self("before-record-commit");
    /// It is committed; nobody has heard of it.
    pub const AFTER_RECORD_COMMIT: Self = Self("after-record-commit");

    /// A batch is committed, and its log not yet synced.
    pub const BEFORE_LOG_SYNC: Self = Self("before-log-sync");

    /// A relay's window is written but not committed.
    pub const BEFORE_WINDOW_COMMIT: Self = Self("before-window-commit");
    /// It is committed; nothing of it is published.
    pub const AFTER_WINDOW_COMMIT: Self = Self("after-window-commit");
    /// A part of a page is published.
    pub const MID_PAGE: Self = Self("mid-page");
    /// All of it is acknowledged; nothing is settled.
    pub const AFTER_LAST_ACKNOWLEDGEMENT: Self = Self("after-last-acknowledgement");
    /// A page is settled but not committed.
    pub const BEFORE_PAGE_COMMIT: Self = Self("before-page-commit");
    /// It is committed.
    pub const AFTER_PAGE_COMMIT: Self = Self("after-page-commit");
    /// A page that sets an event aside is settled but not committed.
    pub const BEFORE_ASIDE_COMMIT: Self = Self("before-aside-commit");
    /// It is committed.
    pub const AFTER_ASIDE_COMMIT: Self = Self("after-aside-commit");

    /// A page of a replay is acknowledged; nothing of it is settled.
    pub const MID_REPLAY: Self = Self("mid-replay");

    /// The points of a replay.
    pub const REPLAY: &'static [Self] = &[Self::MID_REPLAY];

    /// The points of the outbox.
    pub const OUTBOX: &'static [Self] = &[
        Self::BEFORE_WINDOW_COMMIT,
        Self::AFTER_WINDOW_COMMIT,
        Self::MID_PAGE,
        Self::AFTER_LAST_ACKNOWLEDGEMENT,
        Self::BEFORE_PAGE_COMMIT,
        Self::AFTER_PAGE_COMMIT,
        Self::BEFORE_ASIDE_COMMIT,
        Self::AFTER_ASIDE_COMMIT,
    ];

    /// The points before and after the commit of these pages.
    pub fn around_settlement(pages: &[PageSettlement]) -> (Self, Self) {
        if pages.iter().any(|page| !page.asides.is_empty()) {
            return (Self::BEFORE_ASIDE_COMMIT, Self::AFTER_ASIDE_COMMIT);
        }
        (Self::BEFORE_PAGE_COMMIT, Self::AFTER_PAGE_COMMIT)
    }

    /// The points of the ledger.
    pub const LEDGER: &'static [Self] = &[
        Self::BEFORE_CLAIM_COMMIT,
        Self::AFTER_CLAIM_COMMIT,
        Self::AFTER_EFFECT,
        Self::BEFORE_RECORD_COMMIT,
        Self::AFTER_RECORD_COMMIT,
    ];

    /// The points of the embedded store's log.
    pub const LOG: &'static [Self] = &[Self::BEFORE_LOG_SYNC];

    /// Every room's list.
    const ROOMS: &'static [&'static [Self]] = &[Self::LEDGER, Self::LOG, Self::OUTBOX, Self::REPLAY];

    /// The point with this name, in whichever room.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ROOMS.iter().flat_map(|room| room.iter()).copied().find(|point| point.0 == name)
    }

    /// The name that a test passes to a child process.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

/// Lets a test stop the process at a named place. The product's own does nothing.
pub trait Faults: Send + Sync {
    /// Called whenever the place is reached.
    fn reach(&self, point: FaultPoint);
}

/// Where a commit is, for the places where a test may stop the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitPoint {
    /// Everything is written but not committed.
    BeforeCommit,
    /// It is committed; nobody has heard of it.
    AfterCommit,
}

impl CommitPoint {
    /// Reaches the places that a batch with these answers passes.
    pub fn reach<'a>(self, faults: &dyn Faults, answers: impl Iterator<Item = &'a StepAnswer>) {
        let (mut granted, mut recorded) = (false, false);
        for answer in answers {
            granted |= matches!(answer, StepAnswer::Claim(Claim::Granted(_)));
            recorded |= matches!(answer, StepAnswer::Record(_));
        }
        let (claim, record) = match self {
            Self::BeforeCommit => (FaultPoint::BEFORE_CLAIM_COMMIT, FaultPoint::BEFORE_RECORD_COMMIT),
            Self::AfterCommit => (FaultPoint::AFTER_CLAIM_COMMIT, FaultPoint::AFTER_RECORD_COMMIT),
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
