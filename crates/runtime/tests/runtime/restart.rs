//! What a previous life left behind.

use std::time::Duration;

use onefold_core::error::DATABASE_IN_USE;
use onefold_core::ledger::Status;
use onefold_core::retry::{Category, Schedule};
use onefold_runtime::{ClaimResult, Kind, Ledger, Performed, Settings, StartupReport};
use onefold_sqlite::Sqlite;

use crate::fixture::{Effects, LedgerFixture, find, id, open_incidents, settings, stands, until};

fn named(name: &str) -> Settings {
    Settings { installation: Some(name.to_owned()), ..settings() }
}

/// A life that is cut short while it performs A and holds a caller's claim of B.
async fn cut_short(fixture: &LedgerFixture) {
    let life = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let database = fixture.database();
    let (signal, acting) = tokio::sync::oneshot::channel();
    life.spawn(async move {
        let store = Sqlite::open(database, crate::fixture::options()).await.unwrap();
        let ledger = Ledger::open(store, named("alpha")).unwrap();
        let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
        let statuses = ledger.kind(quick_rerun()).unwrap();
        let attempt = ledger.attempt_id();
        assert!(matches!(notices.operation(id("B")).claim(&"in", attempt).await.unwrap(), ClaimResult::Granted(_)));
        let (one, two) = (notices.operation(id("A")), statuses.operation(id("A")));
        let (first, first_acts) = tokio::sync::oneshot::channel();
        let effect = |_| async move {
            first.send(()).unwrap();
            std::future::pending().await
        };
        tokio::spawn(async move { two.perform::<_, u32, _, _>(&"in", effect).await });
        first_acts.await.unwrap();
        let effect = |_| async move {
            signal.send(()).unwrap();
            std::future::pending().await
        };
        let _ = one.perform::<_, u32, _, _>(&"in", effect).await;
    });
    acting.await.unwrap();
    life.shutdown_background();
}

fn quick_rerun() -> Kind<onefold_core::effect::Converging> {
    let moment = Duration::from_millis(1);
    Kind::converging("status.set").retry(Category::HolderLost, Some(Schedule::Between(moment, moment)), "a test")
}

/// The next life, once the system has let go of the name.
async fn next_life(fixture: &LedgerFixture) -> Ledger<Sqlite> {
    let store = fixture.store().await;
    until("the name is free", async || Ledger::open(store.clone(), named("alpha")).ok()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_life_settles_what_perform_held_and_leaves_callers_alone() {
    let fixture = LedgerFixture::new();
    cut_short(&fixture).await;
    let ledger = next_life(&fixture).await;
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let statuses = ledger.kind(quick_rerun()).unwrap();
    let started = ledger.start().await.unwrap();
    assert_eq!(started, StartupReport { leases_settled: 2, ..StartupReport::default() });
    assert_eq!(ledger.start().await.unwrap(), started, "later calls only tell");
    let lost = find(&ledger, "notice.issue", "A").await.unwrap();
    assert_eq!((lost.status, lost.category), (Status::Unknown, Some(Category::HolderLost)));
    assert_eq!(open_incidents(&ledger).await.len(), 1);
    let answer = notices.operation(id("A")).perform(&"in", |_| async { Ok(1) }).await.unwrap();
    assert!(matches!(answer, Performed::Unknown { incident: Some(_), .. }), "{answer:?}");
    let callers = find(&ledger, "notice.issue", "B").await.unwrap();
    assert_eq!((callers.status, callers.installation), (Status::Started, None));
    let effects = Effects::default();
    until("the repeatable one is performed again", async || {
        let happens = effects.clone();
        let effect = move |_| async move { Ok(happens.happen()) };
        let answer = statuses.operation(id("A")).perform(&"in", effect).await.unwrap();
        matches!(answer, Performed::Completed { .. }).then_some(())
    })
    .await;
    assert_eq!(effects.count(), 1);
}

#[tokio::test]
async fn a_second_living_ledger_of_the_same_name_is_refused() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger_with(named("alpha")).await;
    let store = fixture.store().await;
    let refused = Ledger::open(store.clone(), named("alpha")).err().unwrap();
    assert_eq!(refused.code(), DATABASE_IN_USE);
    assert!(refused.to_string().contains(&std::process::id().to_string()), "{refused}");
    drop(Ledger::open(store.clone(), named("beta")).unwrap());
    drop(ledger);
    until("the name is free", async || Ledger::open(store.clone(), named("alpha")).ok()).await;
}

#[tokio::test]
async fn the_sweeper_settles_a_silent_holder_without_a_name() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let short = Duration::from_millis(30);
    let kind = Kind::external_command("notice.issue").lease(short).deadline(short).clock_slack(Duration::ZERO);
    let notices = ledger.kind(kind).unwrap();
    let held = notices.operation(id("A")).claim(&"in", ledger.attempt_id()).await.unwrap();
    assert!(matches!(held, ClaimResult::Granted(_)));
    let entry = stands(&ledger, "notice.issue", "A", Status::Unknown).await;
    assert_eq!(open_incidents(&ledger).await.remove(0).id, entry.incident.unwrap());
}
