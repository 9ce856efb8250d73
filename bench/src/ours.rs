//! Our side: claim and complete, through the library.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onefold::core::effect::ExternalCommand;
use onefold::{Claimed, Kind, KindHandle, Ledger, OperationId, Settings, Sqlite};

/// A ledger with one kind.
pub struct Ours {
    pub ledger: Ledger<Sqlite>,
    pub kind: KindHandle<Sqlite, ExternalCommand>,
}

impl Ours {
    /// Opens a file; the loops stay out of the way.
    pub async fn open(path: &Path) -> Self {
        let store = Sqlite::open(path, onefold::sqlite_options()).await.expect("the file opens");
        let far = Duration::from_secs(3600);
        let settings = Settings { sweep_every: far, ask_every: far, prune_every: far, ..Settings::default() };
        let ledger = Ledger::open(store, settings).expect("the ledger opens");
        let kind = ledger.kind(Kind::external_command("bench.pay")).expect("the kind is legal");
        Self { ledger, kind }
    }

    /// One operation: claimed and completed, both durable.
    pub async fn operation(&self, id: &str) {
        let operation = self.kind.operation(OperationId::parse(id).expect("a legal id"));
        match operation.claim(&request(id), self.ledger.attempt_id()).await.expect("the ledger answers") {
            Claimed::Granted(lease) => {
                lease.complete(&"NTC-991", None).await.expect("recorded");
            }
            _ => panic!("{id} was not granted"),
        }
    }

    /// A duplicate: answered from the record.
    pub async fn duplicate(&self, id: &str) {
        let operation = self.kind.operation(OperationId::parse(id).expect("a legal id"));
        match operation.claim(&request(id), self.ledger.attempt_id()).await.expect("the ledger answers") {
            Claimed::Replay(_) => {}
            _ => panic!("{id} was not replayed"),
        }
    }
}

fn request(id: &str) -> (&str, u32) {
    (id, 4200)
}

/// Runs `work` for every number below `count`, shared out over callers that each do one after the other.
pub async fn callers<F, Fut>(callers: usize, count: usize, work: F)
where
    F: Fn(usize) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let work = Arc::new(work);
    let mut tasks = Vec::with_capacity(callers);
    for caller in 0..callers {
        let work = Arc::clone(&work);
        tasks.push(tokio::spawn(async move {
            let mut number = caller;
            while number < count {
                work(number).await;
                number += callers;
            }
        }));
    }
    for task in tasks {
        task.await.expect("a caller ended");
    }
}
