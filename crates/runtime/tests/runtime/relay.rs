//! Relays on a file: what was committed is published, in order, whatever the target does meanwhile.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::Result;
use onefold_core::error::{EVENT_TARGET_REFUSED, RELAY_STOPPED};
use onefold_core::event::{EventContract, EventId, StoredEvent};
use onefold_core::incident::SubjectSort;
use onefold_core::operation::{KindName, OperationKey, Tenant};
use onefold_core::outbox::{AsideStatus, AsideVerb, RelayName};
use onefold_core::port::{
    AsideDecision, AsideFilter, IncidentFilter, LedgerRead as _, OutboxOperate as _, Page, Publication, RefusedRetry,
    RelayVerb, Staged,
};
use onefold_runtime::{Event, Ledger, Outbox, PublicationWait, Relay, Settings};
use onefold_sqlite::{Sqlite, SqliteOptions};
use onefold_testing::{ManualClock, RecordingTarget, SeededRandom};
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::fixture::{self, LedgerFixture, id};

#[derive(Serialize)]
pub(crate) struct CaseSubmitted {
    pub(crate) case: String,
    pub(crate) number: usize,
}

impl Event for CaseSubmitted {
    const CONTRACT: EventContract = EventContract::new("case.submitted", 1)
        .aggregate("case")
        .owner("case team")
        .ordering_key("/case")
        .schema(r#"{ "type": "object", "required": ["case"], "properties": { "number": { "type": "integer" } } }"#);

    fn aggregate_id(&self) -> &str {
        &self.case
    }
}

/// A file, its outbox, and relays that run until they are told to stop.
pub(crate) struct OutboxFixture {
    pub(crate) file: LedgerFixture,
    pub(crate) ledger: Ledger<Sqlite>,
    pub(crate) stop: watch::Sender<bool>,
}

impl OutboxFixture {
    pub(crate) async fn new() -> Self {
        Self::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        let file = LedgerFixture::new();
        let options = SqliteOptions::new(Arc::clone(&settings.clock), Arc::clone(&settings.random));
        let ledger = Ledger::open(file.store_with(options).await, settings).unwrap();
        Self { file, ledger, stop: watch::Sender::new(false) }
    }

    pub(crate) fn outbox(&self) -> Outbox<Sqlite> {
        self.ledger.outbox()
    }

    pub(crate) fn relay(&self, name: &str, target: &Arc<RecordingTarget>) -> Relay {
        Relay::new(&self.outbox(), name).to_each(Arc::clone(target), 16)
    }

    pub(crate) fn start(&self, relay: Relay) -> JoinHandle<Result<()>> {
        tokio::spawn(relay.run(self.stopped()))
    }

    fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stop = self.stop.subscribe();
        async move {
            let _ = stop.wait_for(|stop| *stop).await;
        }
    }

    pub(crate) async fn declared(&self, name: &str) {
        let name = RelayName::parse(name).unwrap();
        until(async || {
            let (_, relays) = self.ledger.store().relays().await.unwrap();
            relays.iter().any(|relay| relay.name == name)
        })
        .await;
    }

    pub(crate) async fn stage(&self, case: &str, number: usize) -> Staged {
        let mut transaction = self.ledger.store().begin().await.unwrap();
        let event = CaseSubmitted { case: case.to_owned(), number };
        let staged = self.outbox().stage(&mut transaction, &event).await.unwrap();
        let committed = transaction.commit().await.unwrap();
        self.outbox().wake(&committed);
        staged
    }

    pub(crate) async fn incidents(&self, sort: SubjectSort) -> usize {
        let filter = IncidentFilter { open_only: true, subject: Some(sort), ..IncidentFilter::default() };
        self.ledger.store().incidents(filter, Page::default()).await.unwrap().items.len()
    }
}

pub(crate) async fn until(look: impl AsyncFn() -> bool) {
    fixture::until("a relay", async || look().await.then_some(())).await;
}

pub(crate) fn ids(staged: &[Staged]) -> Vec<EventId> {
    staged.iter().map(|staged| staged.id).collect()
}

pub(crate) fn taken(target: &RecordingTarget) -> Vec<EventId> {
    target.taken().iter().map(|taken| taken.id).collect()
}

pub(crate) fn refused(retry: RefusedRetry) -> Publication {
    Publication::Refused { code: EVENT_TARGET_REFUSED, reason: "no".to_owned(), retry }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_committed_is_published_in_order_and_what_was_rolled_back_is_not() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    let relay = fixture.start(fixture.relay("cases", &target));
    fixture.declared("cases").await;
    let mut transaction = fixture.ledger.store().begin().await.unwrap();
    let gone = CaseSubmitted { case: "GONE".to_owned(), number: 0 };
    fixture.outbox().stage(&mut transaction, &gone).await.unwrap();
    transaction.rollback().await.unwrap();
    let mut staged = Vec::new();
    for number in 0..50 {
        staged.push(fixture.stage("CASE-7", number).await);
    }
    until(async || target.taken().len() >= 50).await;
    assert_eq!(taken(&target), ids(&staged));
    assert_eq!(target.taken()[0].payload, r#"{"case":"CASE-7","number":0}"#);
    fixture.stop.send_replace(true);
    relay.await.unwrap().unwrap();
    assert_eq!(target.asked(), 50, "each was sent once");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_runs_again_stages_nothing_new() {
    let fixture = OutboxFixture::new().await;
    let key = OperationKey::new(Tenant::default(), KindName::parse("case.submit").unwrap(), id("CASE-7"));
    let mut staged = Vec::new();
    for _ in 0..2 {
        let mut transaction = fixture.ledger.store().begin().await.unwrap();
        let outbox = fixture.outbox();
        let mut events = outbox.of(&key);
        let mut run = Vec::new();
        for number in 0..2 {
            let event = CaseSubmitted { case: "CASE-7".to_owned(), number };
            run.push(events.stage(&mut transaction, &event).await.unwrap());
        }
        transaction.commit().await.unwrap();
        staged.push(ids(&run));
    }
    assert_eq!(staged[0], staged[1]);
    assert_ne!(staged[0][0], staged[0][1], "the second event of a type has its own id");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_target_delays_no_other_relay_and_uses_no_attempt() {
    let fixture = OutboxFixture::new().await;
    let (good, dead) = (Arc::new(RecordingTarget::default()), Arc::new(RecordingTarget::default()));
    dead.go_away();
    fixture.start(fixture.relay("good", &good));
    fixture.start(fixture.relay("dead", &dead));
    fixture.declared("good").await;
    fixture.declared("dead").await;
    let mut staged = Vec::new();
    for number in 0..20 {
        staged.push(fixture.stage(&format!("CASE-{}", number % 3), number).await);
    }
    until(async || good.taken().len() >= 20 && dead.asked() > 3).await;
    assert!(dead.taken().is_empty());
    assert!(
        fixture.ledger.store().asides(AsideFilter::default(), 10).await.unwrap().is_empty(),
        "nothing is set aside"
    );
    dead.take_everything();
    until(async || dead.taken().len() >= 20).await;
    for case in ["CASE-0", "CASE-1", "CASE-2"] {
        let of = |target: &RecordingTarget| -> Vec<EventId> {
            target.taken().into_iter().filter(|taken| taken.aggregate == case).map(|taken| taken.id).collect()
        };
        assert_eq!(of(&dead), of(&good), "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_refused_waits_for_a_person_and_its_aggregate_behind_it() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    target.answer_with(|stored: &StoredEvent| {
        let poison = stored.event.payload.windows(10).any(|part| part == b"\"number\":1");
        if poison { refused(RefusedRetry::Never) } else { Publication::Published { position: None } }
    });
    fixture.start(fixture.relay("cases", &target));
    fixture.declared("cases").await;
    let mut staged = Vec::new();
    for number in 0..4 {
        staged.push(fixture.stage("CASE-7", number).await);
    }
    let other = fixture.stage("CASE-8", 9).await;
    until(async || taken(&target).contains(&other.id)).await;
    until(async || fixture.ledger.store().asides(AsideFilter::default(), 10).await.unwrap().len() == 3).await;
    let asides = fixture.ledger.store().asides(AsideFilter::default(), 10).await.unwrap();
    let statuses: Vec<AsideStatus> = asides.iter().map(|aside| aside.status).collect();
    assert_eq!(statuses, [AsideStatus::Parked, AsideStatus::Behind, AsideStatus::Behind]);
    assert_eq!(fixture.incidents(SubjectSort::Event).await, 1);
    target.take_everything();
    let decision = AsideDecision {
        id: staged[1].id,
        relay: None,
        verb: AsideVerb::Release,
        who: Arc::from("ops"),
        why: Arc::from("the target was fixed"),
    };
    fixture.ledger.store().decide(decision).await.unwrap();
    until(async || taken(&target).len() >= 5).await;
    let of_seven: Vec<EventId> = taken(&target).into_iter().filter(|id| *id != other.id).collect();
    assert_eq!(of_seven, ids(&staged), "in order, behind the one that was refused");
    assert_eq!(fixture.incidents(SubjectSort::Event).await, 0);
    let next = fixture.stage("CASE-7", 100).await;
    until(async || taken(&target).contains(&next.id)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_whose_events_are_refused_one_after_another_stops_until_a_person_starts_it() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    target.answer_with(|stored| {
        let poison = stored.event.aggregate.id.starts_with("POISON");
        if poison { refused(RefusedRetry::Never) } else { Publication::Published { position: None } }
    });
    let running = fixture.start(fixture.relay("cases", &target));
    fixture.declared("cases").await;
    for number in 0..130 {
        fixture.stage(&format!("POISON-{number}"), number).await;
    }
    let state = async || fixture.ledger.store().relays().await.unwrap().1.remove(0);
    until(async || state().await.stopped.is_some()).await;
    let stopped = state().await;
    assert_eq!((stopped.stopped.unwrap().as_str(), stopped.parked, stopped.waiting), (RELAY_STOPPED.as_str(), 100, 30));
    assert_eq!(fixture.incidents(SubjectSort::Relay).await, 1);
    // A restart does not start it.
    fixture.stop.send_replace(true);
    running.await.unwrap().unwrap();
    fixture.stop.send_replace(false);
    let asked = target.asked();
    let again = fixture.start(fixture.relay("cases", &target));
    let healthy = fixture.stage("CASE-1", 0).await;
    target.take_everything();
    until(async || state().await.waiting == 31).await;
    assert_eq!(target.asked(), asked);
    let verb = RelayVerb {
        relay: RelayName::parse("cases").unwrap(),
        who: Arc::from("ops"),
        why: Arc::from("the target was fixed"),
    };
    fixture.ledger.store().start(verb).await.unwrap();
    // The holder learns it when it renews its lease.
    fixture.stop.send_replace(true);
    again.await.unwrap().unwrap();
    fixture.stop.send_replace(false);
    fixture.start(fixture.relay("cases", &target));
    until(async || taken(&target).contains(&healthy.id)).await;
    assert_eq!(fixture.incidents(SubjectSort::Relay).await, 0);
    until(async || state().await.waiting == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_without_the_target_parks_nothing_and_is_one_incident_that_closes_itself() {
    let clock = Arc::new(ManualClock::default());
    let random = Arc::new(SeededRandom::new(7));
    let settings = Settings { clock: clock.clone(), random, ..Settings::default() };
    let fixture = OutboxFixture::with(settings).await;
    let target = Arc::new(RecordingTarget::default());
    target.go_away();
    fixture.start(fixture.relay("cases", &target));
    fixture.declared("cases").await;
    let staged = fixture.stage("CASE-7", 1).await;
    for minute in 0..60 {
        for _ in 0..6 {
            clock.advance(Duration::from_secs(10));
            let asked = target.asked();
            // Every wait is over: it is tried again, or the next step of the clock brings it there.
            let _ = tokio::time::timeout(Duration::from_millis(20), until(async || target.asked() > asked)).await;
        }
        if minute > 2 {
            until(async || fixture.incidents(SubjectSort::Target).await == 1).await;
        }
    }
    assert!(target.asked() > 10, "{}", target.asked());
    assert!(fixture.ledger.store().asides(AsideFilter::default(), 10).await.unwrap().is_empty());
    target.take_everything();
    until(async || {
        clock.advance(Duration::from_secs(10));
        taken(&target) == [staged.id]
    })
    .await;
    until(async || fixture.incidents(SubjectSort::Target).await == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_backlog_is_read_by_places_and_arrives_whole() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    let relay = fixture.relay("cases", &target).begin(onefold_core::outbox::Begin::Oldest);
    let mut transaction = fixture.ledger.store().begin().await.unwrap();
    let mut staged = Vec::new();
    for number in 0..21_000 {
        let event = CaseSubmitted { case: format!("CASE-{}", number % 7), number };
        staged.push(fixture.outbox().stage(&mut transaction, &event).await.unwrap());
    }
    transaction.commit().await.unwrap();
    fixture.start(relay);
    until(async || target.taken().len() >= staged.len()).await;
    let taken = target.taken();
    for (case, first) in staged.iter().take(7).enumerate() {
        let of_case: Vec<EventId> =
            taken.iter().filter(|taken| taken.aggregate == format!("CASE-{case}")).map(|taken| taken.id).collect();
        let expected: Vec<EventId> = staged.iter().skip(case).step_by(7).map(|staged| staged.id).collect();
        assert_eq!(of_case, expected, "{first:?}");
    }
    assert_eq!(taken.len(), staged.len(), "each was sent once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_takes_over_when_the_first_gives_its_lane_back() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    let first = fixture.start(fixture.relay("cases", &target));
    fixture.declared("cases").await;
    let one = fixture.stage("CASE-7", 1).await;
    until(async || taken(&target) == [one.id]).await;
    let other = Settings { worker: Some("other/1".to_owned()), ..Settings::default() };
    let options = SqliteOptions::new(Arc::clone(&other.clock), Arc::clone(&other.random));
    let second = Ledger::open(fixture.file.store_with(options).await, other).unwrap();
    tokio::spawn(Relay::new(&second.outbox(), "cases").to_each(Arc::clone(&target), 16).run(std::future::pending()));
    fixture.stop.send_replace(true);
    first.await.unwrap().unwrap();
    let two = fixture.stage("CASE-7", 2).await;
    until(async || taken(&target) == [one.id, two.id]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_loops_of_one_process_are_two_holders() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    fixture.start(fixture.relay("cases", &target));
    fixture.start(fixture.relay("cases", &target));
    fixture.declared("cases").await;
    let mut staged = Vec::new();
    for number in 0..100 {
        staged.push(fixture.stage("CASE-7", number).await);
    }
    until(async || target.taken().len() >= staged.len()).await;
    assert_eq!(taken(&target), ids(&staged), "each was sent once, in order");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_may_wait_for_the_publication_after_its_commit() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    fixture.start(fixture.relay("cases", &target));
    fixture.declared("cases").await;
    target.go_away();
    let outbox = fixture.outbox();
    let stage = async || {
        let mut transaction = fixture.ledger.store().begin().await.unwrap();
        let event = CaseSubmitted { case: "CASE-7".to_owned(), number: 1 };
        let staged = outbox.stage(&mut transaction, &event).await.unwrap();
        (transaction.commit().await.unwrap(), staged)
    };
    let (committed, staged) = stage().await;
    let waited = outbox.wait_published(&committed, &staged, None, Duration::from_millis(50)).await.unwrap();
    assert_eq!(waited, PublicationWait::NotYet);
    target.take_everything();
    let waited = outbox.wait_published(&committed, &staged, None, Duration::from_secs(30)).await.unwrap();
    assert_eq!(waited, PublicationWait::Published);
    assert!(outbox.wait_published(&committed, &staged, None, Duration::from_secs(31)).await.is_err());
}
