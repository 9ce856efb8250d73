//! What time does: silent holders, retries and questions that nobody makes.

use std::sync::Arc;

use onefold_core::effect::{Kinds, Terms};
use onefold_core::incident::Needs;
use onefold_core::ledger::{OVERDUE_FOR, Recorded, SideEffect, Status};
use onefold_core::ports::{SweepScope, Swept};
use onefold_core::retry::Category;

use crate::harness::Harness;
use crate::kinds::{
    self, DEADLINE, LEASE, MEMORY, SECOND, SLACK, accepts_duplicates, asks, escalates, financial, reruns, same_key,
    voids,
};
use crate::outcomes::{completed, retryable, unknown};
use crate::scene::{Scene, granted, key};

fn dead(installation: &str) -> SweepScope {
    SweepScope::DeadHolder(Arc::from(installation))
}

/// A lease is left alone until it and the clocks' slack are over.
pub async fn a_lease_within_its_slack_is_left_alone<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let lease = scene.grant(&terms, "A").await;
    scene.wait(LEASE + SLACK - SECOND);
    assert_eq!(scene.sweep().await, Swept::default());
    assert_eq!(scene.entry(&lease.key).await.status, Status::Started);
    scene.wait(SECOND);
    assert_eq!(scene.sweep().await, Swept { to_person: 1, ..Swept::default() });
}

/// A silent holder's operation moves as its policy says: to a retry, to a question, or to a person with an incident.
pub async fn an_expired_lease_moves_by_its_policy<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let every: [(Arc<Terms>, Status, bool, bool); 7] = [
        (reruns(), Status::FailedRetryable, false, false),
        (accepts_duplicates(), Status::FailedRetryable, false, false),
        (same_key(), Status::FailedRetryable, false, false),
        (asks(), Status::Unknown, true, false),
        (voids(), Status::Unknown, true, false),
        (escalates(), Status::Unknown, false, true),
        (financial(), Status::Unknown, false, true),
    ];
    for (terms, ..) in &every {
        scene.grant(terms, "A").await;
    }
    scene.wait(LEASE + SLACK);
    assert_eq!(scene.sweep().await, Swept { to_retry: 3, to_ask: 2, to_person: 2, more: false });
    for (terms, status, asked, alarmed) in every {
        let entry = scene.entry(&key(&terms, "A")).await;
        assert_eq!((entry.status, entry.side_effect), (status, SideEffect::Unknown), "{}", terms.kind);
        assert_eq!((entry.next_ask_at.is_some(), entry.incident.is_some()), (asked, alarmed), "{}", terms.kind);
        assert_eq!(entry.error_code, Some(Category::HolderLost.code().name()));
        assert_eq!(scene.open_incident(&entry.key).await.map(|incident| incident.id), entry.incident);
        assert!(scene.story(&entry.key).await.iter().any(|line| line.contains("went silent")), "{}", terms.kind);
    }
    assert_eq!(scene.sweep().await, Swept::default(), "a second sweep finds nothing");
}

/// A sweeper that does not know a kind follows the stored contract.
pub async fn a_kind_that_nobody_knows_follows_its_stored_contract<H: Harness>() {
    let scene = Scene::<H>::new().await;
    for terms in [reruns(), escalates(), asks()] {
        scene.grant(&terms, "A").await;
    }
    scene.wait(LEASE + SLACK);
    let swept = scene.sweep_with(SweepScope::Overdue, Arc::new(Kinds::new()), 100).await;
    assert_eq!(swept, Swept { to_retry: 1, to_ask: 1, to_person: 1, more: false });
}

/// Same key: once the provider may have forgotten the key, nobody repeats it and a person is asked.
pub async fn a_key_that_may_be_forgotten_goes_to_a_person<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = same_key();
    let lease = scene.lost(&terms, "A").await;
    assert_eq!(scene.entry(&lease.key).await.escalate_at, Some(lease.deadline.minus(DEADLINE).plus(MEMORY)));
    scene.wait(MEMORY - LEASE - SLACK - SECOND);
    assert_eq!(scene.sweep().await, Swept::default());
    scene.wait(SECOND);
    assert_eq!(scene.sweep().await, Swept { to_person: 1, ..Swept::default() });
    let entry = scene.entry(&lease.key).await;
    assert_eq!((entry.status, entry.escalate_at), (Status::Unknown, None));
    assert!(scene.open_incident(&lease.key).await.is_some());
}

/// A retry that nobody makes in the time given ends: final where nothing took hold, with an incident.
pub async fn an_overdue_retry_ends_with_an_incident<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let mut terms = Terms::clone(&escalates());
    terms.retry.escalate_within = Some(120 * SECOND);
    let terms = Arc::new(terms);
    let lease = scene.grant(&terms, "A").await;
    let recorded = scene.record(&terms, &lease, retryable(Category::RateLimited)).await;
    assert!(matches!(recorded, Recorded::Settled { status: Status::FailedRetryable, .. }));
    scene.wait(119 * SECOND);
    assert_eq!(scene.sweep().await, Swept::default());
    scene.wait(SECOND);
    assert_eq!(scene.sweep().await, Swept { to_person: 1, ..Swept::default() });
    let entry = scene.entry(&lease.key).await;
    assert_eq!((entry.status, entry.side_effect), (Status::FailedFinal, SideEffect::NotApplied));
    assert!(scene.open_incident(&lease.key).await.expect("an incident").safe_to_retry);
}

/// A question that no process asks for an hour goes to a person.
pub async fn an_overdue_question_goes_to_a_person<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = asks();
    let lease = scene.lost(&terms, "A").await;
    scene.wait(OVERDUE_FOR - SECOND);
    assert_eq!(scene.sweep().await, Swept::default());
    scene.wait(SECOND);
    assert_eq!(scene.sweep().await, Swept { to_person: 1, ..Swept::default() });
    let incident = scene.open_incident(&lease.key).await.expect("an incident");
    assert_eq!(incident.needs, Needs::DeploymentFix);
    assert_eq!(scene.entry(&lease.key).await.next_ask_at, None);
}

/// A proved death settles at once what that installation's own `perform` held: nobody else's, no caller's, nothing settled.
pub async fn a_dead_holder_leaves_other_leases_alone<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    for id in ["A1", "A2"] {
        scene.grant_to(&terms, id, "alpha").await;
    }
    let done = scene.grant_to(&terms, "DONE", "alpha").await;
    scene.record(&terms, &done, completed(b"1")).await;
    scene.grant_to(&terms, "B", "beta").await;
    scene.grant_to(&terms, "CASE", "Alpha").await;
    scene.grant(&terms, "CALLER").await;
    let swept = scene.sweep_with(dead("alpha"), kinds::all(), 100).await;
    assert_eq!(swept, Swept { to_person: 2, ..Swept::default() });
    for (id, status) in [
        ("A1", Status::Unknown),
        ("A2", Status::Unknown),
        ("DONE", Status::Completed),
        ("B", Status::Started),
        ("CASE", Status::Started),
        ("CALLER", Status::Started),
    ] {
        assert_eq!(scene.entry(&key(&terms, id)).await.status, status, "{id}");
    }
    assert_eq!(scene.sweep_with(dead("alpha"), kinds::all(), 100).await, Swept::default());
}

/// A dead holder's operations move by their policies, and rerun is granted again after its backoff.
pub async fn a_dead_holder_is_settled_by_policy<H: Harness>() {
    let scene = Scene::<H>::new().await;
    for terms in [reruns(), asks(), escalates()] {
        scene.grant_to(&terms, "A", "alpha").await;
    }
    let swept = scene.sweep_with(dead("alpha"), kinds::all(), 100).await;
    assert_eq!(swept, Swept { to_retry: 1, to_ask: 1, to_person: 1, more: false });
    scene.wait(SECOND);
    assert_eq!(granted(scene.claim(scene.claim_of(&reruns(), "A")).await).fence, 2);
}

/// A sweep moves as many as it may and says whether there is more; sweeping on reaches all of them.
pub async fn a_sweep_moves_at_most_its_limit_and_says_that_there_is_more<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    for (round, scope) in [SweepScope::Overdue, dead("alpha")].into_iter().enumerate() {
        for index in 0..7 {
            scene.grant_to(&terms, &format!("OP-{round}-{index}"), "alpha").await;
        }
        scene.wait(LEASE + SLACK);
        let mut moved = Vec::new();
        loop {
            let swept = scene.sweep_with(scope.clone(), kinds::all(), 3).await;
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
    let scene = Scene::<H>::new().await;
    let mut ends = Terms::clone(&escalates());
    ends.retry.escalate_within = Some(120 * SECOND);
    let ends = Arc::new(ends);
    for id in ["A", "B"] {
        let waiting = scene.grant(&ends, id).await;
        scene.record(&ends, &waiting, retryable(Category::RateLimited)).await;
        let asked = scene.grant(&asks(), id).await;
        scene.record(&asks(), &asked, unknown(Category::DownstreamTimeout)).await;
        scene.grant(&financial(), id).await;
    }
    scene.wait(OVERDUE_FOR);
    let mut moved = 0;
    for _ in 0..3 {
        let swept = scene.sweep_with(SweepScope::Overdue, kinds::all(), 2).await;
        assert!(swept.total() <= 2, "{swept:?}");
        moved += swept.total();
    }
    assert_eq!(moved, 6);
}

/// Leases that are still within a long slack do not keep others from being swept.
pub async fn leases_within_a_long_slack_keep_nobody_from_being_swept<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let slow = Arc::new(Terms { clock_slack: MEMORY, ..Terms::clone(&financial()) });
    let quick = escalates();
    for index in 0..5 {
        scene.grant(&slow, &format!("SLOW-{index}")).await;
    }
    scene.wait(SECOND);
    let lease = scene.grant(&quick, "QUICK").await;
    scene.wait(LEASE + SLACK);
    let known: Kinds = [&slow, &quick].into_iter().map(|terms| (terms.kind.clone(), Arc::clone(terms))).collect();
    let known = Arc::new(known);
    for _ in 0..5 {
        if !scene.sweep_with(SweepScope::Overdue, Arc::clone(&known), 5).await.more {
            break;
        }
    }
    assert_eq!(scene.entry(&lease.key).await.status, Status::Unknown);
}
