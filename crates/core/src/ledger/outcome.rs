//! What an attempt says happened.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::entry::{Entry, SideEffect, Status, bounded};
use crate::error::{Code, CodeName, Error, LIMIT_EXCEEDED, RESULT_DAMAGED, Result};
use crate::incident::Needs;
use crate::retry::Category;
use crate::time::Timestamp;

/// The first half of a SHA-256: enough to recognise, too little to reconstruct.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::half(&Sha256::digest(bytes))
    }

    fn half(full: &[u8]) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&full[..16]);
        Self(half)
    }
}

/// What is recorded of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// It took hold.
    Completed(Completion),
    /// It will not take hold.
    FailedFinal(Failure),
    /// It did not take hold and may be tried again.
    FailedRetryable(Failure),
    /// It may or may not have taken hold.
    Unknown(Failure),
}

/// A completed effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Completion {
    /// What duplicates are answered with.
    pub result: StoredResult,
    /// Where the proof lies.
    pub evidence: Option<Arc<str>>,
}

/// A result as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StoredResult {
    /// The bytes themselves.
    Kept {
        /// What they are.
        content_type: Arc<str>,
        /// As they came.
        bytes: Arc<[u8]>,
    },
    /// Too large, or past its retention: a duplicate is told so, and never performed again.
    Digest {
        /// What they were.
        content_type: Option<Arc<str>>,
        /// How many there were.
        bytes: u64,
        /// What they hash to.
        digest: Digest,
        /// Where they can be read.
        reference: Option<Arc<str>>,
    },
    /// The stored bytes are not the ones that were recorded: no duplicate is answered with them, and none is performed.
    Damaged {
        /// What they are said to be.
        content_type: Arc<str>,
        /// As they were found.
        bytes: Arc<[u8]>,
        /// What the recorded ones hash to.
        digest: Digest,
    },
}

impl StoredResult {
    /// A JSON result.
    pub fn json(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::Kept { content_type: Arc::from("application/json"), bytes: bytes.into() }
    }

    /// No result: the effect is known, what it answered is not. A duplicate is told so.
    pub fn none(reference: Option<Arc<str>>) -> Self {
        Self::Digest { content_type: None, bytes: 0, digest: Digest::of(b""), reference }
    }

    /// The result of stored bytes, if they are the ones that were recorded; rows of old have no digest to tell by.
    pub fn verified(content_type: Arc<str>, bytes: Arc<[u8]>, digest: Option<Digest>) -> Self {
        match digest {
            Some(digest) if digest != Digest::of(&bytes) => Self::Damaged { content_type, bytes, digest },
            Some(_) | None => Self::Kept { content_type, bytes },
        }
    }

    fn digest_into(&self, hasher: &mut Sha256) {
        match self {
            Self::Kept { content_type, bytes } => {
                hasher.update(Digest::of(bytes).0);
                hasher.update(content_type.as_bytes());
            }
            Self::Digest { digest, .. } | Self::Damaged { digest, .. } => hasher.update(digest.0),
        }
    }

    /// The same within a limit; what is larger becomes its digest.
    #[must_use]
    pub fn within(self, bytes_max: usize, reference: Option<&Arc<str>>) -> Self {
        match self {
            Self::Kept { ref bytes, .. } if bytes.len() > bytes_max => self.dropped(reference),
            Self::Kept { .. } | Self::Digest { .. } | Self::Damaged { .. } => self,
        }
    }

    /// What retention leaves of it: the digest, and where it can be read.
    #[must_use]
    pub fn dropped(self, reference: Option<&Arc<str>>) -> Self {
        match self {
            Self::Kept { content_type, bytes } => Self::Digest {
                content_type: Some(content_type),
                bytes: bytes.len() as u64,
                digest: Digest::of(&bytes),
                reference: reference.cloned(),
            },
            Self::Damaged { content_type, bytes, digest } => Self::Digest {
                content_type: Some(content_type),
                bytes: bytes.len() as u64,
                digest,
                reference: reference.cloned(),
            },
            Self::Digest { .. } => self,
        }
    }
}

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failure {
    /// The registry's or the user's code.
    pub code: CodeName,
    /// What it means for retry and incident; none for a business answer.
    pub category: Option<Category>,
    /// Whom it came from.
    pub dependency: Option<Arc<str>>,
    /// What is known of the effect.
    pub side_effect: SideEffect,
    /// What the dependency asked for.
    pub retry_after: Option<Duration>,
    /// What happened, in a sentence; redacted before it is kept.
    pub detail: Option<Arc<str>>,
    /// What duplicates of a final failure are answered with: the provider's own words.
    #[serde(default)]
    pub result: Option<StoredResult>,
    /// What must happen besides a decision, where the attempt knows; for the incident of a final failure.
    #[serde(default)]
    pub needs: Option<Needs>,
}

impl Failure {
    /// A technical failure of this category.
    pub fn technical(category: Category, side_effect: SideEffect) -> Self {
        Self {
            code: category.code().name(),
            category: Some(category),
            dependency: None,
            side_effect,
            retry_after: None,
            detail: None,
            result: None,
            needs: None,
        }
    }

    /// The same, with what happened in a sentence; redacted before it is kept.
    #[must_use]
    pub fn detailed(mut self, detail: impl Into<Arc<str>>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// A business answer: no, for good.
    pub fn business(code: Code) -> Self {
        Self {
            code: code.name(),
            category: None,
            dependency: None,
            side_effect: SideEffect::NotApplied,
            retry_after: None,
            detail: None,
            result: None,
            needs: None,
        }
    }
}

impl Outcome {
    /// Bytes that a reference or a detail may have.
    pub const TEXT_BYTES_MAX: usize = 1024;

    /// The status it asks for.
    pub const fn status(&self) -> Status {
        match self {
            Self::Completed(_) => Status::Completed,
            Self::FailedFinal(_) => Status::FailedFinal,
            Self::FailedRetryable(_) => Status::FailedRetryable,
            Self::Unknown(_) => Status::Unknown,
        }
    }

    /// The failure, unless it completed.
    pub const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Completed(_) => None,
            Self::FailedFinal(failure) | Self::FailedRetryable(failure) | Self::Unknown(failure) => Some(failure),
        }
    }

    /// What it says of the effect.
    pub fn side_effect(&self) -> SideEffect {
        match self {
            Self::Completed(_) => SideEffect::Applied,
            Self::Unknown(_) => SideEffect::Unknown,
            Self::FailedFinal(failure) | Self::FailedRetryable(failure) => failure.side_effect,
        }
    }

    /// The evidence it brings.
    pub const fn evidence(&self) -> Option<&Arc<str>> {
        match self {
            Self::Completed(completion) => completion.evidence.as_ref(),
            Self::FailedFinal(_) | Self::FailedRetryable(_) | Self::Unknown(_) => None,
        }
    }

    /// A digest by which the same outcome is recognised when it is recorded again.
    pub fn digest(&self) -> Digest {
        let mut hasher = Sha256::new();
        hasher.update(self.status().as_str());
        match self {
            Self::Completed(completion) => {
                completion.result.digest_into(&mut hasher);
                hasher.update(completion.evidence.as_deref().unwrap_or_default());
            }
            Self::FailedFinal(failure) | Self::FailedRetryable(failure) | Self::Unknown(failure) => {
                hasher.update(failure.code.as_str());
                hasher.update(failure.category.map_or("", Category::as_str));
                hasher.update(failure.side_effect.as_str());
                if let Some(result) = &failure.result {
                    result.digest_into(&mut hasher);
                }
            }
        }
        Digest::half(&hasher.finalize())
    }

    /// Refuses texts over their limit.
    pub fn checked(&self) -> Result<()> {
        bounded("evidence reference", self.evidence().map(|text| &**text), Self::TEXT_BYTES_MAX)?;
        if let Some(failure) = self.failure() {
            bounded("detail", failure.detail.as_deref(), Self::TEXT_BYTES_MAX)?;
            bounded("dependency", failure.dependency.as_deref(), 100)?;
        }
        let result = match self {
            Self::Completed(completion) => Some(&completion.result),
            Self::FailedFinal(failure) | Self::FailedRetryable(failure) | Self::Unknown(failure) => {
                failure.result.as_ref()
            }
        };
        if let Some(StoredResult::Kept { content_type, bytes }) = result {
            bounded("content type", Some(content_type), 255)?;
            // A batch holds many of these in memory at once.
            if bytes.len() > 64 * 1024 * 1024 {
                return Err(Error::new(LIMIT_EXCEEDED, "the result has more than 64 MiB")
                    .hint("store it elsewhere and record a reference"));
            }
        }
        Ok(())
    }
}

/// The recorded outcome, as a duplicate is answered with it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Replay {
    /// COMPLETED or `FAILED_FINAL`.
    pub status: Status,
    /// What was recorded.
    pub result: Option<StoredResult>,
    /// Where the proof lies.
    pub evidence: Option<Arc<str>>,
    /// Why it failed.
    pub error_code: Option<CodeName>,
    /// What that means.
    pub category: Option<Category>,
    /// When it was settled.
    pub completed_at: Timestamp,
}

impl Replay {
    /// The recorded outcome of a settled entry; refused where the stored result is no longer the recorded one.
    pub fn of(entry: &Entry) -> Result<Self> {
        if matches!(entry.result, Some(StoredResult::Damaged { .. })) {
            let what = format!("the stored result of {} is not the one that was recorded", entry.key);
            return Err(Error::new(RESULT_DAMAGED, what));
        }
        Ok(Self {
            status: entry.status,
            result: entry.result.clone(),
            evidence: entry.evidence_ref.clone(),
            error_code: entry.error_code.clone(),
            category: entry.category,
            completed_at: entry.completed_at.unwrap_or(entry.updated_at),
        })
    }
}
