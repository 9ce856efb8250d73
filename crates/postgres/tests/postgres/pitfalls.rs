//! What batches of claims get wrong when they are written naively.

use std::sync::Arc;
use std::time::Duration;

use onefold_conformance::fixture::granted;
use onefold_conformance::kinds::escalates;
use onefold_core::Timestamp;
use onefold_core::ledger::{Claim, ClaimRequest};
use onefold_postgres::{Postgres, PostgresOptions};
use onefold_testing::SeededRandom;
use onefold_testing::seed;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use tokio::task::JoinSet;

use crate::asking::{accepted, claim, claim_of, claims, complete, grant, replaced_after, until};
use crate::fixture::{Database, Schema, options, run};

/// These in an order that chance decides.
pub(crate) fn shuffled<T>(mut items: Vec<T>, random: &SeededRandom) -> Vec<T> {
    for at in (1..items.len()).rev() {
        let other = usize::try_from(random.draw()).unwrap() % (at + 1);
        items.swap(at, other);
    }
    items
}

#[tokio::test]
async fn the_same_id_twice_in_a_batch_is_granted_to_one_attempt() {
    let schema = Schema::new();
    let store = schema.open().await.unwrap();
    let terms = escalates();
    let (first, other) = (claim_of(&store, &terms, "A"), claim_of(&store, &terms, "A"));
    let between = claim_of(&store, &terms, "B");
    let batch = [first.clone(), between, other, first];
    let answers: Vec<Claim> =
        claims(&store, &batch).await.unwrap().into_iter().map(|answer| answer.expect("an answer")).collect();
    let [one, _, another, again] = &answers[..] else { panic!("{answers:?}") };
    let (one, again) = (granted(one.clone()), granted(again.clone()));
    assert_eq!((one.fence, one.attempt_id), (again.fence, again.attempt_id));
    assert!(matches!(another, Claim::InFlight { .. }), "{another:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fresh_operation_in_several_batches_at_once_is_granted_once() {
    const ROUNDS: usize = 8;
    const IDS: usize = 128;
    let schema = Schema::new();
    let terms = escalates();
    let random = SeededRandom::new(seed("ONEFOLD_SEED"));
    let mut stores = Vec::new();
    for _ in 0..4 {
        stores.push(schema.open().await.unwrap());
    }
    for round in 0..ROUNDS {
        let mut asking = JoinSet::new();
        for store in &stores {
            let ids = shuffled((0..IDS).map(|id| format!("R{round}-{id}")).collect(), &random);
            let batch: Vec<ClaimRequest> = ids.iter().map(|id| claim_of(store, &terms, id)).collect();
            let store = store.clone();
            asking.spawn(async move { claims(&store, &batch).await.unwrap() });
        }
        let answers: Vec<Claim> = asking.join_all().await.into_iter().flatten().map(|answer| answer.unwrap()).collect();
        let grants = answers.iter().filter(|claim| matches!(claim, Claim::Granted(_))).count();
        let in_flight = answers.iter().filter(|claim| matches!(claim, Claim::InFlight { .. })).count();
        assert_eq!((grants, in_flight), (IDS, 3 * IDS), "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_that_overlap_in_any_order_never_deadlock() {
    const ROUNDS: usize = 20;
    let database = Database::new().await;
    // Over as soon as it is granted, so that every batch moves every row.
    let terms = replaced_after(Duration::from_micros(1));
    let seed = seed("ONEFOLD_SEED");
    let mut asking = JoinSet::new();
    for number in 0..4 {
        let random = SeededRandom::new(seed.wrapping_add(number));
        let store = Postgres::open(&database.url(), PostgresOptions { connections_max: 2, ..options() }).await.unwrap();
        let terms = Arc::clone(&terms);
        asking.spawn(async move {
            let mut grants = 0;
            for _ in 0..ROUNDS {
                let mut ids = shuffled((0..160).collect(), &random);
                ids.truncate(100);
                let batch: Vec<_> = ids.iter().map(|id| claim_of(&store, &terms, &format!("ID-{id}"))).collect();
                let answers = claims(&store, &batch).await.unwrap();
                grants += answers.iter().filter(|claim| matches!(claim, Ok(Claim::Granted(_)))).count();
            }
            store.close().await;
            grants
        });
    }
    let grants: usize = asking.join_all().await.into_iter().sum();
    assert!(grants > 1_000, "{grants} grants: rows were not moved");
    // A backend tells what it counted when it ends, at the latest.
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    until("the stores' connections have ended", async || (database.stores().await == 0).then_some(())).await;
    let counted = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let deadlocks: i64 = sqlx::query_scalar(counted).fetch_one(&mut connection).await.unwrap();
    assert_eq!(deadlocks, 0);
}

/// Above READ COMMITTED the server refuses what it would otherwise let wait; that is tried again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_stricter_by_default_grants_each_operation_once_too() {
    const IDS: usize = 40;
    for isolation in ["repeatable read", "serializable"] {
        let database = Database::new().await;
        let name = database.url().rsplit_once('/').unwrap().1.to_owned();
        let mut connection = PgConnection::connect(&database.url()).await.unwrap();
        run(&mut connection, &format!("ALTER DATABASE {name} SET default_transaction_isolation = '{isolation}'")).await;
        let terms = escalates();
        let mut asking = JoinSet::new();
        for _ in 0..4 {
            let store = Postgres::open(&database.url(), options()).await.unwrap();
            let terms = Arc::clone(&terms);
            asking.spawn(async move {
                let batch: Vec<_> = (0..IDS).map(|id| claim_of(&store, &terms, &format!("ID-{id}"))).collect();
                let mut leases = Vec::new();
                for answer in claims(&store, &batch).await.unwrap() {
                    if let Claim::Granted(lease) = answer.unwrap() {
                        assert!(accepted(&complete(&store, &terms, &lease).await.unwrap()));
                        leases.push(lease);
                    }
                }
                leases.len()
            });
        }
        assert_eq!(asking.join_all().await.into_iter().sum::<usize>(), IDS, "{isolation}");
    }
}

/// The server's time, in microseconds.
async fn server_time(connection: &mut PgConnection) -> Timestamp {
    let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    Timestamp::from_micros(sqlx::query_scalar(sql).fetch_one(connection).await.unwrap())
}

/// Waits until somebody waits for what this backend holds.
pub(crate) async fn somebody_waits_for(schema: &Schema, backend: i32) {
    let mut looking = schema.connect().await;
    until_waiting(&mut looking, backend).await;
}

async fn until_waiting(looking: &mut PgConnection, backend: i32) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))";
    loop {
        let waiting: i64 = sqlx::query_scalar(sql).bind(backend).fetch_one(&mut *looking).await.unwrap();
        if waiting > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The backend of a connection.
pub(crate) async fn backend(connection: &mut PgConnection) -> i32 {
    sqlx::query("SELECT pg_backend_pid()").fetch_one(connection).await.unwrap().get(0)
}

#[tokio::test]
async fn a_claim_that_waited_for_a_row_counts_its_lease_from_behind_the_wait() {
    let schema = Schema::new();
    let store = schema.open().await.unwrap();
    let lease_for = Duration::from_secs(20);
    let terms = replaced_after(lease_for);
    let first = grant(&store, &terms, "A").await;
    let mut holding = schema.connect().await;
    let table = format!("{}.onefold_operations", schema.name);
    run(&mut holding, &format!("UPDATE {table} SET lease_until = lease_until - 3600000000")).await;
    let holder = backend(&mut holding).await;
    run(&mut holding, &format!("BEGIN; SELECT 1 FROM {table} FOR UPDATE")).await;
    let waiting = {
        let (store, request) = (store.clone(), claim_of(&store, &terms, "A"));
        tokio::spawn(async move { claim(&store, request).await })
    };
    somebody_waits_for(&schema, holder).await;
    // Long enough to be seen beside the time that statements take.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let released = server_time(&mut holding).await;
    run(&mut holding, "ROLLBACK").await;
    let second = granted(waiting.await.unwrap().unwrap());
    assert_eq!((first.fence, second.fence), (1, 2));
    assert!(second.lease_until >= released.plus(lease_for), "{} at {released}", second.lease_until);
    let stored = sqlx::query_scalar(AssertSqlSafe(format!("SELECT lease_until FROM {table}")));
    let stored: i64 = stored.fetch_one(&mut holding).await.unwrap();
    assert_eq!(stored, second.lease_until.as_micros());
}

#[tokio::test]
async fn a_lost_grant_is_granted_again_to_its_attempt_and_to_no_other() {
    let schema = Schema::new();
    let (store, elsewhere) = (schema.open().await.unwrap(), schema.open().await.unwrap());
    for terms in [escalates(), replaced_after(Duration::from_mins(1))] {
        let request = claim_of(&store, &terms, "A");
        let unheard = granted(claim(&store, request.clone()).await.unwrap());
        for asked in [&store, &elsewhere] {
            let again = granted(claim(asked, request.clone()).await.unwrap());
            assert_eq!((again.fence, again.attempt_id), (unheard.fence, unheard.attempt_id));
            let other = claim(asked, claim_of(asked, &terms, "A")).await.unwrap();
            assert!(matches!(other, Claim::InFlight { .. }), "{other:?}");
        }
    }
}

/// The same in the middle of an overlapping batch of strangers.
#[tokio::test]
async fn a_batch_whose_answer_was_lost_is_granted_again_under_the_same_fences() {
    let schema = Schema::new();
    let store = schema.open().await.unwrap();
    let terms = escalates();
    let batch: Vec<_> = (0..50).map(|id| claim_of(&store, &terms, &format!("ID-{id}"))).collect();
    let unheard = claims(&store, &batch[..30]).await.unwrap();
    let again = claims(&store, &batch).await.unwrap();
    for (one, two) in unheard.into_iter().zip(&again) {
        let (one, two) = (granted(one.unwrap()), granted(two.as_ref().unwrap().clone()));
        assert_eq!((one.key, one.fence, one.attempt_id), (two.key, two.fence, two.attempt_id));
    }
    assert!(again.iter().all(|answer| matches!(answer, Ok(Claim::Granted(lease)) if lease.fence == 1)));
}
