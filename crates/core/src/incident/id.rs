//! The id of an incident.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::subject::Subject;
use crate::operation::Tenant;
use crate::time::Timestamp;

/// The id of an incident: `inc_…`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IncidentId(Arc<str>);

impl IncidentId {
    /// The id of the incident that is opened about a subject at this time.
    pub(super) fn of(subject: &Subject, tenant: &Tenant, fence: u64, now: Timestamp) -> Self {
        let mut hasher = Sha256::new();
        for part in [subject.sort.as_str(), tenant.as_str(), subject.kind.as_str(), &*subject.id] {
            hasher.update(part);
            hasher.update([0]);
        }
        hasher.update(fence.to_be_bytes());
        hasher.update(now.as_micros().to_be_bytes());
        Self(Arc::from(format!("inc_{}", URL_SAFE_NO_PAD.encode(&hasher.finalize()[..12]))))
    }

    /// An id read back from a store or sent by a caller.
    pub fn stored(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IncidentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
