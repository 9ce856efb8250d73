//! An event as others see it: a `CloudEvent` in binary mode, its attributes beside the payload.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::contract::CompiledContract;
use super::id::EventId;
use super::record::StoredEvent;
use crate::error::{Error, REPLAY_NOT_FOUND, Result};
use crate::time::Timestamp;

/// An attribute of a `CloudEvent`; a target puts its own prefix before the name.
pub type Attribute<'e> = (&'static str, Cow<'e, str>);

/// The replay that an event is sent by: `rpl_…`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReplayId(pub Arc<str>);

impl ReplayId {
    /// The header that a replayed event carries, on every target.
    pub const HEADER: &'static str = "onefold-replay";

    /// A new id, of this time and chance.
    pub fn fresh(now: Timestamp, chance: [u8; 10]) -> Self {
        Self(Arc::from(format!("rpl_{}", EventId::fresh(now, chance).as_uuid().simple())))
    }

    /// Reads an id as people write it.
    pub fn parse(text: &str) -> Result<Self> {
        let id = text.strip_prefix("rpl_").filter(|id| id.len() == 32);
        if id.is_some_and(|id| id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))) {
            return Ok(Self(Arc::from(text)));
        }
        let shown: String = text.chars().take(40).collect();
        Err(Error::new(REPLAY_NOT_FOUND, format!("{shown:?} is not the id of a replay"))
            .hint("list them: onefold outbox replays"))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReplayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The attributes of an event, in a fixed order.
///
/// `source` and `dataschema` are those of its contract, where that names them. `sequence` has 20 digits, so that it sorts
/// as text. Its content type is not one of them: each target has a place of its own for that.
pub fn attributes<'e>(stored: &'e StoredEvent, contract: Option<&'e CompiledContract>) -> Vec<Attribute<'e>> {
    let event = &stored.event;
    let aggregate = &event.aggregate;
    let source = contract
        .and_then(CompiledContract::source)
        .map_or_else(|| Cow::Owned(format!("/{}/{}", aggregate.tenant, aggregate.aggregate_type)), Cow::Borrowed);
    let dataschema = contract.and_then(|contract| contract.dataschema(event.schema_version));
    let dataschema = dataschema.unwrap_or_else(|| format!("/events/{}/{}", event.event_type, event.schema_version));
    let mut attributes: Vec<Attribute<'_>> = vec![
        ("specversion", Cow::Borrowed("1.0")),
        ("id", Cow::Owned(event.id.to_string())),
        ("type", Cow::Borrowed(event.event_type.as_str())),
        ("source", source),
        ("subject", Cow::Borrowed(&aggregate.id)),
        ("time", Cow::Owned(stored.created_at.to_string())),
        ("dataschema", Cow::Owned(dataschema)),
        ("sequence", Cow::Owned(format!("{:020}", stored.seq))),
        ("tenant", Cow::Borrowed(aggregate.tenant.as_str())),
    ];
    if let Some(id) = &event.correlation_id {
        attributes.push(("correlationid", Cow::Borrowed(id)));
    }
    if let Some((_, trace)) = event.headers.iter().find(|(name, _)| name.as_str() == "traceparent") {
        attributes.push(("traceparent", Cow::Borrowed(trace)));
    }
    attributes
}

#[cfg(test)]
mod tests {
    use super::super::testing::stored;
    use super::super::{EventContract, HeaderName};
    use super::*;

    #[test]
    fn an_event_is_a_cloud_event_whose_sequence_sorts_as_text() {
        let mut event = stored(41, "CASE-7");
        event.event.correlation_id = Some(Arc::from("req-1"));
        event.event.headers.insert(HeaderName::parse("traceparent").unwrap(), "00-abc-def-01".to_owned());
        let shown: Vec<String> =
            attributes(&event, None).into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
        insta::assert_snapshot!(shown.join("\n"), @r"
        specversion: 1.0
        id: 00000000-0000-0000-0000-000000000029
        type: case.submitted
        source: /default/case
        subject: CASE-7
        time: 1970-01-01T00:00:01.000041Z
        dataschema: /events/case.submitted/1
        sequence: 00000000000000000041
        tenant: default
        correlationid: req-1
        traceparent: 00-abc-def-01
        ");
    }

    #[test]
    fn a_contract_may_name_source_and_schema() {
        let contract = EventContract::new("case.submitted", 1).aggregate("case").owner("case team").schema("true");
        let named =
            contract.source("https://cases.example").dataschema("https://cases.example/submitted/{version}.json");
        let (event, named) = (stored(41, "CASE-7"), named.compile().unwrap());
        let found = attributes(&event, Some(&named));
        let value = |wanted: &str| found.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.to_string());
        assert_eq!(value("source").as_deref(), Some("https://cases.example"));
        assert_eq!(value("dataschema").as_deref(), Some("https://cases.example/submitted/1.json"));
    }
}
