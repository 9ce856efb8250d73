//! A ledger on a file of its own, and ways to wait for what it does.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use onefold_core::error::Code;
use onefold_core::incident::Incident;
use onefold_core::ledger::{Entry, Status};
use onefold_core::operation::{KindName, OperationId, OperationKey, Tenant};
use onefold_core::port::{IncidentFilter, LedgerRead as _, Page};
use onefold_runtime::{Ledger, Settings, SystemClock, SystemRandom};
use onefold_sqlite::{Sqlite, SqliteOptions};
use tempfile::TempDir;

onefold_core::codes! {
    /// The case is closed
    CASE_CLOSED: DomainRule, status 409, retry Never, owner Application, visible External;
        summary "the case does not take notices any more",
        first_check "the case's state",
        safe_action "none: the caller chooses another case",
        escalation "case team";
}

/// Nothing in these tests may take longer.
const PATIENCE: Duration = Duration::from_mins(1);

/// A folder with a ledger's file in it.
pub(crate) struct LedgerFixture {
    folder: TempDir,
}

impl LedgerFixture {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.file("onefold.db")
    }

    /// The store, which waits only a moment for a foreign lock.
    pub(crate) async fn store(&self) -> Sqlite {
        self.store_with(options()).await
    }

    pub(crate) async fn store_with(&self, options: SqliteOptions) -> Sqlite {
        Sqlite::open(self.database(), options).await.unwrap()
    }

    /// A ledger whose loops run often.
    pub(crate) async fn ledger(&self) -> Ledger<Sqlite> {
        self.ledger_with(settings()).await
    }

    pub(crate) async fn ledger_with(&self, settings: Settings) -> Ledger<Sqlite> {
        Ledger::open(self.store().await, settings).unwrap()
    }

    /// Somebody else's write transaction; it ends when it is dropped.
    pub(crate) fn lock(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.database()).unwrap();
        connection.busy_timeout(PATIENCE).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        connection
    }
}

pub(crate) fn options() -> SqliteOptions {
    let options = SqliteOptions::new(Arc::new(SystemClock), Arc::new(SystemRandom::default()));
    SqliteOptions { busy_wait: Duration::from_millis(20), ..options }
}

pub(crate) fn settings() -> Settings {
    Settings {
        sweep_every: Duration::from_millis(20),
        ask_every: Duration::from_millis(20),
        record_for: Duration::from_millis(100),
        ..Settings::default()
    }
}

pub(crate) fn id(text: &str) -> OperationId {
    OperationId::parse(text).unwrap()
}

pub(crate) fn key(kind: &str, text: &str) -> OperationKey {
    OperationKey::new(Tenant::default(), KindName::parse(kind).unwrap(), id(text))
}

/// The entry of an operation, where there is one.
pub(crate) async fn find(ledger: &Ledger<Sqlite>, kind: &str, id: &str) -> Option<Entry> {
    ledger.store().find(vec![key(kind, id)]).await.unwrap().remove(0)
}

/// Waits until an operation stands there.
pub(crate) async fn stands(ledger: &Ledger<Sqlite>, kind: &str, id: &str, status: Status) -> Entry {
    until(&format!("{kind} {id} stands at {status}"), async || {
        find(ledger, kind, id).await.filter(|entry| entry.status == status)
    })
    .await
}

/// Open incidents, newest first.
pub(crate) async fn open_incidents(ledger: &Ledger<Sqlite>) -> Vec<Incident> {
    let filter = IncidentFilter { open_only: true, ..IncidentFilter::default() };
    ledger.store().incidents(filter, Page::default()).await.unwrap().items
}

/// Waits for something to be so, looking again and again; never for a fixed time.
pub(crate) async fn until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "still waiting until {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// How often an effect happened.
#[derive(Clone, Default)]
pub(crate) struct Effects(Arc<AtomicUsize>);

impl Effects {
    pub(crate) fn happen(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A user's code, as the registry has it.
pub(crate) fn closed() -> Code {
    CASE_CLOSED
}
