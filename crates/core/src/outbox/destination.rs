//! The topic, exchange or subject that an event is sent to.

use std::fmt;
use std::sync::Arc;

use crate::error::{DECLARATION_INVALID, Error, Result};
use crate::event::NewEvent;

/// A destination in which parts of an event may stand: `{tenant}.{aggregate_type}.events.v{schema_version}`.
///
/// Only what has few values may be named: a topic for each aggregate would bring a broker down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DestinationTemplate(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(Arc<str>),
    EventType,
    AggregateType,
    SchemaVersion,
    Tenant,
}

const NAMES: [(&str, Part); 4] = [
    ("event_type", Part::EventType),
    ("aggregate_type", Part::AggregateType),
    ("schema_version", Part::SchemaVersion),
    ("tenant", Part::Tenant),
];

impl DestinationTemplate {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Self> {
        let refused = |detail: String| {
            Error::new(DECLARATION_INVALID, detail)
                .hint("a destination may name {event_type}, {aggregate_type}, {schema_version} and {tenant}")
        };
        if text.is_empty() {
            return Err(refused("a destination is empty".to_owned()));
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, name)) = rest.split_once('{') {
            let (name, after) =
                name.split_once('}').ok_or_else(|| refused(format!("{text:?} has a {{ without its }}")))?;
            if !before.is_empty() {
                parts.push(Part::Text(Arc::from(before)));
            }
            let part = NAMES.iter().find(|(known, _)| *known == name).map(|(_, part)| part.clone());
            parts.push(part.ok_or_else(|| refused(format!("{text:?} names {{{name}}}, which no destination may")))?);
            rest = after;
        }
        if rest.contains('}') {
            return Err(refused(format!("{text:?} has a }} without its {{")));
        }
        if !rest.is_empty() {
            parts.push(Part::Text(Arc::from(rest)));
        }
        Ok(Self(parts))
    }

    /// The destination of an event.
    pub fn of(&self, event: &NewEvent) -> Arc<str> {
        if let [Part::Text(text)] = self.0.as_slice() {
            return Arc::clone(text);
        }
        let filled: String = self.0.iter().map(|part| part.of(event)).collect();
        Arc::from(filled)
    }

    /// The one destination, where no event changes it: whether it exists can be asked before the first event.
    pub fn fixed(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for DestinationTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            named @ (Part::EventType | Part::AggregateType | Part::SchemaVersion | Part::Tenant) => {
                let name = NAMES.iter().find(|(_, part)| part == named).map_or("", |(name, _)| name);
                write!(f, "{{{name}}}")
            }
        })
    }
}

impl Part {
    fn of(&self, event: &NewEvent) -> String {
        match self {
            Self::Text(text) => text.to_string(),
            Self::EventType => event.event_type.to_string(),
            Self::AggregateType => event.aggregate.aggregate_type.to_string(),
            Self::SchemaVersion => event.schema_version.to_string(),
            Self::Tenant => event.aggregate.tenant.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::event;

    #[test]
    fn a_destination_is_filled_in_from_what_has_few_values() {
        let filled = |template: &str| DestinationTemplate::parse(template).unwrap().of(&event("CASE-7", b"{}"));
        assert_eq!(&*filled("case.events.v1"), "case.events.v1");
        assert_eq!(&*filled("{tenant}.{aggregate_type}.v{schema_version}"), "default.case.v1");
        assert_eq!(&*filled("{event_type}"), "case.submitted");
        assert_eq!(DestinationTemplate::parse("case.events.v1").unwrap().fixed(), Some("case.events.v1"));
        assert_eq!(DestinationTemplate::parse("{tenant}").unwrap().fixed(), None);
        for text in ["case.events.v1", "{tenant}.{event_type}-{aggregate_type}.v{schema_version}"] {
            assert_eq!(DestinationTemplate::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_varies_without_bound_is_refused() {
        for bad in ["", "{aggregate_id}", "case.{id}", "case.{", "case.}", "case.{event_type"] {
            let error = DestinationTemplate::parse(bad).unwrap_err();
            assert!(error.next_step().contains("{event_type}"), "{bad}");
        }
    }
}
