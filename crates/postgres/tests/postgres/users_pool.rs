//! A ledger on the database of the user's own pool.

use onefold_core::error::{DATABASE_BUSY, DATABASE_UNAVAILABLE};
use onefold_postgres::Postgres;
use onefold_runtime::{Kind, Ledger, Performed};
use sqlx::PgConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::fixture::Schema;

async fn application(connection: &mut PgConnection) -> String {
    let sql = "SELECT current_setting('application_name')";
    sqlx::query_scalar(sql).persistent(false).fetch_one(connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_users_transactions_run_on_the_users_pool_and_the_ledger_has_connections_of_its_own() {
    let schema = Schema::new();
    let connect: PgConnectOptions = schema.url().parse().unwrap();
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(std::time::Duration::from_millis(200))
        .connect_lazy_with(connect.application_name("shop"));
    let store = Postgres::open_pool(pool.clone(), schema.options()).await.unwrap();
    let mut tx = store.begin().await.unwrap();
    assert_eq!(application(&mut tx).await, "shop");
    // The pool's one connection is in use, so nobody else begins; the ledger goes on all the same.
    let refused = store.begin().await.err().unwrap().code();
    assert!([DATABASE_BUSY, DATABASE_UNAVAILABLE].contains(&refused), "{refused}");
    let ledger = Ledger::builder(store.clone()).await.unwrap();
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let answer = notices.operation("A").perform(&"BREACH", |_| async { Ok(1) }).await.unwrap();
    assert_eq!(answer, Performed::Completed { result: 1, replayed: false });
    tx.commit().await.unwrap();
    // Closing the ledger's connections leaves the user's pool open.
    store.close().await;
    assert_eq!(application(&mut pool.acquire().await.unwrap()).await, "shop");
}
