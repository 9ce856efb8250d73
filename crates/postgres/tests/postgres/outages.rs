//! A server that is there and does not serve: what callers hear, for how long, and that it passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onefold_conformance::fixture::{granted, key};
use onefold_conformance::kinds::escalates;
use onefold_core::effect::KindSpec;
use onefold_core::error::{COMMIT_UNKNOWN, DATABASE_BUSY, DATABASE_READ_ONLY, DATABASE_UNAVAILABLE};
use onefold_core::ledger::{ClaimRequest, Status};
use onefold_core::persistence::Constraints;
use onefold_core::port::LedgerRead as _;
use onefold_core::{Error, Result};
use onefold_postgres::{Postgres, PostgresOptions};
use onefold_testing::seed;
use sqlx::{Connection as _, PgConnection};

use crate::asking::{accepted, claim, claim_of, complete, find, grant, until};
use crate::cutter::Cutter;
use crate::fixture::{Database, options, run};

/// A store that gives up soon.
fn impatient() -> PostgresOptions {
    PostgresOptions {
        connections_max: 2,
        connection_wait: Duration::from_secs(1),
        answer_wait: Duration::from_secs(3),
        try_for: Duration::from_secs(4),
        ..options()
    }
}

/// A store that tells contention soon, and waits long for an answer.
fn attentive() -> PostgresOptions {
    PostgresOptions { answer_wait: Duration::from_mins(1), try_for: Duration::from_secs(1), ..impatient() }
}

/// A store behind a way that can be stalled, and another one that is not.
struct Behind {
    database: Database,
    cutter: Cutter,
    store: Postgres,
    direct: Postgres,
    terms: Arc<KindSpec>,
}

async fn behind() -> Behind {
    let database = Database::new().await;
    let cutter = Cutter::before(&database.url(), seed("ONEFOLD_SEED")).await;
    let direct = Postgres::open(&database.url(), options()).await.unwrap();
    let store = Postgres::open(&cutter.url(&database.url()), impatient()).await.unwrap();
    Behind { database, cutter, store, direct, terms: escalates() }
}

impl Behind {
    /// Both connections of the pool are open, and nobody uses them.
    async fn warm(&self) {
        let held = [self.store.begin().await.unwrap(), self.store.begin().await.unwrap()];
        for tx in held {
            tx.rollback().await.unwrap();
        }
        // They go back to the pool behind our back; what is shown here needs them there.
        tokio::time::sleep(Duration::from_millis(300)).await;
    }

    /// Asks until the answer is not an error; what it was.
    async fn recovers(&self, request: &ClaimRequest) {
        until("a claim is granted again", async || claim(&self.store, request.clone()).await.ok().map(granted)).await;
    }

    async fn idle_in_transaction(&self) -> i64 {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                   AND state LIKE 'idle in transaction%'";
        let mut looking = PgConnection::connect(&self.database.url()).await.unwrap();
        sqlx::query_scalar(sql).fetch_one(&mut looking).await.unwrap()
    }
}

fn unreachable(error: &Error) {
    assert_eq!(error.code(), DATABASE_UNAVAILABLE, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_does_not_answer_is_unavailable_and_is_asked_again_once_it_does() {
    let behind = behind().await;
    grant(&behind.store, &behind.terms, "BEFORE").await;
    behind.cutter.stall_all();
    let request = claim_of(&behind.store, &behind.terms, "A");
    for _ in 0..3 {
        unreachable(&claim(&behind.store, request.clone()).await.unwrap_err());
    }
    behind.cutter.resume();
    behind.recovers(&request).await;
    // However often it was asked, it is one grant to one attempt.
    let entry = find(&behind.direct, &behind.terms, "A").await.unwrap();
    assert_eq!((entry.fence, entry.attempt_id, entry.status), (1, request.attempt_id, Status::Started));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_down_is_unavailable_and_not_busy() {
    let Behind { database: _database, cutter, store, terms, direct: _direct } = behind().await;
    let lease = grant(&store, &terms, "A").await;
    // Nobody listens there any more.
    drop(cutter);
    unreachable(&claim(&store, claim_of(&store, &terms, "B")).await.unwrap_err());
    unreachable(&complete(&store, &terms, &lease).await.unwrap_err());
    unreachable(&store.begin().await.err().unwrap());
    unreachable(&store.find(vec![lease.key]).await.unwrap_err());
}

/// A firewall that forgot the connections: they never carry anything again, and nobody is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_never_answer_again_are_replaced() {
    let behind = behind().await;
    behind.warm().await;
    behind.cutter.stall();
    let request = claim_of(&behind.store, &behind.terms, "A");
    let began = tokio::time::Instant::now();
    loop {
        match claim(&behind.store, request.clone()).await {
            Ok(claim) => break drop(granted(claim)),
            Err(error) => unreachable(&error),
        }
        assert!(began.elapsed() < Duration::from_mins(1), "the pool is full of connections that carry nothing");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_is_not_answered_ends() {
    let behind = behind().await;
    grant(&behind.store, &behind.terms, "A").await;
    behind.warm().await;
    behind.cutter.stall_all();
    let read = behind.store.find(vec![key(&behind.terms, "A")]);
    let ended = tokio::time::timeout(Duration::from_secs(30), read).await;
    let error = ended.expect("a read has a bound").unwrap_err();
    assert_eq!(error.code(), DATABASE_UNAVAILABLE, "{error}");
    behind.cutter.resume();
    until("the operation is read", async || behind.store.find(vec![key(&behind.terms, "A")]).await.ok()).await;
}

/// What the store began and gave up on reaches the server later; no later statement may run inside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_was_given_up_is_not_open_when_the_server_answers_again() {
    let behind = behind().await;
    let lease = grant(&behind.direct, &behind.terms, "A").await;
    behind.warm().await;
    // Not granted by this store, so the first thing it sends is the begin of a transaction.
    behind.cutter.stall_all();
    let error = complete(&behind.store, &behind.terms, &lease).await.unwrap_err();
    assert_eq!(error.code(), DATABASE_UNAVAILABLE, "{error}");
    behind.cutter.resume();
    // What waited on the way arrives at the server, and at the pool what was given up.
    tokio::time::sleep(Duration::from_millis(700)).await;
    behind.recovers(&claim_of(&behind.store, &behind.terms, "B")).await;
    for number in 0..8 {
        let id = format!("AFTER-{number}");
        let lease = grant(&behind.store, &behind.terms, &id).await;
        assert!(accepted(&complete(&behind.store, &behind.terms, &lease).await.unwrap()));
        let seen = find(&behind.direct, &behind.terms, &id).await.map(|entry| entry.status);
        assert_eq!(seen, Some(Status::Completed), "{id} was acknowledged");
    }
    until("no transaction is open", async || (behind.idle_in_transaction().await == 0).then_some(())).await;
}

/// It is unknown whether it took hold, so that is what is told, and it is not run again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_users_transaction_whose_commit_is_not_answered_is_never_run_again() {
    let behind = behind().await;
    let mut looking = PgConnection::connect(&behind.database.url()).await.unwrap();
    run(&mut looking, "CREATE TABLE notes (text text)").await;
    let runs = AtomicUsize::new(0);
    let work = async |tx: &mut PgConnection| {
        runs.fetch_add(1, Ordering::SeqCst);
        let inserted = sqlx::raw_sql("INSERT INTO notes VALUES ('once')").execute(tx).await;
        // The commit is the next thing to be answered.
        behind.cutter.lose(100, 0);
        inserted.map(drop).map_err(|cause| told(&cause))
    };
    let error = behind.store.transaction(work).await.unwrap_err();
    assert_eq!((error.code(), runs.load(Ordering::SeqCst)), (COMMIT_UNKNOWN, 1), "{error}");
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM notes").fetch_one(&mut looking).await.unwrap();
    assert_eq!(kept, 1, "this one had taken hold");
    behind.cutter.lose(0, 0);
    until("transactions work again", async || behind.store.transaction(async |_| Ok(())).await.ok()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_that_is_used_up_is_busy_and_works_again_afterwards() {
    let database = Database::new().await;
    let store = Postgres::open(&database.url(), attentive()).await.unwrap();
    let terms = escalates();
    let lease = grant(&store, &terms, "A").await;
    let held = [store.begin().await.unwrap(), store.begin().await.unwrap()];
    let request = claim_of(&store, &terms, "B");
    let busy = |error: Error| {
        assert_eq!(error.code(), DATABASE_BUSY, "{error}");
        assert!(error.next_step().contains("allow more connections"), "{error}");
    };
    busy(claim(&store, request.clone()).await.unwrap_err());
    busy(complete(&store, &terms, &lease).await.unwrap_err());
    busy(store.begin().await.err().unwrap());
    busy(store.transaction(async |_| Ok(())).await.unwrap_err());
    drop(held);
    granted(claim(&store, request).await.unwrap());
    assert!(accepted(&complete(&store, &terms, &lease).await.unwrap()));
    store.transaction(async |_| Ok(())).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_only_reads_is_told_and_works_again_afterwards() {
    let database = Database::new().await;
    let store = Postgres::open(&database.url(), attentive()).await.unwrap();
    let terms = escalates();
    let lease = grant(&store, &terms, "A").await;
    let name = database.url().rsplit_once('/').unwrap().1.to_owned();
    let mut server = PgConnection::connect(&crate::fixture::url()).await.unwrap();
    run(&mut server, &format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
    // A setting of the database holds for connections that come.
    let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
    run(&mut server, &end).await;
    let read_only = |error: Error| assert_eq!(error.code(), DATABASE_READ_ONLY, "{error}");
    read_only(claim(&store, claim_of(&store, &terms, "B")).await.unwrap_err());
    read_only(complete(&store, &terms, &lease).await.unwrap_err());
    let wrote = store.transaction(async |tx| insert(tx).await).await;
    read_only(wrote.unwrap_err());
    assert_eq!(find(&store, &terms, "A").await.unwrap().status, Status::Started, "it still reads");
    let opened = Postgres::open(&database.url(), attentive()).await;
    assert!(opened.is_ok(), "what is migrated is opened to read: {:?}", opened.err());
    run(&mut server, &format!("ALTER DATABASE {name} RESET default_transaction_read_only")).await;
    run(&mut server, &end).await;
    assert!(accepted(&complete(&store, &terms, &lease).await.unwrap()));
    granted(claim(&store, claim_of(&store, &terms, "B")).await.unwrap());
}

async fn insert(tx: &mut PgConnection) -> Result<()> {
    let inserted = sqlx::raw_sql("CREATE TABLE notes (text text)").execute(tx).await;
    inserted.map(drop).map_err(|cause| told(&cause))
}

fn told(cause: &sqlx::Error) -> Error {
    Constraints::new().error(&onefold_postgres::fault(cause))
}
