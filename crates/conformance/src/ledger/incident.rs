//! The work item that a person gets.

use std::sync::Arc;

use onefold_core::effect::KindSpec;
use onefold_core::error::{DOWNSTREAM_TIMEOUT, DUPLICATE_SUSPECTED, HOLDER_LOST};
use onefold_core::incident::{Cause, Incident, IncidentId, Needs, Subject};
use onefold_core::ledger::{ClaimRequest, Failure, Holder, Lease, Origin, Outcome, SideEffect, Source};
use onefold_core::operation::Tenant;
use onefold_core::port::{IncidentFilter, LedgerRead as _, Page};
use onefold_core::retry::Category;

use crate::fixture::{StoreFixture, granted, key, key_in};
use crate::harness::Harness;
use crate::kinds::{LEASE, SECOND, SLACK, escalates, financial, reruns};
use crate::ledger::outcomes::{completed, rejected, unknown};

/// Every field of an incident is kept and read back, in this life and in the next.
pub async fn every_field_is_kept_and_read_back<H: Harness>() {
    let mut fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let text = |value: &str| Some(Arc::from(value));
    let origin = Origin {
        source: Source::Job,
        business_key: text("CASE-2026-000091"),
        correlation_id: text("trace-1"),
        process_id: text("enforcement"),
        definition_key: text("2251799813685250"),
        definition_version: text("7"),
        process_instance_key: text("2251799813689751"),
        element_id: text("IssueNotice"),
        job_key: text("2251799813689760"),
    };
    let holder = Holder { worker: Arc::from("host-7/42"), installation: None };
    let started = fixture.now();
    let lease = granted(fixture.claim(ClaimRequest { origin, holder, ..fixture.claim_of(&terms, "A") }).await);
    fixture.wait(3 * SECOND);
    let failure = Failure {
        dependency: text("notice-gateway"),
        ..Failure::technical(Category::DownstreamTimeout, SideEffect::Unknown)
    };
    fixture.record(&terms, &lease, Outcome::Unknown(failure)).await;
    let now = fixture.now();
    let read = fixture.open_incident(&lease.key).await.expect("an incident");
    let expected = Incident {
        id: read.id.clone(),
        tenant: Tenant::default(),
        subject: Subject::operation(&lease.key),
        fence: 1,
        process_id: text("enforcement"),
        definition_key: text("2251799813685250"),
        definition_version: text("7"),
        process_instance_key: text("2251799813689751"),
        element_id: text("IssueNotice"),
        job_key: text("2251799813689760"),
        business_key: text("CASE-2026-000091"),
        correlation_id: text("trace-1"),
        category: Category::DownstreamTimeout,
        error_code: DOWNSTREAM_TIMEOUT.name(),
        dependency: text("notice-gateway"),
        side_effect_status: Some(SideEffect::Unknown),
        attempts: 1,
        attempts_ended_because: Arc::from("a repetition is not declared safe"),
        safe_to_retry: false,
        needs: Needs::Reconciliation,
        first_check: read.first_check.clone(),
        suggested_action: read.suggested_action.clone(),
        runbook: Arc::from("/runbooks/unknown-outcome"),
        message: read.message.clone(),
        worker: Arc::from("host-7/42"),
        last_alive_at: started,
        causes: vec![Cause { code: DOWNSTREAM_TIMEOUT.name(), count: 1, last_seen: now }],
        group: read.group.clone(),
        count: 1,
        first_seen: now,
        last_seen: now,
        closed_at: None,
        closed_by: None,
    };
    assert_eq!(read, expected);
    assert!(read.id.as_str().starts_with("inc_"));
    assert!(read.message.as_str().contains("host-7/42") && !read.suggested_action.is_empty(), "{read:?}");
    fixture.reopen().await;
    assert_eq!(fixture.open_incident(&lease.key).await, Some(expected));
}

/// An operation has one open incident: repeats count up, a second cause joins, and the gravest heads it.
pub async fn causes_join_the_one_open_incident_and_the_gravest_heads_it<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    let mut leases: Vec<Lease> = Vec::new();
    for _ in 0..3 {
        leases.push(granted(fixture.claim(fixture.claim_of(&terms, "A")).await));
        fixture.wait(LEASE + SLACK);
        fixture.sweep().await;
        fixture.wait(60 * SECOND);
    }
    leases.push(granted(fixture.claim(fixture.claim_of(&terms, "A")).await));
    let opened = fixture.now();
    fixture.record(&terms, &leases[0], completed(b"0")).await;
    fixture.wait(SECOND);
    fixture.record(&terms, &leases[1], completed(b"1")).await;
    fixture.record(&terms, &leases[3], completed(b"3")).await;
    fixture.wait(SECOND);
    fixture.record(&terms, &leases[3], rejected()).await;
    let every = fixture.incidents_of(&leases[0].key).await;
    assert_eq!(every.len(), 1);
    let incident = &every[0];
    assert_eq!((incident.count, incident.error_code.clone()), (3, DUPLICATE_SUSPECTED.name()));
    assert_eq!((incident.first_seen, incident.last_seen), (opened, opened.plus(2 * SECOND)));
    let causes: Vec<_> = incident.causes.iter().map(|cause| (cause.code.as_str(), cause.count)).collect();
    assert_eq!(causes, [("DUPLICATE_SUSPECTED", 2), ("OUTCOME_CONFLICT", 1)]);
    assert_eq!(fixture.entry(&leases[0].key).await.incident, Some(incident.id.clone()));
}

/// A lost holder that turns out to have been superseded: the graver cause takes the incident over, under one id.
pub async fn a_graver_cause_takes_the_incident_over<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let (lax, strict) = (reruns(), Arc::new(KindSpec { kind: reruns().kind.clone(), ..KindSpec::clone(&escalates()) }));
    let first = fixture.lost(&lax, "A").await;
    fixture.wait(SECOND);
    granted(fixture.claim(fixture.claim_of(&lax, "A")).await);
    fixture.wait(LEASE + SLACK);
    // The kind was declared stricter meanwhile.
    fixture.claim(fixture.claim_of(&strict, "A")).await;
    let before = fixture.open_incident(&first.key).await.expect("an incident");
    assert_eq!(before.error_code, HOLDER_LOST);
    fixture.record(&strict, &first, completed(b"1")).await;
    let after = fixture.open_incident(&first.key).await.expect("an incident");
    assert_eq!((after.id, after.error_code, after.count), (before.id, DUPLICATE_SUSPECTED.name(), 2));
}

/// Evidence closes an open question, never a suspicion; what is closed stays to be read.
pub async fn a_closed_incident_stays_to_be_read<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.lost(&terms, "A").await;
    fixture.record(&terms, &lease, completed(b"1")).await;
    fixture.wait(SECOND);
    fixture.record(&terms, &lease, rejected()).await;
    let every = fixture.incidents_of(&lease.key).await;
    assert_eq!(every.iter().map(Incident::is_open).collect::<Vec<_>>(), [true, false], "newest first");
    assert_ne!(every[0].id, every[1].id);
    let open_only = IncidentFilter { open_only: true, ..IncidentFilter::default() };
    let open = fixture.store().incidents(open_only, Page::default()).await.expect("read").items;
    assert_eq!(open, every[..1]);
}

/// A crash of a process that held n leases is one group, headed by its oldest incident; other causes are other groups.
pub async fn incidents_of_one_cause_are_one_group_headed_by_the_oldest<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for id in ["T1", "T2", "T3"] {
        let lease = fixture.grant(&terms, id).await;
        fixture.record(&terms, &lease, unknown(Category::DownstreamTimeout)).await;
        fixture.wait(SECOND);
    }
    let other = fixture.grant(&financial(), "F").await;
    fixture.record(&financial(), &other, unknown(Category::DownstreamTimeout)).await;
    for (id, kind) in [("L1", escalates()), ("L2", escalates()), ("L3", financial()), ("L4", financial())] {
        fixture.grant(&kind, id).await;
    }
    fixture.wait(LEASE + SLACK);
    fixture.sweep().await;
    let groups = fixture.store().groups(Tenant::default()).await.expect("read");
    let shown: Vec<_> = groups.iter().map(|group| (group.incidents, group.head.error_code.as_str())).collect();
    assert_eq!(shown, [(4, "HOLDER_LOST"), (3, "DOWNSTREAM_TIMEOUT"), (1, "DOWNSTREAM_TIMEOUT")]);
    let timeouts = &groups[1];
    assert_eq!(&*timeouts.head.subject.id, "T1", "the oldest heads its group");
    assert_eq!(timeouts.last_seen.since(timeouts.first_seen), 2 * SECOND);
    // A group shrinks as its incidents are closed, and its head moves on.
    let first = fixture.entry(&key(&terms, "T1")).await;
    let lease = Lease { fence: 1, attempt_id: first.attempt_id, ..fixture.grant(&terms, "SPARE").await };
    let lease = Lease { key: first.key, ..lease };
    let verb = onefold_core::ledger::Verb::Resolve(onefold_core::ledger::Resolution::DidNotHappen { force: true });
    fixture.resolve(&terms, lease.key.id.as_str(), "ada", verb).await.expect("allowed");
    let groups = fixture.store().groups(Tenant::default()).await.expect("read");
    assert_eq!((groups[1].incidents, &*groups[1].head.subject.id), (2, "T2"));
    assert!(fixture.store().groups(Tenant::parse("other").expect("a name")).await.expect("read").is_empty());
}

/// The head is the oldest even when a younger incident was seen last and an older one was seen again.
pub async fn the_head_of_a_group_is_the_oldest_whatever_was_seen_last<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    let mut late = Vec::new();
    for id in ["C", "A", "B"] {
        let lease = fixture.grant(&terms, id).await;
        fixture.wait(LEASE + SLACK);
        fixture.sweep().await;
        fixture.wait(10 * SECOND);
        granted(fixture.claim(fixture.claim_of(&terms, id)).await);
        fixture.record(&terms, &lease, completed(b"1")).await;
        late.push(lease);
    }
    for seen_again in [1, 0, 2] {
        fixture.wait(SECOND);
        fixture.record(&terms, &late[seen_again], completed(b"2")).await;
        let groups = fixture.store().groups(Tenant::default()).await.expect("read");
        assert_eq!(groups.len(), 1);
        assert_eq!(&*groups[0].head.subject.id, "C");
        assert_eq!((groups[0].head.first_seen, groups[0].last_seen), (groups[0].first_seen, fixture.now()));
    }
}

/// Each filter narrows the list; tenants see their own only.
pub async fn incidents_are_found_by_every_filter<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let (notice, sanction) = (escalates(), financial());
    let theirs = ClaimRequest { key: key_in("other", notice.kind.as_str(), "X"), ..fixture.claim_of(&notice, "X") };
    let theirs = granted(fixture.claim(theirs).await);
    fixture.record(&notice, &theirs, unknown(Category::DownstreamTimeout)).await;
    for (terms, id) in [(&notice, "A"), (&notice, "B"), (&sanction, "C")] {
        let lease = fixture.grant(terms, id).await;
        fixture.record(terms, &lease, unknown(Category::DownstreamTimeout)).await;
    }
    let lease = fixture.grant(&notice, "D").await;
    fixture.record(&notice, &lease, unknown(Category::Unexpected)).await;
    let verb = onefold_core::ledger::Verb::Resolve(onefold_core::ledger::Resolution::TookHold(
        crate::ledger::outcomes::completion(b"1", None),
    ));
    fixture.resolve(&notice, "D", "ada", verb).await.expect("allowed");
    let found = |filter: IncidentFilter| {
        let store = Arc::clone(fixture.store());
        async move {
            let listed = store.incidents(filter, Page::default()).await.expect("read").items;
            listed.into_iter().map(|incident| incident.subject.id.to_string()).collect::<Vec<_>>()
        }
    };
    let any = IncidentFilter::default;
    let a = fixture.open_incident(&key(&notice, "A")).await.expect("an incident");
    assert_eq!(found(any()).await, ["D", "C", "B", "A"]);
    assert_eq!(found(IncidentFilter { open_only: true, ..any() }).await, ["C", "B", "A"]);
    assert_eq!(found(IncidentFilter { kind: Some(sanction.kind.clone()), ..any() }).await, ["C"]);
    assert_eq!(found(IncidentFilter { id: Some(a.id.clone()), ..any() }).await, ["A"]);
    assert_eq!(found(IncidentFilter { group: Some(a.group.as_str().to_owned()), ..any() }).await, ["B", "A"]);
    let both = IncidentFilter { id: Some(a.id), kind: Some(sanction.kind.clone()), ..any() };
    assert!(found(both).await.is_empty());
    assert!(found(IncidentFilter { id: Some(IncidentId::stored("inc_none")), ..any() }).await.is_empty());
    assert_eq!(found(IncidentFilter { tenant: Tenant::parse("other").expect("a name"), ..any() }).await, ["X"]);
}

/// Pages hold every incident once, newest first, whatever is added while one reads.
pub async fn incidents_are_read_page_by_page<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let open = |id: String| {
        let (fixture, terms) = (&fixture, &terms);
        async move {
            let lease = fixture.grant(terms, &id).await;
            fixture.record(terms, &lease, unknown(Category::DownstreamTimeout)).await;
        }
    };
    for index in 0..7 {
        open(format!("OLD-{index}")).await;
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = Page { after, limit: 3 };
        let listed = fixture.store().incidents(IncidentFilter::default(), page).await.expect("read");
        assert!(listed.items.len() <= 3);
        seen.extend(listed.items.into_iter().map(|incident| incident.subject.id.to_string()));
        open(format!("NEW-{}", seen.len())).await;
        after = listed.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, (0..7).rev().map(|index| format!("OLD-{index}")).collect::<Vec<_>>());
}
