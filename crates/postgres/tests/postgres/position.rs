//! A ledger that went back or is another one is refused until a person accepts it.

use std::path::PathBuf;

use onefold_core::error::{FINGERPRINT_KEY_MISSING, LEDGER_WENT_BACK};
use onefold_core::operation::OperationId;
use onefold_core::port::Store as _;
use onefold_core::{Error, Result};
use onefold_files::PositionFile;
use onefold_postgres::{Postgres, PostgresOptions};
use onefold_runtime::{Kind, Ledger, Performed, Settings, Shutdown};
use tempfile::TempDir;

use crate::fixture::{Schema, run};

/// A schema, and a machine that remembers how far it had come.
struct MachineFixture {
    schema: Schema,
    folder: TempDir,
}

impl MachineFixture {
    fn new() -> Self {
        Self { schema: Schema::new(), folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, machine: &str) -> PathBuf {
        self.folder.path().join(machine)
    }

    fn options(&self, machine: &str) -> PostgresOptions {
        PostgresOptions { position: Some(self.file(machine)), ..self.schema.options() }
    }

    async fn open(&self, machine: &str) -> Result<Postgres> {
        Postgres::open(self.schema.url(), self.options(machine)).await
    }

    async fn refused(&self, machine: &str) -> Error {
        let refused = self.open(machine).await.map(drop).unwrap_err();
        assert_eq!(refused.code(), LEDGER_WENT_BACK, "{refused}");
        assert!(refused.next_step().contains("accept-restored"), "{refused}");
        refused
    }

    async fn accept(&self, machine: &str) -> Option<Error> {
        Postgres::accept(self.schema.url(), self.options(machine), "ann", "the server died").await.unwrap()
    }

    /// Runs statements on the ledger's tables.
    async fn run(&self, sql: &str) {
        let mut connection = self.schema.connect().await;
        run(&mut connection, &sql.replace("onefold_", &format!("{}.onefold_", self.schema.name))).await;
    }

    fn mark(&self, machine: &str) -> u64 {
        PositionFile::at(self.file(machine)).read().unwrap().unwrap().mark
    }
}

async fn perform(store: Postgres, id: &str) -> Result<Performed<u8>> {
    let ledger = Ledger::open(store, Settings::default()).unwrap();
    let kind = ledger.kind(Kind::converging("work.do")).unwrap();
    let performed = kind.operation(OperationId::parse(id).unwrap()).perform(&1, |_| async { Ok(1) }).await;
    ledger.shutdown(Shutdown::Now).await;
    performed
}

#[tokio::test]
async fn what_was_written_is_remembered_and_a_database_without_it_is_refused() {
    let machines = MachineFixture::new();
    let store = machines.open("a").await.unwrap();
    let before = machines.mark("a");
    perform(store, "W-1").await.unwrap();
    assert!(machines.mark("a") > before);
    machines.open("a").await.unwrap();
    // The state of a replica that had not got it yet.
    machines.run(&format!("DELETE FROM onefold_operations; UPDATE onefold_position SET mark = {before}")).await;
    machines.refused("a").await;
    machines.open("b").await.unwrap();
    assert_eq!(machines.accept("a").await.unwrap().code(), LEDGER_WENT_BACK);
    machines.open("a").await.unwrap();
    assert!(machines.accept("a").await.is_none(), "nothing to accept");
    machines.open("b").await.unwrap();
}

#[tokio::test]
async fn what_nobody_wrote_is_not_marked() {
    let machines = MachineFixture::new();
    let store = machines.open("a").await.unwrap();
    let before = machines.mark("a");
    store.remember().await.unwrap();
    assert_eq!(machines.mark("a"), before);
}

#[tokio::test]
async fn a_schema_without_its_ledger_or_with_another_one_is_refused_and_left_as_it_is() {
    let machines = MachineFixture::new();
    drop(machines.open("a").await.unwrap());
    let schema = &machines.schema.name;
    run(&mut machines.schema.connect().await, &format!("DROP SCHEMA {schema} CASCADE")).await;
    machines.refused("a").await;
    assert!(machines.refused("a").await.detail().contains("there is no ledger"), "it was not made meanwhile");
    drop(machines.open("elsewhere").await.unwrap());
    assert!(machines.refused("a").await.detail().contains("not the ledger"));
}

#[tokio::test]
async fn a_ledger_that_is_replaced_under_a_living_process_grants_nothing_more() {
    let machines = MachineFixture::new();
    let store = machines.open("a").await.unwrap();
    perform(store.clone(), "W-1").await.unwrap();
    machines.run("UPDATE onefold_position SET mark = 0").await;
    perform(store.clone(), "W-2").await.unwrap();
    let refused = perform(store, "W-3").await.unwrap_err();
    assert_eq!(refused.code(), LEDGER_WENT_BACK, "{refused}");
}

#[tokio::test]
async fn a_backup_that_nobody_accepted_is_refused_wherever_it_is_opened() {
    let machines = MachineFixture::new();
    drop(machines.open("a").await.unwrap());
    machines.run("UPDATE onefold_position SET copied_at = 1").await;
    for machine in ["a", "b"] {
        assert!(machines.refused(machine).await.detail().contains("backup"));
    }
    machines.accept("a").await.unwrap();
    for machine in ["a", "b"] {
        machines.open(machine).await.unwrap();
    }
}

#[tokio::test]
async fn a_fingerprint_key_that_is_gone_is_refused_at_the_start() {
    let machines = MachineFixture::new();
    perform(machines.open("a").await.unwrap(), "W-1").await.unwrap();
    for lost in ["DELETE FROM onefold_keys", "INSERT INTO onefold_keys VALUES (2, decode(repeat('00', 32), 'hex'), 0)"]
    {
        machines.run(lost).await;
        let refused = machines.open("a").await.map(drop).unwrap_err();
        assert_eq!(refused.code(), FINGERPRINT_KEY_MISSING, "{lost}: {refused}");
    }
}

#[tokio::test]
async fn a_probe_writes_and_leaves_nothing() {
    let machines = MachineFixture::new();
    let store = machines.open("a").await.unwrap();
    store.probe().await.unwrap();
    machines.run("DO $$ BEGIN ASSERT (SELECT count(*) = 0 FROM onefold_room); END $$").await;
    machines.run("ALTER TABLE onefold_room ADD CONSTRAINT no_room CHECK (false)").await;
    assert!(store.probe().await.is_err(), "what cannot be written is not ready");
}
