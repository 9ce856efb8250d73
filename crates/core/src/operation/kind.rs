//! What sort of operation it is, and for whom.

use std::sync::Arc;

use crate::name::name;
use crate::outbox::RelayName;

name! {
    /// What sort of operation it is: job type, route name, consumer. Terms are declared per kind.
    KindName, "kind", 100, "._-/"
}

name! {
    /// For whom: operations of different tenants never meet.
    Tenant, "tenant", 64, "._-/"
}

impl From<&RelayName> for KindName {
    /// A relay's name is a kind's name too: of fewer letters, and shorter.
    fn from(relay: &RelayName) -> Self {
        Self(Arc::from(relay.as_str()))
    }
}

impl Default for Tenant {
    fn default() -> Self {
        Self(Arc::from("default"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_outside_the_alphabet_are_refused_with_a_hint() {
        for bad in ["", "two words", "ümlaut", "a:b", "line\n", &"k".repeat(101)] {
            let error = KindName::parse(bad).unwrap_err();
            assert!(error.to_string().contains("ASCII letters"), "{error}");
        }
        assert_eq!(KindName::parse("notice.issue-formal").unwrap().as_str(), "notice.issue-formal");
    }
}
