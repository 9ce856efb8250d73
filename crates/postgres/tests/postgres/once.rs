//! An operation in the user's own transaction: check, execute, record in one commit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use onefold_core::effect::{EffectClass, Local, Policy};
use onefold_core::error::{ErrorClass, RUN_AGAIN};
use onefold_core::ledger::{Claim, Status};
use onefold_core::operation::OperationId;
use onefold_core::persistence::Constraints;
use onefold_core::{Error, Result};
use onefold_postgres::Postgres;
use onefold_runtime::{Kind, KindHandle, Ledger, Once, Settings};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, PgConnection, PgPool};

use crate::asking::{claim, claim_of, claims, find};
use crate::fixture::{Schema, run};

const ISOLATIONS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// A user's table beside the ledger's, and a pool of the user's own.
struct Shop {
    schema: Schema,
    store: Postgres,
    orders: KindHandle<Postgres, Local>,
    pool: PgPool,
}

async fn shop() -> Shop {
    shop_at(crate::fixture::url()).await
}

/// The same, with the store and the user behind this address.
async fn shop_at(url: String) -> Shop {
    let schema = Schema::at(url);
    let store = schema.open().await.unwrap();
    run(&mut schema.connect().await, &format!("CREATE TABLE {}.orders (id text NOT NULL)", schema.name)).await;
    let ledger = Ledger::open(store.clone(), Settings::default()).unwrap();
    let orders = ledger.kind(Kind::local("order.place")).unwrap();
    // PgBouncer refuses start-up parameters that it does not know.
    let options: PgConnectOptions = schema.url().parse().unwrap();
    let pool = PgPoolOptions::new().max_connections(8).connect_lazy_with(options.extra_float_digits(None));
    Shop { schema, store, orders, pool }
}

impl Shop {
    /// A transaction of the user's own that has seen the data as it is now.
    async fn begin(&self, isolation: &str) -> sqlx::Transaction<'static, sqlx::Postgres> {
        let begin = AssertSqlSafe(format!("BEGIN ISOLATION LEVEL {isolation}"));
        let mut transaction = self.pool.begin_with(begin).await.unwrap();
        sqlx::raw_sql("SELECT 1").execute(&mut *transaction).await.unwrap();
        transaction
    }

    async fn rows(&self) -> i64 {
        let sql = AssertSqlSafe(format!("SELECT count(*) FROM {}.orders", self.schema.name));
        // Inside a transaction: behind a pooler the driver's two messages would otherwise meet two sessions.
        let mut transaction = self.pool.begin().await.unwrap();
        sqlx::query_scalar(sql).persistent(false).fetch_one(&mut *transaction).await.unwrap()
    }

    async fn status(&self, id: &str) -> Option<Status> {
        find(&self.store, self.orders.terms(), id).await.map(|entry| entry.status)
    }

    async fn place(&self, connection: &mut PgConnection, id: &str) -> Result<String> {
        let sql = AssertSqlSafe(format!("INSERT INTO {}.orders VALUES ($1)", self.schema.name));
        let inserted = sqlx::query(sql).bind(id).persistent(false).execute(connection).await;
        inserted.map(|_| format!("placed {id}")).map_err(|cause| told(&cause))
    }

    /// The request is an empty object: that of [`claim_of`].
    async fn once(&self, connection: &mut PgConnection, id: &str, wait: Duration) -> Result<Once<String>> {
        let work = async |connection: &mut PgConnection| self.place(connection, id).await;
        let operation = self.orders.operation(OperationId::parse(id)?).wait_up_to(wait);
        operation.once_in(connection, &BTreeMap::<String, String>::new(), work).await
    }
}

/// A failure of the user's own statement, as the registry has it.
fn told(cause: &sqlx::Error) -> Error {
    Constraints::new().error(&onefold_postgres::fault(cause))
}

fn performed(id: &str) -> Once<String> {
    Once::Performed(format!("placed {id}"))
}

fn replayed(id: &str) -> Once<String> {
    Once::Replayed(format!("placed {id}"))
}

/// Both transactions have their snapshots before the first one performs.
#[tokio::test]
async fn a_duplicate_in_an_overlapping_transaction_is_not_performed_at_any_isolation() {
    let shop = shop().await;
    for (isolation, id) in ISOLATIONS.into_iter().zip(["A", "B", "C"]) {
        let (mut first, mut second) = (shop.begin(isolation).await, shop.begin(isolation).await);
        let before = shop.rows().await;
        assert_eq!(shop.once(&mut first, id, Duration::ZERO).await.unwrap(), performed(id));
        let meanwhile = shop.once(&mut second, id, Duration::ZERO).await.unwrap();
        assert!(matches!(meanwhile, Once::InFlight { .. }), "{isolation}: {meanwhile:?}");
        first.commit().await.unwrap();
        let then = shop.once(&mut second, id, Duration::from_secs(30)).await;
        if isolation == "READ COMMITTED" {
            assert_eq!(then.unwrap(), replayed(id));
            second.commit().await.unwrap();
        } else {
            let error = then.unwrap_err();
            assert_eq!(error.code(), RUN_AGAIN, "{isolation}: {error}");
            assert!(error.to_string().contains("READ COMMITTED"), "{error}");
            // Even a caller that looks away leaves nothing of the work behind.
            let _ = second.commit().await;
        }
        assert_eq!(shop.rows().await, before + 1, "{isolation}");
        let mut again = shop.begin(isolation).await;
        assert_eq!(shop.once(&mut again, id, Duration::ZERO).await.unwrap(), replayed(id), "{isolation}");
        again.commit().await.unwrap();
    }
}

#[tokio::test]
async fn a_duplicate_is_performed_where_the_first_one_rolled_back() {
    let shop = shop().await;
    for (isolation, id) in ISOLATIONS.into_iter().zip(["A", "B", "C"]) {
        let (mut first, mut second) = (shop.begin(isolation).await, shop.begin(isolation).await);
        let before = shop.rows().await;
        assert_eq!(shop.once(&mut first, id, Duration::ZERO).await.unwrap(), performed(id));
        first.rollback().await.unwrap();
        assert_eq!(shop.once(&mut second, id, Duration::from_secs(30)).await.unwrap(), performed(id), "{isolation}");
        second.commit().await.unwrap();
        assert_eq!((shop.rows().await, shop.status(id).await), (before + 1, Some(Status::Completed)), "{isolation}");
    }
}

/// Many at once, each run again while it is told to.
async fn one_of_many_performs(shop: Arc<Shop>, isolation: &'static str, id: &'static str) {
    let runs = Arc::new(AtomicUsize::new(0));
    let mut placing = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (shop, runs) = (Arc::clone(&shop), Arc::clone(&runs));
        placing.spawn(async move {
            loop {
                let mut transaction = shop.begin(isolation).await;
                runs.fetch_add(1, Ordering::SeqCst);
                match shop.once(&mut transaction, id, Duration::from_mins(1)).await {
                    Ok(once) if transaction.commit().await.is_ok() => return once,
                    // A serializable transaction may be refused as late as at its commit.
                    Ok(_) => {}
                    Err(error) => assert_eq!(error.code().descriptor().class, ErrorClass::Contention, "{error}"),
                }
            }
        });
    }
    let answers = placing.join_all().await;
    let count = |wanted: &Once<String>| answers.iter().filter(|once| *once == wanted).count();
    assert_eq!((count(&performed(id)), count(&replayed(id))), (1, 15), "{isolation}: {answers:?}");
    assert!(runs.load(Ordering::SeqCst) >= 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_transactions_at_once_one_performs_and_the_others_replay() {
    let shop = Arc::new(shop().await);
    for (isolation, id) in ISOLATIONS.into_iter().zip(["A", "B", "C"]) {
        one_of_many_performs(Arc::clone(&shop), isolation, id).await;
    }
    assert_eq!(shop.rows().await, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_pgbouncer_operations_are_performed_once_too() {
    let url = std::env::var("ONEFOLD_TEST_PGBOUNCER");
    let shop = Arc::new(shop_at(url.expect("ONEFOLD_TEST_PGBOUNCER names one: run `cargo xtask test`")).await);
    for (isolation, id) in ISOLATIONS.into_iter().zip(["A", "B", "C"]) {
        one_of_many_performs(Arc::clone(&shop), isolation, id).await;
    }
    let mut transaction = shop.store.begin().await.unwrap();
    assert_eq!(shop.once(&mut transaction, "D", Duration::ZERO).await.unwrap(), performed("D"));
    // The whole of it is held up until the end, whichever connection each of these runs on.
    let batch: Vec<_> = ["C", "D", "E"].iter().map(|id| claim_of(&shop.store, shop.orders.terms(), id)).collect();
    let answers = claims(&shop.store, &batch).await.unwrap();
    assert!(matches!(answers[0], Ok(Claim::Replay(_))), "{answers:?}");
    assert!(matches!(answers[1], Ok(Claim::InFlight { .. })), "{answers:?}");
    assert!(matches!(answers[2], Ok(Claim::Granted(_))), "{answers:?}");
    transaction.commit().await.unwrap();
    assert_eq!((shop.rows().await, shop.status("D").await), (4, Some(Status::Completed)));
}

#[tokio::test]
async fn a_slow_transaction_does_not_hold_up_a_batch_that_happens_to_hold_its_operation() {
    let shop = shop().await;
    let rerun = onefold_conformance::kinds::terms("order.place", EffectClass::Converging, Policy::Rerun);
    let terms = Arc::new(rerun);
    let mut slow = shop.store.begin().await.unwrap();
    assert_eq!(shop.once(&mut slow, "ID-100", Duration::ZERO).await.unwrap(), performed("ID-100"));
    let batch: Vec<_> = (1..=200).map(|id| claim_of(&shop.store, &terms, &format!("ID-{id}"))).collect();
    // Answered while the transaction is open, or never.
    let answers = claims(&shop.store, &batch).await.unwrap();
    for (request, answer) in batch.iter().zip(answers) {
        match (request.key.id.as_str(), answer.unwrap()) {
            ("ID-100", Claim::InFlight { retry_after }) => assert!(retry_after > Duration::ZERO),
            ("ID-100", other) => panic!("{other:?}"),
            (_, Claim::Granted(lease)) => assert_eq!(lease.fence, 1),
            (id, other) => panic!("{id}: {other:?}"),
        }
    }
    crate::leases::every_lease_is_found(&shop.schema).await;
    slow.commit().await.unwrap();
    let then = claim(&shop.store, claim_of(&shop.store, &terms, "ID-100")).await.unwrap();
    assert!(matches!(then, Claim::Replay(_)), "{then:?}");
}

#[tokio::test]
async fn an_operation_whose_transaction_rolled_back_can_be_claimed() {
    let shop = shop().await;
    let mut slow = shop.store.begin().await.unwrap();
    assert_eq!(shop.once(&mut slow, "A", Duration::ZERO).await.unwrap(), performed("A"));
    let request = claim_of(&shop.store, shop.orders.terms(), "A");
    let meanwhile = claim(&shop.store, request.clone()).await.unwrap();
    assert!(matches!(meanwhile, Claim::InFlight { .. }), "{meanwhile:?}");
    slow.rollback().await.unwrap();
    let then = claim(&shop.store, request).await.unwrap();
    assert!(matches!(then, Claim::Granted(_)), "{then:?}");
}

#[tokio::test]
async fn a_swallowed_error_leaves_neither_rows_nor_performed() {
    let shop = shop().await;
    for isolation in ISOLATIONS {
        let before = shop.rows().await;
        let mut transaction = shop.begin(isolation).await;
        shop.place(&mut transaction, "OTHER-WORK").await.unwrap();
        let operation = shop.orders.operation(OperationId::parse(&isolation.replace(' ', "-")).unwrap());
        let failed: Result<Once<String>> = operation
            .once_in(&mut transaction, &"two chairs", async |connection| {
                shop.place(connection, "A").await?;
                // A statement that PostgreSQL refuses makes the whole transaction useless, but for the savepoint.
                let refused = sqlx::query("SELECT 1 / 0").persistent(false).execute(connection).await;
                refused.map(|_| String::new()).map_err(|cause| told(&cause))
            })
            .await;
        assert!(failed.is_err());
        // The caller looks away and commits.
        transaction.commit().await.unwrap();
        assert_eq!(shop.rows().await, before + 1, "{isolation}");
        assert_eq!(shop.status(&isolation.replace(' ', "-")).await, None, "{isolation}");
    }
}

#[tokio::test]
async fn a_transaction_that_is_not_committed_leaves_nothing() {
    let shop = shop().await;
    for end in ["rollback", "drop"] {
        let mut transaction = shop.store.begin().await.unwrap();
        assert_eq!(shop.once(&mut transaction, "A", Duration::ZERO).await.unwrap(), performed("A"), "{end}");
        if end == "rollback" {
            transaction.rollback().await.unwrap();
        } else {
            drop(transaction);
        }
        assert_eq!((shop.rows().await, shop.status("A").await), (0, None), "{end}");
        // The next caller waits at most until the server has heard of it.
        let mut next = shop.store.begin().await.unwrap();
        assert_eq!(shop.once(&mut next, "A", Duration::from_mins(1)).await.unwrap(), performed("A"), "{end}");
        next.rollback().await.unwrap();
    }
}

#[tokio::test]
async fn two_operations_in_one_transaction_take_hold_together() {
    let shop = shop().await;
    let mut transaction = shop.begin("SERIALIZABLE").await;
    for id in ["A", "B"] {
        assert_eq!(shop.once(&mut transaction, id, Duration::ZERO).await.unwrap(), performed(id));
    }
    assert_eq!(shop.once(&mut transaction, "A", Duration::ZERO).await.unwrap(), replayed("A"), "it sees its own");
    assert_eq!((shop.status("A").await, shop.status("B").await), (None, None));
    transaction.commit().await.unwrap();
    assert_eq!((shop.status("A").await, shop.status("B").await), (Some(Status::Completed), Some(Status::Completed)));
    assert_eq!(shop.rows().await, 2);
}

#[tokio::test]
async fn an_operation_held_beyond_the_wait_is_in_flight_and_the_transaction_goes_on() {
    let shop = shop().await;
    let (mut first, mut second) = (shop.begin("READ COMMITTED").await, shop.begin("READ COMMITTED").await);
    assert_eq!(shop.once(&mut first, "A", Duration::ZERO).await.unwrap(), performed("A"));
    let wait = Duration::from_millis(300);
    let began = Instant::now();
    let waited = shop.once(&mut second, "A", wait).await.unwrap();
    assert!(matches!(waited, Once::InFlight { .. }), "{waited:?}");
    assert!(began.elapsed() >= wait);
    shop.place(&mut second, "OTHER-WORK").await.unwrap();
    first.commit().await.unwrap();
    assert_eq!(shop.once(&mut second, "A", wait).await.unwrap(), replayed("A"));
    second.commit().await.unwrap();
    assert_eq!(shop.rows().await, 2);
}
