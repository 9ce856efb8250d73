//! What few operations have, in one column: JSON with what differs from a plain operation, and nothing for a plain one.
//!
//! A plain operation has one attempt, which was granted when the row was made and either is in flight or ended as its
//! holder recorded. A new rare field of an entry is a line here, and needs no migration.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::CodeName;
use crate::ledger::{Digest, Entry, SettledBy, SideEffect, Status};
use crate::retry::Category;
use crate::time::Timestamp;

/// The rare fields of an entry; absent where they are as in a plain operation.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Details {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) process_id: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) definition_key: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) definition_version: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) element_id: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) job_key: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_attempt_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt_started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    side_effect_status: Option<SideEffect>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
    /// There and empty where the plain operation has one and this one has none.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "there")]
    settled_by: Option<Settler>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_attempt_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unknown_since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error_code: Option<CodeName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) category: Option<Category>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dependency: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) approved_by: Option<Arc<str>>,
}

/// Who settled an operation; that nobody did is a detail too.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Settler(Option<SettledBy>);

/// Reads `null` as a settler: nobody.
fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Settler>, D::Error> {
    Settler::deserialize(deserializer).map(Some)
}

/// The fields that every operation has and that a plain one needs no detail for.
pub(super) struct UsualFields {
    pub(super) attempts: u32,
    pub(super) first_attempt_at: Timestamp,
    pub(super) attempt_started_at: Timestamp,
    pub(super) asks: u32,
    pub(super) side_effect: SideEffect,
    pub(super) updated_at: Timestamp,
    pub(super) settled_by: Option<SettledBy>,
}

impl UsualFields {
    /// Those of a plain operation in this state; `recorded` is what its holder reported, if it did.
    pub(super) fn plain(
        status: Status,
        created_at: Timestamp,
        completed_at: Option<Timestamp>,
        recorded: Option<&Digest>,
    ) -> Self {
        let settled = matches!(status, Status::Completed | Status::FailedFinal);
        Self {
            attempts: 1,
            first_attempt_at: created_at,
            attempt_started_at: created_at,
            asks: 0,
            side_effect: match status {
                Status::Completed => SideEffect::Applied,
                Status::Unknown => SideEffect::Unknown,
                Status::Started | Status::FailedFinal | Status::FailedRetryable | Status::Released => {
                    SideEffect::NotApplied
                }
            },
            updated_at: completed_at.unwrap_or(created_at),
            settled_by: recorded.filter(|_| settled).map(|_| SettledBy::Holder),
        }
    }
}

impl Details {
    /// The details of an entry.
    pub(super) fn of(entry: &Entry) -> Self {
        fn unless<T: PartialEq>(plain: &T, value: T) -> Option<T> {
            (value != *plain).then_some(value)
        }
        let plain = UsualFields::plain(entry.status, entry.created_at, entry.completed_at, entry.recorded.as_ref());
        let origin = &entry.origin;
        Self {
            process_id: origin.process_id.clone(),
            definition_key: origin.definition_key.clone(),
            definition_version: origin.definition_version.clone(),
            element_id: origin.element_id.clone(),
            job_key: origin.job_key.clone(),
            attempts: unless(&plain.attempts, entry.attempts),
            first_attempt_at: unless(&plain.first_attempt_at, entry.first_attempt_at),
            attempt_started_at: unless(&plain.attempt_started_at, entry.attempt_started_at),
            asks: unless(&plain.asks, entry.asks),
            side_effect_status: unless(&plain.side_effect, entry.side_effect),
            updated_at: unless(&plain.updated_at, entry.updated_at),
            settled_by: unless(&plain.settled_by, entry.settled_by).map(Settler),
            next_attempt_at: entry.next_attempt_at,
            unknown_since: entry.unknown_since,
            error_code: entry.error_code.clone(),
            category: entry.category,
            dependency: entry.dependency.clone(),
            approved_by: entry.approved_by.clone(),
        }
    }

    /// As they are stored; nothing for a plain operation.
    pub(super) fn text(&self) -> Option<String> {
        // No field of it can fail to be written: there are no maps, and no numbers but whole ones.
        if *self == Self::default() { None } else { serde_json::to_string(self).ok() }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The fields of the operation that these details are of, given those of a plain one.
    pub(super) fn over(&self, plain: &UsualFields) -> UsualFields {
        UsualFields {
            attempts: self.attempts.unwrap_or(plain.attempts),
            first_attempt_at: self.first_attempt_at.unwrap_or(plain.first_attempt_at),
            attempt_started_at: self.attempt_started_at.unwrap_or(plain.attempt_started_at),
            asks: self.asks.unwrap_or(plain.asks),
            side_effect: self.side_effect_status.unwrap_or(plain.side_effect),
            updated_at: self.updated_at.unwrap_or(plain.updated_at),
            settled_by: self.settled_by.map_or(plain.settled_by, |Settler(by)| by),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_operation_has_no_details() {
        assert_eq!(Details::default().text(), None);
        assert_eq!(Details::parse("{}"), Some(Details::default()));
    }

    #[test]
    fn what_differs_is_kept_even_that_nobody_settled_it() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000 + 1);
        let details = Details {
            attempts: Some(3),
            updated_at: Some(at(5)),
            settled_by: Some(Settler(None)),
            category: Some(Category::DownstreamTimeout),
            job_key: Some(Arc::from("nul \0 and \"quotes\"")),
            ..Details::default()
        };
        let read = Details::parse(&details.text().unwrap()).unwrap();
        assert_eq!(read, details);
        let plain = UsualFields::plain(Status::Completed, at(1), Some(at(2)), Some(&Digest::of(b"x")));
        assert_eq!((plain.settled_by, plain.updated_at), (Some(SettledBy::Holder), at(2)));
        let usual = read.over(&plain);
        assert_eq!((usual.attempts, usual.settled_by, usual.updated_at), (3, None, at(5)));
        assert_eq!((usual.first_attempt_at, usual.asks), (at(1), 0));
    }

    #[test]
    fn a_detail_that_this_version_does_not_know_is_refused() {
        assert_eq!(Details::parse(r#"{"mood":"good"}"#), None);
    }
}
