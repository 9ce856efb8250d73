//! What everyone on a store shares beside operations.

use onefold_core::ledger::Note;
use onefold_core::operation::{KindName, Tenant};
use onefold_core::ports::{Counts, Look as _, Pinned, Share as _, Token};
use onefold_core::retry::Category;

use crate::harness::Harness;
use crate::kinds::escalates;
use crate::outcomes::{completed, retryable, unknown};
use crate::scene::{Scene, key};

/// The first declaration of a kind stands, whoever declares it again, and outlives its process.
pub async fn the_first_declaration_of_a_kind_stands<H: Harness>() {
    let mut scene = Scene::<H>::new().await;
    let kind = KindName::parse("notice.issue").expect("a name");
    let first = Pinned { kind: kind.clone(), declaration: "{\"class\":\"pure\"}".into(), at: scene.now() };
    let second = Pinned { declaration: "{}".into(), ..first.clone() };
    assert_eq!(scene.store().pin(first.clone()).await.expect("pinned"), first);
    assert_eq!(scene.store().pin(second.clone()).await.expect("pinned"), first);
    scene.reopen().await;
    assert_eq!(scene.store().pin(second).await.expect("pinned"), first);
    assert_eq!(scene.store().pinned().await.expect("read"), [first]);
}

/// A token is found as it was put, replaced by its name, and gone when it is dropped.
pub async fn a_token_is_replaced_by_its_name_and_can_be_dropped<H: Harness>() {
    let mut scene = Scene::<H>::new().await;
    let token = |role: &str, byte: u8| Token {
        name: "night-shift".into(),
        role: role.into(),
        tenant: Tenant::parse("north").expect("a name"),
        digest: [byte; 32],
        created_at: onefold_core::Timestamp::from_micros(1),
    };
    assert!(scene.store().tokens().await.expect("read").is_empty());
    scene.store().put_token(token("reader", 1)).await.expect("written");
    scene.store().put_token(token("operator", 2)).await.expect("written");
    scene.reopen().await;
    assert_eq!(scene.store().tokens().await.expect("read"), [token("operator", 2)]);
    assert!(scene.store().drop_token("night-shift".to_owned()).await.expect("written"));
    assert!(!scene.store().drop_token("night-shift".to_owned()).await.expect("written"));
    assert!(scene.store().tokens().await.expect("read").is_empty());
}

/// Who looked at an operation stands in its timeline, and nothing else of it changes.
pub async fn who_looked_stands_in_the_timeline<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    let lease = scene.grant(&terms, "A").await;
    scene.record(&terms, &lease, completed(b"1")).await;
    let before = scene.store().find(vec![key(&terms, "A")]).await.expect("read");
    let note = Note { at: scene.now(), who: "night-shift".into(), what: "read the result".into(), why: None, fence: 1 };
    scene.store().witness(key(&terms, "A"), note).await.expect("written");
    assert_eq!(scene.store().find(vec![key(&terms, "A")]).await.expect("read"), before);
    let timeline = scene.store().timeline(key(&terms, "A")).await.expect("read").expect("there");
    assert!(timeline.iter().any(|event| &*event.who == "night-shift" && event.what == "read the result"));
}

/// What waits for a person is counted by category, and nothing else is.
pub async fn what_waits_for_a_person_is_counted_by_category<H: Harness>() {
    let scene = Scene::<H>::new().await;
    let terms = escalates();
    assert_eq!(scene.store().counts().await.expect("read"), Counts::default());
    let outcomes = [
        ("A", completed(b"1")),
        ("B", unknown(Category::DownstreamTimeout)),
        ("C", unknown(Category::DownstreamTimeout)),
        ("D", retryable(Category::RateLimited)),
    ];
    for (id, outcome) in outcomes {
        let lease = scene.grant(&terms, id).await;
        scene.record(&terms, &lease, outcome).await;
    }
    let two = vec![(Category::DownstreamTimeout, 2)];
    assert_eq!(scene.store().counts().await.expect("read"), Counts { unknown: two.clone(), open_incidents: two });
}
