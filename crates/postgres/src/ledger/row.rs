//! Rows of the driver: bound as arrays, a column each, and read by the tables of columns that every store has.

use onefold_core::incident::Incident;
use onefold_core::ledger::{Entry, Note, PastAttempt};
use onefold_core::operation::OperationKey;
use onefold_core::row::{
    Cell, Column, ColumnType, ColumnValue, Columns, KEY, WrongType, attempt, incident, is_absent, key_cells, note,
    operation,
};
use onefold_core::{Error, Result, Timestamp};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{ColumnIndex, Row as _, SqlStr};

use crate::error::translate;

/// A statement without a name: the next one may run on another connection.
pub(crate) type Query = sqlx::query::Query<'static, sqlx::Postgres, PgArguments>;

/// What follows the columns of an operation in a row.
pub(crate) const AFTER_OPERATION: usize = operation::ALL.len();

/// A statement, ready to be bound.
pub(crate) fn query(sql: &SqlStr) -> Query {
    sqlx::query(sql.clone()).persistent(false)
}

/// Binds one row, a parameter a cell.
pub(crate) fn bind<const COLUMNS: usize>(
    query: Query,
    columns: &[Column; COLUMNS],
    cells: &[Cell<'_>; COLUMNS],
) -> Query {
    columns.iter().zip(cells).fold(query, |query, (column, cell)| match column.holds {
        ColumnType::Text | ColumnType::Json => query.bind(as_text(cell)),
        ColumnType::Number | ColumnType::Time => query.bind(as_int(cell)),
        ColumnType::Hex | ColumnType::Bytes => query.bind(as_blob(cell)),
    })
}

/// Binds many rows, a parameter a column.
pub(crate) fn bind_columns<const COLUMNS: usize>(
    query: Query,
    columns: &[Column; COLUMNS],
    rows: &[[Cell<'_>; COLUMNS]],
) -> Query {
    columns.iter().enumerate().fold(query, |query, (at, column)| {
        let cells = rows.iter().map(|row| &row[at]);
        match column.holds {
            ColumnType::Text | ColumnType::Json => query.bind(cells.map(as_text).collect::<Vec<_>>()),
            ColumnType::Number | ColumnType::Time => query.bind(cells.map(as_int).collect::<Vec<_>>()),
            ColumnType::Hex | ColumnType::Bytes => query.bind(cells.map(as_blob).collect::<Vec<_>>()),
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
    fn int(&self, at: usize) -> ColumnValue<i64> {
        self.0.try_get(at).map_err(|_| WrongType)
    }
    fn text(&self, at: usize) -> ColumnValue<&str> {
        self.0.try_get(at).map_err(|_| WrongType)
    }
    fn blob(&self, at: usize) -> ColumnValue<&[u8]> {
        self.0.try_get(at).map_err(|_| WrongType)
    }
}

/// The entry of a row that begins with the columns of an operation.
pub(crate) fn entry(row: &PgRow) -> Result<Entry> {
    operation::read(&Row(row))
}

/// The same, where there is one.
pub(crate) fn optional_entry(row: &PgRow) -> Result<Option<Entry>> {
    if is_absent(&Row(row)) { Ok(None) } else { entry(row).map(Some) }
}

/// The attempt of a row.
pub(crate) fn attempt(row: &PgRow) -> Result<PastAttempt> {
    attempt::read(&Row(row))
}

/// The note of a row.
pub(crate) fn note(row: &PgRow) -> Result<Note> {
    note::read(&Row(row))
}

/// The key that a row begins with.
pub(crate) fn key(row: &PgRow) -> Result<OperationKey> {
    onefold_core::row::key(&Row(row))
}

/// The incident in the column `body`.
pub(crate) fn incident(row: &PgRow) -> Result<Incident> {
    incident::read(get(row, "body")?)
}

/// The time in this column.
pub(crate) fn time(row: &PgRow, column: impl ColumnIndex<PgRow>) -> Result<Timestamp> {
    get(row, column).map(Timestamp::from_micros)
}

/// The value in this column.
pub(crate) fn get<'r, V>(row: &'r PgRow, column: impl ColumnIndex<PgRow>) -> Result<V, Error>
where
    V: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    row.try_get(column).map_err(translate)
}

/// The only value of a row.
pub(crate) fn only<'r, V>(row: &'r PgRow) -> Result<V, Error>
where
    V: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    get(row, 0)
}
