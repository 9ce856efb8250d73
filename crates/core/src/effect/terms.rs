//! The terms of a kind: everything its declaration fixes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::{EffectContract, Policy};
use crate::error::{DECLARATION_INVALID, Error, Result};
use crate::fingerprint::Mode;
use crate::operation::KindName;
use crate::retry::RetryTable;

/// No duration of a declaration is longer: ten years.
const TIME_MAX: Duration = Duration::from_hours(10 * 365 * 24);

/// The declared kinds of a process.
pub type Kinds = HashMap<KindName, Arc<KindSpec>>;

/// What the declaration of a kind fixes. Each limit has its unit in its type or name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindSpec {
    /// The kind.
    pub kind: KindName,
    /// Class and policy.
    pub contract: EffectContract,
    /// How long one attempt may take; fixed at the grant, never moved.
    pub deadline_for: Duration,
    /// How long a silent holder keeps its lease.
    pub lease_for: Duration,
    /// Added to every expiry test.
    pub clock_slack: Duration,
    /// How long after the last deadline a "did not happen" is believed without force.
    pub settle: Duration,
    /// When to ask again after an answer that told nothing; then a person is asked.
    pub ask_schedule: Arc<[Duration]>,
    /// When to try again, by failure category.
    pub retry: RetryTable,
    /// The dependency that its failures are counted against.
    pub dependency: Option<Arc<str>>,
    /// What of a request is compared.
    pub fingerprint: Mode,
    /// Larger results are kept as a digest.
    pub result_bytes_max: usize,
    /// What is kept, and for how long.
    pub retention: Retention,
    /// Whether a pure operation is remembered at all.
    pub remember: bool,
}

/// What is kept, and for how long. Business ids are kept until told otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// The result is dropped this long after completion; the id stays.
    pub result_for: Option<Duration>,
    /// The id is forgotten this long after completion; a duplicate after that **is performed**.
    pub id_for: Option<Duration>,
    /// The longest time after which a duplicate may still arrive: redelivery, replay, operator retry.
    pub redelivery_for: Option<Duration>,
}

impl KindSpec {
    /// How long one attempt may take unless a declaration says otherwise.
    pub const DEADLINE_FOR: Duration = Duration::from_secs(30);

    /// The terms of a kind with every default of the design.
    pub fn new(kind: KindName, contract: EffectContract) -> Self {
        Self {
            kind,
            contract,
            deadline_for: Self::DEADLINE_FOR,
            lease_for: Duration::from_secs(30),
            clock_slack: Duration::from_secs(5),
            settle: Duration::from_mins(15),
            ask_schedule: [10, 60, 300, 900].map(Duration::from_secs).into(),
            retry: RetryTable::default(),
            dependency: None,
            fingerprint: Mode::Raw,
            result_bytes_max: 256 * 1024,
            retention: Retention::default(),
            remember: false,
        }
    }

    /// Refuses terms that contradict themselves; called once, when the kind is declared.
    pub fn checked(self) -> Result<Self> {
        let wrong = |detail: &str, hint: &str| {
            Err(Error::new(DECLARATION_INVALID, format!("kind {}: {detail}", self.kind)).hint(hint))
        };
        if self.deadline_for.is_zero() || self.lease_for.is_zero() {
            return wrong("deadline and lease must be longer than zero", "give both a duration such as \"10s\"");
        }
        let named = match self.contract.policy() {
            Policy::SameKey { provider_memory } => *provider_memory,
            Policy::Ask { settle } => *settle,
            Policy::Rerun
            | Policy::AcceptDuplicate { .. }
            | Policy::Void
            | Policy::Escalate
            | Policy::InTransaction => Duration::ZERO,
        };
        if [named, self.deadline_for, self.lease_for, self.clock_slack, self.settle].iter().any(|time| *time > TIME_MAX)
        {
            return wrong(
                "a duration is longer than ten years",
                "give it the length you mean; nothing here lasts for ever",
            );
        }
        if let Policy::SameKey { provider_memory } = self.contract.policy()
            && *provider_memory <= self.deadline_for
        {
            return wrong(
                "provider_memory is not longer than one attempt's deadline",
                "ask the provider how long it remembers a key; same_key needs more than one deadline",
            );
        }
        if let (Some(kept), Some(redelivered)) = (self.retention.id_for, self.retention.redelivery_for)
            && kept < redelivered
        {
            return wrong(
                "ids are forgotten before the last duplicate may arrive",
                "raise the retention above the redelivery, replay and operator-retry window",
            );
        }
        Ok(self)
    }

    /// The contract that counts for an entry granted under `stored`: the stricter one.
    pub fn contract_for(&self, stored: &EffectContract) -> EffectContract {
        stored.stricter(&self.contract)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::EffectClass;

    fn terms(contract: EffectContract) -> KindSpec {
        KindSpec::new(KindName::parse("k").unwrap(), contract)
    }

    #[test]
    fn terms_that_contradict_themselves_are_refused() {
        let day = Duration::from_hours(24);
        let same_key = EffectContract::new(
            EffectClass::ExternalCommand,
            Policy::SameKey { provider_memory: Duration::from_secs(5) },
        );
        let mut forgets = terms(EffectContract::default_of(EffectClass::ExternalCommand).unwrap());
        forgets.retention = Retention { result_for: None, id_for: Some(day), redelivery_for: Some(2 * day) };
        let mut instant = terms(EffectContract::default_of(EffectClass::ExternalCommand).unwrap());
        instant.deadline_for = Duration::ZERO;
        for bad in [terms(same_key.unwrap()), forgets, instant] {
            assert_eq!(bad.checked().unwrap_err().code(), DECLARATION_INVALID);
        }
        assert!(terms(EffectContract::default_of(EffectClass::FinancialOrLegal).unwrap()).checked().is_ok());
    }
}
