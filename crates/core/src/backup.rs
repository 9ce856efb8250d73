//! A ledger as rows of plain values: what a backup of any store is made of.

use std::collections::BTreeMap;

use crate::time::Timestamp;

/// A stored value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackupValue {
    /// Nothing.
    Null,
    /// A number, or a time in microseconds since 1970.
    Int(i64),
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// Some rows of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRows {
    /// The table.
    pub table: String,
    /// Its columns, in the order of each row's values.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<BackupValue>>,
}

/// What a backup holds, counted after it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupSummary {
    /// When it was made.
    pub copied_at: Timestamp,
    /// How far the ledger had come.
    pub mark: u64,
    /// Rows of each table.
    pub rows: BTreeMap<String, u64>,
    /// Bytes of the file.
    pub bytes: u64,
}

/// What becomes of a ledger that is where another one is restored to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingLedger {
    /// It stays, and nothing is restored.
    Keep,
    /// It gives way.
    Replace,
}

/// Tables that belong to one database and to no backup of it.
///
/// A relay's place means nothing in another database, and an event that comes back is published again: the outbox is
/// restored with the database that it is a part of.
pub const LEFT_OUT: [&str; 13] = [
    "onefold_clock",
    "onefold_leases",
    "onefold_migrations",
    "onefold_room",
    "onefold_events",
    "onefold_events_aside",
    "onefold_outbox",
    "onefold_outbox_audit",
    "onefold_relay_holders",
    "onefold_relay_lanes",
    "onefold_relay_pages",
    "onefold_relays",
    "onefold_replays",
];
