//! Callers that perform operations without a pause, and what they were told.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onefold_core::effect::ExternalCommand;
use onefold_core::ledger::Status;
use onefold_core::operation::OperationId;
use onefold_postgres::{Postgres, PostgresOptions};
use onefold_runtime::{Kind, KindHandle, Ledger, Performed, Settings, Shutdown};
use tokio::task::JoinSet;

use crate::asking::{statuses, until};

/// Operations in flight on several stores. Each is asked for by two callers; its effect counts.
pub(crate) struct Load {
    ledgers: Vec<Ledger<Postgres>>,
    log: Arc<LoadLog>,
    callers: JoinSet<()>,
}

#[derive(Default)]
struct LoadLog {
    next: AtomicUsize,
    stop: AtomicBool,
    /// How often each effect happened.
    effects: Mutex<HashMap<String, usize>>,
    /// Whose outcome was acknowledged.
    acknowledged: Mutex<Vec<String>>,
    /// What callers heard that was not an outcome.
    errors: Mutex<Vec<String>>,
}

/// Options under which a fault is outlasted instead of told.
pub(crate) fn patient(options: PostgresOptions) -> PostgresOptions {
    let (connection_wait, answer_wait) = (Duration::from_secs(5), Duration::from_secs(5));
    PostgresOptions { try_for: Duration::from_mins(1), connection_wait, answer_wait, ..options }
}

impl Load {
    /// Begins with this many callers on each of these stores.
    pub(crate) fn begin(stores: &[Postgres], callers: usize) -> Self {
        let log = Arc::new(LoadLog::default());
        let mut load = Self { ledgers: Vec::new(), log, callers: JoinSet::new() };
        for store in stores {
            let settings = Settings { record_for: Duration::from_mins(1), ..Settings::default() };
            let ledger = Ledger::open(store.clone(), settings).expect("the ledger opens");
            // A lease outlasts the fault: its holder comes back.
            let kind = Kind::external_command("notice.issue").lease(Duration::from_mins(5));
            let notices = ledger.kind(kind.deadline(Duration::from_mins(5))).expect("the kind is declared");
            for _ in 0..callers {
                load.callers.spawn(call(notices.clone(), Arc::clone(&load.log)));
            }
            load.ledgers.push(ledger);
        }
        load
    }

    /// Waits until this many more outcomes were acknowledged.
    pub(crate) async fn goes_on_for(&self, more: usize) {
        let count = || self.log.acknowledged.lock().unwrap().len();
        let enough = count() + more;
        until(
            &format!("{more} more outcomes are acknowledged; heard {:?}", self.log.errors.lock().unwrap()),
            async || (count() >= enough).then_some(()),
        )
        .await;
    }

    /// Ends it; nothing that was acknowledged is missing, and no effect happened twice.
    pub(crate) async fn end(mut self, store: &Postgres) {
        self.log.stop.store(true, Ordering::SeqCst);
        while let Some(called) = self.callers.join_next().await {
            called.unwrap();
        }
        for ledger in &self.ledgers {
            ledger.shutdown(Shutdown::Now).await;
        }
        let effects = self.log.effects.lock().unwrap().clone();
        let twice: Vec<_> = effects.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "performed more than once: {twice:?}");
        let acknowledged = self.log.acknowledged.lock().unwrap().clone();
        let terms = onefold_conformance::kinds::escalates();
        for ids in acknowledged.chunks(500) {
            for (id, status) in ids.iter().zip(statuses(store, &terms, ids).await) {
                assert_eq!(status, Some(Status::Completed), "{id} was acknowledged");
                assert_eq!(effects.get(id), Some(&1), "{id} was acknowledged");
            }
        }
        let errors = self.log.errors.lock().unwrap();
        assert!(errors.is_empty(), "a fault that passes was told: {errors:?}");
    }
}

async fn call(notices: KindHandle<Postgres, ExternalCommand>, log: Arc<LoadLog>) {
    while !log.stop.load(Ordering::SeqCst) {
        let id = format!("N-{}", log.next.fetch_add(1, Ordering::SeqCst));
        let (one, other) = tokio::join!(perform(&notices, &log, &id), perform(&notices, &log, &id));
        if one || other {
            log.acknowledged.lock().unwrap().push(id);
        } else {
            log.errors.lock().unwrap().push(format!("{id}: neither caller performed it"));
        }
    }
}

/// Whether the outcome was acknowledged to this caller.
async fn perform(notices: &KindHandle<Postgres, ExternalCommand>, log: &Arc<LoadLog>, id: &str) -> bool {
    let (happens, effect) = (Arc::clone(log), id.to_owned());
    let operation = notices.operation(OperationId::parse(id).unwrap());
    let performed = operation.perform(&"breach", move |_| async move {
        *happens.effects.lock().unwrap().entry(effect).or_default() += 1;
        Ok(1_u8)
    });
    match performed.await {
        Ok(Performed::Completed { .. }) => true,
        Ok(Performed::InFlight { .. }) => false,
        Ok(other) => {
            log.errors.lock().unwrap().push(format!("{id}: {other:?}"));
            false
        }
        Err(error) => {
            log.errors.lock().unwrap().push(format!("{id}: {error}"));
            false
        }
    }
}
