//! The user's own transactions on the ledger's file.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onefold_core::error::{DATABASE_BUSY, OPERATION_NOT_FOUND, RUN_AGAIN};
use onefold_core::port::{BoxFuture, Clock, Committed};
use onefold_core::{Error, Result, Timestamp};
use onefold_runtime::{SystemClock, SystemRandom};
use onefold_sqlite::{Sqlite, SqliteOptions};
use sqlx::SqliteConnection;

use crate::fixture::{Folder, open, options};

async fn with_table(folder: &Folder, options: SqliteOptions) -> Sqlite {
    let store = Sqlite::open(folder.path(), options).await.unwrap();
    rusqlite::Connection::open(folder.path()).unwrap().execute_batch("CREATE TABLE orders (id TEXT)").unwrap();
    store
}

async fn order(connection: &mut SqliteConnection, id: &str) -> Result<()> {
    let inserted = sqlx::query("INSERT INTO orders VALUES (?1)").bind(id.to_owned()).execute(connection).await;
    inserted.map(drop).map_err(|cause| Error::new(DATABASE_BUSY, cause.to_string()))
}

fn orders(folder: &Folder) -> Vec<String> {
    let connection = rusqlite::Connection::open(folder.path()).unwrap();
    let mut statement = connection.prepare("SELECT id FROM orders ORDER BY id").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(std::result::Result::unwrap).collect()
}

#[tokio::test]
async fn what_is_committed_stays_and_what_is_not_leaves_nothing() {
    let folder = Folder::new();
    let store = with_table(&folder, options()).await;
    let mut kept = store.begin().await.unwrap();
    order(&mut kept, "KEPT").await.unwrap();
    kept.commit().await.unwrap();
    let mut taken_back = store.begin().await.unwrap();
    order(&mut taken_back, "TAKEN-BACK").await.unwrap();
    taken_back.rollback().await.unwrap();
    let mut dropped = store.begin().await.unwrap();
    order(&mut dropped, "DROPPED").await.unwrap();
    drop(dropped);
    // The next transaction of this process gets its turn after the dropped one is gone.
    let mut next = store.begin().await.unwrap();
    order(&mut next, "NEXT").await.unwrap();
    next.commit().await.unwrap();
    assert_eq!(orders(&folder), ["KEPT", "NEXT"]);
}

#[tokio::test]
async fn a_begun_transaction_has_the_write_lock_from_the_start() {
    let folder = Folder::new();
    let store = with_table(&folder, options()).await;
    let held = store.begin().await.unwrap();
    let other = rusqlite::Connection::open(folder.path()).unwrap();
    other.busy_timeout(Duration::ZERO).unwrap();
    let refused = other.execute("INSERT INTO orders VALUES ('OTHER')", []).unwrap_err();
    assert_eq!(refused.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy));
    held.commit().await.unwrap();
    other.execute("INSERT INTO orders VALUES ('OTHER')", []).unwrap();
}

#[tokio::test]
async fn transactions_of_one_process_take_turns() {
    let folder = Folder::new();
    let options = SqliteOptions { begin_wait: Duration::from_secs(1), ..options() };
    let store = with_table(&folder, options).await;
    let held = store.begin().await.unwrap();
    let refused = store.begin().await.err().unwrap();
    assert_eq!(refused.code(), DATABASE_BUSY);
    assert!(refused.next_step().contains("keep them short"), "{refused}");
    drop(held);
    store.begin().await.unwrap().commit().await.unwrap();
}

#[tokio::test]
async fn a_transaction_yields_its_token_only_after_the_commit() {
    let folder = Folder::new();
    let store = with_table(&folder, options()).await;
    let committed: Committed<u32> = store
        .transaction(async |connection| {
            order(connection, "A").await?;
            Ok(7)
        })
        .await
        .unwrap();
    assert_eq!((*committed, orders(&folder)), (7, vec!["A".to_owned()]));
    assert_eq!(committed.into_inner(), 7);
}

#[tokio::test]
async fn contention_runs_the_work_again_three_times_in_all() {
    let folder = Folder::new();
    let store = with_table(&folder, options()).await;
    for (failures, code, expected, runs_expected) in [
        (2, RUN_AGAIN, true, 3),
        (9, RUN_AGAIN, false, 3),
        (9, DATABASE_BUSY, false, 3),
        (1, OPERATION_NOT_FOUND, false, 1),
    ] {
        let runs = AtomicU32::new(0);
        let ended = store
            .transaction(async |connection| {
                let run = runs.fetch_add(1, Ordering::SeqCst);
                order(connection, &format!("{code}-{run}")).await?;
                if run < failures { Err(Error::new(code, "in the way")) } else { Ok(()) }
            })
            .await;
        assert_eq!(ended.is_ok(), expected, "{code} {failures}");
        assert_eq!(runs.into_inner(), runs_expected, "{code} {failures}");
        assert!(ended.err().is_none_or(|error| error.code() == code));
    }
    assert_eq!(orders(&folder), ["RUN_AGAIN-2"], "nothing of a failed run stays");
}

/// A clock that lets a foreign lock go when somebody begins to wait for it.
struct LetsGo {
    lock: Mutex<Option<rusqlite::Connection>>,
}

impl Clock for LetsGo {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }
    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }
    fn boot(&self) -> Duration {
        SystemClock.boot()
    }
    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        // Shorter than any wait for a turn: the pause between two runs.
        if wait < Duration::from_secs(1) {
            drop(self.lock.lock().unwrap().take());
        }
        SystemClock.sleep(wait)
    }
}

#[tokio::test]
async fn a_lock_of_another_process_is_waited_out_between_two_runs() {
    let folder = Folder::new();
    let clock = Arc::new(LetsGo { lock: Mutex::new(None) });
    let options = SqliteOptions {
        busy_wait: Duration::from_millis(10),
        ..SqliteOptions::new(clock.clone(), Arc::new(SystemRandom::default()))
    };
    let store = with_table(&folder, options).await;
    let lock = rusqlite::Connection::open(folder.path()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    *clock.lock.lock().unwrap() = Some(lock);
    store.transaction(async |connection| order(connection, "A").await).await.unwrap();
    assert_eq!(orders(&folder), ["A"]);
    assert!(clock.lock.lock().unwrap().is_none(), "it was in the way once");
}

#[tokio::test]
async fn another_process_lock_beyond_the_wait_is_busy() {
    let folder = Folder::new();
    let store =
        Sqlite::open(folder.path(), SqliteOptions { busy_wait: Duration::from_millis(10), ..options() }).await.unwrap();
    let lock = rusqlite::Connection::open(folder.path()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.begin().await.err().unwrap().code(), DATABASE_BUSY);
    let other = open(folder.file("other.db")).await.unwrap();
    other.begin().await.unwrap().commit().await.unwrap();
    drop(lock);
    store.begin().await.unwrap().commit().await.unwrap();
}
