//! What a record is.

use std::sync::Arc;

use onefold_core::event::{HeaderName, ReplayId, StoredEvent};
use onefold_core::port::{OutgoingEvent, Publication};

use crate::events::{delivery, event};
use crate::kcat;
use crate::relay::publish;
use crate::topics::{create, publisher, shared};

#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_a_cloud_event_under_its_aggregates_id() {
    let topic = create(&shared(), 3, &[]).await;
    let mut new = event(&topic, 41, "CASE-7", "{\"caseId\":\"CASE-7\"}").stored.event.clone();
    new.correlation_id = Some(Arc::from("req-1"));
    new.headers.insert(HeaderName::parse("region").unwrap(), "north".to_owned());
    let created_at = crate::events::now();
    let stored = Arc::new(StoredEvent { seq: 41, created_at, event: new });
    let first = OutgoingEvent { stored, destination: Arc::from(&*topic), replay: None, contract: None };
    let again = OutgoingEvent { replay: Some(ReplayId(Arc::from("rpl-1"))), ..first.clone() };
    let answers = publish(&publisher(&shared(), &topic), delivery(vec![first, again])).await;

    let log = kcat::committed(&shared(), &topic);
    let positions: Vec<Publication> =
        log.iter().map(|record| Publication::Published { position: Some(record.position().into()) }).collect();
    assert_eq!(answers, positions);
    let [first, again] = &log[..] else { panic!("{log:?}") };
    assert_eq!((&*first.key, &*first.value), ("CASE-7", "{\"caseId\":\"CASE-7\"}"));
    assert_eq!(first.timestamp, created_at.as_micros() / 1_000);
    let time = format!("ce_time={created_at}");
    let expected = [
        "content-type=application/json",
        "ce_specversion=1.0",
        "ce_id=00000000-0000-0000-0000-000000000029",
        "ce_type=case.submitted",
        "ce_source=/default/case",
        "ce_subject=CASE-7",
        &time,
        "ce_dataschema=/events/case.submitted/1",
        "ce_sequence=00000000000000000041",
        "ce_tenant=default",
        "ce_correlationid=req-1",
        "region=north",
    ];
    assert_eq!(first.headers, expected);
    assert_eq!(again.headers, [&expected[..], &["onefold-replay=rpl-1"]].concat());
}
