//! Reads a stored row by the places of its columns; a value that cannot be is an error that names its column.

use std::sync::Arc;

use super::Column;
use crate::error::{Error, PROGRAMMING_INVARIANT_VIOLATED, Result};
use crate::ledger::Digest;
use crate::time::Timestamp;

/// A value of a row: there, not there, or of another type than its column says.
pub type ColumnValue<T> = Result<Option<T>, WrongType>;

/// A value that cannot be what its column says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongType;

/// A row of whatever driver, whose columns are those of a table in order.
pub trait Columns {
    /// The number in this column.
    fn int(&self, at: usize) -> ColumnValue<i64>;
    /// The text in this column.
    fn text(&self, at: usize) -> ColumnValue<&str>;
    /// The bytes in this column.
    fn blob(&self, at: usize) -> ColumnValue<&[u8]>;
}

/// A row of one table.
pub(super) struct Reader<'a, C> {
    row: &'a C,
    table: &'static [Column],
}

impl<'a, C: Columns> Reader<'a, C> {
    pub(super) fn new(row: &'a C, table: &'static [Column]) -> Self {
        Self { row, table }
    }

    /// An error about this column.
    fn wrong(&self, at: usize, what: &str) -> Error {
        let name = self.table.get(at).map_or("?", |column| column.name);
        Error::new(PROGRAMMING_INVARIANT_VIOLATED, format!("column {name} of a stored row {what}"))
    }

    /// A column's value, if it is there and reads as it should.
    pub(super) fn optional<V, T>(
        &self,
        at: impl Into<usize>,
        get: impl FnOnce(&'a C, usize) -> ColumnValue<V>,
        read: impl FnOnce(V) -> Option<T>,
    ) -> Result<Option<T>> {
        let at = at.into();
        match get(self.row, at) {
            Ok(None) => Ok(None),
            Ok(Some(value)) => read(value).map(Some).ok_or_else(|| self.wrong(at, "cannot be read")),
            Err(WrongType) => Err(self.wrong(at, "cannot be read")),
        }
    }

    fn required<V, T>(
        &self,
        at: impl Into<usize>,
        get: impl FnOnce(&'a C, usize) -> ColumnValue<V>,
        read: impl FnOnce(V) -> Option<T>,
    ) -> Result<T> {
        let at = at.into();
        self.optional(at, get, read)?.ok_or_else(|| self.wrong(at, "is absent"))
    }

    pub(super) fn shared(&self, at: impl Into<usize>) -> Result<Arc<str>> {
        self.required(at, C::text, |text| Some(Arc::from(text)))
    }

    pub(super) fn opt_shared(&self, at: impl Into<usize>) -> Result<Option<Arc<str>>> {
        self.optional(at, C::text, |text| Some(Arc::from(text)))
    }

    pub(super) fn parsed<T>(&self, at: impl Into<usize>, parse: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        self.required(at, C::text, parse)
    }

    pub(super) fn opt_parsed<T>(
        &self,
        at: impl Into<usize>,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>> {
        self.optional(at, C::text, parse)
    }

    pub(super) fn int<T: TryFrom<i64>>(&self, at: impl Into<usize>) -> Result<T> {
        self.required(at, C::int, |value| T::try_from(value).ok())
    }

    pub(super) fn time(&self, at: impl Into<usize>) -> Result<Timestamp> {
        self.int::<i64>(at).map(Timestamp::from_micros)
    }

    pub(super) fn opt_time(&self, at: impl Into<usize>) -> Result<Option<Timestamp>> {
        self.optional(at, C::int, |micros| Some(Timestamp::from_micros(micros)))
    }

    pub(super) fn bytes<const N: usize>(&self, at: impl Into<usize>) -> Result<[u8; N]> {
        self.required(at, C::blob, |bytes| bytes.try_into().ok())
    }

    pub(super) fn opt_digest(&self, at: impl Into<usize>) -> Result<Option<Digest>> {
        self.optional(at, C::blob, |bytes| bytes.try_into().ok().map(Digest))
    }
}
