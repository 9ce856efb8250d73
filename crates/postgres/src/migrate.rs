//! Which migrations a schema has, and applying the missing ones. Forward only; safe with several starters.

use onefold_core::error::DATABASE_TOO_NEW;
use onefold_core::port::Contents;
use onefold_core::{Error, Result, Timestamp};
use sqlx::{AssertSqlSafe, PgConnection};

use crate::error::translate;
use crate::ledger::row;
use crate::sql::{Sql, with_columns};

/// One migration, in the order of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostgresMigration {
    /// Its number.
    pub version: i64,
    /// Its name.
    pub name: &'static str,
    sql: &'static str,
}

/// Makes a schema; `:schema` is its name.
const SCHEMA: &str = include_str!("../queries/installation/schema.sql");

/// Every migration of this version.
pub(crate) const MIGRATIONS: &[PostgresMigration] = onefold_core::migrations!(PostgresMigration);

/// The two statements that nearly every operation needs, as functions: the server keeps their plans, where a statement
/// without a name would be parsed and planned each time. What they decide on stays in the program. They list columns,
/// so they are made again with every migration, under its number: a process of an earlier version goes on calling its
/// own.
const FUNCTIONS: [&str; 2] = [include_str!("../functions/claim.sql"), include_str!("../functions/settle.sql")];

/// The newest migration of this version.
pub(crate) fn newest() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// What a schema lacks, without changing it; one that a newer version has migrated is refused.
pub(crate) async fn missing(connection: &mut PgConnection, sql: &Sql) -> Result<Vec<PostgresMigration>> {
    let begun = row::query(&sql.migrations_begun).fetch_one(&mut *connection).await.map_err(translate)?;
    if !row::only::<bool>(&begun)? {
        return Ok(MIGRATIONS.to_vec());
    }
    let newest = row::query(&sql.migrations).fetch_one(connection).await.map_err(translate)?;
    let newest: i64 = row::only(&newest)?;
    let known = self::newest();
    if newest > known {
        return Err(Error::new(
            DATABASE_TOO_NEW,
            format!("the database is at migration {newest}, this program knows {known}"),
        ));
    }
    Ok(MIGRATIONS.iter().filter(|migration| migration.version > newest).copied().collect())
}

/// What a schema holds, without changing it.
pub(crate) async fn contents(connection: &mut PgConnection, sql: &Sql, schema: Option<&str>) -> Result<Contents> {
    let found = row::query(&sql.tables).bind(schema).fetch_all(&mut *connection).await.map_err(translate)?;
    let tables = found.iter().map(row::only::<String>).collect::<Result<Vec<_>>>()?;
    // Asked last: another process may create the ledger in between, and then its tables are not somebody else's.
    let begun = row::query(&sql.migrations_begun).fetch_one(connection).await.map_err(translate)?;
    Ok(match (row::only::<bool>(&begun)?, tables.is_empty()) {
        (true, _) => Contents::Ledger,
        (false, true) => Contents::Nothing,
        (false, false) => Contents::OtherTables(tables),
    })
}

/// Applies what the schema lacks, in the caller's transaction. Starters wait for each other; one that finds nothing to
/// do writes nothing.
pub(crate) async fn migrate(
    transaction: &mut PgConnection,
    sql: &Sql,
    schema: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    if missing(transaction, sql).await?.is_empty() {
        return Ok(());
    }
    let lock = row::query(&sql.migrations_lock).bind(schema.unwrap_or_default());
    lock.execute(&mut *transaction).await.map_err(translate)?;
    if let Some(schema) = schema {
        let absent =
            row::query(&sql.schema_absent).bind(schema).fetch_one(&mut *transaction).await.map_err(translate)?;
        if row::only(&absent)? {
            let make = AssertSqlSafe(SCHEMA.replace(":schema", schema));
            sqlx::raw_sql(make).execute(&mut *transaction).await.map_err(translate)?;
        }
        let there = AssertSqlSafe(format!("SET LOCAL search_path = \"{schema}\""));
        sqlx::raw_sql(there).execute(&mut *transaction).await.map_err(translate)?;
    }
    row::query(&sql.migrations_table).execute(&mut *transaction).await.map_err(translate)?;
    for migration in missing(transaction, sql).await? {
        sqlx::raw_sql(migration.sql).execute(&mut *transaction).await.map_err(translate)?;
        let add = row::query(&sql.add_migration).bind(migration.version).bind(migration.name).bind(now.as_micros());
        add.execute(&mut *transaction).await.map_err(translate)?;
    }
    for function in FUNCTIONS {
        sqlx::raw_sql(AssertSqlSafe(with_columns(function))).execute(&mut *transaction).await.map_err(translate)?;
    }
    Ok(())
}
