//! A copy of the ledger as rows, all of one time: made while it is used, and put into an empty place again.

use std::collections::BTreeMap;

use onefold_core::backup::{BackupSummary, BackupValue, ExistingLedger, LEFT_OUT, TableRows};
use onefold_core::error::{BACKUP_REFUSED, DATABASE_CORRUPT, DATABASE_IN_USE, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::{Error, Result};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection};
use tokio::sync::mpsc;

use crate::error::translate;
use crate::ledger::row::{self, Query};
use crate::open::{READ_COMMITTED, application_of, checked_schema, make_ready, naming, parse};
use crate::sql::Sql;
use crate::{Postgres, PostgresOptions};

/// Within one transaction the server shows the connections of its first look until it is told otherwise.
const LOOK_AGAIN: &str = include_str!("../queries/backup/look_again.sql");
/// How often, and how many times, it is looked whether other connections are gone.
const IN_USE_LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(100);
const IN_USE_LOOKS: usize = 30;

/// The rows of a table; `:table` and `:columns` are its own.
const ROWS: &str = include_str!("../queries/backup/rows.sql");
/// How many there are.
const COUNT: &str = include_str!("../queries/backup/count.sql");
/// Empties a table.
const CLEAR: &str = include_str!("../queries/backup/clear.sql");
/// Rows of a table; `:values` are its parameters.
const INSERT: &str = include_str!("../queries/backup/insert.sql");
/// Numbers new rows after the restored ones.
const RAISE_SEQUENCE: &str = include_str!("../queries/backup/raise_sequence.sql");

/// A column, with its type.
struct Column {
    name: String,
    holds: String,
}

type Tables = BTreeMap<String, Vec<Column>>;

impl Postgres {
    /// How many operations there are, for the progress of a backup.
    pub async fn operations(&self) -> Result<u64> {
        let table = table_name(self.inner.options.schema.as_deref(), "onefold_operations");
        let found = self.rows(statement(&COUNT.replace(":table", &table))).await?;
        let count = found.first().map(row::only::<i64>).transpose()?;
        Ok(u64::try_from(count.unwrap_or(0)).unwrap_or(0))
    }

    /// Hands over every row of the ledger as it was at one time, while it is used.
    ///
    /// Everything that was acknowledged before this was called is among them.
    pub async fn export(&self, to: mpsc::Sender<TableRows>) -> Result<()> {
        self.raise_mark().await?;
        let schema = self.inner.options.schema.as_deref();
        let mut snapshot = self.inner.connected.snapshot().await?;
        for (table, columns) in tables(&mut snapshot, &self.inner.sql, schema).await? {
            let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
            let select = ROWS.replace(":columns", &names.join(", ")).replace(":table", &table_name(schema, &table));
            run(&mut snapshot, &select).await?;
            loop {
                let fetch = sqlx::raw_sql("FETCH 500 FROM onefold_rows");
                let found = fetch.fetch_all(&mut *snapshot).await.map_err(translate)?;
                let rows = found.iter().map(|found| values(found, &columns)).collect::<Result<Vec<_>>>()?;
                let last = rows.len() < 500;
                let part = TableRows { table: table.clone(), columns: names.clone(), rows };
                to.send(part).await.map_err(|_| ended())?;
                if last {
                    break;
                }
            }
            run(&mut snapshot, "CLOSE onefold_rows").await?;
        }
        snapshot.rollback().await.map_err(translate)
    }

    /// Puts the rows of a backup into a schema, all or none. Before a server starts on it, a person must accept it.
    ///
    /// Refused while connections of a ledger on this schema are open, and where operations would be replaced unless
    /// that is wanted.
    pub async fn import(
        url: &str,
        options: PostgresOptions,
        existing: ExistingLedger,
        summary: BackupSummary,
        from: mpsc::Receiver<TableRows>,
    ) -> Result<()> {
        let (connect, address) = parse(url, options.schema.as_deref())?;
        checked_schema(options.schema.as_deref())?;
        let imported = Self::detached(async move {
            let mut connection = connect.connect().await.map_err(translate)?;
            let mut transaction = connection.begin_with(READ_COMMITTED).await.map_err(translate)?;
            put(&mut transaction, &options, existing, &summary, from).await?;
            transaction.commit().await.map_err(translate)
        });
        imported.await.map_err(|error| naming(&address, &error))
    }
}

async fn put(
    transaction: &mut PgConnection,
    options: &PostgresOptions,
    existing: ExistingLedger,
    summary: &BackupSummary,
    mut from: mpsc::Receiver<TableRows>,
) -> Result<()> {
    let schema = options.schema.as_deref();
    let sql = Sql::new(schema);
    in_use(transaction, &sql, schema).await?;
    make_ready(transaction, &sql, options).await?;
    let known = tables(transaction, &sql, schema).await?;
    empty(transaction, schema, &known, existing).await?;
    let mut left = summary.rows.clone();
    while let Some(part) = from.recv().await {
        let rows = left.entry(part.table.clone()).or_default();
        *rows = rows.wrapping_sub(part.rows.len() as u64);
        // What only the other store keeps is left out.
        if let Some(columns) = known.get(&part.table) {
            insert(transaction, &table_name(schema, &part.table), columns, &part).await?;
        }
    }
    // A reader that failed half-way must not leave half a ledger.
    if let Some(table) = known.keys().find(|table| left.get(*table).is_some_and(|rows| *rows != 0)) {
        return Err(Error::new(DATABASE_CORRUPT, format!("the rows of {table} are not all in the backup")));
    }
    for table in known.keys().filter(|table| known[*table].iter().any(|column| column.name == "seq")) {
        let table = table_name(schema, table);
        let raise = statement(&RAISE_SEQUENCE.replace(":table", &table)).bind(table);
        raise.execute(&mut *transaction).await.map_err(translate)?;
    }
    row::query(&sql.find_leases).execute(&mut *transaction).await.map_err(translate)?;
    let marked = row::query(&sql.mark_copy).bind(summary.copied_at.as_micros()).execute(&mut *transaction).await;
    match marked.map_err(translate)?.rows_affected() {
        1 => Ok(()),
        _ => Err(Error::new(DATABASE_CORRUPT, "the backup does not say how far the ledger had come")),
    }
}

/// Refused while a ledger on this schema has connections.
async fn in_use(transaction: &mut PgConnection, sql: &Sql, schema: Option<&str>) -> Result<()> {
    let mut others = 0;
    // A process that has just ended is still seen by the server for a moment.
    for _ in 0..IN_USE_LOOKS {
        let query = row::query(&sql.in_use).bind(application_of(schema));
        let found = query.fetch_one(&mut *transaction).await.map_err(translate)?;
        others = row::only::<i64>(&found)?;
        if others == 0 {
            return Ok(());
        }
        tokio::time::sleep(IN_USE_LOOK_EVERY).await;
        run(transaction, LOOK_AGAIN).await?;
    }
    Err(Error::new(DATABASE_IN_USE, format!("{others} connections of ledgers on this schema are open"))
        .hint("stop every server, worker and service on it first; a pooler's idle connections count too"))
}

async fn empty(
    transaction: &mut PgConnection,
    schema: Option<&str>,
    known: &Tables,
    existing: ExistingLedger,
) -> Result<()> {
    let count = statement(&COUNT.replace(":table", &table_name(schema, "onefold_operations")));
    let found = count.fetch_one(&mut *transaction).await.map_err(translate)?;
    let operations: i64 = row::only(&found)?;
    if operations > 0 && existing == ExistingLedger::Keep {
        let what = format!("the schema holds a ledger with {operations} operations");
        return Err(Error::new(BACKUP_REFUSED, what)
            .hint("restore to another schema, or replace it with --replace; back it up first"));
    }
    for table in known.keys() {
        run(transaction, &CLEAR.replace(":table", &table_name(schema, table))).await?;
    }
    Ok(())
}

async fn insert(transaction: &mut PgConnection, table: &str, columns: &[Column], part: &TableRows) -> Result<()> {
    if part.rows.is_empty() {
        return Ok(());
    }
    let unknown = |name: &str| Error::new(DATABASE_CORRUPT, format!("{table} has no column {name}"));
    let mut types = Vec::new();
    for name in &part.columns {
        let column = columns.iter().find(|column| column.name == *name).ok_or_else(|| unknown(name))?;
        types.push(column.holds.as_str());
    }
    let parameters: Vec<String> =
        types.iter().enumerate().map(|(at, holds)| format!("${}::{holds}[]", at + 1)).collect();
    let sql = INSERT.replace(":table", table).replace(":columns", &part.columns.join(", "));
    let mut query = statement(&sql.replace(":values", &parameters.join(", ")));
    for (at, holds) in types.iter().enumerate() {
        let column = part.rows.iter().map(|row| row.get(at).unwrap_or(&BackupValue::Null));
        query = match *holds {
            "bigint" => query.bind(column.map(as_int).collect::<Vec<_>>()),
            "bytea" => query.bind(column.map(as_blob).collect::<Vec<_>>()),
            _ => query.bind(column.map(as_text).collect::<Vec<_>>()),
        };
    }
    query.execute(transaction).await.map(drop).map_err(translate)
}

fn as_int(value: &BackupValue) -> Option<i64> {
    if let BackupValue::Int(number) = value { Some(*number) } else { None }
}

fn as_text(value: &BackupValue) -> Option<String> {
    if let BackupValue::Text(text) = value { Some(text.clone()) } else { None }
}

fn as_blob(value: &BackupValue) -> Option<Vec<u8>> {
    if let BackupValue::Blob(bytes) = value { Some(bytes.clone()) } else { None }
}

/// The ledger's tables with their columns.
async fn tables(connection: &mut PgConnection, sql: &Sql, schema: Option<&str>) -> Result<Tables> {
    let query = row::query(&sql.columns).bind(schema.map(str::to_owned));
    let mut tables = Tables::new();
    for found in query.fetch_all(connection).await.map_err(translate)? {
        let table: String = row::get(&found, "table_name")?;
        if !LEFT_OUT.contains(&table.as_str()) {
            let column = Column { name: row::get(&found, "column_name")?, holds: row::get(&found, "data_type")? };
            tables.entry(table).or_default().push(column);
        }
    }
    Ok(tables)
}

fn values(found: &PgRow, columns: &[Column]) -> Result<Vec<BackupValue>> {
    let read = |(at, column): (usize, &Column)| -> Result<BackupValue> {
        Ok(match column.holds.as_str() {
            "bigint" => row::get::<Option<i64>>(found, at)?.map_or(BackupValue::Null, BackupValue::Int),
            "bytea" => row::get::<Option<Vec<u8>>>(found, at)?.map_or(BackupValue::Null, BackupValue::Blob),
            _ => row::get::<Option<String>>(found, at)?.map_or(BackupValue::Null, BackupValue::Text),
        })
    };
    columns.iter().enumerate().map(read).collect()
}

/// A table's name in a statement; a schema's is checked before it comes here.
fn table_name(schema: Option<&str>, table: &str) -> String {
    schema.map_or_else(|| table.to_owned(), |schema| format!("\"{schema}\".{table}"))
}

fn statement(sql: &str) -> Query {
    sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false)
}

async fn run(connection: &mut PgConnection, sql: &str) -> Result<()> {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await.map(drop).map_err(translate)
}

fn ended() -> Error {
    Error::new(PROGRAMMING_INVARIANT_VIOLATED, "the backup ended before its last row")
}
