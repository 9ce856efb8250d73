//! The user's own transactions: contention that is real, and callers that go away.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onefold_conformance::kinds::escalates;
use onefold_core::error::{Code, DB_DEADLOCK_RETRYABLE, DB_SERIALIZATION_RETRYABLE, OPERATION_NOT_FOUND};
use onefold_core::persistence::Constraints;
use onefold_core::port::{Committed, LedgerRead as _};
use onefold_core::{Error, Result};
use onefold_postgres::{Postgres, PostgresOptions};
use onefold_testing::SeededRandom;
use onefold_testing::seed;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::Barrier;

use crate::asking::{claim_of, claims, grant, until};
use crate::fixture::{Database, options, run};

/// A database with a user's table of its own.
struct Bank {
    database: Database,
    store: Postgres,
}

async fn bank(connections_max: u32) -> Bank {
    let database = Database::new().await;
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    run(&mut connection, "CREATE TABLE accounts (id int PRIMARY KEY, amount int NOT NULL)").await;
    run(&mut connection, "INSERT INTO accounts VALUES (1, 100), (2, 100)").await;
    let store = Postgres::open(&database.url(), PostgresOptions { connections_max, ..options() }).await.unwrap();
    Bank { database, store }
}

impl Bank {
    async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.database.url()).await.unwrap()
    }

    async fn amounts(&self) -> Vec<i32> {
        let sql = "SELECT amount FROM accounts ORDER BY id";
        sqlx::query_scalar(sql).fetch_all(&mut self.connect().await).await.unwrap()
    }

    /// Connections of the store with a transaction open that nobody works in.
    async fn idle_in_transaction(&self) -> i64 {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                   AND application_name LIKE 'onefold%' AND state LIKE 'idle in transaction%'";
        sqlx::query_scalar(sql).fetch_one(&mut self.connect().await).await.unwrap()
    }
}

fn told(cause: &sqlx::Error) -> Error {
    Constraints::new().error(&onefold_postgres::fault(cause))
}

async fn add(connection: &mut PgConnection, account: i32, amount: i32) -> Result<()> {
    let sql = "UPDATE accounts SET amount = amount + $2 WHERE id = $1";
    let updated = sqlx::query(sql).bind(account).bind(amount).execute(connection).await;
    updated.map(drop).map_err(|cause| told(&cause))
}

/// What the runs of a work ended with.
#[derive(Default)]
struct Runs {
    begun: AtomicUsize,
    failed: Mutex<Vec<Code>>,
}

impl Runs {
    /// Whether this is the first run.
    fn begin(&self) -> bool {
        self.begun.fetch_add(1, Ordering::SeqCst) == 0
    }

    fn note<T>(&self, ended: Result<T>) -> Result<T> {
        ended.inspect_err(|error| self.failed.lock().unwrap().push(error.code()))
    }
}

/// Moves money from one account to the other, after both movers have locked their first row.
async fn transfer(bank: &Bank, runs: &Runs, both: &Barrier, [from, to]: [i32; 2]) -> Result<Committed<()>> {
    let work = async |connection: &mut PgConnection| {
        let first = runs.begin();
        add(connection, from, -10).await?;
        if first {
            both.wait().await;
        }
        runs.note(add(connection, to, 10).await)
    };
    bank.store.transaction(work).await
}

#[tokio::test]
async fn of_two_transactions_that_deadlock_one_is_run_again() {
    let bank = bank(4).await;
    let (one, other, both) = (Runs::default(), Runs::default(), Barrier::new(2));
    let ended = tokio::join!(transfer(&bank, &one, &both, [1, 2]), transfer(&bank, &other, &both, [2, 1]));
    assert!(ended.0.is_ok() && ended.1.is_ok(), "{ended:?}");
    assert_eq!(one.begun.load(Ordering::SeqCst) + other.begun.load(Ordering::SeqCst), 3);
    let failed = [one.failed.into_inner().unwrap(), other.failed.into_inner().unwrap()].concat();
    assert_eq!(failed, [DB_DEADLOCK_RETRYABLE]);
    assert_eq!(bank.amounts().await, [100, 100], "each of them took hold once");
}

/// Takes an account down only while the two together stay above zero: both at once may not.
async fn withdraw(bank: &Bank, runs: &Runs, both: &Barrier, account: i32) -> Result<Committed<bool>> {
    let work = async |connection: &mut PgConnection| {
        let first = runs.begin();
        run(connection, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE").await;
        let sum = sqlx::query_scalar("SELECT sum(amount) FROM accounts").fetch_one(&mut *connection).await;
        let sum: i64 = sum.map_err(|cause| told(&cause))?;
        if first {
            both.wait().await;
        }
        if sum < 200 {
            return Ok(false);
        }
        runs.note(add(connection, account, -150).await)?;
        Ok(true)
    };
    bank.store.transaction(work).await
}

#[tokio::test]
async fn of_two_transactions_that_cannot_be_serialized_one_is_run_again() {
    let bank = bank(4).await;
    let (one, other, both) = (Runs::default(), Runs::default(), Barrier::new(2));
    let (first, second) = tokio::join!(withdraw(&bank, &one, &both, 1), withdraw(&bank, &other, &both, 2));
    let mut withdrawn = [first.unwrap().into_inner(), second.unwrap().into_inner()];
    withdrawn.sort_unstable();
    assert_eq!(withdrawn, [false, true], "the second one saw what the first one left");
    assert_eq!(one.begun.load(Ordering::SeqCst) + other.begun.load(Ordering::SeqCst), 3);
    assert_eq!(bank.amounts().await.iter().sum::<i32>(), 50);
}

#[tokio::test]
async fn contention_that_stays_is_told_after_three_runs() {
    let bank = bank(4).await;
    let runs = Runs::default();
    let work = async |connection: &mut PgConnection| {
        runs.begin();
        run(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT * FROM accounts").await;
        // Somebody else changes the row after this transaction has looked, every time.
        add(&mut bank.connect().await, 1, 1).await.unwrap();
        runs.note(add(connection, 1, 10).await)
    };
    let error = bank.store.transaction(work).await.unwrap_err();
    assert_eq!(error.code(), DB_SERIALIZATION_RETRYABLE, "{error}");
    assert_eq!(runs.begun.load(Ordering::SeqCst), 3);
    assert_eq!(runs.failed.into_inner().unwrap(), [DB_SERIALIZATION_RETRYABLE; 3]);
    assert_eq!(bank.amounts().await, [103, 100], "nothing of a failed run stays");
}

#[tokio::test]
async fn only_contention_is_run_again() {
    let bank = bank(2).await;
    let runs = Runs::default();
    let work = async |connection: &mut PgConnection| -> Result<()> {
        runs.begin();
        add(connection, 1, 10).await?;
        Err(Error::new(OPERATION_NOT_FOUND, "the work says no"))
    };
    assert_eq!(bank.store.transaction(work).await.unwrap_err().code(), OPERATION_NOT_FOUND);
    assert_eq!((runs.begun.load(Ordering::SeqCst), bank.amounts().await), (1, vec![100, 100]));
}

/// Drops `work` after it was polled a few times, or for a while; chance decides.
async fn cut_short<T>(work: impl Future<Output = T>, random: &SeededRandom) -> bool {
    let draw = random.draw();
    let cut = async {
        if draw.is_multiple_of(2) {
            tokio::time::sleep(Duration::from_micros(draw / 2 % 1_500)).await;
        } else {
            for _ in 0..draw / 2 % 4 {
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::select! {
        biased;
        _ = work => false,
        () = cut => true,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_begin_that_is_cut_short_leaves_no_transaction_open() {
    let bank = bank(3).await;
    let terms = escalates();
    let random = SeededRandom::new(seed("ONEFOLD_SEED"));
    let mut cut = 0;
    for number in 0..400 {
        cut += usize::from(match number % 4 {
            0 | 1 => cut_short(bank.store.begin(), &random).await,
            2 => {
                cut_short(claims(&bank.store, &[claim_of(&bank.store, &terms, &format!("CUT-{number}"))]), &random)
                    .await
            }
            _ => cut_short(bank.store.find(vec![claim_of(&bank.store, &terms, "CUT-2").key]), &random).await,
        });
    }
    assert!(cut > 50, "{cut} of 400 were cut short");
    // The last ones are begins: a later statement on the same connection would hide what they left.
    for _ in 0..12 {
        cut_short(bank.store.begin(), &random).await;
    }
    until("no transaction is left open", async || (bank.idle_in_transaction().await == 0).then_some(())).await;
    let mut looking = bank.connect().await;
    let since: f64 = sqlx::query_scalar("SELECT extract(epoch FROM clock_timestamp())::float8")
        .fetch_one(&mut looking)
        .await
        .unwrap();
    // On every connection of the pool, a transaction that begins now began now.
    let mut begun = Vec::new();
    for _ in 0..3 {
        let mut tx = bank.store.begin().await.unwrap();
        let sql = "SELECT extract(epoch FROM now())::float8";
        let at: f64 = sqlx::query_scalar(sql).fetch_one(&mut *tx).await.unwrap();
        assert!(at >= since, "a transaction from {at} is still open at {since}");
        begun.push(tx);
    }
    drop(begun);
    // And what is acknowledged can be seen by everybody.
    for number in 0..12 {
        grant(&bank.store, &terms, &format!("AFTER-{number}")).await;
        let sql = "SELECT count(*) FROM onefold_operations WHERE operation_id = $1";
        let found: i64 = sqlx::query_scalar(sql).bind(format!("AFTER-{number}")).fetch_one(&mut looking).await.unwrap();
        assert_eq!(found, 1, "AFTER-{number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_is_dropped_half_way_leaves_nothing() {
    let bank = bank(2).await;
    let random = SeededRandom::new(seed("ONEFOLD_SEED"));
    let in_the_middle = tokio::sync::Notify::new();
    for number in 0..20 {
        let work = async |connection: &mut PgConnection| -> Result<()> {
            add(connection, 1, -10).await?;
            in_the_middle.notify_one();
            std::future::pending().await
        };
        if number % 2 == 0 {
            tokio::select! {
                ended = bank.store.transaction(work) => panic!("{ended:?}"),
                () = in_the_middle.notified() => {}
            }
        } else {
            assert!(cut_short(bank.store.transaction(work), &random).await);
        }
    }
    until("no transaction is left open", async || (bank.idle_in_transaction().await == 0).then_some(())).await;
    assert_eq!(bank.amounts().await, [100, 100]);
    bank.store.transaction(async |connection| add(connection, 1, -10).await).await.unwrap();
    assert_eq!(bank.amounts().await, [90, 100]);
}

#[tokio::test]
async fn a_swallowed_error_beside_the_work_commits_nothing_and_says_so() {
    let schema = crate::fixture::Schema::new();
    let store = schema.open().await.unwrap();
    let ran = store
        .transaction(async |connection| {
            let _ = sqlx::query("SELECT 1 / 0").execute(&mut *connection).await;
            Ok(())
        })
        .await;
    assert_eq!(ran.unwrap_err().code(), onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED);
}
