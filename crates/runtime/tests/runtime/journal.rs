//! The effect is done and the store cannot be written: the outcome waits, and is not lost.

use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use onefold_core::Error;
use onefold_core::effect::ExternalCommand;
use onefold_core::error::OUTCOME_NOT_RECORDED;
use onefold_core::ledger::{Completion, Outcome, Status, StoredResult};
use onefold_runtime::{
    FileJournal, Journal, JournalEntry, Journaled, Kind, KindHandle, Ledger, Performed, Settings, Shutdown,
    StartupReport,
};
use onefold_sqlite::Sqlite;
use tokio::sync::Notify;

use crate::fixture::{Effects, LedgerFixture, find, id, key, open_incidents, settings, stands, until};

type Lock = Arc<Mutex<Option<rusqlite::Connection>>>;

fn journaled(fixture: &LedgerFixture) -> Settings {
    let journal: Arc<dyn Journal> = Arc::new(FileJournal::new(fixture.file("onefold.journal")));
    Settings { journal: Some(journal), ..settings() }
}

fn notices(ledger: &Ledger<Sqlite>) -> KindHandle<Sqlite, ExternalCommand> {
    ledger.kind(Kind::external_command("notice.issue")).unwrap()
}

/// Performs A; its effect takes hold, and then somebody else holds the store's write lock.
async fn perform_and_lock(ledger: &Ledger<Sqlite>, fixture: &LedgerFixture, effects: &Effects, lock: &Lock) -> Error {
    let (happens, lock, database) = (effects.clone(), Arc::clone(lock), fixture.database());
    let effect = move |_| async move {
        let held = rusqlite::Connection::open(database).unwrap();
        held.busy_timeout(Duration::from_secs(30)).unwrap();
        held.execute_batch("BEGIN IMMEDIATE").unwrap();
        *lock.lock().unwrap() = Some(held);
        Ok(happens.happen())
    };
    notices(ledger).operation(id("A")).perform(&"in", effect).await.unwrap_err()
}

fn assert_waits_in_journal(fixture: &LedgerFixture) {
    let path = fixture.file("onefold.journal");
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let waiting = FileJournal::new(path).read().unwrap();
    assert_eq!((waiting.entries.len(), waiting.damaged), (1, 0));
    assert_eq!(waiting.entries[0].key, key("notice.issue", "A"));
    let outcome = Outcome::Completed(Completion { result: StoredResult::json(&b"1"[..]), evidence: None });
    assert_eq!(waiting.entries[0].outcome, outcome);
}

async fn assert_replays(ledger: &Ledger<Sqlite>, effects: &Effects) {
    let happens = effects.clone();
    let effect = move |_| async move { Ok(happens.happen()) };
    let replay = notices(ledger).operation(id("A")).perform(&"in", effect).await.unwrap();
    assert_eq!((replay, effects.count()), (Performed::Completed { result: 1, replayed: true }, 1));
    assert!(open_incidents(ledger).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_that_cannot_be_recorded_waits_and_is_recorded_in_the_same_life() {
    let fixture = LedgerFixture::new();
    let (effects, lock) = (Effects::default(), Lock::default());
    let ledger = fixture.ledger_with(journaled(&fixture)).await;
    let error = perform_and_lock(&ledger, &fixture, &effects, &lock).await;
    assert_eq!(error.code(), OUTCOME_NOT_RECORDED);
    assert!(error.to_string().contains(&key("notice.issue", "A").reference()), "{error}");
    assert_waits_in_journal(&fixture);
    assert_eq!(find(&ledger, "notice.issue", "A").await.unwrap().status, Status::Started);
    drop(lock.lock().unwrap().take());
    stands(&ledger, "notice.issue", "A", Status::Completed).await;
    until("the journal is cleared", async || (!fixture.file("onefold.journal").exists()).then_some(())).await;
    assert_replays(&ledger, &effects).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_life_records_what_waits_and_nothing_happens_twice() {
    for installation in [None, Some("alpha".to_owned())] {
        let fixture = LedgerFixture::new();
        let (effects, lock) = (Effects::default(), Lock::default());
        let named = || Settings { installation: installation.clone(), ..journaled(&fixture) };
        let ledger = fixture.ledger_with(named()).await;
        assert_eq!(perform_and_lock(&ledger, &fixture, &effects, &lock).await.code(), OUTCOME_NOT_RECORDED);
        ledger.shutdown(Shutdown::Now).await;
        drop(ledger);
        drop(lock.lock().unwrap().take());
        assert_waits_in_journal(&fixture);
        let ledger = fixture.ledger_with(named()).await;
        notices(&ledger);
        let started = ledger.start().await.unwrap();
        assert_eq!(started, StartupReport { journal_recorded: 1, ..StartupReport::default() });
        assert!(!fixture.file("onefold.journal").exists());
        assert_replays(&ledger, &effects).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_torn_line_is_reported_and_not_believed() {
    let fixture = LedgerFixture::new();
    let (effects, lock) = (Effects::default(), Lock::default());
    let ledger = fixture.ledger_with(journaled(&fixture)).await;
    perform_and_lock(&ledger, &fixture, &effects, &lock).await;
    ledger.shutdown(Shutdown::Now).await;
    drop(ledger);
    drop(lock.lock().unwrap().take());
    let whole = std::fs::read_to_string(fixture.file("onefold.journal")).unwrap();
    let mut journal = std::fs::OpenOptions::new().append(true).open(fixture.file("onefold.journal")).unwrap();
    journal.write_all(&whole.trim().as_bytes()[..whole.trim().len() / 2]).unwrap();
    drop(journal);
    let ledger = fixture.ledger_with(journaled(&fixture)).await;
    notices(&ledger);
    let started = ledger.start().await.unwrap();
    assert_eq!(started, StartupReport { journal_recorded: 1, journal_damaged: 1, leases_settled: 0 });
    assert!(fixture.file("onefold.damaged").exists(), "kept for a person");
    assert_replays(&ledger, &effects).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_journal_the_outcome_waits_in_memory_and_the_caller_hears_so() {
    let fixture = LedgerFixture::new();
    let (effects, lock) = (Effects::default(), Lock::default());
    let ledger = fixture.ledger().await;
    let error = perform_and_lock(&ledger, &fixture, &effects, &lock).await;
    assert_eq!(error.code(), OUTCOME_NOT_RECORDED);
    assert!(error.to_string().contains("memory only"), "{error}");
    drop(lock.lock().unwrap().take());
    stands(&ledger, "notice.issue", "A", Status::Completed).await;
    assert_replays(&ledger, &effects).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_refuses_the_record_of_an_effect_the_outcome_waits_and_the_caller_hears_so() {
    let fixture = LedgerFixture::new();
    let effects = Effects::default();
    let ledger = fixture.ledger_with(journaled(&fixture)).await;
    let connection = rusqlite::Connection::open(fixture.database()).unwrap();
    connection
        .execute_batch(
            "CREATE TRIGGER refuses BEFORE UPDATE ON onefold_operations WHEN NEW.status = 'COMPLETED'
             BEGIN SELECT RAISE(ABORT, 'refused'); END",
        )
        .unwrap();
    let happens = effects.clone();
    let effect = move |_| async move { Ok(happens.happen()) };
    let error = notices(&ledger).operation(id("A")).perform(&"in", effect).await.unwrap_err();
    assert_eq!((error.code(), effects.count()), (OUTCOME_NOT_RECORDED, 1), "{error}");
    assert_waits_in_journal(&fixture);
    connection.execute_batch("DROP TRIGGER refuses").unwrap();
    stands(&ledger, "notice.issue", "A", Status::Completed).await;
    assert_replays(&ledger, &effects).await;
}

/// A journal whose second outcome is on disk for a while before its writer hears so.
struct Slow {
    journal: FileJournal,
    database: PathBuf,
    lock: Lock,
    lost: Mutex<bool>,
}

impl Slow {
    fn is_recorded(&self, id: &str) -> bool {
        let connection = rusqlite::Connection::open(&self.database).unwrap();
        let status = "SELECT status FROM onefold_operations WHERE operation_id = ?1";
        connection.query_row(status, [id], |row| row.get::<_, String>(0)).unwrap() == "COMPLETED"
    }
}

impl Journal for Slow {
    fn append(&self, entry: &JournalEntry) -> std::io::Result<()> {
        self.journal.append(entry)?;
        if entry.key.id.as_str() != "B" {
            return Ok(());
        }
        // The store takes outcomes again, and the first one is recorded meanwhile.
        drop(self.lock.lock().unwrap().take());
        let began = Instant::now();
        while !self.is_recorded("A") && began.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        // The loop that clears the journal because of the first does so right after its commit.
        let recorded = Instant::now();
        while recorded.elapsed() < Duration::from_millis(500) {
            let held = self.journal.read()?.entries.iter().any(|waiting| waiting.key == entry.key);
            if !held && !self.is_recorded("B") {
                *self.lost.lock().unwrap() = true;
                break;
            }
        }
        Ok(())
    }

    fn refuse(&self, entry: &JournalEntry) -> std::io::Result<()> {
        self.journal.refuse(entry)
    }

    fn read(&self) -> std::io::Result<Journaled> {
        self.journal.read()
    }

    fn clear(&self) -> std::io::Result<()> {
        self.journal.clear()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_outcome_stays_in_the_journal_until_it_is_recorded_itself() {
    let fixture = LedgerFixture::new();
    let (effects, lock) = (Effects::default(), Lock::default());
    let slow = Arc::new(Slow {
        journal: FileJournal::new(fixture.file("onefold.journal")),
        database: fixture.database(),
        lock: Arc::clone(&lock),
        lost: Mutex::new(false),
    });
    let journal: Arc<dyn Journal> = slow.clone();
    let ledger = fixture.ledger_with(Settings { journal: Some(journal), ..settings() }).await;
    let go = Arc::new(Notify::new());
    let (second, wait) = (notices(&ledger).operation(id("B")), Arc::clone(&go));
    let second = tokio::spawn(async move {
        second
            .perform(&"in", move |_| async move {
                wait.notified().await;
                Ok(2)
            })
            .await
    });
    stands(&ledger, "notice.issue", "B", Status::Started).await;
    assert_eq!(perform_and_lock(&ledger, &fixture, &effects, &lock).await.code(), OUTCOME_NOT_RECORDED);
    go.notify_one();
    assert_eq!(second.await.unwrap().unwrap_err().code(), OUTCOME_NOT_RECORDED);
    assert!(!*slow.lost.lock().unwrap(), "a crash now would lose what B did");
    stands(&ledger, "notice.issue", "B", Status::Completed).await;
    until("the journal is cleared", async || (!fixture.file("onefold.journal").exists()).then_some(())).await;
}

/// A process that drains may end at any moment: what the store does not take is on disk before that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_writes_what_the_store_does_not_take_into_the_journal_at_once() {
    let fixture = LedgerFixture::new();
    let (effects, lock) = (Effects::default(), Lock::default());
    let settings = Settings { record_for: Duration::from_hours(1), ..journaled(&fixture) };
    let ledger = fixture.ledger_with(settings).await;
    let (performing, happens, held, database) =
        (ledger.clone(), effects.clone(), Arc::clone(&lock), fixture.database());
    let performed = tokio::spawn(async move {
        let effect = move |_| async move {
            let writer = rusqlite::Connection::open(database).unwrap();
            writer.busy_timeout(Duration::from_secs(30)).unwrap();
            writer.execute_batch("BEGIN IMMEDIATE").unwrap();
            *held.lock().unwrap() = Some(writer);
            Ok(happens.happen())
        };
        notices(&performing).operation(id("A")).perform(&"in", effect).await
    });
    until("the effect happened", async || (effects.count() == 1).then_some(())).await;
    assert_eq!(ledger.shutdown(Shutdown::Drain { within: Duration::from_mins(2) }).await, 0);
    assert_eq!(performed.await.unwrap().unwrap_err().code(), OUTCOME_NOT_RECORDED);
    assert_waits_in_journal(&fixture);
}

/// A journal beside another ledger, or one that has gone back: what it says is kept for a person.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_of_a_grant_that_the_ledger_does_not_know_is_set_aside() {
    let fixture = LedgerFixture::new();
    let journal = FileJournal::new(fixture.file("onefold.journal"));
    let outcome = Outcome::Completed(Completion { result: StoredResult::json(&b"1"[..]), evidence: None });
    let attempt_id = onefold_core::ledger::AttemptId::from_random([7; 16]);
    journal.append(&JournalEntry { key: key("notice.issue", "ELSEWHERE"), fence: 1, attempt_id, outcome }).unwrap();
    let ledger = fixture.ledger_with(journaled(&fixture)).await;
    ledger.start().await.unwrap();
    assert!(!fixture.file("onefold.journal").exists());
    let aside = FileJournal::new(fixture.file("onefold.journal.refused")).read().unwrap();
    assert_eq!(aside.entries.len(), 1);
    assert_eq!(aside.entries[0].key, key("notice.issue", "ELSEWHERE"));
}
