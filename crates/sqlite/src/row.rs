//! Columns and entries: the order of columns that every store has, read and written by both connections.

use onefold_core::Result;
use onefold_core::ledger::{Attempt, Entry, Note};
use onefold_core::persistence::columns::{self, Columns, Found, WrongType};
pub(crate) use onefold_core::persistence::columns::{
    Cell, attempt_cells, cells, incident_cells, key_cells, note_cells, settled_cells,
};
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

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
    fn int(&self, at: usize) -> Found<i64> {
        self.0.get_ref(at).ok().and_then(|value| value.as_i64_or_null().ok()).ok_or(WrongType)
    }
    fn text(&self, at: usize) -> Found<&str> {
        self.0.get_ref(at).ok().and_then(|value| value.as_str_or_null().ok()).ok_or(WrongType)
    }
    fn blob(&self, at: usize) -> Found<&[u8]> {
        self.0.get_ref(at).ok().and_then(|value| value.as_blob_or_null().ok()).ok_or(WrongType)
    }
}

impl Columns for Row<'_, sqlx::sqlite::SqliteRow> {
    fn int(&self, at: usize) -> Found<i64> {
        sqlx::Row::try_get(self.0, at).map_err(|_| WrongType)
    }
    fn text(&self, at: usize) -> Found<&str> {
        sqlx::Row::try_get(self.0, at).map_err(|_| WrongType)
    }
    fn blob(&self, at: usize) -> Found<&[u8]> {
        sqlx::Row::try_get(self.0, at).map_err(|_| WrongType)
    }
}

/// The entry of a row whose columns are those of `queries/ledger/find.sql`.
pub(crate) fn entry<'a, R>(row: &'a R) -> Result<Entry>
where
    Row<'a, R>: Columns,
{
    columns::entry(&Row(row))
}

/// The attempt of a row whose columns are those of `queries/ledger/find_attempt.sql`.
pub(crate) fn attempt(row: &rusqlite::Row<'_>) -> Result<Attempt> {
    columns::attempt(&Row(row))
}

/// The note of a row whose columns are those of `queries/ledger/list_notes.sql`.
pub(crate) fn note(row: &rusqlite::Row<'_>) -> Result<Note> {
    columns::note(&Row(row))
}
