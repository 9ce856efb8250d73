//! The store: a schema of its own for every test.

use std::path::Path;
use std::sync::Arc;

use onefold_runtime::{Ledger, Settings, SystemClock, SystemRandom};

use crate::schema_fixture::{Schema, execute, terminate};

/// Where operations are kept.
pub(crate) type Store = onefold_postgres::Postgres;

/// A store that nobody has used; gone when the test ends.
pub(crate) struct StoreFixture {
    schema: Schema,
    folder: tempfile::TempDir,
}

impl StoreFixture {
    pub(crate) fn new() -> Self {
        Self { schema: Schema::new(), folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A ledger of this process.
    pub(crate) async fn ledger(&self) -> Ledger<Store> {
        let options = onefold_postgres::PostgresOptions {
            schema: Some(self.schema.name.clone()),
            ..onefold_postgres::PostgresOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()))
        };
        let store = Store::open(&self.schema.url(), options).await.unwrap();
        Ledger::open(store, Settings::default()).unwrap()
    }

    /// From now on nobody gets in, until what this returns is dropped.
    pub(crate) fn take_away(&self) -> impl Drop + use<> {
        let role = self.schema.name.clone();
        execute(&format!("ALTER ROLE {role} NOLOGIN"));
        terminate(&self.schema);
        Away(role)
    }

    /// What tells a server of this store where it is.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![("ONEFOLD_DATABASE", self.schema.url()), ("ONEFOLD_SCHEMA", self.schema.name.clone())]
    }
}

struct Away(String);

impl Drop for Away {
    fn drop(&mut self) {
        execute(&format!("ALTER ROLE {} LOGIN", self.0));
    }
}
