//! What a person sees of an operation that needs one, and decides.

use std::time::Duration;

use onefold_core::error::{INCIDENT_NOT_FOUND, LIMIT_EXCEEDED, OPERATION_ID_INVALID, RESOLUTION_REFUSED};
use onefold_core::incident::{Incident, IncidentId};
use onefold_core::ledger::{Resolved, Status};
use onefold_core::retry::Category;
use onefold_runtime::{CallFailure, DidNotHappen, Failed, Kind, Ledger, Performed, Settings, TookHold};
use onefold_sqlite::Sqlite;

use crate::fixture::{LedgerFixture, closed, settings};

/// An operation whose outcome is unknown, and its incident.
async fn unknown(ledger: &Ledger<Sqlite>, id: &str) -> Incident {
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let lost = |_| async { Err::<String, _>(CallFailure::unknown(Category::DownstreamTimeout)) };
    let answer = notices.operation(id).perform(&"BREACH", lost).await.unwrap();
    let Performed::Unknown { incident: Some(incident), .. } = answer else { panic!("{answer:?}") };
    ledger.incidents().get(&incident).await.unwrap()
}

async fn again(ledger: &Ledger<Sqlite>, id: &str) -> Performed<String> {
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    notices.operation(id).perform(&"BREACH", |_| async { Ok("sent again".to_owned()) }).await.unwrap()
}

#[tokio::test]
async fn what_took_hold_is_resolved_with_its_result_and_replayed() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let incident = unknown(&ledger, "A").await;
    let incidents = ledger.incidents();
    assert_eq!(incidents.open().await.unwrap().len(), 1);
    let found = TookHold::evidence("NTC-1").result(&"NTC-1").unwrap();
    let resolved = incidents.resolve(incident.id, found).by("ada").because("found in the service").await.unwrap();
    assert_eq!(resolved, Resolved::Done(Status::Completed));
    assert!(incidents.open().await.unwrap().is_empty());
    assert_eq!(again(&ledger, "A").await, Performed::Completed { result: "NTC-1".to_owned(), replayed: true });
}

#[tokio::test]
async fn what_did_not_happen_is_performed_again_and_what_failed_is_not() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let incidents = ledger.incidents();
    let (first, second) = (unknown(&ledger, "A").await.id, unknown(&ledger, "B").await.id);
    let early = incidents.resolve(first.clone(), DidNotHappen::settled()).because("not there").await.unwrap_err();
    assert_eq!(early.code(), RESOLUTION_REFUSED, "a late request may still arrive");
    incidents.resolve(first, DidNotHappen::forced()).because("the service was down").await.unwrap();
    assert_eq!(again(&ledger, "A").await, Performed::Completed { result: "sent again".to_owned(), replayed: false });
    incidents.resolve(second, Failed::code(closed())).because("the case is closed").await.unwrap();
    let Performed::Rejected(rejection) = again(&ledger, "B").await else { panic!("performed") };
    assert_eq!(rejection.code.unwrap(), closed());
}

#[tokio::test]
async fn a_decision_needs_a_reason_a_known_incident_and_a_verb_that_the_rule_allows() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let incidents = ledger.incidents();
    let incident = unknown(&ledger, "A").await.id;
    let silent = incidents.resolve(incident.clone(), TookHold::evidence("NTC-1")).await.unwrap_err();
    assert_eq!(silent.code(), LIMIT_EXCEEDED, "{silent}");
    let unsafe_retry = incidents.retry(incident.clone()).because("impatient").await.unwrap_err();
    assert_eq!(unsafe_retry.code(), RESOLUTION_REFUSED);
    let nobody_to_ask = incidents.ask(incident.clone()).because("impatient").await.unwrap_err();
    assert_eq!(nobody_to_ask.code(), RESOLUTION_REFUSED);
    let moved_on = incidents.resolve(incident, TookHold::evidence("NTC-1")).seen(7).because("found").await.unwrap_err();
    assert_eq!(moved_on.code(), RESOLUTION_REFUSED);
    let nothing = incidents.get(&IncidentId::stored("inc_nothing")).await.unwrap_err();
    assert_eq!(nothing.code(), INCIDENT_NOT_FOUND);
}

#[tokio::test]
async fn who_decided_is_the_installation_unless_a_person_is_named() {
    let fixture = LedgerFixture::new();
    let named = Settings { installation: Some("notices".to_owned()), ..settings() };
    let ledger = fixture.ledger_with(named).await;
    let incident = unknown(&ledger, "A").await.id;
    let incidents = ledger.incidents();
    incidents.resolve(incident.clone(), TookHold::evidence("NTC-1")).because("found").await.unwrap();
    assert_eq!(incidents.get(&incident).await.unwrap().closed_by.as_deref(), Some("notices"));
}

#[tokio::test]
async fn text_that_is_not_an_id_is_refused_when_the_operation_is_performed() {
    let fixture = LedgerFixture::new();
    let ledger =
        Ledger::sqlite(fixture.database()).settings(|settings| settings.record_for = Duration::ZERO).await.unwrap();
    let notices = ledger.kind(Kind::external_command("notice.issue")).unwrap();
    let refused = notices.operation("").perform(&"BREACH", |_| async { Ok(1) }).await.unwrap_err();
    assert_eq!(refused.code(), OPERATION_ID_INVALID);
}
