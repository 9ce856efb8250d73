//! Class and policy together: the legal pairs.

use super::class::EffectClass;
use super::policy::{Policy, PolicyName};
use crate::error::{Error, POLICY_NOT_ALLOWED, Result};

/// A legal pair of effect class and policy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Contract {
    class: EffectClass,
    policy: Policy,
}

impl Contract {
    /// The pair, if the table allows it.
    pub fn new(class: EffectClass, policy: Policy) -> Result<Self> {
        if Self::allowed(class).contains(&policy.name()) {
            return Ok(Self { class, policy });
        }
        let allowed: Vec<_> = Self::allowed(class).iter().map(|name| name.as_str()).collect();
        Err(Error::new(POLICY_NOT_ALLOWED, format!("class {class} may not `{}` on an unknown outcome", policy.name()))
            .hint(format!("allowed: {}", allowed.join(", "))))
    }

    /// The policies that a class allows, its default first.
    pub const fn allowed(class: EffectClass) -> &'static [PolicyName] {
        use PolicyName::{AcceptDuplicate, Ask, Escalate, InTransaction, Outbox, Rerun, SameKey, Void};
        match class {
            EffectClass::Pure => &[Rerun],
            EffectClass::Converging => &[Rerun, SameKey, Ask, Escalate],
            EffectClass::Local => &[InTransaction],
            EffectClass::ExternalCommand => &[Escalate, SameKey, Ask, Void],
            EffectClass::MessagePublish => &[Outbox, SameKey],
            EffectClass::HumanNotification => &[Escalate, SameKey, Ask, AcceptDuplicate],
            EffectClass::FinancialOrLegal => &[Escalate, SameKey, Void],
        }
    }

    /// The pair of a class and its default policy.
    pub const fn default_of(class: EffectClass) -> Self {
        let policy = match class {
            EffectClass::Pure | EffectClass::Converging => Policy::Rerun,
            EffectClass::Local => Policy::InTransaction,
            EffectClass::MessagePublish => Policy::Outbox,
            EffectClass::ExternalCommand | EffectClass::HumanNotification | EffectClass::FinancialOrLegal => {
                Policy::Escalate
            }
        };
        Self { class, policy }
    }

    /// The effect class.
    pub fn class(&self) -> EffectClass {
        self.class
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The stricter of two contracts, part by part; a pair outside the table escalates.
    ///
    /// A deploy therefore cannot turn yesterday's "escalate" into "rerun".
    #[must_use]
    pub fn stricter(&self, other: &Self) -> Self {
        let class = self.class.max(other.class);
        let policy = self.policy.stricter(&other.policy);
        if Self::allowed(class).contains(&policy.name()) {
            Self { class, policy }
        } else {
            Self { class, policy: Policy::Escalate }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MEMORY: Duration = Duration::from_mins(1);

    fn policies() -> [Policy; 8] {
        [
            Policy::Rerun,
            Policy::AcceptDuplicate,
            Policy::SameKey { provider_memory: MEMORY },
            Policy::Ask { settle: MEMORY },
            Policy::Void,
            Policy::Escalate,
            Policy::InTransaction,
            Policy::Outbox,
        ]
    }

    #[test]
    fn the_pairs_are_those_of_the_table() {
        let table = [
            (EffectClass::Pure, "rerun"),
            (EffectClass::Converging, "rerun same_key ask escalate"),
            (EffectClass::Local, "in_transaction"),
            (EffectClass::ExternalCommand, "same_key ask void escalate"),
            (EffectClass::MessagePublish, "outbox same_key"),
            (EffectClass::HumanNotification, "same_key ask escalate accept_duplicate"),
            (EffectClass::FinancialOrLegal, "same_key void escalate"),
        ];
        assert_eq!(table.len(), EffectClass::ALL.len());
        for (class, row) in table {
            let row: Vec<_> = row.split(' ').collect();
            for policy in policies() {
                let legal = row.contains(&policy.name().as_str());
                assert_eq!(Contract::new(class, policy.clone()).is_ok(), legal, "{class} × {policy}");
            }
            assert!(row.contains(&Contract::default_of(class).policy().name().as_str()));
            assert_eq!(Contract::allowed(class)[0], Contract::default_of(class).policy().name());
        }
    }

    #[test]
    fn an_illegal_pair_names_what_is_allowed() {
        let error = Contract::new(EffectClass::FinancialOrLegal, Policy::Ask { settle: MEMORY }).unwrap_err();
        assert_eq!(
            error.to_string(),
            "POLICY_NOT_ALLOWED: class financial-or-legal may not `ask` on an unknown outcome (allowed: escalate, same_key, void)"
        );
    }

    #[test]
    fn the_stricter_of_two_contracts_is_legal_and_no_laxer_than_either() {
        let contracts = || {
            EffectClass::ALL
                .into_iter()
                .flat_map(|class| policies().into_iter().filter_map(move |policy| Contract::new(class, policy).ok()))
        };
        for one in contracts() {
            for two in contracts() {
                let strict = one.stricter(&two);
                assert_eq!(strict, two.stricter(&one));
                assert!(strict.class() >= one.class());
                assert!(strict.policy().name() >= one.policy().name(), "{one:?} {two:?} {strict:?}");
            }
        }
    }
}
