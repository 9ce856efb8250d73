//! Which part of a list is read.

use crate::error::CodeName;
use crate::incident::{IncidentId, SubjectSort};
use crate::ledger::Status;
use crate::operation::{KindName, OperationId, Tenant};
use crate::retry::Category;
use crate::time::Timestamp;

/// What a person watches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Operations with an unknown outcome, by category.
    pub unknown: Vec<(Category, u64)>,
    /// Open incidents, by category.
    pub open_incidents: Vec<(Category, u64)>,
}

/// Which operations.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "each narrows the list by the field of that name")]
pub struct Filter {
    pub tenant: Tenant,
    pub id: Option<OperationId>,
    pub kind: Option<KindName>,
    pub status: Option<Status>,
    pub business_key: Option<String>,
    pub process_instance_key: Option<String>,
    pub error_code: Option<CodeName>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

/// Which incidents.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "each narrows the list by the field of that name")]
pub struct IncidentFilter {
    pub tenant: Tenant,
    pub id: Option<IncidentId>,
    pub open_only: bool,
    pub subject: Option<SubjectSort>,
    pub kind: Option<KindName>,
    pub group: Option<String>,
}

/// A part of a list.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Where the previous part ended.
    pub after: Option<i64>,
    /// Rows at most.
    pub limit: usize,
}

impl Page {
    /// Rows a page may have.
    pub const LIMIT_MAX: usize = 1000;
}

impl Default for Page {
    fn default() -> Self {
        Self { after: None, limit: 100 }
    }
}

/// A part of a list, and where the next one begins.
#[derive(Debug, Clone)]
pub struct Listed<T> {
    /// The rows.
    pub items: Vec<T>,
    /// Hand this to [`Page::after`] for more.
    pub next: Option<i64>,
}
