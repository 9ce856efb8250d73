//! What time does: silent holders, retries and questions that are overdue.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::effect::{KindSpec, Kinds};
use onefold_core::incident::Needs;
use onefold_core::ledger::{OVERDUE_FOR, Recorded, SideEffect, Status};
use onefold_core::port::{SweepScope, Swept};
use onefold_core::retry::{Category, Schedule};

use crate::fixture::{StoreFixture, granted, key};
use crate::harness::Harness;
use crate::kinds::{
    self, DEADLINE, LEASE, MEMORY, SECOND, SLACK, accepts_duplicates, asks, escalates, financial, reruns, same_key,
    voids,
};
use crate::ledger::outcomes::{completed, retryable, unknown};

fn dead(installation: &str) -> SweepScope {
    SweepScope::DeadHolder(Arc::from(installation))
}

/// A lease is left alone until it and the clocks' slack are over.
pub async fn a_lease_within_its_slack_is_left_alone<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    fixture.wait(LEASE + SLACK - SECOND);
    assert_eq!(fixture.sweep().await, Swept::default());
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Started);
    fixture.wait(SECOND);
    assert_eq!(fixture.sweep().await, Swept { to_person: 1, ..Swept::default() });
}

/// A silent holder's operation moves as its policy says: to a retry, to a question, or to a person with an incident.
pub async fn an_expired_lease_moves_by_its_policy<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let every: [(Arc<KindSpec>, Status, bool, bool); 7] = [
        (reruns(), Status::FailedRetryable, false, false),
        (accepts_duplicates(), Status::FailedRetryable, false, false),
        (same_key(), Status::FailedRetryable, false, false),
        (asks(), Status::Unknown, true, false),
        (voids(), Status::Unknown, true, false),
        (escalates(), Status::Unknown, false, true),
        (financial(), Status::Unknown, false, true),
    ];
    for (terms, ..) in &every {
        fixture.grant(terms, "A").await;
    }
    fixture.wait(LEASE + SLACK);
    assert_eq!(fixture.sweep().await, Swept { to_retry: 3, to_ask: 2, to_person: 2, more: false });
    for (terms, status, asked, alarmed) in every {
        let entry = fixture.entry(&key(&terms, "A")).await;
        assert_eq!((entry.status, entry.side_effect), (status, SideEffect::Unknown), "{}", terms.kind);
        assert_eq!((entry.next_ask_at.is_some(), entry.incident.is_some()), (asked, alarmed), "{}", terms.kind);
        assert_eq!(entry.error_code, Some(Category::HolderLost.code().name()));
        assert_eq!(fixture.open_incident(&entry.key).await.map(|incident| incident.id), entry.incident);
        assert!(fixture.story(&entry.key).await.iter().any(|line| line.contains("went silent")), "{}", terms.kind);
    }
    assert_eq!(fixture.sweep().await, Swept::default(), "a second sweep finds nothing");
}

/// What is performed again although it may have taken hold tells why that is accepted: in its row, and in its timeline
/// whether a sweeper, a record or the next claim decides it.
pub async fn an_accepted_duplicate_tells_why_it_was_accepted<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let mut terms = KindSpec::clone(&accepts_duplicates());
    terms.retry = terms.retry.with(Category::HolderLost, Some(Schedule::Steps([Duration::ZERO].into())), "at once");
    let terms = Arc::new(terms);
    let swept = fixture.grant(&terms, "SWEPT").await;
    let taken_over = fixture.grant(&terms, "TAKEN-OVER").await;
    let recorded = fixture.grant(&terms, "RECORDED").await;
    fixture.record(&terms, &recorded, unknown(Category::DownstreamTimeout)).await;
    fixture.wait(LEASE + SLACK);
    granted(fixture.claim(fixture.claim_of(&terms, "TAKEN-OVER")).await);
    fixture.sweep().await;
    for lease in [swept, taken_over, recorded] {
        let contract = fixture.entry(&lease.key).await.contract;
        assert_eq!(contract.policy().to_string(), "accept_duplicate because a second reminder harms nobody");
        let story = fixture.story(&lease.key).await;
        let told = "a second effect is accepted (a second reminder harms nobody)";
        assert_eq!(story.iter().filter(|line| line.contains(told)).count(), 1, "{}: {story:#?}", lease.key);
    }
}

/// A sweeper that does not know a kind follows the stored contract.
pub async fn a_kind_that_nobody_knows_follows_its_stored_contract<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    for terms in [reruns(), escalates(), asks()] {
        fixture.grant(&terms, "A").await;
    }
    fixture.wait(LEASE + SLACK);
    let swept = fixture.sweep_with(SweepScope::Overdue, Arc::new(Kinds::new()), 100).await;
    assert_eq!(swept, Swept { to_retry: 1, to_ask: 1, to_person: 1, more: false });
}

/// Same key: once the provider may have forgotten the key, nobody repeats it and a person is asked.
pub async fn a_key_that_may_be_forgotten_goes_to_a_person<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = same_key();
    let lease = fixture.lost(&terms, "A").await;
    assert_eq!(fixture.entry(&lease.key).await.escalate_at, Some(lease.deadline.minus(DEADLINE).plus(MEMORY)));
    fixture.wait(MEMORY - LEASE - SLACK - SECOND);
    assert_eq!(fixture.sweep().await, Swept::default());
    fixture.wait(SECOND);
    assert_eq!(fixture.sweep().await, Swept { to_person: 1, ..Swept::default() });
    let entry = fixture.entry(&lease.key).await;
    assert_eq!((entry.status, entry.escalate_at), (Status::Unknown, None));
    assert!(fixture.open_incident(&lease.key).await.is_some());
}

/// A retry that is not made in time ends: final where nothing took hold, with an incident.
pub async fn an_overdue_retry_ends_with_an_incident<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let mut terms = KindSpec::clone(&escalates());
    terms.retry.escalate_within = Some(120 * SECOND);
    let terms = Arc::new(terms);
    let lease = fixture.grant(&terms, "A").await;
    let recorded = fixture.record(&terms, &lease, retryable(Category::RateLimited)).await;
    assert!(matches!(recorded, Recorded::Settled { status: Status::FailedRetryable, .. }));
    fixture.wait(119 * SECOND);
    assert_eq!(fixture.sweep().await, Swept::default());
    fixture.wait(SECOND);
    assert_eq!(fixture.sweep().await, Swept { to_person: 1, ..Swept::default() });
    let entry = fixture.entry(&lease.key).await;
    assert_eq!((entry.status, entry.side_effect), (Status::FailedFinal, SideEffect::NotApplied));
    assert!(fixture.open_incident(&lease.key).await.expect("an incident").safe_to_retry);
}

/// A question that no process asks for an hour goes to a person.
pub async fn an_overdue_question_goes_to_a_person<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = asks();
    let lease = fixture.lost(&terms, "A").await;
    fixture.wait(OVERDUE_FOR - SECOND);
    assert_eq!(fixture.sweep().await, Swept::default());
    fixture.wait(SECOND);
    assert_eq!(fixture.sweep().await, Swept { to_person: 1, ..Swept::default() });
    let incident = fixture.open_incident(&lease.key).await.expect("an incident");
    assert_eq!(incident.needs, Needs::DeploymentFix);
    assert_eq!(fixture.entry(&lease.key).await.next_ask_at, None);
}

/// A proved death settles at once what that installation's own `perform` held: nobody else's, no caller's, nothing settled.
pub async fn a_dead_holder_leaves_other_leases_alone<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for id in ["A1", "A2"] {
        fixture.grant_to(&terms, id, "alpha").await;
    }
    let done = fixture.grant_to(&terms, "DONE", "alpha").await;
    fixture.record(&terms, &done, completed(b"1")).await;
    fixture.grant_to(&terms, "B", "beta").await;
    fixture.grant_to(&terms, "CASE", "Alpha").await;
    fixture.grant(&terms, "CALLER").await;
    let swept = fixture.sweep_with(dead("alpha"), kinds::all(), 100).await;
    assert_eq!(swept, Swept { to_person: 2, ..Swept::default() });
    for (id, status) in [
        ("A1", Status::Unknown),
        ("A2", Status::Unknown),
        ("DONE", Status::Completed),
        ("B", Status::Started),
        ("CASE", Status::Started),
        ("CALLER", Status::Started),
    ] {
        assert_eq!(fixture.entry(&key(&terms, id)).await.status, status, "{id}");
    }
    assert_eq!(fixture.sweep_with(dead("alpha"), kinds::all(), 100).await, Swept::default());
}

/// A dead holder's operations move by their policies, and rerun is granted again after its backoff.
pub async fn a_dead_holder_is_settled_by_policy<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    for terms in [reruns(), asks(), escalates()] {
        fixture.grant_to(&terms, "A", "alpha").await;
    }
    let swept = fixture.sweep_with(dead("alpha"), kinds::all(), 100).await;
    assert_eq!(swept, Swept { to_retry: 1, to_ask: 1, to_person: 1, more: false });
    fixture.wait(SECOND);
    assert_eq!(granted(fixture.claim(fixture.claim_of(&reruns(), "A")).await).fence, 2);
}

/// A sweep moves as many as it may and says whether there is more; sweeping on reaches all of them.
pub async fn a_sweep_moves_at_most_its_limit_and_says_that_there_is_more<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    for (round, scope) in [SweepScope::Overdue, dead("alpha")].into_iter().enumerate() {
        for index in 0..7 {
            fixture.grant_to(&terms, &format!("OP-{round}-{index}"), "alpha").await;
        }
        fixture.wait(LEASE + SLACK);
        let mut moved = Vec::new();
        loop {
            let swept = fixture.sweep_with(scope.clone(), kinds::all(), 3).await;
            assert!(swept.total() <= 3, "{swept:?}");
            moved.push(swept.total());
            if !swept.more {
                break;
            }
        }
        assert_eq!(moved.iter().sum::<usize>(), 7, "{moved:?}");
    }
}

/// The limit counts every reason to move together: leases, retries and questions.
pub async fn the_limit_of_a_sweep_counts_every_reason<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let mut ends = KindSpec::clone(&escalates());
    ends.retry.escalate_within = Some(120 * SECOND);
    let ends = Arc::new(ends);
    for id in ["A", "B"] {
        let waiting = fixture.grant(&ends, id).await;
        fixture.record(&ends, &waiting, retryable(Category::RateLimited)).await;
        let asked = fixture.grant(&asks(), id).await;
        fixture.record(&asks(), &asked, unknown(Category::DownstreamTimeout)).await;
        fixture.grant(&financial(), id).await;
    }
    fixture.wait(OVERDUE_FOR);
    let mut moved = 0;
    for _ in 0..3 {
        let swept = fixture.sweep_with(SweepScope::Overdue, kinds::all(), 2).await;
        assert!(swept.total() <= 2, "{swept:?}");
        moved += swept.total();
    }
    assert_eq!(moved, 6);
}

/// Leases that are still within a long slack do not keep others from being swept.
pub async fn leases_within_a_long_slack_keep_nobody_from_being_swept<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let slow = Arc::new(KindSpec { clock_slack: MEMORY, ..KindSpec::clone(&financial()) });
    let quick = escalates();
    for index in 0..5 {
        fixture.grant(&slow, &format!("SLOW-{index}")).await;
    }
    fixture.wait(SECOND);
    let lease = fixture.grant(&quick, "QUICK").await;
    fixture.wait(LEASE + SLACK);
    let known: Kinds = [&slow, &quick].into_iter().map(|terms| (terms.kind.clone(), Arc::clone(terms))).collect();
    let known = Arc::new(known);
    for _ in 0..5 {
        if !fixture.sweep_with(SweepScope::Overdue, Arc::clone(&known), 5).await.more {
            break;
        }
    }
    assert_eq!(fixture.entry(&lease.key).await.status, Status::Unknown);
}
