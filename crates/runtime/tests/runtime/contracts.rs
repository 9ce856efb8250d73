//! Contracts of events: what breaks one is refused where it is staged, and parked where a relay meets it.

use std::sync::Arc;

use onefold_core::error::{EVENT_CONTRACT_INVALID, EVENT_TYPE_UNKNOWN, EVENT_VERSION_UNSUPPORTED};
use onefold_core::event::{Aggregate, AggregateType, EventContract, EventContracts, EventId, EventType, NewEvent};
use onefold_core::incident::SubjectSort;
use onefold_core::operation::Tenant;
use onefold_core::outbox::AsideStatus;
use onefold_core::port::{AsideFilter, OutboxOperate as _, StageOrder, Staging as _};
use onefold_runtime::{Event, Relay};
use onefold_testing::RecordingTarget;
use serde::Serialize;

use crate::relay::{CaseSubmitted, OutboxFixture, taken, until};

/// An event whose program and contract disagree.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CaseDecided {
    case_id: String,
    amount: String,
    #[serde(skip)]
    aggregate: String,
}

impl Event for CaseDecided {
    const CONTRACT: EventContract =
        EventContract::new("case.decided", 1).aggregate("case").owner("case team").ordering_key("/caseId").schema(
            r#"{ "type": "object", "required": ["caseId"], "properties": { "amount": { "pattern": "^[0-9]+$" } } }"#,
        );

    fn aggregate_id(&self) -> &str {
        &self.aggregate
    }
}

fn decided(case_id: &str, amount: &str) -> CaseDecided {
    CaseDecided { case_id: case_id.to_owned(), amount: amount.to_owned(), aggregate: "CASE-7".to_owned() }
}

fn by_hand(number: u8, event_type: &str, version: u32, payload: &'static str) -> NewEvent {
    NewEvent {
        id: EventId::from_bytes([number; 16]),
        aggregate: Aggregate {
            tenant: Tenant::default(),
            aggregate_type: AggregateType::parse("case").unwrap(),
            id: Arc::from(format!("CASE-{number}")),
        },
        event_type: EventType::parse(event_type).unwrap(),
        schema_version: version,
        payload: payload.into(),
        content_type: Arc::from("application/json"),
        headers: std::collections::BTreeMap::new(),
        correlation_id: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_its_contract_is_not_staged() {
    let fixture = OutboxFixture::new().await;
    let outbox = fixture.outbox();
    let mut transaction = fixture.ledger.store().begin().await.unwrap();
    for (event, says) in [
        (decided("CASE-7", "m4rk3r"), "/amount: breaks \"pattern\""),
        (decided("m4rk3r", "7"), "/caseId: the ordering key is not the aggregate's id"),
    ] {
        let error = outbox.stage(&mut transaction, &event).await.unwrap_err();
        assert_eq!(error.code(), EVENT_CONTRACT_INVALID);
        assert!(error.detail().contains(says) && !format!("{error:?}").contains("m4rk3r"), "{error:?}");
        assert_eq!(outbox.stage_ordered(&mut transaction, &event).await.unwrap_err().code(), EVENT_CONTRACT_INVALID);
    }
    let good = outbox.stage(&mut transaction, &decided("CASE-7", "7")).await.unwrap();
    transaction.commit().await.unwrap();
    assert!(fixture.ledger.store().event(good.id).await.unwrap().is_some(), "the transaction went on");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outbox_that_knows_its_contracts_stages_nothing_else() {
    let fixture = OutboxFixture::new().await;
    let order = StageOrder::AggregateIsLocked;
    let mut transaction = fixture.ledger.store().begin().await.unwrap();
    let plain = fixture.outbox();
    let event = by_hand(1, "case.submitted", 1, "{\"case\": \"CASE-1\"}");
    let error = plain.stage_all(&mut transaction, std::slice::from_ref(&event), order).await.unwrap_err();
    assert_eq!(error.code(), EVENT_TYPE_UNKNOWN, "a type that was built by hand needs a contract");
    let outbox = fixture.outbox().with_contracts(EventContracts::of([CaseSubmitted::CONTRACT]).unwrap());
    outbox.stage_all(&mut transaction, &[event], order).await.unwrap();
    let other = by_hand(2, "case.submitted", 2, "{\"case\": \"CASE-2\"}");
    let error = outbox.stage_all(&mut transaction, &[other], order).await.unwrap_err();
    assert_eq!(error.code(), EVENT_VERSION_UNSUPPORTED);
    let error = outbox.stage(&mut transaction, &decided("CASE-7", "7")).await.unwrap_err();
    assert_eq!(error.code(), EVENT_TYPE_UNKNOWN);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_staged_past_its_contract_is_parked_and_never_sent() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    let outbox = fixture.outbox().with_contracts(EventContracts::of([CaseSubmitted::CONTRACT]).unwrap());
    fixture.start(Relay::new(&outbox, "cases").to_each(Arc::clone(&target), 16));
    fixture.declared("cases").await;
    let rows = [
        (by_hand(1, "case.submitted", 1, "{\"case\": \"CASE-1\", \"number\": \"m4rk3r\"}"), EVENT_CONTRACT_INVALID),
        (by_hand(2, "case.submitted", 1, "{\"case\": \"m4rk3r\"}"), EVENT_CONTRACT_INVALID),
        (by_hand(3, "case.submitted", 1, "m4rk3r"), EVENT_CONTRACT_INVALID),
        (by_hand(4, "case.submitted", 2, "{\"case\": \"CASE-4\"}"), EVENT_VERSION_UNSUPPORTED),
        (by_hand(5, "case.unheard-of", 1, "{}"), EVENT_TYPE_UNKNOWN),
    ];
    let good = by_hand(6, "case.submitted", 1, "{\"case\": \"CASE-6\"}");
    let all: Vec<NewEvent> = rows.iter().map(|(event, _)| event.clone()).chain([good.clone()]).collect();
    let store = fixture.ledger.store();
    let mut transaction = store.begin().await.unwrap();
    // As SQL does it: past every check of a program.
    store.stage(&mut transaction, &all, StageOrder::AggregateIsLocked).await.unwrap();
    transaction.commit().await.unwrap();
    until(async || taken(&target) == [good.id]).await;
    until(async || store.asides(AsideFilter::default(), 10).await.unwrap().len() == rows.len()).await;
    let asides = store.asides(AsideFilter::default(), 10).await.unwrap();
    for (event, code) in &rows {
        let aside = asides.iter().find(|aside| aside.id == event.id).unwrap();
        assert_eq!((aside.status, aside.code.as_ref().unwrap().as_str()), (AsideStatus::Parked, code.as_str()));
        assert!(!format!("{aside:?}").contains("m4rk3r"), "{aside:?}");
    }
    assert_eq!(fixture.incidents(SubjectSort::Event).await, rows.len());
    assert_eq!(target.asked(), 1, "the target never saw them");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_of_a_process_that_knows_no_contract_lets_everything_pass() {
    let fixture = OutboxFixture::new().await;
    let target = Arc::new(RecordingTarget::default());
    fixture.start(Relay::new(&fixture.outbox(), "cases").to_each(Arc::clone(&target), 16));
    fixture.declared("cases").await;
    let store = fixture.ledger.store();
    let mut transaction = store.begin().await.unwrap();
    let event = by_hand(1, "case.unheard-of", 9, "[]");
    store.stage(&mut transaction, std::slice::from_ref(&event), StageOrder::AggregateIsLocked).await.unwrap();
    transaction.commit().await.unwrap();
    until(async || taken(&target) == [event.id]).await;
}
