//! What is kept, and for how long.

use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::archive::{ArchiveRecord, Deletion};
use onefold_core::effect::Retention;
use onefold_core::error::STORE_UNAVAILABLE;
use onefold_core::ledger::StoredResult;
use onefold_core::port::Archive;
use onefold_core::{Error, Result};
use onefold_runtime::{FileArchive, Kind, Once, Performed, Settings, read_archive};

use crate::fixture::{LedgerFixture, find, id, settings, until};

#[tokio::test]
async fn the_loop_forgets_what_is_over_and_archives_it_first() {
    let fixture = LedgerFixture::new();
    let settings =
        Settings { prune_every: Duration::from_millis(20), archive: Some(fixture.file("archive")), ..settings() };
    let ledger = fixture.ledger_with(settings).await;
    let retention = Retention { id_for: Some(Duration::ZERO), ..Retention::default() };
    let short = ledger.kind(Kind::external_command("key.short").retention(retention)).unwrap();
    let long = ledger.kind(Kind::external_command("key.long")).unwrap();
    long.operation(id("B")).perform(&"in", |_| async { Ok(7) }).await.unwrap();
    short.operation(id("A")).perform(&"in", |_| async { Ok(7) }).await.unwrap();
    until("it is forgotten", async || find(&ledger, "key.short", "A").await.is_none().then_some(())).await;
    assert!(find(&ledger, "key.long", "B").await.is_some());
    let files: Vec<_> = std::fs::read_dir(fixture.file("archive")).unwrap().map(|file| file.unwrap()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(files[0].metadata().unwrap().mode() & 0o777, 0o600);
    let read = read_archive(&fixture.file("archive"), |_| true).unwrap();
    assert!(read.damaged.is_empty() && read.unfinished.is_empty(), "{read:?}");
    let [ArchiveRecord::Operation(kept)] = &read.records[..] else { panic!("{read:?}") };
    assert_eq!((kept.key.kind.as_str(), kept.key.id.as_str()), ("key.short", "A"));
    assert_eq!(kept.result, Some(StoredResult::json(&b"7"[..])));
    // A duplicate of a forgotten operation is a new one.
    let again = short.operation(id("A")).perform(&"in", |_| async { Ok(8) }).await.unwrap();
    assert_eq!(again, Performed::Completed { result: 8, replayed: false });
}

/// Nothing else would start it for a service whose operations are all in its own transactions.
#[tokio::test]
async fn an_operation_in_a_transaction_starts_the_loop_that_forgets_it() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger_with(Settings { prune_every: Duration::from_millis(20), ..settings() }).await;
    let retention = Retention { id_for: Some(Duration::ZERO), ..Retention::default() };
    let notes = ledger.kind(Kind::local("note.keep").retention(retention)).unwrap();
    let mut transaction = ledger.store().begin().await.unwrap();
    let kept = notes.operation(id("A")).once_in(&mut transaction, &"in", async |_| Ok::<_, Error>(7)).await;
    assert_eq!(kept.unwrap(), Once::Performed(7));
    transaction.commit().await.unwrap();
    until("it is forgotten", async || find(&ledger, "note.keep", "A").await.is_none().then_some(())).await;
}

/// An archive after which the process is cut short: nothing is deleted.
struct Interrupted(FileArchive);

impl Archive for Interrupted {
    fn keep(&self, deletion: &Deletion) -> Result<()> {
        self.0.keep(deletion)?;
        Err(Error::new(STORE_UNAVAILABLE, "cut short"))
    }
}

#[tokio::test]
async fn a_prune_that_was_interrupted_is_repeated_into_the_same_file() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger_with(settings()).await;
    let retention = Retention { id_for: Some(Duration::ZERO), ..Retention::default() };
    let short = ledger.kind(Kind::external_command("key.short").retention(retention)).unwrap();
    for name in ["A", "B"] {
        short.operation(id(name)).perform(&"in", |_| async { Ok(7) }).await.unwrap();
    }
    let folder = fixture.file("archive");
    let archive = || FileArchive::new(&folder).unwrap();
    let cut_short = ledger.prune_into(Some(Arc::new(Interrupted(archive())))).await.unwrap_err();
    assert_eq!(cut_short.code(), STORE_UNAVAILABLE);
    assert!(find(&ledger, "key.short", "A").await.is_some(), "it was not deleted");
    assert_eq!(ledger.prune_into(Some(Arc::new(archive()))).await.unwrap().operations, 2);
    let read = read_archive(&folder, |_| true).unwrap();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    assert_eq!((read.records.len(), read.damaged.len(), read.unfinished.len()), (2, 0, 0), "{read:?}");
}
