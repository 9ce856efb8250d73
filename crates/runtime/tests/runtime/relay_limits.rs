//! A relay whose target is a dependency keeps to its limits; events carry what they belong to.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::incident::SubjectSort;
use onefold_core::port::OutboxOperate as _;
use onefold_runtime::{Breaker, DependencyDeclaration, LimitReached, trace};
use onefold_testing::RecordingTarget;
use tracing::{Instrument as _, Span};

use crate::relay::{CaseSubmitted, OutboxFixture, until};

#[tokio::test]
async fn a_relay_shares_the_breaker_of_its_dependency_and_uses_no_attempt() {
    let fixture = OutboxFixture::new().await;
    let breaker = Breaker { failures: 3, open_for: Duration::from_hours(1) };
    let limits = DependencyDeclaration { breaker: Some(breaker), ..DependencyDeclaration::default() };
    let partner = fixture.ledger.dependency("partner", limits).unwrap();
    // Others' calls fail until the breaker opens.
    let refused = loop {
        match partner.enter() {
            Ok(permit) => permit.failed(),
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused.because, LimitReached::BreakerOpen);
    let (open, free) = (Arc::new(RecordingTarget::default()), Arc::new(RecordingTarget::default()));
    fixture.start(fixture.relay("partners", &open).depends_on("partner"));
    fixture.start(fixture.relay("cases", &free));
    fixture.declared("partners").await;
    fixture.declared("cases").await;
    fixture.stage("CASE-1", 1).await;
    until(async || free.taken().len() == 1).await;
    assert_eq!(open.asked(), 0, "the breaker is open");
    let (_, relays) = fixture.ledger.store().relays().await.unwrap();
    let partners = relays.iter().find(|relay| relay.name.as_str() == "partners").unwrap();
    assert_eq!((partners.waiting, partners.set_aside, partners.parked), (1, 0, 0));
    assert_eq!(fixture.incidents(SubjectSort::Event).await, 0);
}

#[tokio::test]
async fn what_a_relay_meets_counts_for_everyone_who_calls_the_dependency() {
    let fixture = OutboxFixture::new().await;
    let breaker = Breaker { failures: 3, open_for: Duration::from_hours(1) };
    let limits = DependencyDeclaration { breaker: Some(breaker), ..DependencyDeclaration::default() };
    let partner = fixture.ledger.dependency("partner", limits).unwrap();
    let target = Arc::new(RecordingTarget::default());
    target.go_away();
    fixture.start(fixture.relay("partners", &target).depends_on("partner"));
    fixture.declared("partners").await;
    fixture.stage("CASE-1", 1).await;
    until(async || partner.enter().is_err_and(|refused| refused.because == LimitReached::BreakerOpen)).await;
}

#[tokio::test]
async fn a_full_bulkhead_is_waited_for_and_everything_arrives() {
    let fixture = OutboxFixture::new().await;
    let limits = DependencyDeclaration { calls_max: Some(1), ..DependencyDeclaration::default() };
    let partner = fixture.ledger.dependency("partner", limits).unwrap();
    let held = partner.enter().unwrap();
    let target = Arc::new(RecordingTarget::default());
    fixture.start(fixture.relay("partners", &target).depends_on("partner"));
    fixture.declared("partners").await;
    for case in 0..5 {
        fixture.stage(&format!("CASE-{case}"), 1).await;
    }
    assert_eq!(target.asked(), 0, "another call has the only permit");
    held.succeeded();
    until(async || target.taken().len() == 5).await;
}

#[tokio::test]
async fn an_event_carries_the_correlation_id_and_the_trace_that_it_is_staged_in() {
    trace::install(FixedTrace);
    let fixture = OutboxFixture::new().await;
    // Without a subscriber there are no spans.
    let _spans = tracing::subscriber::set_default(tracing_subscriber::registry());
    let store = fixture.ledger.store();
    let mut transaction = store.begin().await.unwrap();
    let outbox = fixture.outbox().correlated("req-7");
    let event = CaseSubmitted { case: "CASE-1".to_owned(), number: 1 };
    let staging = outbox.stage(&mut transaction, &event).instrument(tracing::info_span!("traced"));
    let staged = staging.await.unwrap();
    transaction.commit().await.unwrap();
    let (stored, _) = store.event(staged.id).await.unwrap().expect("it is staged");
    assert_eq!(stored.event.correlation_id.as_deref(), Some("req-7"));
    let headers: Vec<_> = stored.event.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(headers, [("traceparent", TRACE)]);
}

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Names one trace, for one span: the other tests of this program have none.
struct FixedTrace;

impl trace::Propagate for FixedTrace {
    fn adopt(&self, _: &Span, _: &dyn Fn(&str) -> Option<String>) {}

    fn pass_on(&self, span: &Span, set: &mut dyn FnMut(&str, String)) {
        if span.metadata().is_some_and(|metadata| metadata.name() == "traced") {
            set("traceparent", TRACE.to_owned());
        }
    }
}
