//! The peer: agent-effects-sqlite doing the same, through its own store trait.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use agent_effects_sqlite::SqliteStore;
use agent_effects_store::{
    EffectKey, EffectKind, EffectName, EffectStore, LogicalKey, NewEffect, Transition, TransitionRequest, WorkerId,
};

/// Its store.
pub struct Peer {
    store: SqliteStore,
    worker: WorkerId,
}

impl Peer {
    /// Opens a file of its own.
    pub async fn open(path: &Path) -> Self {
        Self { store: SqliteStore::open(path).await.expect("the peer opens"), worker: WorkerId::random() }
    }

    /// One effect: inserted, leased, started, succeeded.
    pub async fn perform(self: Arc<Self>, id: String) {
        let key = EffectKey::new(EffectName::new("bench.pay").expect("a name"), LogicalKey::new(&*id).expect("a key"));
        let new = NewEffect::new(key, EffectKind::IrreversibleWrite, SystemTime::now());
        let inserted = self.store.insert_or_get(new).await.expect("inserted");
        assert!(inserted.inserted, "{id} exists");
        let id = inserted.record.id;
        let lease = self
            .store
            .acquire_lease(id, &self.worker, SystemTime::now(), Duration::from_secs(30))
            .await
            .expect("leased");
        let record = self.store.get(id).await.expect("read").expect("there");
        let start = TransitionRequest::new(&record, Some(&lease), Transition::StartAttempt, SystemTime::now());
        let record = self.store.transition(start).await.expect("started");
        let done = TransitionRequest::new(&record, Some(&lease), Transition::Succeeded, SystemTime::now());
        self.store.transition(done).await.expect("succeeded");
    }
}
