//! Columns and entries: the order of columns that every store has, bound as arrays, a column each.

use onefold_core::ledger::{Attempt, Entry, Note};
use onefold_core::operation::OperationKey;
use onefold_core::persistence::columns::{self, Columns, Found, WrongType};
use onefold_core::persistence::columns::{Cell, key_cells};
use onefold_core::{Error, Result, Timestamp};
use sqlx::Row as _;
use sqlx::SqlStr;
use sqlx::postgres::{PgArguments, PgRow};

use crate::error::translate;

/// A statement without a name: the next one may run on another connection.
pub(crate) type Query = sqlx::query::Query<'static, sqlx::Postgres, PgArguments>;

/// What a column holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Type {
    Text,
    Int,
    Blob,
}

use Type::{Blob as B, Int as I, Text as T};

/// The columns of an entry, in the order of `queries/ledger/insert.sql`.
pub(crate) const ENTRY: [Type; 49] = [
    T, T, T, B, T, I, T, T, T, T, T, T, T, T, T, I, T, T, T, I, B, T, T, I, I, I, I, I, I, I, I, I, I, B, T, I, B, T,
    T, T, T, T, T, B, T, T, T, I, I,
];
/// Of these the ones that a transition may change, behind the key.
pub(crate) fn changing() -> impl Iterator<Item = usize> {
    (0..3).chain(16..ENTRY.len())
}
/// Of these the ones that a first grant has.
pub(crate) fn granted() -> impl Iterator<Item = usize> {
    (0..28).chain([32, 42, 47])
}
/// The columns of `queries/ledger/settle.sql`.
pub(crate) const SETTLED: [Type; 19] = [T, T, T, T, T, T, B, T, I, B, T, T, T, B, T, I, I, I, B];
/// The columns of `queries/ledger/keep_attempt.sql`.
pub(crate) const ATTEMPT: [Type; 17] = [T, T, T, I, B, T, I, I, I, I, T, T, T, T, T, B, T];
/// The columns of `queries/incident/write.sql`.
pub(crate) const INCIDENT: [Type; 11] = [T, T, T, T, T, T, I, I, I, T, T];
/// The columns of `queries/ledger/add_note.sql`.
pub(crate) const NOTE: [Type; 8] = [T, T, T, I, T, T, T, I];
/// The columns of a key.
pub(crate) const KEY: [Type; 3] = [T, T, T];

/// Where the columns of an entry end in a row.
pub(crate) const AFTER_ENTRY: usize = ENTRY.len();

/// A statement, ready to be bound.
pub(crate) fn query(sql: &SqlStr) -> Query {
    sqlx::query(sql.clone()).persistent(false)
}

/// Binds one row, a parameter a cell.
pub(crate) fn bind<'a>(
    query: Query,
    types: impl IntoIterator<Item = Type>,
    cells: impl IntoIterator<Item = Cell<'a>>,
) -> Query {
    cells.into_iter().zip(types).fold(query, |query, (cell, kind)| match kind {
        Type::Text => query.bind(as_text(&cell)),
        Type::Int => query.bind(as_int(&cell)),
        Type::Blob => query.bind(as_blob(&cell)),
    })
}

/// Binds many rows, a parameter a column.
pub(crate) fn bind_columns<'a, R: AsRef<[Cell<'a>]>>(query: Query, types: &[Type], rows: &[R]) -> Query {
    bind_some_columns(query, types, 0..types.len(), rows)
}

/// The same with these columns only.
pub(crate) fn bind_some_columns<'a, R: AsRef<[Cell<'a>]>>(
    query: Query,
    types: &[Type],
    columns: impl Iterator<Item = usize>,
    rows: &[R],
) -> Query {
    columns.fold(query, |query, at| {
        let cells = rows.iter().map(|row| &row.as_ref()[at]);
        match types[at] {
            Type::Text => query.bind(cells.map(as_text).collect::<Vec<_>>()),
            Type::Int => query.bind(cells.map(as_int).collect::<Vec<_>>()),
            Type::Blob => query.bind(cells.map(as_blob).collect::<Vec<_>>()),
        }
    })
}

/// Binds keys, a parameter a column.
pub(crate) fn bind_keys<'k>(query: Query, keys: impl IntoIterator<Item = &'k OperationKey>) -> Query {
    let rows: Vec<_> = keys.into_iter().map(key_cells).collect();
    bind_columns(query, &KEY, &rows)
}

fn as_text<'c>(cell: &'c Cell<'_>) -> Option<&'c str> {
    match cell {
        Cell::Text(text) => Some(text),
        Cell::Null | Cell::Int(_) | Cell::Blob(_) => None,
    }
}

fn as_int(cell: &Cell<'_>) -> Option<i64> {
    match cell {
        Cell::Int(value) => Some(*value),
        Cell::Null | Cell::Text(_) | Cell::Blob(_) => None,
    }
}

fn as_blob<'c>(cell: &'c Cell<'_>) -> Option<&'c [u8]> {
    match cell {
        Cell::Blob(bytes) => Some(bytes),
        Cell::Null | Cell::Int(_) | Cell::Text(_) => None,
    }
}

struct Row<'a>(&'a PgRow);

impl Columns for Row<'_> {
    fn int(&self, at: usize) -> Found<i64> {
        self.0.try_get(at).map_err(|_| WrongType)
    }
    fn text(&self, at: usize) -> Found<&str> {
        self.0.try_get(at).map_err(|_| WrongType)
    }
    fn blob(&self, at: usize) -> Found<&[u8]> {
        self.0.try_get(at).map_err(|_| WrongType)
    }
}

/// The entry of a row whose first columns are those of `queries/ledger/find.sql`.
pub(crate) fn entry(row: &PgRow) -> Result<Entry> {
    columns::entry(&Row(row))
}

/// The same, where there is one.
pub(crate) fn optional_entry(row: &PgRow) -> Result<Option<Entry>> {
    let absent = get::<Option<&str>>(row, 0)?.is_none();
    if absent { Ok(None) } else { entry(row).map(Some) }
}

/// The attempt of a row whose columns are those of `queries/ledger/find_attempt.sql`.
pub(crate) fn attempt(row: &PgRow) -> Result<Attempt> {
    columns::attempt(&Row(row))
}

/// The note of a row whose columns are those of `queries/ledger/list_notes.sql`.
pub(crate) fn note(row: &PgRow) -> Result<Note> {
    columns::note(&Row(row))
}

/// The key in the first three columns.
pub(crate) fn key(row: &PgRow) -> Result<OperationKey> {
    columns::key(&Row(row))
}

/// The time in this column.
pub(crate) fn time(row: &PgRow, at: usize) -> Result<Timestamp> {
    get(row, at).map(Timestamp::from_micros)
}

/// The value in this column.
pub(crate) fn get<'r, V>(row: &'r PgRow, at: usize) -> Result<V, Error>
where
    V: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    row.try_get(at).map_err(translate)
}
