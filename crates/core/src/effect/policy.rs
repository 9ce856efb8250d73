//! What may happen when it is unknown whether the effect took hold.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::class::{
    Class, Converging, ExternalCommand, FinancialOrLegal, HumanNotification, Local, MessagePublish, Pure,
};
use crate::error::{DECLARATION_INVALID, Error, Result};
use crate::incident::redact;
use crate::time::{format_duration, parse_duration};

/// What an unknown outcome may do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Perform again: a repetition changes nothing.
    Rerun,
    /// Perform again: a second effect was accepted, out loud.
    AcceptDuplicate {
        /// Why; the timeline of an operation that is performed again quotes it.
        because: DuplicateReason,
    },
    /// Perform again under the same key, as long as the provider remembers it.
    SameKey {
        /// How long after the first attempt the provider still knows the key.
        provider_memory: Duration,
    },
    /// Ask the provider; perform again only after its "no" came `settle` after the last deadline.
    Ask {
        /// The delay of a late request that one is willing to bet on.
        settle: Duration,
    },
    /// Make the provider refuse the key; perform again only after its yes.
    Void,
    /// A person decides.
    Escalate,
    /// No unknown outcome exists: the effect and its record are one commit.
    InTransaction,
}

/// Why a second effect is acceptable: one line, without what looks like a secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DuplicateReason(Arc<str>);

impl DuplicateReason {
    /// The reason that was declared.
    pub fn new(text: &str) -> Self {
        Self(redact(text).into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

/// A policy without its parameters; in the order of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the policies are documented at `Policy`")]
pub enum PolicyName {
    InTransaction,
    Rerun,
    AcceptDuplicate,
    SameKey,
    Ask,
    Void,
    Escalate,
}

impl PolicyName {
    /// Every name.
    pub const ALL: [Self; 7] =
        [Self::InTransaction, Self::Rerun, Self::AcceptDuplicate, Self::SameKey, Self::Ask, Self::Void, Self::Escalate];

    /// The name in configuration and store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InTransaction => "in_transaction",
            Self::Rerun => "rerun",
            Self::AcceptDuplicate => "accept_duplicate",
            Self::SameKey => "same_key",
            Self::Ask => "ask",
            Self::Void => "void",
            Self::Escalate => "escalate",
        }
    }

    /// The policy with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == text)
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Policy {
    /// The name without parameters.
    pub const fn name(&self) -> PolicyName {
        match self {
            Self::Rerun => PolicyName::Rerun,
            Self::AcceptDuplicate { .. } => PolicyName::AcceptDuplicate,
            Self::SameKey { .. } => PolicyName::SameKey,
            Self::Ask { .. } => PolicyName::Ask,
            Self::Void => PolicyName::Void,
            Self::Escalate => PolicyName::Escalate,
            Self::InTransaction => PolicyName::InTransaction,
        }
    }

    /// The stricter of two: the one that performs again less readily.
    #[must_use]
    pub fn stricter(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::SameKey { provider_memory: one }, Self::SameKey { provider_memory: two }) => {
                Self::SameKey { provider_memory: *one.min(two) }
            }
            (Self::Ask { settle: one }, Self::Ask { settle: two }) => Self::Ask { settle: *one.max(two) },
            _ if self.name() >= other.name() => self.clone(),
            _ => other.clone(),
        }
    }

    /// Whether both let the same happen; a reason in other words changes nothing.
    pub fn permits_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::AcceptDuplicate { .. }, Self::AcceptDuplicate { .. }) => true,
            _ => self == other,
        }
    }

    /// Reads a policy as the store keeps it, such as `same_key 24h` or `accept_duplicate because it harms nobody`.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(reason) = text.strip_prefix("accept_duplicate because ") {
            return Ok(Self::AcceptDuplicate { because: DuplicateReason(reason.into()) });
        }
        let (name, parameter) = text.split_once(' ').map_or((text, None), |(name, rest)| (name, parse_duration(rest)));
        let policy = match (PolicyName::parse(name), parameter) {
            (Some(PolicyName::SameKey), Some(provider_memory)) => Some(Self::SameKey { provider_memory }),
            (Some(PolicyName::Ask), Some(settle)) => Some(Self::Ask { settle }),
            (Some(PolicyName::Rerun), None) => Some(Self::Rerun),
            (Some(PolicyName::Void), None) => Some(Self::Void),
            (Some(PolicyName::Escalate), None) => Some(Self::Escalate),
            (Some(PolicyName::InTransaction), None) => Some(Self::InTransaction),
            _ => None,
        };
        policy.ok_or_else(|| Error::new(DECLARATION_INVALID, format!("{text:?} is not a stored policy")))
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameKey { provider_memory } => write!(f, "same_key {}", format_duration(*provider_memory)),
            Self::Ask { settle } => write!(f, "ask {}", format_duration(*settle)),
            Self::AcceptDuplicate { because } => write!(f, "accept_duplicate because {}", because.as_str()),
            Self::Rerun | Self::Void | Self::Escalate | Self::InTransaction => f.write_str(self.name().as_str()),
        }
    }
}

/// A policy that class `C` allows. What is not in the table has no implementation and does not compile.
#[diagnostic::on_unimplemented(
    message = "the effect class `{C}` does not allow the policy `{Self}` on an unknown outcome",
    label = "not allowed for `{C}`",
    note = "the documentation of `onefold::policy` has the table of effect classes and their policies"
)]
pub trait OnUnknown<C: Class> {
    /// The policy as the ledger stores it.
    fn policy(&self) -> Policy;
}

/// Perform again: a repetition changes nothing.
#[derive(Debug, Clone, Copy)]
pub struct Rerun;

/// Perform again although a person may be reached twice; says why that is accepted.
#[derive(Debug, Clone, Copy)]
pub struct AcceptDuplicate {
    because: &'static str,
}

impl AcceptDuplicate {
    /// A second effect is accepted, for this reason: it is kept with the operation, and its timeline quotes it.
    pub const fn because(reason: &'static str) -> Self {
        Self { because: reason }
    }
}

/// Perform again under the same key.
#[derive(Debug, Clone, Copy)]
pub struct SameKey {
    provider_memory: Duration,
}

impl SameKey {
    /// One effect, as long as the provider remembers the key for this long.
    pub const fn remembered_for(provider_memory: Duration) -> Self {
        Self { provider_memory }
    }
}

/// Ask the provider whether the effect took hold.
#[derive(Debug, Clone, Copy)]
pub struct AskPolicy {
    /// How long after the last deadline a "no" is believed.
    pub settle: Duration,
}

/// Make the provider refuse the key.
#[derive(Debug, Clone, Copy)]
pub struct VoidPolicy;

/// A person decides.
#[derive(Debug, Clone, Copy)]
pub struct Escalate;

/// The effect and its record are one commit.
#[derive(Debug, Clone, Copy)]
pub struct InTransaction;

macro_rules! allow {
    ($policy:ty, |$this:ident| $value:expr => $($class:ty),+) => {$(
        impl OnUnknown<$class> for $policy {
            fn policy(&self) -> Policy {
                let $this = self;
                $value
            }
        }
    )+};
}

allow!(Rerun, |_this| Policy::Rerun => Pure, Converging);
allow!(SameKey, |this| Policy::SameKey { provider_memory: this.provider_memory }
    => Converging, ExternalCommand, MessagePublish, HumanNotification, FinancialOrLegal);
allow!(AskPolicy, |this| Policy::Ask { settle: this.settle } => Converging, ExternalCommand, HumanNotification);
allow!(VoidPolicy, |_this| Policy::Void => ExternalCommand, FinancialOrLegal);
allow!(Escalate, |_this| Policy::Escalate => Converging, ExternalCommand, HumanNotification, FinancialOrLegal);
allow!(AcceptDuplicate, |this| Policy::AcceptDuplicate { because: DuplicateReason::new(this.because) } => HumanNotification);
allow!(InTransaction, |_this| Policy::InTransaction => Local);

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[test]
    fn a_policy_is_stored_as_it_is_read() {
        for policy in [
            Policy::Rerun,
            Policy::AcceptDuplicate { because: DuplicateReason::new("a second reminder harms nobody") },
            Policy::SameKey { provider_memory: 24 * HOUR },
            Policy::Ask { settle: HOUR / 4 },
            Policy::Void,
            Policy::Escalate,
            Policy::InTransaction,
        ] {
            assert_eq!(Policy::parse(&policy.to_string()).unwrap(), policy);
        }
        for bad in ["", "ask", "same_key", "rerun 5s", "ask soon", "accept_duplicate", "accept_duplicate 5s"] {
            assert!(Policy::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_stricter_policy_performs_again_less_readily() {
        let ask = |settle| Policy::Ask { settle };
        let key = |provider_memory| Policy::SameKey { provider_memory };
        assert_eq!(Policy::Escalate.stricter(&Policy::Rerun), Policy::Escalate);
        assert_eq!(Policy::Rerun.stricter(&Policy::Escalate), Policy::Escalate);
        assert_eq!(ask(HOUR).stricter(&ask(2 * HOUR)), ask(2 * HOUR));
        assert_eq!(key(HOUR).stricter(&key(2 * HOUR)), key(HOUR));
        assert_eq!(key(HOUR).stricter(&ask(HOUR)), ask(HOUR));
    }
}
