//! Contracts of events that any language staged by SQL.

use std::sync::Arc;

use onefold_core::error::{EVENT_CONTRACT_INVALID, EVENT_TYPE_UNKNOWN};
use onefold_core::event::{EventContract, EventContracts};
use onefold_core::outbox::{AsideStatus, Begin};
use onefold_core::port::{AsideFilter, OutboxOperate as _};
use onefold_runtime::{Ledger, Relay, Settings};
use onefold_testing::RecordingTarget;

use crate::asking::until;
use crate::fixture::{Schema, run};

const CONTRACT: EventContract = EventContract::new("case.submitted", 1)
    .aggregate("case")
    .owner("case team")
    .ordering_key("/caseId")
    .schema(r#"{ "type": "object", "required": ["caseId"], "properties": { "amount": { "type": "integer" } } }"#);

#[tokio::test(flavor = "multi_thread")]
async fn what_came_by_sql_and_breaks_its_contract_is_parked() {
    let schema = Schema::new();
    let ledger = Ledger::open(schema.open().await.unwrap(), Settings::default()).unwrap();
    let mut connection = schema.connect().await;
    run(&mut connection, &format!("SET search_path = {}", schema.name)).await;
    let rows = [
        ("CASE-1", "case.submitted", r#"{"caseId": "CASE-1", "amount": 7}"#),
        ("CASE-2", "case.submitted", r#"{"caseId": "CASE-2", "amount": "m4rk3r"}"#),
        ("CASE-3", "case.submitted", r#"{"caseId": "m4rk3r"}"#),
        ("CASE-4", "case.unheard-of", r#"{"caseId": "CASE-4"}"#),
    ];
    for (aggregate, event_type, payload) in rows {
        let call = sqlx::query("SELECT onefold_stage('case', $1, $2, 1, $3)");
        call.bind(aggregate).bind(event_type).bind(payload).execute(&mut connection).await.unwrap();
    }
    let target = Arc::new(RecordingTarget::default());
    let outbox = ledger.outbox().with_contracts(EventContracts::of([CONTRACT]).unwrap());
    let relay = Relay::new(&outbox, "cases").begin(Begin::Oldest).to_each(Arc::clone(&target), 16);
    let running = tokio::spawn(relay.run(std::future::pending()));
    let store = ledger.store();
    let parked = until("what breaks its contract is parked, the rest published", async || {
        let found = store.asides(AsideFilter::default(), 10).await.unwrap();
        (found.len() == 3 && target.taken().len() == 1).then_some(found)
    })
    .await;
    running.abort();
    let code = |aggregate: &str| {
        let aside = parked.iter().find(|aside| &*aside.aggregate.id == aggregate).unwrap();
        assert_eq!(aside.status, AsideStatus::Parked);
        assert!(!format!("{aside:?}").contains("m4rk3r"), "{aside:?}");
        aside.code.as_ref().unwrap().as_str().to_owned()
    };
    assert_eq!(code("CASE-2"), EVENT_CONTRACT_INVALID.as_str());
    assert_eq!(code("CASE-3"), EVENT_CONTRACT_INVALID.as_str());
    assert_eq!(code("CASE-4"), EVENT_TYPE_UNKNOWN.as_str());
    assert_eq!(target.taken()[0].aggregate, "CASE-1");
}
