//! Clocks that are wrong, openers that race, a record that cannot be stored, and an outcome that cannot be sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onefold_conformance::kinds::{self, escalates};
use onefold_core::Timestamp;
use onefold_core::effect::ExternalCommand;
use onefold_core::error::OUTCOME_NOT_RECORDED;
use onefold_core::ledger::{Claim, Status};
use onefold_core::operation::OperationId;
use onefold_core::port::{BoxFuture, Clock, LedgerMaintenance as _, SweepRequest, SweepScope};
use onefold_postgres::{Postgres, PostgresOptions};
use onefold_runtime::{
    ClaimResult, FileJournal, Journal, Kind, KindHandle, Ledger, Performed, Settings, Shutdown, StartupReport,
    SystemClock,
};
use tokio::task::JoinSet;

use crate::asking::{accepted, claim, claim_of, complete, find, grant, replaced_after, statuses, until};
use crate::cutter::{Cutter, port};
use crate::fixture::{Database, Schema, options};

const HOUR: Duration = Duration::from_hours(1);

/// A clock that is an hour off.
enum Off {
    Ahead,
    Behind,
}

impl Clock for Off {
    fn now(&self) -> Timestamp {
        match self {
            Self::Ahead => SystemClock.now().plus(HOUR),
            Self::Behind => SystemClock.now().minus(HOUR),
        }
    }
    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }
    fn boot(&self) -> Duration {
        SystemClock.boot()
    }
    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        SystemClock.sleep(wait)
    }
}

async fn with_clock(schema: &Schema, clock: Off) -> Postgres {
    Postgres::open(schema.url(), PostgresOptions { clock: Arc::new(clock), ..schema.options() }).await.unwrap()
}

#[tokio::test]
async fn leases_follow_the_servers_time_whatever_a_workers_clock_shows() {
    let schema = Schema::new();
    let stores =
        [schema.open().await.unwrap(), with_clock(&schema, Off::Ahead).await, with_clock(&schema, Off::Behind).await];
    let terms = replaced_after(Duration::from_mins(10));
    for (number, holding) in stores.iter().enumerate() {
        let id = format!("A-{number}");
        // The server is this machine's.
        let before = SystemClock.now();
        let lease = grant(holding, &terms, &id).await;
        let after = SystemClock.now();
        let entry = find(&stores[0], &terms, &id).await.unwrap();
        for (from, at) in [(terms.lease_for, entry.lease_until), (terms.deadline_for, entry.deadline)] {
            let from = from.min(terms.deadline_for);
            assert!(
                at >= before.plus(from) && at <= after.plus(from),
                "{number}: {at}, asked between {before} and {after}"
            );
        }
        for asking in &stores {
            let answer = claim(asking, claim_of(asking, &terms, &id)).await.unwrap();
            assert!(matches!(answer, Claim::InFlight { .. }), "{number}: {answer:?}");
            let sweep = SweepRequest {
                kinds: kinds::all(),
                scope: SweepScope::Overdue,
                clock_slack: Duration::ZERO,
                seed: 0,
                limit: 100,
            };
            assert_eq!(asking.sweep(sweep).await.unwrap().total(), 0, "{number}: a live lease was swept");
        }
        assert!(accepted(&complete(holding, &terms, &lease).await.unwrap()));
        let completed = find(&stores[0], &terms, &id).await.unwrap().completed_at.unwrap();
        let off = completed.since(before).max(before.since(completed));
        assert!(off < Duration::from_mins(30), "{number}: completed at {completed}, asked at {before}");
    }
    // And what is over by the server's time is over for all of them.
    let short = replaced_after(Duration::from_millis(50));
    for (number, asking) in stores.iter().enumerate() {
        let id = format!("B-{number}");
        let first = grant(&stores[(number + 1) % 3], &short, &id).await;
        let second =
            until("the lease is over", async || match claim(asking, claim_of(asking, &short, &id)).await.unwrap() {
                Claim::Granted(lease) => Some(lease),
                _ => None,
            });
        assert_eq!(second.await.fence, first.fence + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openers_that_race_on_an_empty_schema_migrate_it_once_and_share_a_key() {
    let database = Database::new().await;
    for schema in [None, Some("ours"), Some("theirs")] {
        let mut opening = JoinSet::new();
        for _ in 0..8 {
            let (url, options) = (database.url(), PostgresOptions { schema: schema.map(str::to_owned), ..options() });
            opening.spawn(async move { Postgres::open(&url, PostgresOptions { connections_max: 1, ..options }).await });
        }
        let stores: Vec<Postgres> = opening.join_all().await.into_iter().map(|opened| opened.unwrap()).collect();
        let terms = escalates();
        let lease = grant(&stores[0], &terms, "A").await;
        assert!(accepted(&complete(&stores[0], &terms, &lease).await.unwrap()));
        for store in &stores {
            // With a key of its own a store would see another request.
            let answer = claim(store, claim_of(store, &terms, "A")).await.unwrap();
            assert!(matches!(answer, Claim::Replay(_)), "{schema:?}: {answer:?}");
            store.close().await;
        }
        let options = PostgresOptions { schema: schema.map(str::to_owned), ..options() };
        assert_eq!(Postgres::missing_migrations(&database.url(), options).await.unwrap(), []);
    }
}

fn notices(ledger: &Ledger<Postgres>) -> KindHandle<Postgres, ExternalCommand> {
    ledger.kind(Kind::external_command("notice.issue")).unwrap()
}

fn id(number: usize) -> OperationId {
    OperationId::parse(&format!("N-{number}")).unwrap()
}

/// Claims operations all at once.
async fn claim_all(
    notices: &KindHandle<Postgres, ExternalCommand>,
    ledger: &Ledger<Postgres>,
) -> Vec<ClaimResult<Postgres>> {
    let mut claiming = JoinSet::new();
    for number in 0..256 {
        let (operation, attempt) = (notices.operation(id(number)), ledger.attempt_id());
        claiming.spawn(async move { (number, operation.claim(&"breach", attempt).await.unwrap()) });
    }
    let mut claimed = claiming.join_all().await;
    claimed.sort_by_key(|(number, _)| *number);
    claimed.into_iter().map(|(_, claimed)| claimed).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_record_that_cannot_be_stored_does_not_spoil_the_255_beside_it() {
    let schema = Schema::new();
    let store = schema.open().await.unwrap();
    let ledger = Ledger::open(store.clone(), Settings { batch_max: 256, ..Settings::default() }).unwrap();
    let notices = notices(&ledger);
    let claimed = claim_all(&notices, &ledger).await;
    let mut recording = JoinSet::new();
    for (number, claimed) in claimed.into_iter().enumerate() {
        let Claim::Granted(lease) = claimed else { panic!("{number} was not granted") };
        // PostgreSQL stores no such character in a text.
        let evidence = (number == 100).then(|| Arc::from("scan \0 17"));
        recording.spawn(async move { (number, lease.complete(&1, evidence).await) });
    }
    for (number, recorded) in recording.join_all().await {
        match (number, recorded) {
            (100, recorded) => assert!(recorded.is_err(), "{recorded:?}"),
            (_, recorded) => assert_eq!(recorded.unwrap(), Status::Completed, "{number}"),
        }
    }
    let ids: Vec<String> = (0..256).map(|number| id(number).as_str().to_owned()).collect();
    for (number, status) in statuses(&store, notices.terms(), &ids).await.into_iter().enumerate() {
        let expected = if number == 100 { Status::Started } else { Status::Completed };
        assert_eq!(status, Some(expected), "{number}");
    }
    ledger.shutdown(Shutdown::Now).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_claim_that_cannot_be_stored_does_not_spoil_the_others() {
    let schema = Schema::new();
    let store = schema.open().await.unwrap();
    let ledger = Ledger::open(store, Settings::default()).unwrap();
    let notices = notices(&ledger);
    let mut claiming = JoinSet::new();
    for number in 0..64 {
        let key = if number == 10 { "case \0 1" } else { "case 1" };
        let (operation, attempt) = (notices.operation(id(number)).business_key(key), ledger.attempt_id());
        claiming.spawn(async move { (number, operation.claim(&"breach", attempt).await) });
    }
    for (number, claimed) in claiming.join_all().await {
        match (number, claimed) {
            (10, claimed) => assert!(claimed.is_err()),
            (_, claimed) => assert!(matches!(claimed.unwrap(), Claim::Granted(_)), "{number}"),
        }
    }
    ledger.shutdown(Shutdown::Now).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_whose_connection_is_cut_waits_in_the_journal_and_is_recorded_at_the_next_start() {
    let (schema, folder) = (Schema::new(), tempfile::tempdir().unwrap());
    let path = folder.path().join("onefold.journal");
    let cutter = Arc::new(Cutter::before(schema.url(), 0).await);
    let life = async || {
        let tries = PostgresOptions { try_for: Duration::from_millis(300), ..schema.options() };
        let store = Postgres::open(&cutter.url(schema.url()), tries).await.unwrap();
        let journal: Arc<dyn Journal> = Arc::new(FileJournal::new(path.clone()));
        let record_for = Duration::from_millis(300);
        Ledger::open(store, Settings { journal: Some(journal), record_for, ..Settings::default() }).unwrap()
    };
    let effects = Arc::new(AtomicUsize::new(0));
    let ledger = life().await;
    let (happens, way) = (Arc::clone(&effects), Arc::clone(&cutter));
    let performed = notices(&ledger).operation(id(1)).perform(&"breach", move |_| async move {
        happens.fetch_add(1, Ordering::SeqCst);
        // Between the effect and its record, the server is gone: nobody listens on this port.
        way.point_to(1);
        Ok(7_u8)
    });
    let error = performed.await.unwrap_err();
    assert_eq!(error.code(), OUTCOME_NOT_RECORDED, "{error}");
    ledger.shutdown(Shutdown::Now).await;
    let waiting = FileJournal::new(path.clone()).read().unwrap();
    assert_eq!((waiting.entries.len(), waiting.damaged), (1, 0));
    drop(ledger);

    cutter.point_to(port(schema.url()));
    let ledger = life().await;
    let notices = notices(&ledger);
    assert_eq!(ledger.start().await.unwrap(), StartupReport { journal_recorded: 1, ..StartupReport::default() });
    assert!(!path.exists(), "nothing waits any more");
    let happens = Arc::clone(&effects);
    let again = notices.operation(id(1)).perform(&"breach", move |_| async move {
        happens.fetch_add(1, Ordering::SeqCst);
        Ok(8_u8)
    });
    assert_eq!(again.await.unwrap(), Performed::Completed { result: 7, replayed: true });
    assert_eq!(effects.load(Ordering::SeqCst), 1);
    ledger.shutdown(Shutdown::Now).await;
}
