//! One breaker, bulkhead and rate for whatever calls a dependency, and one incident while it is away.

use std::sync::Arc;
use std::time::Duration;

use onefold_config::StatusMeaning;
use onefold_core::Result;
use onefold_core::error::{BREAKER_OPEN, BULKHEAD_FULL, DECLARATION_INVALID};
use onefold_core::incident::{Incident, SubjectSort};
use onefold_core::ledger::{AttemptId, Completion, Failure, Outcome, SideEffect, StoredResult};
use onefold_core::retry::Category;
use onefold_runtime::{
    Ask, Breaker, CallFailure, ClaimResult, DependencyDeclaration, Kind, KindHandle, Ledger, Performed, ProviderAnswer,
    Rate, Settings,
};
use onefold_sqlite::{Sqlite, SqliteOptions};
use onefold_testing::{ManualClock, SeededRandom};

use super::fixture::{Effects, LedgerFixture, open_incidents, settings};

const OPEN_FOR: Duration = Duration::from_secs(30);

/// A ledger whose time moves when it is told.
struct Bank {
    clock: Arc<ManualClock>,
    ledger: Ledger<Sqlite>,
    _fixture: LedgerFixture,
}

impl Bank {
    async fn with(limits: DependencyDeclaration) -> Self {
        let fixture = LedgerFixture::new();
        let clock = Arc::new(ManualClock::default());
        let options = SqliteOptions::new(clock.clone(), Arc::new(SeededRandom::new(7)));
        let settings = Settings { clock: clock.clone(), ..settings() };
        let ledger = Ledger::open(fixture.store_with(options).await, settings).unwrap();
        ledger.dependency("bank", limits).unwrap();
        Self { clock, ledger, _fixture: fixture }
    }

    fn kind(&self, name: &str) -> KindHandle<Sqlite, onefold_core::effect::ExternalCommand> {
        self.ledger.kind(Kind::external_command(name).depends_on("bank")).unwrap()
    }

    /// A ledger on the same store that knows of no call yet.
    fn another_process(&self, limits: DependencyDeclaration) -> Ledger<Sqlite> {
        let settings = Settings { clock: self.clock.clone(), ..settings() };
        let ledger = Ledger::open(self.ledger.store().clone(), settings).unwrap();
        ledger.dependency("bank", limits).unwrap();
        ledger
    }

    async fn incidents(&self) -> Vec<Incident> {
        open_incidents(&self.ledger)
            .await
            .into_iter()
            .filter(|incident| incident.subject.sort == SubjectSort::Dependency)
            .collect()
    }
}

fn breaker(failures: u32) -> DependencyDeclaration {
    let breaker = Breaker { failures, open_for: OPEN_FOR };
    DependencyDeclaration { breaker: Some(breaker), ..DependencyDeclaration::default() }
}

async fn pay(
    kind: &KindHandle<Sqlite, onefold_core::effect::ExternalCommand>,
    id: &str,
    effects: &Effects,
    answer: Result<u32, CallFailure>,
) -> Performed<u32> {
    let effects = effects.clone();
    let effect = move |_| async move {
        effects.happen();
        answer
    };
    kind.operation(id).perform(&"x", effect).await.unwrap()
}

fn down() -> Result<u32, CallFailure> {
    Err(CallFailure::not_sent(Category::DownstreamUnavailable))
}

fn attempt(number: u8) -> AttemptId {
    AttemptId::from_random([number; 16])
}

#[tokio::test]
async fn kinds_of_one_dependency_share_its_breaker_and_what_is_done_is_still_replayed() {
    let bank = Bank::with(breaker(2)).await;
    let (charges, refunds, effects) = (bank.kind("charge"), bank.kind("refund"), Effects::default());
    assert!(matches!(pay(&charges, "A", &effects, Ok(1)).await, Performed::Completed { replayed: false, .. }));
    pay(&charges, "B", &effects, down()).await;
    pay(&refunds, "C", &effects, down()).await;
    let refused = pay(&refunds, "D", &effects, Ok(1)).await;
    let Performed::Waiting { until, because: Some(code) } = refused else { panic!("{refused:?}") };
    assert_eq!(code, BREAKER_OPEN);
    assert_eq!(until, bank.ledger.now().plus(OPEN_FOR));
    assert_eq!(effects.count(), 3, "nothing was called");
    let again = pay(&charges, "A", &effects, Ok(9)).await;
    assert_eq!(again, Performed::Completed { result: 1, replayed: true });
    bank.clock.advance(OPEN_FOR);
    assert!(matches!(pay(&refunds, "D", &effects, Ok(4)).await, Performed::Completed { replayed: false, .. }));
}

#[tokio::test]
async fn a_business_no_keeps_the_breaker_closed_and_a_timeout_counts() {
    let bank = Bank::with(breaker(1)).await;
    let (charges, effects) = (bank.kind("charge"), Effects::default());
    let no = Err(CallFailure::rejected(super::fixture::CASE_CLOSED));
    assert!(matches!(pay(&charges, "A", &effects, no).await, Performed::Rejected(_)));
    let slow = Err(CallFailure::unknown(Category::DownstreamTimeout));
    assert!(matches!(pay(&charges, "B", &effects, slow).await, Performed::Unknown { .. }));
    assert!(matches!(pay(&charges, "C", &effects, Ok(1)).await, Performed::Waiting { .. }));
}

#[tokio::test]
async fn replays_and_duplicates_use_up_no_rate() {
    let rate = Rate { calls: 2, per: Duration::from_hours(1) };
    let bank = Bank::with(DependencyDeclaration { rate: Some(rate), ..DependencyDeclaration::default() }).await;
    let (charges, effects) = (bank.kind("charge"), Effects::default());
    for _ in 0..10 {
        pay(&charges, "A", &effects, Ok(1)).await;
    }
    assert!(matches!(pay(&charges, "B", &effects, Ok(1)).await, Performed::Completed { .. }));
    assert!(matches!(pay(&charges, "C", &effects, Ok(1)).await, Performed::Waiting { .. }));
}

#[tokio::test]
async fn a_remote_caller_holds_its_place_until_it_reports_or_its_deadline_passes() {
    let limits = DependencyDeclaration { calls_max: Some(1), ..DependencyDeclaration::default() };
    let bank = Bank::with(limits).await;
    let charges = bank.kind("charge");
    let claim = async |id: &str, number: u8| charges.operation(id).claim(&"x", attempt(number)).await;
    let ClaimResult::Granted(first) = claim("A", 1).await.unwrap() else { panic!("not granted") };
    assert_eq!(claim("B", 2).await.err().unwrap().code(), BULKHEAD_FULL);
    // The answer was lost, so it asks again: its own place is not in its way.
    assert!(matches!(claim("A", 1).await.unwrap(), ClaimResult::Granted(_)));
    assert!(matches!(claim("A", 3).await.unwrap(), ClaimResult::InFlight { .. }), "what stands is told");
    first.complete(&1, None).await.unwrap();
    let ClaimResult::Granted(second) = claim("B", 2).await.unwrap() else { panic!("not granted") };
    second.release().await.unwrap();
    let ClaimResult::Granted(_silent) = claim("C", 4).await.unwrap() else { panic!("not granted") };
    bank.clock.advance(Duration::from_secs(29));
    assert_eq!(claim("D", 5).await.err().unwrap().code(), BULKHEAD_FULL);
    bank.clock.advance(Duration::from_secs(1));
    assert!(matches!(claim("D", 5).await.unwrap(), ClaimResult::Granted(_)));
}

#[tokio::test]
async fn what_a_remote_caller_reports_counts_for_the_breaker() {
    let bank = Bank::with(breaker(1)).await;
    let charges = bank.kind("charge");
    let claim = async |id: &str, number: u8| charges.operation(id).claim(&"x", attempt(number)).await;
    let ClaimResult::Granted(lease) = claim("A", 1).await.unwrap() else { panic!("not granted") };
    lease.record(Outcome::Unknown(Failure::technical(Category::DownstreamTimeout, SideEffect::Unknown))).await.unwrap();
    assert_eq!(claim("B", 2).await.err().unwrap().code(), BREAKER_OPEN);
    bank.clock.advance(OPEN_FOR);
    let ClaimResult::Granted(probe) = claim("B", 2).await.unwrap() else { panic!("not granted") };
    assert_eq!(claim("C", 3).await.err().unwrap().code(), BREAKER_OPEN, "one probe at a time");
    let done = Completion { result: StoredResult::none(None), evidence: None };
    probe.record(Outcome::Completed(done)).await.unwrap();
    assert!(matches!(claim("C", 3).await.unwrap(), ClaimResult::Granted(_)));
}

#[tokio::test]
async fn questions_wait_while_the_breaker_is_open_and_count_for_it() {
    let bank = Bank::with(breaker(1)).await;
    let asked = Effects::default();
    let (count, effects) = (asked.clone(), Effects::default());
    let ask = Ask::with(move |_| {
        count.happen();
        async { ProviderAnswer::unreachable() }
    });
    let kind = Kind::external_command("charge").depends_on("bank").on_unknown(ask.settle(Duration::from_secs(1)));
    let charges = bank.ledger.kind(kind).unwrap();
    let unclear = Err(CallFailure::unknown(Category::Unexpected));
    assert!(matches!(pay(&charges, "A", &effects, unclear).await, Performed::Unknown { .. }));
    bank.clock.advance(Duration::from_mins(5));
    bank.ledger.ask_due().await.unwrap();
    assert_eq!(asked.count(), 1);
    assert!(matches!(pay(&charges, "B", &effects, Ok(1)).await, Performed::Waiting { .. }), "the question failed");
    for _ in 0..5 {
        bank.ledger.ask_due().await.unwrap();
    }
    assert_eq!(asked.count(), 1, "nobody is asked while the breaker is open");
}

#[tokio::test]
async fn an_outage_is_one_incident_that_closes_with_the_first_success() {
    let bank = Bank::with(breaker(3)).await;
    let (charges, refunds, effects) = (bank.kind("charge"), bank.kind("refund"), Effects::default());
    for (number, kind) in [&charges, &refunds, &charges, &refunds].into_iter().enumerate() {
        pay(kind, &format!("A{number}"), &effects, down()).await;
        assert_eq!(bank.ledger.watch_dependencies().await.unwrap(), 0, "a moment is not an outage");
        bank.clock.advance(Duration::from_secs(1));
    }
    bank.clock.advance(Duration::from_mins(1));
    pay(&charges, "P1", &effects, down()).await;
    assert_eq!(bank.ledger.watch_dependencies().await.unwrap(), 1);
    assert_eq!(bank.ledger.watch_dependencies().await.unwrap(), 0);
    let [open] = &bank.incidents().await[..] else { panic!("one incident stands for the outage") };
    assert_eq!(open.subject.to_string(), "dependency bank");
    let refused = bank.ledger.incidents().retry(open.id.clone()).because("it is up").await.unwrap_err();
    assert!(refused.next_step().contains("closes by itself"), "{refused}");
    bank.clock.advance(OPEN_FOR);
    assert!(matches!(pay(&refunds, "P2", &effects, Ok(1)).await, Performed::Completed { .. }));
    assert_eq!(bank.ledger.watch_dependencies().await.unwrap(), 1);
    assert!(bank.incidents().await.is_empty());
}

#[tokio::test]
async fn a_success_right_after_the_incident_was_raised_closes_it_before_anyone_looked() {
    let limits = DependencyDeclaration { unavailable_for: Some(Duration::ZERO), ..DependencyDeclaration::default() };
    let bank = Bank::with(limits.clone()).await;
    let (charges, effects) = (bank.kind("charge"), Effects::default());
    let other = bank.another_process(limits);
    let elsewhere = other.kind(Kind::external_command("charge").depends_on("bank")).unwrap();
    for (number, succeeds) in [&charges, &elsewhere].into_iter().enumerate() {
        pay(&charges, &format!("F{number}"), &effects, down()).await;
        assert_eq!(bank.ledger.watch_dependencies().await.unwrap(), 1, "raised");
        bank.clock.advance(Duration::from_millis(10));
        let paid = pay(succeeds, &format!("S{number}"), &effects, Ok(1)).await;
        assert!(matches!(paid, Performed::Completed { .. }));
        bank.clock.advance(Duration::from_secs(5));
        let closed = bank.ledger.watch_dependencies().await.unwrap() + other.watch_dependencies().await.unwrap();
        assert_eq!(closed, 1, "closed by the process that saw the success");
        assert!(bank.incidents().await.is_empty());
    }
}

#[tokio::test]
async fn the_next_life_of_a_process_closes_the_incident_that_the_last_one_opened() {
    let limits = DependencyDeclaration { unavailable_for: Some(Duration::ZERO), ..DependencyDeclaration::default() };
    let bank = Bank::with(limits.clone()).await;
    pay(&bank.kind("charge"), "A", &Effects::default(), down()).await;
    assert_eq!(bank.ledger.watch_dependencies().await.unwrap(), 1);
    let again = bank.another_process(limits);
    let charges = again.kind(Kind::external_command("charge").depends_on("bank")).unwrap();
    assert_eq!(again.watch_dependencies().await.unwrap(), 0, "nothing is known of it yet");
    assert!(matches!(pay(&charges, "B", &Effects::default(), Ok(1)).await, Performed::Completed { .. }));
    assert_eq!(again.watch_dependencies().await.unwrap(), 1);
    assert!(bank.incidents().await.is_empty());
}

#[tokio::test]
async fn a_dependency_is_declared_once_and_read_again_keeps_what_it_knows() {
    let bank = Bank::with(breaker(1)).await;
    assert!(bank.ledger.dependency("bank", breaker(1)).is_ok());
    assert_eq!(bank.ledger.dependency("bank", breaker(2)).err().unwrap().code(), DECLARATION_INVALID);
    assert!(bank.ledger.dependency("two words", breaker(2)).is_err());
    let (charges, effects) = (bank.kind("charge"), Effects::default());
    pay(&charges, "A", &effects, down()).await;
    let declared = |limits: DependencyDeclaration| [("bank".to_owned(), limits)].into();
    bank.ledger.redeclare_dependencies(&declared(breaker(1))).unwrap();
    assert!(
        matches!(pay(&charges, "B", &effects, Ok(1)).await, Performed::Waiting { .. }),
        "its breaker is still open"
    );
    bank.ledger.redeclare_dependencies(&declared(breaker(9))).unwrap();
    assert!(matches!(pay(&charges, "B", &effects, Ok(1)).await, Performed::Completed { .. }), "it begins anew");
}

#[tokio::test]
async fn what_a_dependency_promises_about_its_answers_is_declared_once() {
    let answers = [(503, StatusMeaning::NotApplied), (418, StatusMeaning::Final)].into();
    let bank = Bank::with(DependencyDeclaration { answers, ..DependencyDeclaration::default() }).await;
    let promises = bank.ledger.dependency_of(bank.kind("charge").terms()).unwrap().promises();
    let charges = bank.kind("charge");
    let by = |status| Err(CallFailure::from_status_with(status, &promises));
    assert!(matches!(pay(&charges, "A", &Effects::default(), by(503)).await, Performed::Waiting { .. }));
    assert!(matches!(pay(&charges, "B", &Effects::default(), by(418)).await, Performed::Rejected(_)));
    assert!(matches!(pay(&charges, "C", &Effects::default(), by(500)).await, Performed::Unknown { .. }));
}

#[tokio::test]
async fn a_grant_that_was_not_handed_over_gives_its_place_back() {
    let bank = Bank::with(DependencyDeclaration { calls_max: Some(1), ..DependencyDeclaration::default() }).await;
    let charges = bank.kind("charge");
    let ClaimResult::Granted(unheard) = charges.operation("A").claim(&"x", attempt(1)).await.unwrap() else {
        panic!("not granted")
    };
    unheard.undelivered().await.unwrap();
    assert!(matches!(charges.operation("B").claim(&"x", attempt(2)).await.unwrap(), ClaimResult::Granted(_)));
}

#[tokio::test]
async fn the_outage_of_a_dependency_that_is_no_longer_declared_is_closed() {
    let limits = DependencyDeclaration { unavailable_for: Some(Duration::ZERO), ..DependencyDeclaration::default() };
    let bank = Bank::with(limits).await;
    pay(&bank.kind("charge"), "A", &Effects::default(), down()).await;
    assert_eq!(bank.ledger.watch_dependencies().await.unwrap(), 1);
    assert_eq!(bank.ledger.close_undeclared_outages().await.unwrap(), 0, "it is declared");
    bank.ledger.redeclare_dependencies(&std::collections::BTreeMap::new()).unwrap();
    assert_eq!(bank.ledger.close_undeclared_outages().await.unwrap(), 1);
    assert!(bank.incidents().await.is_empty());
}
