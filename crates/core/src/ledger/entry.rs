//! One row of the ledger.

use std::sync::Arc;

use super::attempt::AttemptId;
use super::outcome::{Digest, StoredResult};
use crate::effect::{EffectContract, Retention};
use crate::error::{CodeName, Error, LIMIT_EXCEEDED, Result};
use crate::fingerprint::Fingerprint;
use crate::incident::IncidentId;
use crate::operation::OperationKey;
use crate::retry::Category;
use crate::time::Timestamp;

/// An operation as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the fields are the columns that ARCHITECTURE.md describes")]
pub struct Entry {
    pub key: OperationKey,
    pub fingerprint: Fingerprint,
    pub status: Status,
    /// Class and policy as they were at the grant.
    pub contract: EffectContract,
    /// Rises with every grant; a record with an older one is late.
    pub fence: u64,
    pub attempt_id: AttemptId,
    /// Installation whose `perform` holds the lease; none when a caller outside the process does.
    pub installation: Option<Arc<str>>,
    /// Where the attempt runs, for people.
    pub worker: Arc<str>,
    pub deadline: Timestamp,
    pub lease_until: Timestamp,
    /// Attempts used; a released one does not count.
    pub attempts: u32,
    pub first_attempt_at: Timestamp,
    pub attempt_started_at: Timestamp,
    pub next_attempt_at: Option<Timestamp>,
    /// When waiting for another attempt ends and a person is asked.
    pub escalate_at: Option<Timestamp>,
    pub unknown_since: Option<Timestamp>,
    pub next_ask_at: Option<Timestamp>,
    pub asks: u32,
    pub origin: Origin,
    pub result: Option<StoredResult>,
    pub evidence_ref: Option<Arc<str>>,
    pub error_code: Option<CodeName>,
    pub category: Option<Category>,
    pub dependency: Option<Arc<str>>,
    /// What is known of earlier attempts while one is in flight, of all of them afterwards.
    pub side_effect: SideEffect,
    /// Digest of what the holder of the present fence recorded.
    pub recorded: Option<Digest>,
    pub settled_by: Option<SettledBy>,
    /// First of the two people who say that a financial or legal effect did not happen.
    pub approved_by: Option<Arc<str>>,
    pub incident: Option<IncidentId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub completed_at: Option<Timestamp>,
}

macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($(#[$item:meta])* $name:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $type { $($(#[$item])* #[serde(rename = $text)] $name,)+ }

        impl $type {
            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The name in JSON and store.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// The value with this name.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use named;

named! {
    /// The state of an operation.
    Status {
        /// An attempt may be acting.
        Started = "STARTED",
        /// It took hold.
        Completed = "COMPLETED",
        /// It will not take hold.
        FailedFinal = "FAILED_FINAL",
        /// It may be attempted again after `next_attempt_at`.
        FailedRetryable = "FAILED_RETRYABLE",
        /// It is unknown whether it took hold.
        Unknown = "UNKNOWN",
        /// Nothing took hold; it may be claimed again.
        Released = "RELEASED",
    }
}

named! {
    /// What is known of the effect. Ordered: more certainty of an effect is greater.
    SideEffect {
        /// No attempt took hold.
        NotApplied = "NOT_APPLIED",
        /// An attempt may have taken hold.
        Unknown = "UNKNOWN",
        /// An attempt took hold.
        Applied = "APPLIED",
    }
}

named! {
    /// Who settled an operation.
    SettledBy {
        /// The attempt itself.
        Holder = "HOLDER",
        /// The provider's answer.
        Ask = "ASK",
        /// The provider's refusal to take the key from now on.
        Void = "VOID",
        /// A person.
        Person = "PERSON",
    }
}

named! {
    /// How the operation came in.
    Source {
        /// An HTTP request.
        Http = "http",
        /// A job.
        Job = "job",
        /// A message.
        Message = "message",
        /// The library or the operations API.
        Api = "api",
        /// A shell command.
        Cli = "cli",
    }
}

/// Where an operation comes from; every text is bounded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of engines and tracing systems")]
pub struct Origin {
    pub source: Source,
    pub business_key: Option<Arc<str>>,
    pub correlation_id: Option<Arc<str>>,
    pub process_id: Option<Arc<str>>,
    pub definition_key: Option<Arc<str>>,
    pub definition_version: Option<Arc<str>>,
    pub process_instance_key: Option<Arc<str>>,
    pub element_id: Option<Arc<str>>,
    pub job_key: Option<Arc<str>>,
}

impl Origin {
    /// Bytes each text may have.
    pub const BYTES_MAX: usize = 255;

    /// An origin of which only the source is known.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            business_key: None,
            correlation_id: None,
            process_id: None,
            definition_key: None,
            definition_version: None,
            process_instance_key: None,
            element_id: None,
            job_key: None,
        }
    }

    /// Refuses texts over the limit.
    pub fn checked(self) -> Result<Self> {
        let texts = [
            ("business key", &self.business_key),
            ("correlation id", &self.correlation_id),
            ("process id", &self.process_id),
            ("definition key", &self.definition_key),
            ("definition version", &self.definition_version),
            ("process instance key", &self.process_instance_key),
            ("element id", &self.element_id),
            ("job key", &self.job_key),
        ];
        for (name, text) in texts {
            bounded(name, text.as_deref(), Self::BYTES_MAX)?;
        }
        Ok(self)
    }
}

/// Refuses a text over its limit.
pub(crate) fn bounded(name: &str, text: Option<&str>, bytes_max: usize) -> Result<()> {
    match text {
        Some(text) if text.len() > bytes_max => {
            Err(Error::new(LIMIT_EXCEEDED, format!("the {name} has {} bytes, more than {bytes_max}", text.len())))
        }
        Some(_) | None => Ok(()),
    }
}

impl Entry {
    /// Whether its id may be forgotten by now.
    pub fn forgotten(&self, retention: &Retention, now: Timestamp) -> bool {
        match (self.completed_at, retention.id_for) {
            (Some(at), Some(kept)) => at.plus(kept) <= now,
            (Some(_) | None, _) => false,
        }
    }

    /// The same operation with its result dropped: a duplicate is told so.
    #[must_use]
    pub fn without_result(&self, now: Timestamp) -> Self {
        let result = self.result.clone().map(|result| result.dropped(self.evidence_ref.as_ref()));
        Self { result, updated_at: now, ..self.clone() }
    }

    /// Whether the holder's lease is over, clocks given their slack.
    pub fn lease_expired(&self, now: Timestamp, clock_slack: std::time::Duration) -> bool {
        now >= self.lease_until.plus(clock_slack)
    }

    /// When it is touched by something that happens now: later than it was touched before, whatever the clock's grain.
    pub(super) fn touched_at(&self, now: Timestamp) -> Timestamp {
        now.max(self.updated_at.plus(std::time::Duration::from_micros(1)))
    }

    /// Whether the present grant was answered once and nobody has been heard of since: a second answer under
    /// the same attempt id, or a renewal, touches the entry.
    pub(super) fn answered_once(&self) -> bool {
        self.status == Status::Started && self.updated_at == self.attempt_started_at
    }

    /// Whether this attempt holds the present fence.
    pub(super) fn held_by(&self, fence: u64, attempt_id: AttemptId) -> bool {
        self.fence == fence && self.attempt_id == attempt_id
    }

    /// Whether it ended in a way that duplicates are answered with.
    pub fn is_settled(&self) -> bool {
        matches!(self.status, Status::Completed | Status::FailedFinal)
    }
}
