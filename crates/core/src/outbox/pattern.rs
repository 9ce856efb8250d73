//! The event types that a relay wants.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{DECLARATION_INVALID, Error, Result};
use crate::event::EventType;

/// One type, all types below a prefix, or all.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum EventPattern {
    /// `*`
    All,
    /// `case.*`: every type that begins with `case.`.
    Below(EventType),
    /// `case.submitted`
    One(EventType),
}

impl EventPattern {
    /// Reads `*`, `prefix.*` or a type.
    pub fn parse(text: &str) -> Result<Self> {
        if text == "*" {
            return Ok(Self::All);
        }
        let (name, below) = text.strip_suffix(".*").map_or((text, false), |prefix| (prefix, true));
        let name = EventType::parse(name).map_err(|_| {
            let shown: String = text.chars().take(40).collect();
            Error::new(DECLARATION_INVALID, format!("{shown:?} is not a pattern of event types"))
                .hint("write a type such as case.submitted, a prefix such as case.*, or *")
        })?;
        Ok(if below { Self::Below(name) } else { Self::One(name) })
    }

    /// Whether it wants this type.
    pub fn matches(&self, event_type: &EventType) -> bool {
        match self {
            Self::All => true,
            Self::Below(prefix) => event_type
                .as_str()
                .strip_prefix(prefix.as_str())
                .is_some_and(|rest| rest.len() > 1 && rest.starts_with('.')),
            Self::One(wanted) => wanted == event_type,
        }
    }
}

impl TryFrom<String> for EventPattern {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<EventPattern> for String {
    fn from(pattern: EventPattern) -> Self {
        pattern.to_string()
    }
}

impl fmt::Display for EventPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Below(prefix) => write!(f, "{prefix}.*"),
            Self::One(name) => name.fmt(f),
        }
    }
}

/// All patterns of a relay; it wants what one of them matches.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventPatterns(Vec<EventPattern>);

impl EventPatterns {
    /// These patterns; at least one.
    pub fn new(patterns: Vec<EventPattern>) -> Result<Self> {
        if patterns.is_empty() {
            return Err(Error::new(DECLARATION_INVALID, "a relay names no event types")
                .hint("write events = [\"case.*\"], or [\"*\"] for all of them"));
        }
        Ok(Self(patterns))
    }

    /// Whether one of them wants this type.
    pub fn matches(&self, event_type: &EventType) -> bool {
        self.0.iter().any(|pattern| pattern.matches(event_type))
    }

    /// The patterns.
    pub fn iter(&self) -> impl Iterator<Item = &EventPattern> {
        self.0.iter()
    }
}

impl fmt::Display for EventPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patterns: Vec<String> = self.0.iter().map(EventPattern::to_string).collect();
        f.write_str(&patterns.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_wants_a_type_a_prefix_or_all() {
        let wants =
            |pattern: &str, name: &str| EventPattern::parse(pattern).unwrap().matches(&EventType::parse(name).unwrap());
        assert!(wants("*", "case.submitted"));
        assert!(wants("case.*", "case.submitted") && wants("case.*", "case.file.added"));
        assert!(!wants("case.*", "case") && !wants("case.*", "casework.begun") && !wants("case.*", "case."));
        assert!(wants("case.submitted", "case.submitted") && !wants("case.submitted", "case.submitted.late"));
    }

    #[test]
    fn what_is_not_a_pattern_is_refused_with_the_three_that_are() {
        for bad in ["", "case*", "*.submitted", "case.**", "case .*"] {
            let error = EventPattern::parse(bad).unwrap_err();
            assert!(error.next_step().contains("case.*"), "{bad}");
        }
        assert!(EventPatterns::new(vec![]).is_err());
        for text in ["*", "case.*", "case.submitted"] {
            assert_eq!(EventPattern::parse(text).unwrap().to_string(), text);
        }
    }
}
