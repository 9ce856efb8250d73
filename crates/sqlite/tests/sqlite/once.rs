//! An operation in the user's own transaction: check, execute, record in one commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onefold_core::effect::Local;
use onefold_core::error::{DATABASE_BUSY, RESULT_NOT_KEPT, RUN_AGAIN};
use onefold_core::ledger::Status;
use onefold_core::operation::{KindName, OperationId, OperationKey, Tenant};
use onefold_core::port::LedgerRead as _;
use onefold_core::{Error, Result};
use onefold_runtime::{Kind, KindHandle, Ledger, Once, Settings};
use onefold_sqlite::Sqlite;
use sqlx::{Connection as _, SqliteConnection};

use crate::fixture::{Folder, open};

struct Shop {
    folder: Folder,
    store: Sqlite,
    orders: KindHandle<Sqlite, Local>,
}

async fn shop() -> Shop {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    rusqlite::Connection::open(folder.path()).unwrap().execute_batch("CREATE TABLE orders (id TEXT)").unwrap();
    let ledger = Ledger::open(store.clone(), Settings::default()).unwrap();
    let orders = ledger.kind(Kind::local("order.place").result_bytes_max(64)).unwrap();
    Shop { folder, store, orders }
}

impl Shop {
    fn rows(&self) -> u32 {
        let connection = rusqlite::Connection::open(self.folder.path()).unwrap();
        connection.query_row("SELECT count(*) FROM orders", [], |row| row.get(0)).unwrap()
    }

    async fn status(&self, id: &str) -> Option<Status> {
        let kind = KindName::parse("order.place").unwrap();
        let key = OperationKey::new(Tenant::default(), kind, OperationId::parse(id).unwrap());
        self.store.find(vec![key]).await.unwrap().remove(0).map(|entry| entry.status)
    }

    async fn once(&self, connection: &mut SqliteConnection, id: &str, request: &str) -> Result<Once<String>> {
        let work = async |connection: &mut SqliteConnection| place(connection, id).await;
        self.orders.operation(OperationId::parse(id)?).once_in(connection, &request, work).await
    }
}

async fn place(connection: &mut SqliteConnection, id: &str) -> Result<String> {
    let inserted = sqlx::query("INSERT INTO orders VALUES (?1)").bind(id.to_owned()).execute(connection).await;
    inserted.map(|_| format!("placed {id}")).map_err(|cause| Error::new(DATABASE_BUSY, cause.to_string()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_transactions_at_once_one_performs_and_the_others_replay() {
    let shop = Arc::new(shop().await);
    let runs = Arc::new(AtomicUsize::new(0));
    let mut placing = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let (shop, runs) = (Arc::clone(&shop), Arc::clone(&runs));
        placing.spawn(async move {
            let mut transaction = shop.store.begin().await?;
            let operation = shop.orders.operation(OperationId::parse("O-1")?);
            let work = async |connection: &mut SqliteConnection| {
                runs.fetch_add(1, Ordering::SeqCst);
                place(connection, "O-1").await
            };
            let once = operation.once_in(&mut transaction, &"two chairs", work).await?;
            transaction.commit().await?;
            Ok::<_, Error>(once)
        });
    }
    let answers: Vec<_> = placing.join_all().await.into_iter().map(Result::unwrap).collect();
    let performed = answers.iter().filter(|once| **once == Once::Performed("placed O-1".to_owned())).count();
    let replayed = answers.iter().filter(|once| **once == Once::Replayed("placed O-1".to_owned())).count();
    assert_eq!((performed, replayed), (1, 63));
    assert_eq!((runs.load(Ordering::SeqCst), shop.rows()), (1, 1));
}

#[tokio::test]
async fn a_swallowed_error_leaves_neither_rows_nor_performed() {
    let shop = shop().await;
    let mut transaction = shop.store.begin().await.unwrap();
    place(&mut transaction, "OTHER-WORK").await.unwrap();
    let failed: Result<Once<String>> = shop
        .orders
        .operation(OperationId::parse("O-1").unwrap())
        .once_in(&mut transaction, &"two chairs", async |connection| {
            place(connection, "O-1").await?;
            Err(Error::new(DATABASE_BUSY, "the stock is empty"))
        })
        .await;
    assert!(failed.is_err());
    // The caller looks away and commits.
    transaction.commit().await.unwrap();
    assert_eq!((shop.rows(), shop.status("O-1").await), (1, None));
    let mut again = shop.store.begin().await.unwrap();
    assert!(matches!(shop.once(&mut again, "O-1", "two chairs").await.unwrap(), Once::Performed(_)));
    again.commit().await.unwrap();
    assert_eq!((shop.rows(), shop.status("O-1").await), (2, Some(Status::Completed)));
}

#[tokio::test]
async fn a_transaction_that_is_not_committed_leaves_nothing() {
    let shop = shop().await;
    for end in ["rollback", "drop"] {
        let mut transaction = shop.store.begin().await.unwrap();
        assert!(matches!(shop.once(&mut transaction, "O-1", "two chairs").await.unwrap(), Once::Performed(_)));
        if end == "rollback" {
            transaction.rollback().await.unwrap();
        } else {
            drop(transaction);
        }
        drop(shop.store.begin().await.unwrap());
        assert_eq!((shop.rows(), shop.status("O-1").await), (0, None), "{end}");
    }
}

#[tokio::test]
async fn two_operations_in_one_transaction_take_hold_together() {
    let shop = shop().await;
    let mut transaction = shop.store.begin().await.unwrap();
    for id in ["O-1", "O-2"] {
        assert!(matches!(shop.once(&mut transaction, id, "x").await.unwrap(), Once::Performed(_)));
    }
    assert!(matches!(shop.once(&mut transaction, "O-1", "x").await.unwrap(), Once::Replayed(_)), "it sees its own");
    transaction.commit().await.unwrap();
    assert_eq!(shop.rows(), 2);
}

#[tokio::test]
async fn another_request_under_the_same_id_is_a_conflict() {
    let shop = shop().await;
    let mut first = shop.store.begin().await.unwrap();
    shop.once(&mut first, "O-1", "two chairs").await.unwrap();
    first.commit().await.unwrap();
    let mut second = shop.store.begin().await.unwrap();
    assert_eq!(shop.once(&mut second, "O-1", "three chairs").await.unwrap(), Once::Conflict);
    second.commit().await.unwrap();
    assert_eq!(shop.rows(), 1);
}

#[tokio::test]
async fn a_result_over_the_limit_is_not_kept_and_not_performed_again() {
    let shop = shop().await;
    let long = "x".repeat(100);
    let perform = async |connection: &mut SqliteConnection| -> Result<String> {
        place(connection, "O-1").await?;
        Ok("x".repeat(100))
    };
    let mut first = shop.store.begin().await.unwrap();
    let operation = || shop.orders.operation(OperationId::parse("O-1").unwrap());
    assert_eq!(operation().once_in(&mut first, &"r", perform).await.unwrap(), Once::Performed(long));
    first.commit().await.unwrap();
    let mut second = shop.store.begin().await.unwrap();
    let error = operation().once_in(&mut second, &"r", perform).await.unwrap_err();
    assert_eq!(error.code(), RESULT_NOT_KEPT);
    assert!(error.to_string().contains("102 bytes"), "{error}");
    assert_eq!(shop.rows(), 1);
}

/// A connection of the user's own, with a transaction as SQLite begins it by itself.
async fn deferred(shop: &Shop) -> SqliteConnection {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(shop.folder.path()).busy_timeout(Duration::ZERO);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query("BEGIN").execute(&mut connection).await.unwrap();
    connection
}

#[tokio::test]
async fn a_transaction_that_read_before_another_one_wrote_must_run_again() {
    let shop = shop().await;
    let mut mine = deferred(&shop).await;
    sqlx::query("SELECT count(*) FROM orders").fetch_one(&mut mine).await.unwrap();
    let mut other = shop.store.begin().await.unwrap();
    shop.once(&mut other, "O-2", "x").await.unwrap();
    other.commit().await.unwrap();
    let error = shop.once(&mut mine, "O-1", "x").await.unwrap_err();
    assert_eq!(error.code(), RUN_AGAIN);
    assert!(error.to_string().contains("BEGIN IMMEDIATE"), "{error}");
    // Run again from the start, it works.
    sqlx::query("ROLLBACK").execute(&mut mine).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut mine).await.unwrap();
    assert!(matches!(shop.once(&mut mine, "O-1", "x").await.unwrap(), Once::Performed(_)));
    sqlx::query("COMMIT").execute(&mut mine).await.unwrap();
    assert_eq!(shop.rows(), 2);
}

#[tokio::test]
async fn a_deferred_transaction_of_the_users_own_works_when_nobody_is_in_the_way() {
    let shop = shop().await;
    let mut mine = deferred(&shop).await;
    assert!(matches!(shop.once(&mut mine, "O-1", "x").await.unwrap(), Once::Performed(_)));
    sqlx::query("COMMIT").execute(&mut mine).await.unwrap();
    assert_eq!((shop.rows(), shop.status("O-1").await), (1, Some(Status::Completed)));
}

#[tokio::test]
async fn a_lock_held_beyond_the_wait_is_in_flight() {
    let shop = shop().await;
    let lock = rusqlite::Connection::open(shop.folder.path()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut mine = deferred(&shop).await;
    let operation = || shop.orders.operation(OperationId::parse("O-1").unwrap()).wait_up_to(Duration::from_millis(30));
    let work = async |connection: &mut SqliteConnection| place(connection, "O-1").await;
    let waited = operation().once_in(&mut mine, &"x", work).await.unwrap();
    assert!(matches!(waited, Once::InFlight { .. }), "{waited:?}");
    drop(lock);
    assert!(matches!(operation().once_in(&mut mine, &"x", work).await.unwrap(), Once::Performed(_)));
    sqlx::query("COMMIT").execute(&mut mine).await.unwrap();
    assert_eq!(shop.rows(), 1);
}
