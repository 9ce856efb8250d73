//! Reads.

use std::sync::Arc;

use onefold_core::Timestamp;
use onefold_core::error::DATABASE_IN_USE;
use onefold_core::ledger::{ClaimRequest, Holder, Origin, Question, ReconcilerAnswer, Source, Status};
use onefold_core::operation::Tenant;
use onefold_core::port::{Clock as _, Filter, InstallationLock, LedgerRead as _, Page, Store as _};
use onefold_core::retry::Category;

use crate::fixture::{StoreFixture, granted, key};
use crate::harness::Harness;
use crate::kinds::{LEASE, SECOND, SLACK, escalates, reruns, voids};
use crate::ledger::outcomes::{completed, rejected, retryable, unknown};

/// Operations are found in the order asked for, with a gap for each that does not exist.
pub async fn operations_are_found_in_the_order_asked_for<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for id in ["A", "B"] {
        fixture.grant(&terms, id).await;
    }
    let keys: Vec<_> = ["B", "NONE", "A", "B"].into_iter().map(|id| key(&terms, id)).collect();
    let found = fixture.store().find(keys).await.expect("read");
    let ids: Vec<_> = found.iter().map(|entry| entry.as_ref().map(|entry| entry.key.id.as_str())).collect();
    assert_eq!(ids, [Some("B"), None, Some("A"), Some("B")]);
    assert!(fixture.store().find(Vec::new()).await.expect("read").is_empty());
}

async fn found<H: Harness>(fixture: &StoreFixture<H>, filter: Filter) -> Vec<String> {
    let listed = fixture.store().list(filter, Page::default()).await.expect("read").items;
    listed.into_iter().map(|entry| entry.key.id.as_str().to_owned()).collect()
}

/// Each filter narrows the list, alone and with others; the newest comes first.
pub async fn operations_are_found_by_every_filter<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let (notice, status) = (escalates(), reruns());
    let start = fixture.now();
    let from = |business_key: Option<&str>, process: Option<&str>| Origin {
        business_key: business_key.map(Arc::from),
        process_instance_key: process.map(Arc::from),
        ..Origin::new(Source::Job)
    };
    let rows = [
        (&notice, "A", from(Some("CASE-1"), Some("P-1")), completed(b"1")),
        (&notice, "B", from(Some("CASE-1"), Some("P-2")), rejected()),
        (&status, "C", from(Some("CASE-2"), Some("P-1")), retryable(Category::RateLimited)),
        (&notice, "D", from(None, None), unknown(Category::DownstreamTimeout)),
    ];
    for (terms, id, origin, outcome) in rows {
        let lease = granted(fixture.claim(ClaimRequest { origin, ..fixture.claim_of(terms, id) }).await);
        fixture.record(terms, &lease, outcome).await;
        fixture.wait(SECOND);
    }
    let any = Filter::default;
    let text = |value: &str| Some(value.to_owned());
    let code = |category: Category| Some(category.code().name());
    let rows: Vec<(Filter, &[&str])> = vec![
        (Filter { id: Some(onefold_core::operation::OperationId::parse("C").expect("an id")), ..any() }, &["C"]),
        (any(), &["D", "C", "B", "A"]),
        (Filter { kind: Some(notice.kind.clone()), ..any() }, &["D", "B", "A"]),
        (Filter { status: Some(Status::Unknown), ..any() }, &["D"]),
        (Filter { status: Some(Status::Started), ..any() }, &[]),
        (Filter { business_key: text("CASE-1"), ..any() }, &["B", "A"]),
        (Filter { business_key: text("case-1"), ..any() }, &[]),
        (Filter { process_instance_key: text("P-1"), ..any() }, &["C", "A"]),
        (Filter { business_key: text("CASE-1"), process_instance_key: text("P-1"), ..any() }, &["A"]),
        (Filter { error_code: code(Category::RateLimited), ..any() }, &["C"]),
        (Filter { since: Some(start.plus(SECOND)), ..any() }, &["D", "C", "B"]),
        (Filter { until: Some(start.plus(SECOND)), ..any() }, &["A"]),
        (Filter { since: Some(start.plus(SECOND)), until: Some(start.plus(3 * SECOND)), ..any() }, &["C", "B"]),
        (Filter { business_key: text("CASE-1"), status: Some(Status::FailedFinal), ..any() }, &["B"]),
        (Filter { process_instance_key: text("P-1"), kind: Some(status.kind.clone()), ..any() }, &["C"]),
        (Filter { tenant: Tenant::parse("other").expect("a name"), ..any() }, &[]),
    ];
    for (filter, expected) in rows {
        assert_eq!(found(&fixture, filter.clone()).await, expected, "{filter:?}");
    }
}

/// Pages hold every operation once, newest first, whatever is added while one reads; also when narrowed.
pub async fn operations_are_read_page_by_page<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let origin = || Origin {
        business_key: Some(Arc::from("CASE-1")),
        process_instance_key: Some(Arc::from("P-1")),
        ..Origin::new(Source::Job)
    };
    let add = |id: String| {
        let request = ClaimRequest { origin: origin(), ..fixture.claim_of(&terms, &id) };
        fixture.claim(request)
    };
    for index in 0..7 {
        add(format!("OLD-{index}")).await;
    }
    let filters = [
        Filter::default(),
        Filter { business_key: Some("CASE-1".into()), ..Filter::default() },
        Filter { process_instance_key: Some("P-1".into()), ..Filter::default() },
    ];
    for (round, filter) in filters.into_iter().enumerate() {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let listed = fixture.store().list(filter.clone(), Page { after, limit: 3 }).await.expect("read");
            assert!(listed.items.len() <= 3);
            seen.extend(listed.items.into_iter().map(|entry| entry.key.id.as_str().to_owned()));
            add(format!("NEW-{round}-{}", seen.len())).await;
            after = listed.next;
            if after.is_none() {
                break;
            }
        }
        seen.retain(|id| id.starts_with("OLD"));
        assert_eq!(seen, (0..7).rev().map(|index| format!("OLD-{index}")).collect::<Vec<_>>());
    }
}

/// A page has at least one row and at most its largest size, whatever is asked for.
pub async fn a_page_is_bounded<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for id in ["A", "B"] {
        fixture.grant(&terms, id).await;
    }
    for (limit, rows) in [(0, 1), (1, 1), (usize::MAX, 2)] {
        let listed = fixture.store().list(Filter::default(), Page { after: None, limit }).await.expect("read");
        assert_eq!(listed.items.len(), rows, "{limit}");
    }
}

/// The story of an operation tells every attempt, the crashed one too, oldest first.
pub async fn the_timeline_never_loses_a_crashed_attempt<H: Harness>() {
    let mut fixture = StoreFixture::<H>::new().await;
    let terms = reruns();
    let on = |worker: &str| ClaimRequest {
        holder: Holder { worker: Arc::from(worker), installation: None },
        ..fixture.claim_of(&terms, "A")
    };
    let requests = [on("host/1"), on("host/2"), on("host/3"), on("host/4")];
    let [first, second, third, fourth] = requests;
    granted(fixture.claim(first).await);
    fixture.wait(SECOND);
    // The first crashes and a claim finds it; the second crashes and the sweeper finds it.
    fixture.wait(LEASE + SLACK);
    fixture.claim(second.clone()).await;
    fixture.wait(SECOND);
    granted(fixture.claim(second).await);
    fixture.wait(LEASE + SLACK);
    fixture.sweep().await;
    fixture.wait(10 * SECOND);
    let third = granted(fixture.claim(third).await);
    fixture.wait(SECOND);
    fixture.record(&terms, &third, retryable(Category::RateLimited)).await;
    fixture.wait(2000 * SECOND);
    let fourth = granted(fixture.claim(fourth).await);
    fixture.record(&terms, &fourth, completed(b"1")).await;
    fixture.reopen().await;
    let story = fixture.timeline(&fourth.key).await;
    assert!(story.is_sorted_by_key(|event| event.at));
    let told: Vec<_> = story.iter().map(|event| (event.fence, &*event.who)).collect();
    let expected = [1, 1, 2, 2, 3, 3, 4, 4].map(|fence| (fence, format!("host/{fence}")));
    assert_eq!(told, expected.iter().map(|(fence, who)| (*fence, who.as_str())).collect::<Vec<_>>());
    assert!(story[7].what.starts_with("completed"), "{story:#?}");
}

/// A takeover does not rewrite how the attempt before it ended: silence stays silence, with when it was last alive.
pub async fn a_takeover_keeps_how_the_attempt_before_it_ended<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let (lax, void) = (reruns(), voids());
    let mut lost = Vec::new();
    for terms in [&lax, &void] {
        lost.push(fixture.lost(terms, "A").await);
    }
    let silent =
        |story: &[String]| story.iter().filter(|line| line.starts_with("1 host/1: went silent")).cloned().collect();
    let mut before: Vec<Vec<String>> = Vec::new();
    for lease in &lost {
        before.push(silent(&fixture.story(&lease.key).await));
    }
    fixture.wait(60 * SECOND);
    fixture.answer(&void, &lost[1], Question::Void, ReconcilerAnswer::DidNot).await;
    for terms in [&lax, &void] {
        assert_eq!(granted(fixture.claim(fixture.claim_of(terms, "A")).await).fence, 2);
    }
    for (lease, before) in lost.iter().zip(before) {
        let story = fixture.story(&lease.key).await;
        assert_eq!((silent(&story), before.len()), (before, 1), "{story:#?}");
        assert!(!story.iter().any(|line| line.contains("released: nothing was sent")), "nobody said so: {story:#?}");
    }
}

/// What does not exist has no story.
pub async fn an_absent_operation_has_no_timeline<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    assert_eq!(fixture.store().timeline(key(&escalates(), "NONE")).await.expect("read"), None);
}

/// Whatever was answered is there in the next life: entries, stories, incidents, keys.
pub async fn everything_survives_a_reopen<H: Harness>() {
    let mut fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for (id, outcome) in [
        ("A", completed(b"\0\xff")),
        ("B", rejected()),
        ("C", retryable(Category::Maintenance)),
        ("D", unknown(Category::DownstreamTimeout)),
    ] {
        let lease = fixture.grant(&terms, id).await;
        fixture.record(&terms, &lease, outcome).await;
    }
    let released = fixture.grant(&terms, "E").await;
    fixture.release(&terms, &released).await;
    let held = fixture.grant(&terms, "F").await;
    let keys: Vec<_> = ["A", "B", "C", "D", "E", "F"].into_iter().map(|id| key(&terms, id)).collect();
    let mut before = Vec::new();
    for key in &keys {
        before.push((fixture.entry(key).await, fixture.timeline(key).await, fixture.incidents_of(key).await));
    }
    let duplicate = fixture.claim_of(&terms, "A");
    fixture.reopen().await;
    for (key, before) in keys.iter().zip(before) {
        assert_eq!((fixture.entry(key).await, fixture.timeline(key).await, fixture.incidents_of(key).await), before);
    }
    assert!(matches!(fixture.claim(duplicate).await, onefold_core::ledger::Claim::Replay(_)), "keys are the same");
    fixture.record(&terms, &held, completed(b"1")).await;
    assert_eq!(fixture.entry(&held.key).await.status, Status::Completed);
}

/// The store's time never goes back when somebody sets the clock back.
pub async fn time_never_goes_back_when_the_clock_is_set_back<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    fixture.wait(3600 * SECOND);
    let first = fixture.grant(&terms, "A").await;
    let at = fixture.entry(&first.key).await.created_at;
    fixture.clock.set(Timestamp::from_micros(at.as_micros() - 1_800_000_000));
    fixture.wait(SECOND);
    let lease = fixture.grant(&terms, "B").await;
    let later = fixture.entry(&lease.key).await.created_at;
    assert!(later >= at, "{later} is before {at}");
    assert_eq!(fixture.entry(&first.key).await.status, Status::Started);
    // A lease still ends: time goes on by the clock that nobody sets.
    fixture.wait(LEASE + SLACK);
    assert_eq!(fixture.sweep().await.total(), 2);
    assert!(fixture.clock.now() < at);
}

/// An installation's name has one owner at a time, and is free when the owner is gone; a store that cannot prove that
/// says so.
pub async fn an_installation_has_one_owner_at_a_time<H: Harness>() {
    let mut fixture = StoreFixture::<H>::new().await;
    let held = fixture.store().lock_installation("alpha").expect("free");
    if matches!(held, InstallationLock::Unproved) {
        assert!(matches!(fixture.store().lock_installation("alpha"), Ok(InstallationLock::Unproved)));
        return;
    }
    let other = fixture.store().lock_installation("beta").expect("another name");
    let refused = fixture.store().lock_installation("alpha").err().expect("taken");
    assert_eq!(refused.code(), DATABASE_IN_USE);
    assert!(refused.to_string().contains("alpha"), "{refused}");
    drop(held);
    drop(fixture.store().lock_installation("alpha").expect("free again"));
    drop(other);
    fixture.reopen().await;
    drop(fixture.store().lock_installation("alpha").expect("free in the next life"));
}
