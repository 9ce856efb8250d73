//! A completion is written beside its grant, and into no index.

use std::sync::Arc;

use onefold_conformance::fixture::{granted, record_of};
use onefold_conformance::kinds::escalates;
use onefold_conformance::ledger::outcomes::completed;
use onefold_core::port::LedgerWrite as _;
use onefold_core::row::{ColumnGroup, operation};
use onefold_postgres::{Postgres, PostgresOptions};
use sqlx::{Connection as _, PgConnection};

use crate::asking::{claim_of, claims, until};
use crate::fixture::{Database, Schema, options};
use crate::leases::beside;

#[tokio::test]
async fn no_index_mentions_what_a_completion_or_a_renewal_changes() {
    let schema = Schema::new();
    let _store = schema.open().await.unwrap();
    let defined = "SELECT pg_get_indexdef(indexrelid) FROM pg_index
        WHERE indrelid = to_regclass('onefold_operations')";
    let indexes: Vec<String> = sqlx::query_scalar(defined).fetch_all(&mut beside(&schema).await).await.unwrap();
    assert!(indexes.len() > 5, "{indexes:?}");
    let changed = |group| matches!(group, ColumnGroup::State | ColumnGroup::Ending);
    let changed = operation::ALL.iter().filter(|column| changed(column.group)).map(|column| column.name);
    for column in changed.chain(["lease_until"]) {
        for index in &indexes {
            let mut words = index.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            assert!(!words.any(|word| word == column), "{column}: {index}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_thousand_completions_nearly_all_are_written_into_no_index() {
    const OPERATIONS: usize = 50_000;
    let database = Database::new().await;
    let options = || PostgresOptions { connections_max: 2, ..options() };
    let store = Postgres::open(&database.url(), options()).await.unwrap();
    // It did not grant what it records, so it reads, locks and decides.
    let elsewhere = Postgres::open(&database.url(), options()).await.unwrap();
    let terms = escalates();
    let (mut done, mut number) = (0, 0);
    while done < OPERATIONS {
        let batch = [64, 128, 1][number % 3];
        let requests: Vec<_> =
            (0..batch).map(|id| claim_of(&store, &terms, &format!("OP-{number:05}-{id:03}"))).collect();
        let leases = claims(&store, &requests).await.unwrap().into_iter().map(|answer| granted(answer.unwrap()));
        let records = leases.map(|lease| record_of(&terms, &lease, completed(b"{\"notice\":\"N-1\"}"))).collect();
        let recording = if number % 10 == 1 { &elsewhere } else { &store };
        recording.act(Arc::new(records)).await.unwrap();
        done += batch;
        number += 1;
    }
    // A backend tells what it counted when it ends, at the latest.
    store.close().await;
    elsewhere.close().await;
    until("the stores' connections have ended", async || (database.stores().await == 0).then_some(())).await;
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    let counted = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'onefold_operations'";
    let (updated, in_place): (i64, i64) = sqlx::query_as(counted).fetch_one(&mut connection).await.unwrap();
    assert!(updated >= 50_000, "{updated} completions were counted");
    assert!(in_place * 100 >= updated * 95, "{in_place} of {updated}");
}
