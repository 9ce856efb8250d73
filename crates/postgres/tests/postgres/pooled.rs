//! The same promises behind `PgBouncer` in transaction mode, where no session is one's own.

use std::sync::Arc;

use onefold_conformance::Harness;
use onefold_conformance::outbox::fixture::OutboxHarness;
use onefold_core::Result;
use onefold_core::event::NewEvent;
use onefold_core::port::{Clock, Random, Staged};
use onefold_postgres::{Postgres, PostgresOptions, Time};

use crate::fixture::{PostgresHarness, Schema};

/// A schema that the store reaches through the pooler.
pub(crate) struct PooledHarness {
    schema: Schema,
}

/// The pooler's address; `cargo xtask test` sets it.
fn url() -> String {
    std::env::var("ONEFOLD_TEST_PGBOUNCER").expect("ONEFOLD_TEST_PGBOUNCER names a pooler: run `cargo xtask test`")
}

impl Harness for PooledHarness {
    type Store = Postgres;

    async fn fresh() -> Self {
        Self { schema: Schema::new() }
    }

    async fn open(&self, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Postgres {
        let options = PostgresOptions { clock, random, time: Time::Clock, ..self.schema.options() };
        Postgres::open(&url(), options).await.expect("the database opens")
    }
}

impl OutboxHarness for PooledHarness {
    async fn stage(store: &Postgres, events: Vec<NewEvent>) -> Result<Vec<Staged>> {
        PostgresHarness::stage(store, events).await
    }

    async fn stage_and_roll_back(store: &Postgres, events: Vec<NewEvent>) -> Result<()> {
        PostgresHarness::stage_and_roll_back(store, events).await
    }
}

onefold_conformance::suite!(PooledHarness);
onefold_conformance::outbox_suite!(PooledHarness);

/// A statement with a name would be another client's as soon as sessions are lent out.
#[tokio::test]
async fn no_statement_of_ours_gets_a_name_behind_a_pooler() {
    let schema = Schema::new();
    let store = Postgres::open(&url(), schema.options()).await.expect("the database opens");
    let direct = schema.open().await.expect("the database opens");
    assert!(!store.names_statements());
    assert!(direct.names_statements());
}
