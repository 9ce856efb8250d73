//! Kinds that the promises are made with: one per policy.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::effect::{DuplicateReason, EffectClass, EffectContract, KindSpec, Kinds, Policy};
use onefold_core::operation::KindName;

/// A second.
pub const SECOND: Duration = Duration::from_secs(1);
/// How long a silent holder keeps its lease.
pub const LEASE: Duration = Duration::from_secs(10);
/// How long one attempt may take.
pub const DEADLINE: Duration = Duration::from_secs(30);
/// What is added to every expiry test.
pub const SLACK: Duration = Duration::from_secs(5);
/// How long after the last deadline a "no" is believed.
pub const SETTLE: Duration = Duration::from_mins(15);
/// How long the provider remembers a key.
pub const MEMORY: Duration = Duration::from_hours(1);

/// The terms of a kind with this class and policy.
pub fn terms(kind: &str, class: EffectClass, policy: Policy) -> KindSpec {
    let kind = KindName::parse(kind).expect("the suite's kinds are names");
    let contract = EffectContract::new(class, policy).expect("the suite's pairs are legal");
    KindSpec {
        lease_for: LEASE,
        deadline_for: DEADLINE,
        clock_slack: SLACK,
        settle: SETTLE,
        ..KindSpec::new(kind, contract)
    }
}

/// A person decides.
pub fn escalates() -> Arc<KindSpec> {
    let dependency = Some(Arc::from("notice-service"));
    Arc::new(KindSpec { dependency, ..terms("notice.issue", EffectClass::ExternalCommand, Policy::Escalate) })
}

/// A repetition changes nothing.
pub fn reruns() -> Arc<KindSpec> {
    Arc::new(terms("status.set", EffectClass::Converging, Policy::Rerun))
}

/// The provider remembers the key.
pub fn same_key() -> Arc<KindSpec> {
    Arc::new(terms("payment.order", EffectClass::ExternalCommand, Policy::SameKey { provider_memory: MEMORY }))
}

/// The provider is asked.
pub fn asks() -> Arc<KindSpec> {
    Arc::new(terms("case.open", EffectClass::ExternalCommand, Policy::Ask { settle: SETTLE }))
}

/// The provider is made to refuse the key.
pub fn voids() -> Arc<KindSpec> {
    Arc::new(terms("seat.reserve", EffectClass::ExternalCommand, Policy::Void))
}

/// A second one is accepted.
pub fn accepts_duplicates() -> Arc<KindSpec> {
    let because = DuplicateReason::new("a second reminder harms nobody");
    Arc::new(terms("mail.send", EffectClass::HumanNotification, Policy::AcceptDuplicate { because }))
}

/// Completed only with evidence; a person decides, and a second one agrees.
pub fn financial() -> Arc<KindSpec> {
    Arc::new(terms("sanction.register", EffectClass::FinancialOrLegal, Policy::Escalate))
}

/// All of them, as a process declares them.
pub fn all() -> Arc<Kinds> {
    let every = [escalates(), reruns(), same_key(), asks(), voids(), accepts_duplicates(), financial()];
    Arc::new(every.into_iter().map(|terms| (terms.kind.clone(), terms)).collect())
}
