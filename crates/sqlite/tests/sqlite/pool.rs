//! A ledger on the file of the user's own pool.

use std::str::FromStr as _;

use onefold_core::error::CONFIGURATION_INVALID;
use onefold_runtime::{Kind, Ledger, Once};
use onefold_sqlite::Sqlite;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

use crate::fixture::{Folder, options};

async fn pragma(store: &Sqlite, name: &'static str) -> String {
    let mut tx = store.begin().await.unwrap();
    let sql = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
    let (value,): (String,) = sqlx::query_as(sqlx::AssertSqlSafe(sql)).fetch_one(&mut *tx).await.unwrap();
    value
}

#[tokio::test]
async fn a_pools_pragmas_hold_in_transactions_except_where_they_would_lose_a_commit() {
    let folder = Folder::new();
    let lax = SqliteConnectOptions::new()
        .filename(folder.path())
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Delete)
        .synchronous(SqliteSynchronous::Off)
        .foreign_keys(false)
        .pragma("recursive_triggers", "on");
    let store = Sqlite::open_pool(&SqlitePool::connect_lazy_with(lax), options()).await.unwrap();
    assert_eq!(pragma(&store, "recursive_triggers").await, "1");
    assert_eq!(pragma(&store, "foreign_keys").await, "0");
    assert_eq!(pragma(&store, "synchronous").await, "2", "FULL");
    assert_eq!(pragma(&store, "journal_mode").await, "wal");
}

#[tokio::test]
async fn a_ledger_opens_on_a_pool_and_performs_in_the_pools_own_transactions() {
    let folder = Folder::new();
    let file = SqliteConnectOptions::new().filename(folder.path()).create_if_missing(true);
    let pool = SqlitePool::connect_with(file).await.unwrap();
    sqlx::query("CREATE TABLE orders (id TEXT)").execute(&pool).await.unwrap();
    let ledger = Ledger::sqlite(pool.clone()).await.unwrap();
    let orders = ledger.kind(Kind::local("order.place")).unwrap();
    for expected in [Once::Performed(17), Once::Replayed(17)] {
        let mut tx = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
        let placed = orders.operation("ORDER-17").once_in(&mut tx, &"two chairs", async |tx| {
            sqlx::query("INSERT INTO orders VALUES ('ORDER-17')").execute(tx).await.unwrap();
            Ok::<_, onefold_core::Error>(17)
        });
        assert_eq!(placed.await.unwrap(), expected);
        tx.commit().await.unwrap();
    }
    let (rows,): (i64,) = sqlx::query_as("SELECT count(*) FROM orders").fetch_one(&pool).await.unwrap();
    assert_eq!(rows, 1);
}

#[tokio::test]
async fn a_pool_in_memory_is_refused() {
    for url in ["sqlite::memory:", "sqlite://:memory:"] {
        let memory = SqliteConnectOptions::from_str(url).unwrap();
        let refused = Sqlite::open_pool(&SqlitePool::connect_lazy_with(memory), options()).await.unwrap_err();
        assert_eq!(refused.code(), CONFIGURATION_INVALID, "{url}");
    }
}
