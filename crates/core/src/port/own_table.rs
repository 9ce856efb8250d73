//! What a relay on a team's own table asks of a store.

use std::sync::Arc;
use std::time::Duration;

use super::{BoxFuture, SubjectChange};
use crate::error::Result;
use crate::event::{EventId, StoredEvent};
use crate::outbox::{EventPatterns, OwnTable, RowMark};
use crate::time::Timestamp;

/// A table that was found to have its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedTable {
    /// The table.
    pub table: OwnTable,
    /// The type of its ids, as a statement names it.
    pub id_type: String,
    /// What its payload is.
    pub payload: PayloadColumn,
}

/// What a payload's column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadColumn {
    /// Bytes, as they are.
    Bytes,
    /// Text or JSON, sent as text.
    Text,
}

/// A row that is ours until its lease ends.
#[derive(Debug, Clone)]
pub struct TakenRow {
    /// Its id, as text.
    pub key: Arc<str>,
    /// The id that it is sent with.
    pub id: EventId,
    /// The event; or why it cannot be read as one.
    pub event: std::result::Result<Arc<StoredEvent>, String>,
    /// How often it was refused before.
    pub attempts: u32,
}

/// Rows that were taken in one commit.
#[derive(Debug, Clone)]
pub struct TakenRows {
    /// The rows, the oldest first.
    pub rows: Vec<TakenRow>,
    /// The store's time.
    pub now: Timestamp,
    /// When the lease ends.
    pub lease_until: Timestamp,
}

/// How far a relay on a team's own table is: rows of types that it wants, none of them published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows that were never refused.
    pub waiting: u64,
    /// When the oldest of them was written.
    pub oldest: Option<Timestamp>,
    /// Rows that a person must decide about.
    pub parked: u64,
    /// Rows that were refused and are tried again.
    pub refused: u64,
}

/// What a relay on a team's own table asks of a store.
pub trait OwnTableStore: Send + Sync {
    /// Whether the table has these columns; `RELAY_TABLE_INVALID` names what it lacks.
    fn check_table(&self, table: OwnTable) -> BoxFuture<'_, Result<CheckedTable>>;
    /// Takes rows that are due, the oldest first, and puts them off until a lease ends, in a commit of its own. Rows that
    /// another process is taking are passed over.
    fn take_rows(
        &self,
        table: CheckedTable,
        events: EventPatterns,
        lease_for: Duration,
        limit: usize,
    ) -> BoxFuture<'_, Result<TakenRows>>;
    /// Marks rows, with the incidents of what was parked or came through after all, in one commit. What was published is
    /// marked even where another process holds the row by now; everything else only under the lease that ends then.
    fn mark_rows(
        &self,
        table: CheckedTable,
        lease_until: Timestamp,
        marks: Vec<(Arc<str>, RowMark)>,
        incidents: Vec<SubjectChange>,
    ) -> BoxFuture<'_, Result<()>>;
    /// Counts the rows that are not published.
    fn count_rows(&self, table: CheckedTable, events: EventPatterns) -> BoxFuture<'_, Result<RowCounts>>;
}
