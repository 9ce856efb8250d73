//! Incidents of one cause are one group with one head.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::incident::Incident;
use super::subject::Subject;
use crate::error::Code;
use crate::retry::Category;
use crate::time::Timestamp;

/// What incidents of one cause share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupKey(Arc<str>);

impl GroupKey {
    /// One cause: kind, dependency and code; the crash of a process is one cause for all it held.
    pub(super) fn of(kind: &str, dependency: Option<&str>, code: Code, worker: &str) -> Self {
        let key = if code == Category::HolderLost.code() {
            format!("{code} {worker}")
        } else {
            format!("{code} {kind} {}", dependency.unwrap_or("-"))
        };
        Self(Arc::from(key))
    }

    /// The cause of an incident that is not about an operation: the subject and the code.
    pub(super) fn of_subject(subject: &Subject, code: Code) -> Self {
        Self(Arc::from(format!("{code} {} {}", subject.sort.word(), subject.kind)))
    }

    /// A key read back from a store.
    pub fn stored(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Incidents of one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// The cause.
    pub key: GroupKey,
    /// The oldest of them, which represents all.
    pub head: Incident,
    /// How many there are, one a subject.
    pub incidents: u64,
    /// When the first was seen.
    pub first_seen: Timestamp,
    /// When the last was seen.
    pub last_seen: Timestamp,
}

/// Groups incidents by cause, the largest first.
pub fn grouped(incidents: impl IntoIterator<Item = Incident>) -> Vec<Group> {
    let mut groups: BTreeMap<GroupKey, Group> = BTreeMap::new();
    for incident in incidents {
        match groups.get_mut(&incident.group) {
            None => {
                let group = Group {
                    key: incident.group.clone(),
                    incidents: 1,
                    first_seen: incident.first_seen,
                    last_seen: incident.last_seen,
                    head: incident,
                };
                groups.insert(group.key.clone(), group);
            }
            Some(group) => {
                group.incidents += 1;
                group.last_seen = group.last_seen.max(incident.last_seen);
                if incident.first_seen < group.first_seen {
                    group.first_seen = incident.first_seen;
                    group.head = incident;
                }
            }
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.incidents));
    groups
}
