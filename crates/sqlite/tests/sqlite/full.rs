//! A disk that is full, made real by a limit on the file's pages.

use std::sync::Arc;

use onefold_conformance::fixture::{key, record_of};
use onefold_conformance::kinds::escalates;
use onefold_conformance::ledger::outcomes::completed;
use onefold_core::error::DATABASE_FULL;
use onefold_core::fingerprint::{FingerprintInput, Mode};
use onefold_core::ledger::{AttemptId, Claim, ClaimRequest, Holder, Lease, Origin, Recorded, Source, Status};
use onefold_core::operation::OperationId;
use onefold_core::persistence::Constraints;
use onefold_core::port::{LedgerRead as _, LedgerWrite as _, Random as _, Step, StepAnswer, Store as _};
use onefold_core::retry::Jitter;
use onefold_core::{Error, Result};
use onefold_runtime::{Kind, Ledger, Once, Settings, Shutdown};
use onefold_sqlite::{Sqlite, SqliteOptions};
use onefold_testing::{ManualClock, SeededRandom};

use crate::fixture::Folder;

async fn open(folder: &Folder, file_bytes_max: Option<u64>) -> Sqlite {
    let options = SqliteOptions::new(Arc::new(ManualClock::default()), Arc::new(SeededRandom::new(1)));
    Sqlite::open(folder.path(), SqliteOptions { file_bytes_max, ..options }).await.unwrap()
}

async fn act(store: &Sqlite, step: Step) -> Result<StepAnswer> {
    store.act(Arc::new(vec![step])).await?.remove(0)
}

async fn claim(store: &Sqlite, random: &SeededRandom, id: &str) -> Result<Lease> {
    let terms = escalates();
    let request = ClaimRequest {
        key: key(&terms, id),
        input: FingerprintInput::new(&b"{}"[..], &Mode::Raw, &store.keyring())?,
        attempt_id: AttemptId::from_random(random.bytes()),
        terms,
        origin: Origin::new(Source::Api),
        holder: Holder { worker: Arc::from("host/1"), installation: None },
        jitter: Jitter(0),
    };
    match act(store, Step::Claim(Box::new(request))).await? {
        StepAnswer::Claim(Claim::Granted(lease)) => Ok(lease),
        other => panic!("{other:?}"),
    }
}

/// Claims and records until there is no room; answers what was acknowledged, and the grant that could not be recorded.
async fn fill(store: &Sqlite, random: &SeededRandom) -> (Vec<String>, Option<Lease>, Error) {
    let terms = escalates();
    let result = vec![7; 20_000];
    let mut acknowledged = Vec::new();
    for index in 0..1000 {
        let id = format!("OP-{index}");
        let lease = match claim(store, random, &id).await {
            Ok(lease) => lease,
            Err(error) => return (acknowledged, None, error),
        };
        match act(store, record_of(&terms, &lease, completed(&result))).await {
            Ok(_) => acknowledged.push(id),
            Err(error) => return (acknowledged, Some(lease), error),
        }
    }
    panic!("the file never became full");
}

#[tokio::test]
async fn a_full_disk_refuses_the_commit_and_keeps_what_was_acknowledged() {
    let random = SeededRandom::new(2);
    let terms = escalates();
    // A result is larger than a claim, so with some of these sizes a grant fits and its record does not.
    let mut sizes = (0..8).map(|pages| 412_288 + pages * 4_096);
    let (folder, store, acknowledged, lease) = loop {
        let folder = Folder::new();
        let store = open(&folder, Some(sizes.next().expect("a size at which a record does not fit"))).await;
        let (acknowledged, unrecorded, error) = fill(&store, &random).await;
        assert_eq!(error.code(), DATABASE_FULL, "{error}");
        assert!(error.next_step().contains("free some space"), "{error}");
        assert!(acknowledged.len() > 5, "{acknowledged:?}");
        if let Some(lease) = unrecorded {
            break (folder, store, acknowledged, lease);
        }
    };
    // The store still reads, and still refuses.
    assert_eq!(store.find(vec![lease.key.clone()]).await.unwrap()[0].as_ref().unwrap().status, Status::Started);
    let again = act(&store, record_of(&terms, &lease, completed(&vec![7; 20_000]))).await.unwrap_err();
    assert_eq!(again.code(), DATABASE_FULL);
    let mut claims = 0;
    let error = loop {
        match claim(&store, &random, &format!("SMALL-{claims}")).await {
            Ok(_) => claims += 1,
            Err(error) => break error,
        }
        assert!(claims < 1000, "claims never ran out of room");
    };
    assert_eq!(error.code(), DATABASE_FULL, "{error}");
    drop(store);
    // With room again, everything acknowledged is there and what was waiting is recorded.
    let store = open(&folder, None).await;
    let keys: Vec<_> = acknowledged.iter().map(|id| key(&terms, id)).collect();
    for found in store.find(keys).await.unwrap() {
        assert_eq!(found.map(|entry| entry.status), Some(Status::Completed));
    }
    let recorded = act(&store, record_of(&terms, &lease, completed(&vec![7; 20_000]))).await.unwrap();
    assert!(
        matches!(recorded, StepAnswer::Record(Recorded::Settled { status: Status::Completed, .. })),
        "{recorded:?}"
    );
    claim(&store, &random, "AFTER").await.unwrap();
    assert_eq!(store.find(vec![key(&terms, &format!("SMALL-{claims}"))]).await.unwrap(), [None]);
}

#[tokio::test]
async fn a_transaction_that_the_full_disk_ended_leaves_the_next_one_free() {
    let folder = Folder::new();
    let store = open(&folder, Some(412_288)).await;
    store
        .transaction(async |tx| {
            sqlx::raw_sql("CREATE TABLE notes (text BLOB)").execute(tx).await.unwrap();
            Ok(())
        })
        .await
        .unwrap();
    let fill = async |bytes: i64| {
        let mut tx = store.begin().await?;
        let insert = sqlx::query("INSERT INTO notes VALUES (zeroblob(?1))").bind(bytes);
        let inserted = insert.execute(&mut *tx).await.map_err(|cause| onefold_sqlite::fault(&cause));
        match inserted {
            Ok(_) => tx.commit().await.map(|_| true),
            Err(fault) => {
                assert_eq!(fault, onefold_core::persistence::Fault::OutOfSpace);
                Ok(false)
            }
        }
    };
    for _ in 0..10 {
        assert!(!fill(500_000).await.unwrap(), "there is no room for this");
    }
    assert!(fill(100).await.unwrap(), "and there is for that");
}

async fn note(tx: &mut sqlx::SqliteConnection, bytes: i64) -> Result<()> {
    let inserted = sqlx::query("INSERT INTO notes VALUES (zeroblob(?1))").bind(bytes).execute(tx).await;
    inserted.map(drop).map_err(|cause| Constraints::new().error(&onefold_sqlite::fault(&cause)))
}

/// SQLite took the whole transaction back, whatever the work makes of it.
#[tokio::test]
async fn work_that_looks_away_from_a_full_disk_is_not_recorded_as_performed() {
    let folder = Folder::new();
    let store = open(&folder, Some(412_288)).await;
    rusqlite::Connection::open(folder.path()).unwrap().execute_batch("CREATE TABLE notes (text BLOB)").unwrap();
    let ledger = Ledger::open(store.clone(), Settings::default()).unwrap();
    let notes = ledger.kind(Kind::local("note.keep")).unwrap();
    let operation = || notes.operation(OperationId::parse("N-1").unwrap());

    let mut tx = store.begin().await.unwrap();
    let seen: Result<Once<u8>> = operation()
        .once_in(&mut tx, &"x", async |tx| {
            note(tx, 100).await?;
            let _ = note(tx, 500_000).await;
            Ok(1)
        })
        .await;
    assert!(seen.is_err(), "{seen:?}");
    let _ = tx.commit().await;

    let mut tx = store.begin().await.unwrap();
    let told: Result<Once<u8>> = operation()
        .once_in(&mut tx, &"x", async |tx| {
            note(tx, 500_000).await?;
            Ok(2)
        })
        .await;
    assert_eq!(told.unwrap_err().code(), DATABASE_FULL, "the work's own error is told");
    drop(tx);

    let mut tx = store.begin().await.unwrap();
    let performed: Result<Once<u8>> = operation()
        .once_in(&mut tx, &"x", async |tx| {
            note(tx, 100).await?;
            Ok(3)
        })
        .await;
    tx.commit().await.unwrap();
    assert_eq!(performed.unwrap(), Once::Performed(3));
    ledger.shutdown(Shutdown::Now).await;
}
