//! One performance, as the timeline keeps it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::entry::{Entry, SideEffect, Status, named};
use super::outcome::{Digest, Outcome};
use crate::error::CodeName;
use crate::operation::OperationKey;
use crate::retry::Category;
use crate::time::Timestamp;

/// The id its caller made for one claim, by which a lost answer is recognised.
///
/// It is random, made in memory right before the claim, never stored by the caller, derived or
/// reused after a restart: **the same id again is permission to act again**.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptId(Uuid);

impl AttemptId {
    /// An id from 16 random bytes.
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }

    /// An id that a caller made.
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    /// An id read back from a store.
    pub const fn from_stored(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The id as it is stored.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The id as a UUID.
    pub const fn as_uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

named! {
    /// How an attempt ended.
    AttemptResult {
        /// It said what happened.
        Recorded = "RECORDED",
        /// Its lease expired in silence.
        Expired = "EXPIRED",
        /// It said that nothing was sent.
        Released = "RELEASED",
        /// Its grant was never handed to its caller.
        Unheard = "UNHEARD",
        /// It spoke after the operation had moved on.
        Late = "LATE",
    }
}

/// An attempt that is over, kept so that no crash is lost from the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the fields are those of the entry at the time")]
pub struct PastAttempt {
    pub key: OperationKey,
    pub fence: u64,
    pub attempt_id: AttemptId,
    pub worker: Arc<str>,
    pub started_at: Timestamp,
    pub deadline: Timestamp,
    /// When it was last heard of: granted, renewed or recorded.
    pub last_alive_at: Timestamp,
    pub ended_at: Timestamp,
    pub ending: AttemptResult,
    pub status: Status,
    pub error_code: Option<CodeName>,
    pub category: Option<Category>,
    pub side_effect: SideEffect,
    pub recorded: Option<Digest>,
    pub evidence_ref: Option<Arc<str>>,
}

impl PastAttempt {
    /// The present attempt of an entry, ended now.
    pub(super) fn of(entry: &Entry, ending: AttemptResult, now: Timestamp) -> Self {
        Self {
            key: entry.key.clone(),
            fence: entry.fence,
            attempt_id: entry.attempt_id,
            worker: Arc::clone(&entry.worker),
            started_at: entry.attempt_started_at,
            deadline: entry.deadline,
            last_alive_at: entry.updated_at,
            ended_at: now,
            ending,
            status: entry.status,
            error_code: entry.error_code.clone(),
            category: entry.category,
            side_effect: entry.side_effect,
            recorded: entry.recorded,
            evidence_ref: entry.evidence_ref.clone(),
        }
    }

    /// The attempt behind an entry that it reported to, and that another attempt takes over.
    pub(super) fn recorded(entry: &Entry) -> Self {
        Self::of(entry, AttemptResult::Recorded, entry.updated_at)
    }

    /// What came late, as evidence of the attempt it belongs to.
    pub(super) fn late(&self, outcome: &Outcome, now: Timestamp) -> Self {
        Self {
            ending: AttemptResult::Late,
            ended_at: now,
            status: outcome.status(),
            error_code: outcome.failure().map(|failure| failure.code.clone()),
            category: outcome.failure().and_then(|failure| failure.category),
            side_effect: outcome.side_effect(),
            recorded: Some(outcome.digest()),
            evidence_ref: outcome.evidence().cloned(),
            ..self.clone()
        }
    }
}
