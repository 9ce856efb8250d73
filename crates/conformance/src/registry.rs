//! What everyone on a store shares beside operations.

use onefold_core::ledger::Note;
use onefold_core::operation::{KindName, Tenant};
use onefold_core::port::{ApiToken, Counts, LedgerRead as _, LedgerWrite as _, Registry as _, StoredDeclaration};
use onefold_core::retry::Category;

use crate::fixture::{StoreFixture, key};
use crate::harness::Harness;
use crate::kinds::escalates;
use crate::ledger::outcomes::{completed, retryable, unknown};

/// The first declaration of a kind wins over later ones, and outlives its process.
pub async fn the_first_declaration_of_a_kind_stands<H: Harness>() {
    let mut fixture = StoreFixture::<H>::new().await;
    let kind = KindName::parse("notice.issue").expect("a name");
    let first = StoredDeclaration { kind: kind.clone(), declaration: "{\"class\":\"pure\"}".into(), at: fixture.now() };
    let second = StoredDeclaration { declaration: "{}".into(), ..first.clone() };
    assert_eq!(fixture.store().declare_if_absent(first.clone()).await.expect("pinned"), first);
    assert_eq!(fixture.store().declare_if_absent(second.clone()).await.expect("pinned"), first);
    fixture.reopen().await;
    assert_eq!(fixture.store().declare_if_absent(second).await.expect("pinned"), first);
    assert_eq!(fixture.store().declarations().await.expect("read"), [first]);
}

/// A token is found as it was put, replaced by its name, and gone when it is dropped.
pub async fn a_token_is_replaced_by_its_name_and_can_be_dropped<H: Harness>() {
    let mut fixture = StoreFixture::<H>::new().await;
    let token = |role: &str, byte: u8| ApiToken {
        name: "night-shift".into(),
        role: role.into(),
        tenant: Tenant::parse("north").expect("a name"),
        digest: [byte; 32],
        created_at: onefold_core::Timestamp::from_micros(1),
    };
    assert!(fixture.store().tokens().await.expect("read").is_empty());
    fixture.store().put_token(token("reader", 1)).await.expect("written");
    fixture.store().put_token(token("operator", 2)).await.expect("written");
    fixture.reopen().await;
    assert_eq!(fixture.store().tokens().await.expect("read"), [token("operator", 2)]);
    assert!(fixture.store().drop_token("night-shift".to_owned()).await.expect("written"));
    assert!(!fixture.store().drop_token("night-shift".to_owned()).await.expect("written"));
    assert!(fixture.store().tokens().await.expect("read").is_empty());
}

/// Who looked at an operation is in its timeline, and nothing else of it changes.
pub async fn who_looked_stands_in_the_timeline<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    let lease = fixture.grant(&terms, "A").await;
    fixture.record(&terms, &lease, completed(b"1")).await;
    let before = fixture.store().find(vec![key(&terms, "A")]).await.expect("read");
    let note =
        Note { at: fixture.now(), who: "night-shift".into(), what: "read the result".into(), why: None, fence: 1 };
    fixture.store().append_audit(key(&terms, "A"), note).await.expect("written");
    assert_eq!(fixture.store().find(vec![key(&terms, "A")]).await.expect("read"), before);
    let timeline = fixture.store().timeline(key(&terms, "A")).await.expect("read").expect("there");
    assert!(timeline.iter().any(|event| &*event.who == "night-shift" && event.what == "read the result"));
}

/// What waits for a person is counted by category, and nothing else is.
pub async fn what_waits_for_a_person_is_counted_by_category<H: Harness>() {
    let fixture = StoreFixture::<H>::new().await;
    let terms = escalates();
    assert_eq!(fixture.store().counts().await.expect("read"), Counts::default());
    let outcomes = [
        ("A", completed(b"1")),
        ("B", unknown(Category::DownstreamTimeout)),
        ("C", unknown(Category::DownstreamTimeout)),
        ("D", retryable(Category::RateLimited)),
    ];
    for (id, outcome) in outcomes {
        let lease = fixture.grant(&terms, id).await;
        fixture.record(&terms, &lease, outcome).await;
    }
    let two = vec![(Category::DownstreamTimeout, 2)];
    assert_eq!(fixture.store().counts().await.expect("read"), Counts { unknown: two.clone(), open_incidents: two });
}
