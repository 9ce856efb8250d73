//! Whether a schema may follow another one.
//!
//! A reader with one schema meets payloads that were written under another. The rule is conservative: what it cannot
//! decide, it says, and a person compares. It assumes that a writer sends only properties that its schema names.

mod subset;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::contract::Compatibility;
use subset::Comparison;

/// What a change of a schema does to readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaChange {
    /// Where in the schema, as a JSON pointer; empty for the whole.
    pub at: String,
    /// What differs.
    pub what: String,
    /// What follows from it.
    pub effect: SchemaChangeEffect,
}

/// What follows from a change of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchemaChangeEffect {
    /// A payload that one side may write is refused by the other.
    Breaks,
    /// It could not be decided.
    Undecided,
}

/// What a change from `old` to `new` breaks under a rule; nothing where it may be made.
pub fn schema_changes(old: &Value, new: &Value, rule: Compatibility) -> Vec<SchemaChange> {
    let backward = || Comparison::new(("new", new), ("old", old)).run();
    let forward = || Comparison::new(("old", old), ("new", new)).run();
    match rule {
        Compatibility::Backward => backward(),
        Compatibility::Forward => forward(),
        Compatibility::Full => backward().into_iter().chain(forward()).collect(),
        Compatibility::None => Vec::new(),
    }
}
