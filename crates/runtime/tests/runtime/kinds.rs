//! A kind has one declaration.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::effect::{EffectClass, EffectContract, KindSpec, Policy, Retention, SameKey};
use onefold_core::error::{DECLARATION_INVALID, KIND_MISMATCH};
use onefold_core::operation::KindName;
use onefold_runtime::Kind;

use crate::fixture::LedgerFixture;

#[tokio::test]
async fn the_same_declaration_again_is_fine_and_a_different_one_is_refused() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let declare =
        |deadline| ledger.kind(Kind::external_command("notice.issue").deadline(Duration::from_secs(deadline)));
    declare(10).unwrap();
    declare(10).unwrap();
    let error = declare(11).err().unwrap();
    assert_eq!(error.code(), KIND_MISMATCH);
    assert!(error.to_string().contains("notice.issue"), "{error}");
    assert_eq!(ledger.kind(Kind::converging("notice.issue")).err().unwrap().code(), KIND_MISMATCH);
    assert_eq!(ledger.kind(Kind::local("notice.issue")).err().unwrap().code(), KIND_MISMATCH);
}

#[tokio::test]
async fn kinds_are_declared_anew_all_or_none() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let terms = |name, contract| Arc::new(KindSpec::new(KindName::parse(name).unwrap(), contract));
    let class = EffectClass::ExternalCommand;
    let plain = terms("plain", EffectContract::default_of(class).unwrap());
    let asks = terms("asks", EffectContract::new(class, Policy::Ask { settle: Duration::ZERO }).unwrap());
    assert!(ledger.redeclare(vec![(Arc::clone(&plain), None), (asks, None)]).is_err(), "nobody to ask");
    assert!(ledger.kinds().is_empty());
    ledger.redeclare(vec![(plain, None)]).unwrap();
    assert_eq!(ledger.kinds().len(), 1);
}

#[tokio::test]
async fn a_declaration_that_contradicts_itself_is_refused() {
    let fixture = LedgerFixture::new();
    let ledger = fixture.ledger().await;
    let second = Duration::from_secs(1);
    let forgets = SameKey::remembered_for(second);
    let rows = [
        Kind::external_command("two words"),
        Kind::external_command("a").deadline(Duration::ZERO),
        Kind::external_command("b").lease(Duration::ZERO),
        Kind::external_command("c").on_unknown(forgets).deadline(second),
        Kind::external_command("d").retention(Retention {
            result_for: None,
            id_for: Some(second),
            redelivery_for: Some(2 * second),
        }),
    ];
    for kind in rows {
        let error = ledger.kind(kind).err().unwrap();
        assert_eq!(error.code(), DECLARATION_INVALID, "{error}");
        assert!(!error.next_step().is_empty());
    }
    assert!(ledger.kinds().is_empty());
}
