//! Which migrations a file has, and applying the missing ones. Forward only; safe with several starters.

use std::path::Path;
use std::time::Duration;

use onefold_core::error::DATABASE_TOO_NEW;
use onefold_core::port::Contents;
use onefold_core::{Error, Result, Timestamp};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::{opening, translate};
use crate::sql;

/// One migration, in the order of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqliteMigration {
    /// Its number.
    pub version: i64,
    /// Its name.
    pub name: &'static str,
    sql: &'static str,
}

/// Every migration of this version.
pub(crate) const MIGRATIONS: &[SqliteMigration] = onefold_core::migrations!(SqliteMigration);

/// How long looking at a file waits for the process that creates it.
const BUSY_WAIT: Duration = Duration::from_secs(10);

/// A connection that folds no log in and deletes none when it is closed: a damaged one must not be lost by looking.
fn open_to_look(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// What a file lacks, without changing it. A file that is not there lacks everything.
pub(crate) fn missing(path: &Path) -> Result<Vec<SqliteMigration>> {
    if !path.exists() {
        return Ok(MIGRATIONS.to_vec());
    }
    let connection = open_to_look(path).map_err(|cause| opening(path, cause))?;
    let begun = connection.table_exists(None, "onefold_migrations").map_err(|cause| opening(path, cause))?;
    let newest = if begun { newest(&connection, path)? } else { 0 };
    Ok(MIGRATIONS.iter().filter(|migration| migration.version > newest).copied().collect())
}

/// What a file holds, without changing it.
pub(crate) fn contents(path: &Path) -> Result<Contents> {
    if !path.exists() {
        return Ok(Contents::Nothing);
    }
    let look = || -> rusqlite::Result<Contents> {
        let connection = open_to_look(path)?;
        connection.busy_timeout(BUSY_WAIT)?;
        // One view for both questions: another process may create the ledger in between.
        connection.execute_batch("BEGIN")?;
        if connection.query_row(&sql::MIGRATIONS_BEGUN, [], |row| row.get(0))? {
            return Ok(Contents::Ledger);
        }
        let mut statement = connection.prepare(&sql::TABLES)?;
        let tables: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(if tables.is_empty() { Contents::Nothing } else { Contents::OtherTables(tables) })
    };
    look().map_err(|cause| opening(path, cause))
}

/// The newest migration of a file; one that this program does not know is refused.
fn newest(connection: &Connection, path: &Path) -> Result<i64> {
    let newest: i64 = connection.query_row(&sql::MIGRATIONS, [], |row| row.get(0)).map_err(translate)?;
    let known = MIGRATIONS.last().map_or(0, |migration| migration.version);
    if newest > known {
        return Err(Error::new(
            DATABASE_TOO_NEW,
            format!("{}: the database is at migration {newest}, this program knows {known}", path.display()),
        ));
    }
    Ok(newest)
}

/// Applies what the file lacks; refuses a file that a newer version has migrated.
pub(crate) fn migrate(connection: &Connection, path: &Path, now: Timestamp) -> Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE").map_err(|cause| opening(path, cause))?;
    let applied = apply_missing(connection, path, now);
    let end = if applied.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = connection.execute_batch(end).map_err(|cause| opening(path, cause));
    applied.and(ended)
}

fn apply_missing(connection: &Connection, path: &Path, now: Timestamp) -> Result<()> {
    connection.execute_batch(&sql::MIGRATIONS_TABLE).map_err(|cause| opening(path, cause))?;
    let newest = newest(connection, path)?;
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > newest) {
        connection.execute_batch(migration.sql).map_err(translate)?;
        connection
            .execute(&sql::ADD_MIGRATION, (migration.version, migration.name, now.as_micros()))
            .map_err(translate)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use onefold_core::row;

    use super::*;

    #[test]
    fn every_statement_can_be_prepared_on_a_migrated_file() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, Path::new(":memory:"), Timestamp::default()).unwrap();
        for (file, sql) in sql::ALL {
            connection.prepare(sql).unwrap_or_else(|cause| panic!("{file}: {cause}"));
        }
    }

    #[test]
    fn every_column_of_the_schema_is_in_the_table_of_columns() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, Path::new(":memory:"), Timestamp::default()).unwrap();
        for (table, columns) in [
            ("onefold_operations", &row::operation::ALL[..]),
            ("onefold_attempts", &row::attempt::ALL),
            ("onefold_notes", &row::note::ALL),
            ("onefold_incidents", &row::incident::ALL),
        ] {
            let stored = "SELECT name FROM pragma_table_info(?1) WHERE name <> 'seq' ORDER BY 1";
            let mut statement = connection.prepare(stored).unwrap();
            let stored = statement.query_map([table], |row| row.get::<_, String>(0)).unwrap();
            let mut known: Vec<_> = columns.iter().map(|column| column.name).collect();
            known.sort_unstable();
            assert_eq!(stored.map(rusqlite::Result::unwrap).collect::<Vec<_>>(), known, "{table}");
        }
    }

    /// Every row of every table, and every object of the schema, as text.
    fn everything(connection: &Connection) -> Vec<String> {
        let rows = |sql: &str| -> Vec<String> {
            let mut statement = connection.prepare(sql).unwrap();
            let columns = statement.column_count();
            let read = |row: &rusqlite::Row<'_>| {
                let cells = (0..columns).map(|at| row.get::<_, rusqlite::types::Value>(at));
                Ok(format!("{:?}", cells.collect::<rusqlite::Result<Vec<_>>>()?))
            };
            statement.query_map([], read).unwrap().map(rusqlite::Result::unwrap).collect()
        };
        let named = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        let mut statement = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
        let tables: Vec<String> = statement.query_map([], named).unwrap().map(rusqlite::Result::unwrap).collect();
        let contents = tables.iter().flat_map(|table| rows(&format!("SELECT '{table}', * FROM {table}")));
        rows("SELECT * FROM sqlite_schema ORDER BY name").into_iter().chain(contents).collect()
    }

    #[test]
    fn a_ledger_is_told_from_an_empty_file_and_from_somebody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        assert_eq!(contents(&path).unwrap(), Contents::Nothing);
        std::fs::write(&path, "").unwrap();
        assert_eq!(contents(&path).unwrap(), Contents::Nothing);
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE invoices (id); CREATE VIEW paid AS SELECT id FROM invoices").unwrap();
        assert_eq!(contents(&path).unwrap(), Contents::OtherTables(vec!["invoices".into(), "paid".into()]));
        migrate(&connection, &path, Timestamp::default()).unwrap();
        assert_eq!(contents(&path).unwrap(), Contents::Ledger);
    }

    #[test]
    fn a_ledger_that_is_being_created_is_never_taken_for_somebody_elses() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let path = folder.path().join(format!("{round}.db"));
            let watched = path.clone();
            let watching = std::thread::spawn(move || {
                loop {
                    match contents(&watched).unwrap() {
                        Contents::Nothing => {}
                        found @ (Contents::Ledger | Contents::OtherTables(_)) => return found,
                    }
                }
            });
            let connection = Connection::open(&path).unwrap();
            connection.busy_timeout(BUSY_WAIT).unwrap();
            migrate(&connection, &path, Timestamp::default()).unwrap();
            assert_eq!(watching.join().unwrap(), Contents::Ledger, "round {round}");
        }
    }

    #[test]
    fn migrating_twice_changes_nothing() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, Path::new(":memory:"), Timestamp::from_micros(1)).unwrap();
        connection.execute(&sql::RAISE_CLOCK, [7]).unwrap();
        let before = everything(&connection);
        assert!(before.iter().any(|row| row.contains("onefold_operations")), "{before:?}");
        migrate(&connection, Path::new(":memory:"), Timestamp::from_micros(2)).unwrap();
        assert_eq!(everything(&connection), before);
    }
}
