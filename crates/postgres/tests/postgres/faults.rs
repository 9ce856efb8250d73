//! Servers that die and connections that break, under load: what was acknowledged is there, nothing happens twice.

use std::time::Duration;

use onefold_postgres::{Postgres, PostgresOptions};
use onefold_testing::seed;

use crate::cutter::Cutter;
use crate::fixture::{Schema, options};
use crate::load::{Load, patient};
use crate::server::{Server, signal};

async fn stores(url: &str, options: impl Fn() -> PostgresOptions) -> Vec<Postgres> {
    let mut stores = Vec::new();
    for _ in 0..2 {
        stores.push(Postgres::open(url, patient(options())).await.unwrap());
    }
    stores
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backend_that_is_killed_loses_nothing() {
    let server = Server::start(&[]).await;
    let stores = stores(&server.url(), options).await;
    let load = Load::begin(&stores, 8);
    for _ in 0..3 {
        load.goes_on_for(100).await;
        let mut looking = server.connect().await;
        let sql = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'onefold%' ORDER BY state LIMIT 1";
        let backend: i32 = sqlx::query_scalar(sql).fetch_one(&mut looking).await.unwrap();
        // The postmaster ends all the others too, and recovers.
        signal("-KILL", u32::try_from(backend).unwrap());
    }
    load.goes_on_for(100).await;
    load.end(&stores[0]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_recovers_and_has_lost_nothing() {
    let mut server = Server::start(&[]).await;
    let stores = stores(&server.url(), options).await;
    let load = Load::begin(&stores, 8);
    for _ in 0..2 {
        load.goes_on_for(100).await;
        server.kill();
        server.run().await;
    }
    load.goes_on_for(100).await;
    load.end(&stores[0]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_lost_behind_a_commit_are_asked_for_again() {
    for (answers, requests) in [(20, 0), (0, 3), (10, 2)] {
        let schema = Schema::new();
        let cutter = Cutter::before(schema.url(), seed("ONEFOLD_SEED")).await;
        let stores = stores(&cutter.url(schema.url()), || schema.options()).await;
        let load = Load::begin(&stores, 8);
        load.goes_on_for(20).await;
        cutter.lose(answers, requests);
        load.goes_on_for(150).await;
        // How many of them are lost is chance.
        while cutter.lost() <= 5 {
            load.goes_on_for(50).await;
        }
        cutter.lose(0, 0);
        load.goes_on_for(20).await;
        load.end(&stores[0]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_under_load_loses_nothing() {
    let settings = ["wal_level=replica", "max_wal_senders=4", "wal_receiver_status_interval=1"];
    let mut primary = Server::start(&settings).await;
    let standby = primary.standby(&settings).await;
    let mut connection = primary.connect().await;
    // From now on a commit is acknowledged when both have it.
    for sql in ["ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"] {
        crate::fixture::run(&mut connection, sql).await;
    }
    let synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
    crate::asking::until("the standby is synchronous", async || {
        let count: i64 = sqlx::query_scalar(synchronous).fetch_one(&mut primary.connect().await).await.unwrap();
        (count == 1).then_some(())
    })
    .await;
    let cutter = Cutter::to(primary.port, seed("ONEFOLD_SEED")).await;
    let stores = stores(&cutter.url(&primary.url()), options).await;
    let load = Load::begin(&stores, 8);
    load.goes_on_for(150).await;
    primary.kill();
    standby.promote();
    cutter.point_to(standby.port);
    load.goes_on_for(150).await;
    load.end(&stores[0]).await;
}

/// A switch-over whose address leads to the standby before it is promoted: it refuses to write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_only_reads_is_outlasted() {
    let settings = ["wal_level=replica", "max_wal_senders=4"];
    let primary = Server::start(&settings).await;
    let standby = primary.standby(&settings).await;
    let cutter = Cutter::to(primary.port, seed("ONEFOLD_SEED")).await;
    let stores = stores(&cutter.url(&primary.url()), options).await;
    let caught_up = async || {
        let position = "SELECT pg_current_wal_lsn()::text";
        let position: String = sqlx::query_scalar(position).fetch_one(&mut primary.connect().await).await.unwrap();
        let reached = "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn";
        let mut looking = standby.connect().await;
        let reached = sqlx::query_scalar(reached).bind(position).fetch_one(&mut looking).await;
        reached.unwrap_or(false).then_some(())
    };
    crate::asking::until("the standby has caught up", caught_up).await;
    cutter.point_to(standby.port);
    let load = Load::begin(&stores, 4);
    // Nobody is answered meanwhile, and nobody is told that it failed.
    tokio::time::sleep(Duration::from_secs(1)).await;
    standby.promote();
    load.goes_on_for(100).await;
    load.end(&stores[0]).await;
}
