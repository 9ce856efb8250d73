//! Incidents that are not about an operation: one open a subject, opened and closed by its watcher.

use std::time::Duration;

use onefold_core::incident::{Incident, IncidentChange, Subject, SubjectSort};
use onefold_core::operation::{KindName, Tenant};
use onefold_core::port::{
    AnnouncementQueue as _, IncidentEvent, IncidentFilter, IncidentWrite as _, LedgerRead as _, Page, Sink,
    SubjectChange,
};
use onefold_core::retry::Category;

use crate::fixture::{StoreFixture, key};
use crate::harness::Harness;
use crate::kinds::{SECOND, escalates};
use crate::ledger::outcomes::unknown;

fn down<H: Harness>(fixture: &StoreFixture<H>, name: &str, worker: &str) -> SubjectChange {
    let name = KindName::parse(name).expect("a name");
    let change = IncidentChange::of_dependency(&name, worker, Duration::from_mins(1), fixture.now());
    SubjectChange { tenant: Tenant::default(), subject: Subject::dependency(name), change }
}

fn up<H: Harness>(fixture: &StoreFixture<H>, name: &str) -> SubjectChange {
    let subject = Subject::dependency(KindName::parse(name).expect("a name"));
    SubjectChange { tenant: Tenant::default(), subject, change: IncidentChange::close_by_evidence(fixture.now()) }
}

async fn about<H: Harness>(fixture: &StoreFixture<H>, subject: Option<SubjectSort>) -> Vec<Incident> {
    let filter = IncidentFilter { subject, ..IncidentFilter::default() };
    fixture.store().incidents(filter, Page::default()).await.expect("read").items
}

/// A subject has one open incident, however often and by however many it is opened; the next one after its closing is another.
pub async fn one_subject_has_one_open_incident<H: Harness>() {
    let mut fixture = StoreFixture::<H>::new().await;
    let dependency = Some(SubjectSort::Dependency);
    fixture.store().change_incidents(vec![up(&fixture, "bank")]).await.expect("nothing to close");
    assert!(about(&fixture, None).await.is_empty());
    for worker in ["host/1", "host/2", "host/3"] {
        fixture.store().change_incidents(vec![down(&fixture, "bank", worker)]).await.expect("written");
        fixture.wait(SECOND);
    }
    fixture.store().change_incidents(vec![down(&fixture, "post", "host/1")]).await.expect("written");
    fixture.reopen().await;
    let [post, bank] = &about(&fixture, dependency).await[..] else { panic!("two subjects have two incidents") };
    assert_eq!((&*post.subject.id, post.count), ("post", 1));
    assert_eq!((&*bank.subject.id, bank.count), ("bank", 3));
    assert_eq!(bank.operation_key(), None);
    fixture.store().change_incidents(vec![up(&fixture, "bank")]).await.expect("written");
    let closed = about(&fixture, dependency).await;
    assert_eq!(closed[1].closed_by.as_deref(), Some("evidence"));
    assert_eq!(closed[0], *post, "another subject is left alone");
    fixture.wait(SECOND);
    fixture.store().change_incidents(vec![down(&fixture, "bank", "host/1")]).await.expect("written");
    let again = about(&fixture, dependency).await;
    assert_eq!((again.len(), again[0].count), (3, 1));
    assert_ne!(again[0].id, bank.id);
}

/// Processes that find a subject away at once open one incident.
pub async fn processes_that_open_an_incident_at_once_open_one<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let all = (0..8).map(|number| {
        let (store, change) = (fixture.store().clone(), down(&fixture, "bank", &format!("host/{number}")));
        tokio::spawn(async move { store.change_incidents(vec![change]).await })
    });
    for writing in all.collect::<Vec<_>>() {
        writing.await.expect("it runs").expect("written");
    }
    let open = about(&fixture, Some(SubjectSort::Dependency)).await;
    assert_eq!((open.len(), open[0].count), (1, 8));
}

/// An operation and a dependency of one name are two subjects; a filter tells them apart, groups and counts do too.
pub async fn subjects_of_one_name_never_meet<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let name = terms.kind.as_str().to_owned();
    let lease = fixture.grant(&terms, &name).await;
    fixture.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
    fixture.store().change_incidents(vec![down(&fixture, &name, "host/1")]).await.expect("written");
    fixture.store().change_incidents(vec![up(&fixture, &name)]).await.expect("written");
    let operation = fixture.open_incident(&key(&terms, &name)).await.expect("its own incident is open");
    assert_eq!(operation.subject.sort, SubjectSort::Operation);
    assert_eq!(about(&fixture, Some(SubjectSort::Operation)).await, [operation]);
    assert_eq!(about(&fixture, Some(SubjectSort::Dependency)).await.len(), 1);
    fixture.store().change_incidents(vec![down(&fixture, &name, "host/1")]).await.expect("written");
    let groups = fixture.store().groups(Tenant::default()).await.expect("read");
    assert_eq!(groups.iter().map(|group| group.incidents).collect::<Vec<_>>(), [1, 1]);
    let open = fixture.store().counts().await.expect("read").open_incidents;
    assert_eq!(open.iter().map(|(_, count)| count).sum::<u64>(), 2);
}

/// A sink that is told of incidents is told of these too.
pub async fn an_incident_about_a_dependency_is_announced<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    fixture.store().change_incidents(vec![down(&fixture, "bank", "host/1")]).await.expect("written");
    let untold = fixture.store().untold(Sink::Webhook, 10).await.expect("read");
    let [(IncidentEvent::Opened, incident)] = &untold[..] else { panic!("{untold:?}") };
    assert_eq!(incident.subject.to_string(), "dependency bank");
}
