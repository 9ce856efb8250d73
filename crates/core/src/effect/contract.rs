//! Class and policy together: the legal pairs.

use super::class::EffectClass;
use super::policy::{Policy, PolicyName};
use crate::error::{DECLARATION_INVALID, Error, POLICY_NOT_ALLOWED, Result};

/// A legal pair of effect class and policy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EffectContract {
    class: EffectClass,
    policy: Policy,
}

impl EffectContract {
    /// The pair, if the table allows it.
    pub fn new(class: EffectClass, policy: Policy) -> Result<Self> {
        if let Policy::AcceptDuplicate { because } = &policy
            && because.as_str().trim().is_empty()
        {
            return Err(Error::new(DECLARATION_INVALID, "`accept_duplicate` gives no reason")
                .hint("say why a second effect is acceptable: people who see one will ask"));
        }
        if Self::allowed(class).contains(&policy.name()) {
            return Ok(Self { class, policy });
        }
        let allowed: Vec<_> = Self::allowed(class).iter().map(|name| name.as_str()).collect();
        Err(Error::new(POLICY_NOT_ALLOWED, format!("class {class} may not `{}` on an unknown outcome", policy.name()))
            .hint(format!("allowed: {}", allowed.join(", "))))
    }

    /// The policies that a class allows; its default first, where it has one.
    pub const fn allowed(class: EffectClass) -> &'static [PolicyName] {
        use PolicyName::{AcceptDuplicate, Ask, Escalate, InTransaction, Rerun, SameKey, Void};
        match class {
            EffectClass::Pure => &[Rerun],
            EffectClass::Converging => &[Rerun, SameKey, Ask, Escalate],
            EffectClass::Local => &[InTransaction],
            EffectClass::ExternalCommand => &[Escalate, SameKey, Ask, Void],
            EffectClass::MessagePublish => &[SameKey],
            EffectClass::HumanNotification => &[Escalate, SameKey, Ask, AcceptDuplicate],
            EffectClass::FinancialOrLegal => &[Escalate, SameKey, Void],
        }
    }

    /// The pair of a class and its default policy; a class may have none.
    pub const fn default_of(class: EffectClass) -> Option<Self> {
        let policy = match class {
            EffectClass::Pure | EffectClass::Converging => Policy::Rerun,
            EffectClass::Local => Policy::InTransaction,
            // Only its author knows for how long the broker remembers a key.
            EffectClass::MessagePublish => return None,
            EffectClass::ExternalCommand | EffectClass::HumanNotification | EffectClass::FinancialOrLegal => {
                Policy::Escalate
            }
        };
        Some(Self { class, policy })
    }

    /// The pair that is laxer than every other.
    pub const LAXEST: Self = Self { class: EffectClass::Pure, policy: Policy::Rerun };

    /// The effect class.
    pub fn class(&self) -> EffectClass {
        self.class
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Whether both let the same happen.
    pub fn permits_the_same(&self, other: &Self) -> bool {
        self.class == other.class && self.policy.permits_the_same(&other.policy)
    }

    /// The stricter of two contracts, part by part; a pair outside the table escalates, in a class that may.
    ///
    /// A deploy therefore cannot turn yesterday's "escalate" into "rerun".
    #[must_use]
    pub fn stricter(&self, other: &Self) -> Self {
        let class = self.class.max(other.class);
        let policy = self.policy.stricter(&other.policy);
        if Self::allowed(class).contains(&policy.name()) {
            return Self { class, policy };
        }
        let escalates = Self::allowed(class).contains(&PolicyName::Escalate);
        let class = if escalates { class } else { class.max(EffectClass::ExternalCommand) };
        Self { class, policy: Policy::Escalate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::DuplicateReason;
    use std::time::Duration;

    const MEMORY: Duration = Duration::from_mins(1);

    fn policies() -> [Policy; 7] {
        [
            Policy::Rerun,
            Policy::AcceptDuplicate { because: DuplicateReason::new("it harms nobody") },
            Policy::SameKey { provider_memory: MEMORY },
            Policy::Ask { settle: MEMORY },
            Policy::Void,
            Policy::Escalate,
            Policy::InTransaction,
        ]
    }

    #[test]
    fn the_pairs_are_those_of_the_table() {
        let table = [
            (EffectClass::Pure, "rerun"),
            (EffectClass::Converging, "rerun same_key ask escalate"),
            (EffectClass::Local, "in_transaction"),
            (EffectClass::ExternalCommand, "same_key ask void escalate"),
            (EffectClass::MessagePublish, "same_key"),
            (EffectClass::HumanNotification, "same_key ask escalate accept_duplicate"),
            (EffectClass::FinancialOrLegal, "same_key void escalate"),
        ];
        assert_eq!(table.len(), EffectClass::ALL.len());
        for (class, row) in table {
            let row: Vec<_> = row.split(' ').collect();
            for policy in policies() {
                let legal = row.contains(&policy.name().as_str());
                assert_eq!(EffectContract::new(class, policy.clone()).is_ok(), legal, "{class} × {policy}");
            }
            match EffectContract::default_of(class) {
                Some(default) => assert_eq!(EffectContract::allowed(class)[0], default.policy().name(), "{class}"),
                None => assert_eq!(class, EffectClass::MessagePublish),
            }
        }
    }

    #[test]
    fn a_duplicate_is_accepted_only_with_a_reason() {
        let because = |text: &str| Policy::AcceptDuplicate { because: DuplicateReason::new(text) };
        let error = EffectContract::new(EffectClass::HumanNotification, because(" \n ")).unwrap_err();
        assert_eq!(error.code(), DECLARATION_INVALID);
        let one = EffectContract::new(EffectClass::HumanNotification, because("it harms nobody")).unwrap();
        let reworded = EffectContract::new(EffectClass::HumanNotification, because("nobody minds")).unwrap();
        assert!(one.permits_the_same(&reworded));
        assert!(!one.permits_the_same(&EffectContract::default_of(EffectClass::HumanNotification).unwrap()));
        let secret = because("the api token=hunter2hunter2 is only for tests").to_string();
        assert!(!secret.contains("hunter2"), "{secret}");
    }

    #[test]
    fn an_illegal_pair_names_what_is_allowed() {
        let error = EffectContract::new(EffectClass::FinancialOrLegal, Policy::Ask { settle: MEMORY }).unwrap_err();
        assert_eq!(
            error.to_string(),
            "POLICY_NOT_ALLOWED: class financial-or-legal may not `ask` on an unknown outcome (allowed: escalate, same_key, void)"
        );
    }

    #[test]
    fn the_stricter_of_two_contracts_is_legal_and_no_laxer_than_either() {
        let contracts = || {
            EffectClass::ALL.into_iter().flat_map(|class| {
                policies().into_iter().filter_map(move |policy| EffectContract::new(class, policy).ok())
            })
        };
        for one in contracts() {
            for two in contracts() {
                let strict = one.stricter(&two);
                assert_eq!(strict, two.stricter(&one));
                assert!(
                    EffectContract::new(strict.class(), strict.policy().clone()).is_ok(),
                    "{one:?} {two:?} {strict:?}"
                );
                assert!(strict.class() >= one.class());
                assert!(strict.policy().name() >= one.policy().name(), "{one:?} {two:?} {strict:?}");
            }
        }
    }
}
