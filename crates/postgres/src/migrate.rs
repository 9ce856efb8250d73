//! Which migrations a schema has, and applying the missing ones. Forward only; safe with several starters.

use onefold_core::error::DATABASE_TOO_NEW;
use onefold_core::ports::Contents;
use onefold_core::{Error, Result, Timestamp};
use sqlx::{AssertSqlSafe, PgConnection};

use crate::error::translate;
use crate::row;
use crate::sql::Sql;

/// One migration, in the order of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migration {
    /// Its number.
    pub version: i64,
    /// Its name.
    pub name: &'static str,
    sql: &'static str,
}

/// Makes a schema; `:schema` is its name.
const SCHEMA: &str = include_str!("../queries/installation/schema.sql");

/// Every migration of this version.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "create_ledger", sql: include_str!("../migrations/0001_create_ledger.sql") },
    Migration { version: 2, name: "create_shared", sql: include_str!("../migrations/0002_create_shared.sql") },
    Migration { version: 3, name: "create_functions", sql: include_str!("../migrations/0003_create_functions.sql") },
    Migration { version: 4, name: "create_telling", sql: include_str!("../migrations/0004_create_telling.sql") },
    Migration { version: 5, name: "create_position", sql: include_str!("../migrations/0005_create_position.sql") },
];

/// What a schema lacks, without changing it; one that a newer version has migrated is refused.
pub(crate) async fn missing(connection: &mut PgConnection, sql: &Sql) -> Result<Vec<Migration>> {
    let begun = row::query(&sql.migrations_begun).fetch_one(&mut *connection).await.map_err(translate)?;
    if !row::get::<bool>(&begun, 0)? {
        return Ok(MIGRATIONS.to_vec());
    }
    let newest = row::query(&sql.migrations).fetch_one(connection).await.map_err(translate)?;
    let newest: i64 = row::get(&newest, 0)?;
    let known = MIGRATIONS.last().map_or(0, |migration| migration.version);
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
    let begun = row::query(&sql.migrations_begun).fetch_one(&mut *connection).await.map_err(translate)?;
    if row::get::<bool>(&begun, 0)? {
        return Ok(Contents::Ledger);
    }
    let found = row::query(&sql.tables).bind(schema).fetch_all(connection).await.map_err(translate)?;
    let tables = found.iter().map(|row| row::get::<String>(row, 0)).collect::<Result<Vec<_>>>()?;
    Ok(if tables.is_empty() { Contents::Nothing } else { Contents::OtherTables(tables) })
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
        if row::get(&absent, 0)? {
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
    Ok(())
}
