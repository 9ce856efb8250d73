//! Callers that perform operations without a pause, and what they were told.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onefold_core::effect::ExternalCommand;
use onefold_core::ledger::Status;
use onefold_core::operation::OperationId;
use onefold_postgres::{Options, Postgres};
use onefold_runtime::{Kind, KindHandle, Ledger, Performed, Settings, Shutdown};
use tokio::task::JoinSet;

use crate::asking::{statuses, until};

/// Operations under way on several stores. Each is asked for by two callers; its effect counts.
pub(crate) struct Load {
    ledgers: Vec<Ledger<Postgres>>,
    told: Arc<Told>,
    callers: JoinSet<()>,
}

#[derive(Default)]
struct Told {
    next: AtomicUsize,
    stop: AtomicBool,
    /// How often each effect happened.
    effects: Mutex<HashMap<String, usize>>,
    /// Whose outcome was acknowledged.
    acknowledged: Mutex<Vec<String>>,
    /// What callers heard that was no outcome.
    errors: Mutex<Vec<String>>,
}

/// Options under which a fault is outlasted instead of told.
pub(crate) fn patient(options: Options) -> Options {
    let (connection_wait, answer_wait) = (Duration::from_secs(5), Duration::from_secs(5));
    Options { try_for: Duration::from_mins(1), connection_wait, answer_wait, ..options }
}

impl Load {
    /// Begins with this many callers on each of these stores.
    pub(crate) fn begin(stores: &[Postgres], callers: usize) -> Self {
        let told = Arc::new(Told::default());
        let mut load = Self { ledgers: Vec::new(), told, callers: JoinSet::new() };
        for store in stores {
            let settings = Settings { record_for: Duration::from_mins(1), ..Settings::default() };
            let ledger = Ledger::open(store.clone(), settings).expect("the ledger opens");
            // A lease outlasts the fault: whoever held it comes back.
            let kind = Kind::external_command("notice.issue").lease(Duration::from_mins(5));
            let notices = ledger.kind(kind.deadline(Duration::from_mins(5))).expect("the kind is declared");
            for _ in 0..callers {
                load.callers.spawn(call(notices.clone(), Arc::clone(&load.told)));
            }
            load.ledgers.push(ledger);
        }
        load
    }

    /// Waits until this many more outcomes were acknowledged.
    pub(crate) async fn goes_on_for(&self, more: usize) {
        let count = || self.told.acknowledged.lock().unwrap().len();
        let enough = count() + more;
        until(
            &format!("{more} more outcomes are acknowledged; heard {:?}", self.told.errors.lock().unwrap()),
            async || (count() >= enough).then_some(()),
        )
        .await;
    }

    /// Ends it; nothing that was acknowledged is missing, and no effect happened twice.
    pub(crate) async fn end(mut self, store: &Postgres) {
        self.told.stop.store(true, Ordering::SeqCst);
        while let Some(called) = self.callers.join_next().await {
            called.unwrap();
        }
        for ledger in &self.ledgers {
            ledger.shutdown(Shutdown::Now).await;
        }
        let effects = self.told.effects.lock().unwrap().clone();
        let twice: Vec<_> = effects.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "performed more than once: {twice:?}");
        let acknowledged = self.told.acknowledged.lock().unwrap().clone();
        let terms = onefold_conformance::kinds::escalates();
        for ids in acknowledged.chunks(500) {
            for (id, status) in ids.iter().zip(statuses(store, &terms, ids).await) {
                assert_eq!(status, Some(Status::Completed), "{id} was acknowledged");
                assert_eq!(effects.get(id), Some(&1), "{id} was acknowledged");
            }
        }
        let errors = self.told.errors.lock().unwrap();
        assert!(errors.is_empty(), "a fault that passes was told: {errors:?}");
    }
}

async fn call(notices: KindHandle<Postgres, ExternalCommand>, told: Arc<Told>) {
    while !told.stop.load(Ordering::SeqCst) {
        let id = format!("N-{}", told.next.fetch_add(1, Ordering::SeqCst));
        let (one, other) = tokio::join!(perform(&notices, &told, &id), perform(&notices, &told, &id));
        if one || other {
            told.acknowledged.lock().unwrap().push(id);
        } else {
            told.errors.lock().unwrap().push(format!("{id}: neither caller performed it"));
        }
    }
}

/// Whether the outcome was acknowledged to this caller.
async fn perform(notices: &KindHandle<Postgres, ExternalCommand>, told: &Arc<Told>, id: &str) -> bool {
    let (happens, effect) = (Arc::clone(told), id.to_owned());
    let operation = notices.operation(OperationId::parse(id).unwrap());
    let performed = operation.perform(&"breach", move |_| async move {
        *happens.effects.lock().unwrap().entry(effect).or_default() += 1;
        Ok(1_u8)
    });
    match performed.await {
        Ok(Performed::Completed { .. }) => true,
        Ok(Performed::InFlight { .. }) => false,
        Ok(other) => {
            told.errors.lock().unwrap().push(format!("{id}: {other:?}"));
            false
        }
        Err(error) => {
            told.errors.lock().unwrap().push(format!("{id}: {error}"));
            false
        }
    }
}
