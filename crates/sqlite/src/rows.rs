//! A ledger of any store, as rows into and out of a file of ours: what a backup of a server's database is kept in.

use std::path::{Path, PathBuf};

use onefold_core::backup::{BackupSummary, BackupValue, ExistingLedger, LEFT_OUT, TableRows};
use onefold_core::{Result, Timestamp};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql, params_from_iter};

use crate::backup::{columns, free_place, new_file, open, seal, verify};
use crate::error::translate;
use crate::{migrate, sql};

/// Rows that are handed over at once.
const PART: usize = 500;

/// A backup in progress, in a file that has no name yet.
pub struct BackupWriter {
    connection: Connection,
    written: PathBuf,
    name: PathBuf,
    cleared: Vec<String>,
}

impl BackupWriter {
    /// Begins a backup; refused where the name is taken.
    pub fn create(name: &Path, existing: ExistingLedger, now: Timestamp) -> Result<Self> {
        free_place(name, existing)?;
        let written = new_file(name)?;
        let connection = open(&written, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        migrate::migrate(&connection, &written, now)?;
        connection.execute_batch("BEGIN IMMEDIATE").map_err(translate)?;
        Ok(Self { connection, written, name: name.to_owned(), cleared: Vec::new() })
    }

    /// Adds rows.
    pub fn add(&mut self, part: &TableRows) -> Result<()> {
        if !self.cleared.contains(&part.table) {
            self.make_way(part)?;
            self.cleared.push(part.table.clone());
        }
        let values: Vec<String> = (1..=part.columns.len()).map(|number| format!("?{number}")).collect();
        let insert = sql::INSERT_ROW.replace(":table", &part.table);
        let insert = insert.replace(":columns", &part.columns.join(", ")).replace(":values", &values.join(", "));
        let mut statement = self.connection.prepare_cached(&insert).map_err(translate)?;
        for row in &part.rows {
            statement.execute(params_from_iter(row.iter().map(SqlValue))).map_err(translate)?;
        }
        Ok(())
    }

    /// Empties a table, and gives it the columns that only the other store has.
    fn make_way(&self, part: &TableRows) -> Result<()> {
        let known = columns(&self.connection)?.remove(&part.table).unwrap_or_default();
        for column in part.columns.iter().filter(|column| !known.contains(column)) {
            let add = sql::ADD_COLUMN.replace(":table", &part.table).replace(":column", column);
            self.connection.execute(&add, []).map_err(translate)?;
        }
        self.connection.execute(&sql::CLEAR.replace(":table", &part.table), []).map(drop).map_err(translate)
    }

    /// Checks it and gives it its name.
    pub fn finish(self, at: Timestamp) -> Result<BackupSummary> {
        self.connection.execute_batch("COMMIT").map_err(translate)?;
        let Self { connection, written, name, .. } = self;
        drop(connection);
        seal(&written, &name, at).inspect_err(|_| drop(std::fs::remove_file(&written)))
    }
}

/// A backup that is read.
pub struct BackupReader {
    connection: Connection,
    summary: BackupSummary,
}

impl BackupReader {
    /// Opens a backup, which is checked first.
    pub fn open(path: &Path) -> Result<Self> {
        let summary = verify(path)?;
        Ok(Self { connection: open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?, summary })
    }

    /// What it holds.
    pub fn summary(&self) -> &BackupSummary {
        &self.summary
    }

    /// Hands over every row, some at a time; each table comes at least once, with or without rows.
    pub fn read(&self, mut take: impl FnMut(TableRows) -> Result<()>) -> Result<()> {
        for (table, columns) in columns(&self.connection)? {
            if LEFT_OUT.contains(&table.as_str()) {
                continue;
            }
            let select = sql::ROWS.replace(":table", &table).replace(":columns", &columns.join(", "));
            let mut statement = self.connection.prepare(&select).map_err(translate)?;
            let mut found = statement.query([]).map_err(translate)?;
            let mut part = TableRows { table, columns, rows: Vec::new() };
            while let Some(row) = found.next().map_err(translate)? {
                let values = (0..part.columns.len()).map(|at| row.get_ref(at).map(value));
                part.rows.push(values.collect::<rusqlite::Result<_>>().map_err(translate)?);
                if part.rows.len() == PART {
                    let rest = TableRows { table: part.table.clone(), columns: part.columns.clone(), rows: Vec::new() };
                    take(std::mem::replace(&mut part, rest))?;
                }
            }
            take(part)?;
        }
        Ok(())
    }
}

fn value(stored: ValueRef<'_>) -> BackupValue {
    match stored {
        // Tables are strict and have no column of reals.
        ValueRef::Null | ValueRef::Real(_) => BackupValue::Null,
        ValueRef::Integer(number) => BackupValue::Int(number),
        ValueRef::Text(text) => BackupValue::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => BackupValue::Blob(bytes.to_vec()),
    }
}

struct SqlValue<'a>(&'a BackupValue);

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            BackupValue::Null => ValueRef::Null,
            BackupValue::Int(number) => ValueRef::Integer(*number),
            BackupValue::Text(text) => ValueRef::Text(text.as_bytes()),
            BackupValue::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
