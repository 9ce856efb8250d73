//! What events and aggregates are called.

use crate::name::name;

name! {
    /// What happened: `case.submitted`. Its domain is what stands before the first dot.
    EventType, "event type", 100, "._-"
}

name! {
    /// What sort of thing it happened to: `case`.
    AggregateType, "aggregate type", 64, "._-"
}

impl EventType {
    /// What stands before the first dot.
    pub fn domain(&self) -> &str {
        self.as_str().split('.').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_a_name_and_has_a_domain() {
        assert_eq!(EventType::parse("case.submitted").unwrap().domain(), "case");
        assert_eq!(EventType::parse("started").unwrap().domain(), "started");
        for bad in ["", "case submitted", "case/submitted", "case.*", "fälle.neu"] {
            assert!(EventType::parse(bad).is_err(), "{bad}");
        }
    }
}
