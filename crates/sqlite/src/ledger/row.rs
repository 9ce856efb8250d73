//! Rows of both drivers: bound a cell a parameter, and read by the tables of columns that every store has.

use onefold_core::incident::Incident;
use onefold_core::ledger::{Entry, Note, PastAttempt};
use onefold_core::row::{Cell, ColumnValue, Columns, WrongType, attempt, incident, note, operation};
use onefold_core::{Result, Timestamp};
use rusqlite::ToSql;
use rusqlite::types::{FromSql, ToSqlOutput, ValueRef};

use crate::error::translate;

/// A cell as the driver binds it.
pub(crate) struct Bound<C>(pub(crate) C);

impl ToSql for Bound<Cell<'_>> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(value(&self.0)))
    }
}

impl ToSql for Bound<&Cell<'_>> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(value(self.0)))
    }
}

fn value<'b>(cell: &'b Cell<'_>) -> ValueRef<'b> {
    match cell {
        Cell::Null => ValueRef::Null,
        Cell::Int(value) => ValueRef::Integer(*value),
        Cell::Text(text) => ValueRef::Text(text.as_bytes()),
        Cell::Blob(bytes) => ValueRef::Blob(bytes),
    }
}

/// A row of one of the two drivers.
pub(crate) struct Row<'a, R>(&'a R);

impl Columns for Row<'_, rusqlite::Row<'_>> {
    fn int(&self, at: usize) -> ColumnValue<i64> {
        self.0.get_ref(at).ok().and_then(|value| value.as_i64_or_null().ok()).ok_or(WrongType)
    }
    fn text(&self, at: usize) -> ColumnValue<&str> {
        self.0.get_ref(at).ok().and_then(|value| value.as_str_or_null().ok()).ok_or(WrongType)
    }
    fn blob(&self, at: usize) -> ColumnValue<&[u8]> {
        self.0.get_ref(at).ok().and_then(|value| value.as_blob_or_null().ok()).ok_or(WrongType)
    }
}

impl Columns for Row<'_, sqlx::sqlite::SqliteRow> {
    fn int(&self, at: usize) -> ColumnValue<i64> {
        sqlx::Row::try_get(self.0, at).map_err(|_| WrongType)
    }
    fn text(&self, at: usize) -> ColumnValue<&str> {
        sqlx::Row::try_get(self.0, at).map_err(|_| WrongType)
    }
    fn blob(&self, at: usize) -> ColumnValue<&[u8]> {
        sqlx::Row::try_get(self.0, at).map_err(|_| WrongType)
    }
}

/// The entry of a row that begins with the columns of an operation.
pub(crate) fn entry<'a, R>(row: &'a R) -> Result<Entry>
where
    Row<'a, R>: Columns,
{
    operation::read(&Row(row))
}

/// The attempt of a row.
pub(crate) fn attempt(row: &rusqlite::Row<'_>) -> Result<PastAttempt> {
    attempt::read(&Row(row))
}

/// The note of a row.
pub(crate) fn note(row: &rusqlite::Row<'_>) -> Result<Note> {
    note::read(&Row(row))
}

/// The incident in the column `body`.
pub(crate) fn incident(row: &rusqlite::Row<'_>) -> Result<Incident> {
    incident::read(&get::<String>(row, "body")?)
}

/// The value in this column.
pub(crate) fn get<V: FromSql>(row: &rusqlite::Row<'_>, column: &str) -> Result<V> {
    row.get(column).map_err(translate)
}

/// The time in this column.
pub(crate) fn time(row: &rusqlite::Row<'_>, column: &str) -> Result<Timestamp> {
    get(row, column).map(Timestamp::from_micros)
}
