//! A commit whose answer is lost: the ledger tells what became of it where it can, and nobody guesses where it cannot.

use std::time::Duration;

use onefold_core::Result;
use onefold_core::effect::Local;
use onefold_core::error::{COMMIT_UNKNOWN, DATABASE_UNAVAILABLE};
use onefold_core::ledger::Status;
use onefold_core::operation::OperationId;
use onefold_postgres::{Postgres, PostgresOptions};
use onefold_runtime::{Kind, KindHandle, Ledger, Once, Settings};
use onefold_testing::seed;
use sqlx::{Connection as _, PgConnection};

use crate::asking::{find, until};
use crate::cutter::Cutter;
use crate::fixture::{Database, options, run};

/// A store behind a way that loses answers, and one that does not.
struct Behind {
    database: Database,
    cutter: Cutter,
    store: Postgres,
    direct: Postgres,
    orders: KindHandle<Postgres, Local>,
}

async fn behind() -> Behind {
    let database = Database::new().await;
    let cutter = Cutter::before(&database.url(), seed("ONEFOLD_SEED")).await;
    let direct = Postgres::open(&database.url(), options()).await.unwrap();
    let patient = PostgresOptions { try_for: Duration::from_secs(30), ..options() };
    let store = Postgres::open(&cutter.url(&database.url()), patient).await.unwrap();
    let ledger = Ledger::open(store.clone(), Settings::default()).unwrap();
    ledger.start().await.unwrap();
    let orders = ledger.kind(Kind::local("order.place")).unwrap();
    Behind { database, cutter, store, direct, orders }
}

impl Behind {
    async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.database.url()).await.unwrap()
    }

    /// Makes every commit that writes to `notes` end its own connection before it takes hold.
    async fn end_commits(&self) {
        let sql = "CREATE TABLE notes (text text);
            CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(30); RETURN NULL; END $$;
            CREATE CONSTRAINT TRIGGER ends AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION end_session()";
        run(&mut self.connect().await, sql).await;
    }

    /// Makes every commit that writes to `notes` wait until the lock that is held here is given back.
    async fn hold_commits(&self) -> PgConnection {
        let sql = "CREATE TABLE notes (text text);
            CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN PERFORM pg_advisory_xact_lock(77); RETURN NULL; END $$;
            CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION wait_here();
            SELECT pg_advisory_lock(77)";
        let mut holder = self.connect().await;
        run(&mut holder, sql).await;
        holder
    }

    /// Waits until a session of this database is as the condition says.
    async fn session(&self, what: &str, condition: &'static str) {
        let sql = "SELECT count(*) > 0 FROM pg_stat_activity AS session WHERE datname = current_database() AND ";
        let sql = format!("{sql}{condition}");
        until(what, async || {
            let found = sqlx::query_scalar::<_, bool>(sqlx::AssertSqlSafe(sql.clone()))
                .fetch_one(&mut self.connect().await)
                .await;
            found.unwrap().then_some(())
        })
        .await;
    }

    async fn place(&self, tx: &mut PgConnection, id: &str, then: impl Fn()) -> Result<Once<String>> {
        let operation = self.orders.operation(OperationId::parse(id)?);
        let once = operation.once_in(tx, &(), async |_| Ok::<_, onefold_core::Error>(format!("placed {id}"))).await;
        then();
        once
    }

    async fn status(&self, id: &str) -> Option<Status> {
        find(&self.direct, self.orders.terms(), id).await.map(|entry| entry.status)
    }
}

async fn note(tx: &mut PgConnection) {
    sqlx::raw_sql("INSERT INTO notes VALUES ('once')").execute(tx).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_is_found_in_the_ledger_where_an_operation_was_performed() {
    let behind = behind().await;
    let before = behind.cutter.lost();
    let work = async |tx: &mut PgConnection| behind.place(tx, "A", || behind.cutter.lose(100, 0)).await;
    let passing = async {
        until("an answer is lost", async || (behind.cutter.lost() > before).then_some(())).await;
        behind.cutter.lose(0, 0);
    };
    let (committed, ()) = tokio::join!(behind.store.transaction(work), passing);
    assert_eq!(committed.unwrap().into_inner(), Once::Performed("placed A".to_owned()));
    assert_eq!(behind.status("A").await, Some(Status::Completed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_did_not_take_hold_is_told_as_such_where_an_operation_was_performed() {
    let behind = behind().await;
    behind.end_commits().await;
    let mut tx = behind.direct.begin().await.unwrap();
    behind.place(&mut tx, "A", || ()).await.unwrap();
    note(&mut tx).await;
    let error = tx.commit().await.unwrap_err();
    assert_eq!(error.code(), DATABASE_UNAVAILABLE, "{error}");
    assert!(error.detail().contains("nothing was committed"), "{error}");
    assert_eq!(behind.status("A").await, None);
}

/// The connection is gone, the row is not there yet, and the server is still at it: nobody says that it was not committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_still_in_flight_is_waited_for_and_not_told_as_undone() {
    let behind = behind().await;
    let mut holder = behind.hold_commits().await;
    let mut tx = behind.store.begin().await.unwrap();
    behind.place(&mut tx, "A", || ()).await.unwrap();
    note(&mut tx).await;
    let losing = async {
        behind.session("the commit waits", "wait_event = 'advisory'").await;
        behind.cutter.close();
        // A look that found neither the row nor the end of the transaction is taken back.
        let looked = "state = 'idle' AND query = 'ROLLBACK' AND backend_start > \
            (SELECT query_start FROM pg_stat_activity AS waiting WHERE waiting.wait_event = 'advisory' AND waiting.datname = session.datname)";
        behind.session("the ledger was asked", looked).await;
        run(&mut holder, "SELECT pg_advisory_unlock(77)").await;
    };
    let (committed, ()) = tokio::join!(tx.commit(), losing);
    committed.unwrap();
    assert_eq!(behind.status("A").await, Some(Status::Completed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_without_an_operation_is_unknown() {
    let behind = behind().await;
    behind.end_commits().await;
    let mut tx = behind.direct.begin().await.unwrap();
    note(&mut tx).await;
    let error = tx.commit().await.unwrap_err();
    assert_eq!(error.code(), COMMIT_UNKNOWN, "{error}");
}

/// What a savepoint took back was not performed: the transaction remembers nothing of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operation_that_was_taken_back_tells_nothing_of_the_commit() {
    let behind = behind().await;
    behind.end_commits().await;
    let mut tx = behind.direct.begin().await.unwrap();
    run(&mut tx, "SAVEPOINT before").await;
    behind.place(&mut tx, "A", || ()).await.unwrap();
    run(&mut tx, "ROLLBACK TO SAVEPOINT before").await;
    note(&mut tx).await;
    let error = tx.commit().await.unwrap_err();
    assert_eq!(error.code(), COMMIT_UNKNOWN, "{error}");
}
