//! Our side: claim and complete, through the library.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onefold::claim::ClaimResult;
use onefold::class::ExternalCommand;
use onefold::kind::KindHandle;
use onefold::operation::OperationId;
use onefold::settings::Settings;
use onefold::store::Store;
use onefold::store::{Postgres, PostgresOptions, Sqlite};
use onefold::{Kind, Ledger};

/// A ledger with one kind.
pub struct Ours<S = Sqlite> {
    pub ledger: Ledger<S>,
    pub kind: KindHandle<S, ExternalCommand>,
}

impl Ours {
    /// Opens a file.
    pub async fn open(path: &Path) -> Self {
        Self::on(Sqlite::open(path, onefold::store::sqlite_options()).await.expect("the file opens"))
    }

    /// Makes our tables in a file, for another who uses them.
    pub fn make_tables(path: &Path) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
        drop(runtime.block_on(Self::open(path)));
    }
}

impl Ours<Postgres> {
    /// Opens a schema.
    pub async fn open_schema(url: &str, schema: &str) -> Self {
        let options = PostgresOptions { schema: Some(schema.to_owned()), ..onefold::store::postgres_options() };
        Self::on(Postgres::open(url, options).await.expect("the database opens"))
    }
}

impl<S: Store> Ours<S> {
    /// On this store; the loops stay out of the way.
    fn on(store: S) -> Self {
        let far = Duration::from_secs(3600);
        let settings = Settings { sweep_every: far, ask_every: far, prune_every: far, ..Settings::default() };
        let ledger = Ledger::open(store, settings).expect("the ledger opens");
        let kind = ledger.kind(Kind::external_command("bench.pay")).expect("the kind is legal");
        Self { ledger, kind }
    }

    /// One operation: claimed and completed, both durable.
    pub async fn perform(self: Arc<Self>, id: String) {
        let operation = self.kind.operation(OperationId::parse(&id).expect("a legal id"));
        match operation.claim(&request(&id), self.ledger.attempt_id()).await.expect("the ledger answers") {
            ClaimResult::Granted(lease) => {
                lease.complete(&"NTC-991", None).await.expect("recorded");
            }
            _ => panic!("{id} was not granted"),
        }
    }

    /// A duplicate: answered from the record.
    pub async fn ask_again(self: Arc<Self>, id: String) {
        let operation = self.kind.operation(OperationId::parse(&id).expect("a legal id"));
        match operation.claim(&request(&id), self.ledger.attempt_id()).await.expect("the ledger answers") {
            ClaimResult::Replay(_) => {}
            _ => panic!("{id} was not replayed"),
        }
    }
}

fn request(id: &str) -> (&str, u32) {
    (id, 4200)
}
