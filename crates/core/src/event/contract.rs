//! The contract of an event type: what is promised to everyone who reads it.
//!
//! A program declares it as a constant ([`EventContract`]), a file as `[[event]]`; both fill [`ContractTerms`], which are
//! checked here and nowhere else.

mod payload;
mod schema;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::name::{AggregateType, EventType};
use super::record::NewEvent;
use crate::error::{DECLARATION_INVALID, EVENT_CONTRACT_INVALID, EVENT_VERSION_UNSUPPORTED, Error, Result};
use crate::ledger::named;
use payload::PayloadPointer;
use schema::PayloadSchema;

named! {
    /// How the schema of a type may change.
    Compatibility {
        /// A consumer with the new schema reads what was published under the old one.
        Backward = "backward",
        /// A consumer with the old schema reads what is published under the new one.
        Forward = "forward",
        /// Both.
        Full = "full",
        /// Versions have nothing to do with each other; a released one does not change.
        None = "none",
    }
}

/// The contract of an event type, declared in a program.
///
/// ```
/// use onefold_core::event::EventContract;
///
/// const CONTRACT: EventContract = EventContract::new("case.submitted", 1)
///     .aggregate("case")
///     .owner("case team")
///     .ordering_key("/caseId")
///     .schema(r#"{ "type": "object", "required": ["caseId"], "properties": { "caseId": { "type": "string" } } }"#);
///
/// assert!(CONTRACT.compile().is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventContract {
    event_type: &'static str,
    version: u32,
    aggregate: &'static str,
    schema: &'static str,
    earlier: &'static [(u32, &'static str)],
    compatibility: Compatibility,
    ordering_key: Option<&'static str>,
    key_fields: &'static [&'static str],
    owner: &'static str,
    expects: Option<&'static str>,
    source: Option<&'static str>,
    dataschema: Option<&'static str>,
}

impl EventContract {
    /// The contract of this type; its events are staged under this version.
    pub const fn new(event_type: &'static str, version: u32) -> Self {
        Self {
            event_type,
            version,
            aggregate: "",
            schema: "",
            earlier: &[],
            compatibility: Compatibility::Backward,
            ordering_key: None,
            key_fields: &[],
            owner: "",
            expects: None,
            source: None,
            dataschema: None,
        }
    }

    /// What sort of thing it happens to.
    #[must_use]
    pub const fn aggregate(mut self, aggregate: &'static str) -> Self {
        self.aggregate = aggregate;
        self
    }

    /// The JSON Schema of a payload, as JSON.
    #[must_use]
    pub const fn schema(mut self, schema: &'static str) -> Self {
        self.schema = schema;
        self
    }

    /// Earlier versions of which events may still be published, each with its schema.
    #[must_use]
    pub const fn earlier(mut self, earlier: &'static [(u32, &'static str)]) -> Self {
        self.earlier = earlier;
        self
    }

    /// How the schema may change; [`Compatibility::Backward`] unless this is called.
    #[must_use]
    pub const fn compatibility(mut self, compatibility: Compatibility) -> Self {
        self.compatibility = compatibility;
        self
    }

    /// Where in a payload the aggregate's id is, as a JSON pointer such as `/caseId`. Staging compares the two.
    #[must_use]
    pub const fn ordering_key(mut self, pointer: &'static str) -> Self {
        self.ordering_key = Some(pointer);
        self
    }

    /// Fields that identify what an event is about, as JSON pointers; every payload has them.
    #[must_use]
    pub const fn key_fields(mut self, pointers: &'static [&'static str]) -> Self {
        self.key_fields = pointers;
        self
    }

    /// Who answers for it.
    #[must_use]
    pub const fn owner(mut self, owner: &'static str) -> Self {
        self.owner = owner;
        self
    }

    /// What a consumer is expected to do.
    #[must_use]
    pub const fn expects(mut self, expects: &'static str) -> Self {
        self.expects = Some(expects);
        self
    }

    /// `source` of the `CloudEvent`; `/{tenant}/{aggregate type}` unless this is called.
    #[must_use]
    pub const fn source(mut self, source: &'static str) -> Self {
        self.source = Some(source);
        self
    }

    /// `dataschema` of the `CloudEvent`, with `{version}` where the version belongs.
    #[must_use]
    pub const fn dataschema(mut self, dataschema: &'static str) -> Self {
        self.dataschema = Some(dataschema);
        self
    }

    /// The type that it is about.
    pub const fn event_type(&self) -> &'static str {
        self.event_type
    }

    /// The version that events are staged under.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// What sort of thing it happens to.
    pub const fn aggregate_type(&self) -> &'static str {
        self.aggregate
    }

    /// The contract, checked, with its schemas ready to judge payloads.
    pub fn compile(&self) -> Result<CompiledContract> {
        let named = |error: Error| {
            let detail = format!("event {:?}: {}", self.event_type, error.detail());
            Error::new(error.code(), detail).hint(error.next_step())
        };
        let mut versions = BTreeMap::new();
        for (version, text) in self.earlier.iter().chain([&(self.version, self.schema)]) {
            let schema = schema::read(text).map_err(|error| named(of_field(&format!("versions.{version}"), &error)))?;
            if versions.insert(*version, schema).is_some() {
                return Err(named(wrong(
                    format!("version {version} is declared twice"),
                    "give each schema its own version",
                )));
            }
        }
        let terms = ContractTerms {
            event_type: self.event_type.to_owned(),
            aggregate: self.aggregate.to_owned(),
            versions,
            compatibility: self.compatibility,
            ordering_key: self.ordering_key.map(str::to_owned),
            key_fields: self.key_fields.iter().map(|field| (*field).to_owned()).collect(),
            owner: self.owner.to_owned(),
            expects: self.expects.map(str::to_owned),
            source: self.source.map(str::to_owned),
            dataschema: self.dataschema.map(str::to_owned),
        };
        CompiledContract::new(terms).map_err(|mistake| named(of_field(&mistake.field, &mistake.error)))
    }
}

fn of_field(field: &str, error: &Error) -> Error {
    Error::new(error.code(), format!("{field}: {}", error.detail())).hint(error.next_step())
}

fn wrong(what: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::new(DECLARATION_INVALID, what).hint(hint)
}

/// What a contract says, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ContractTerms {
    /// The type.
    pub event_type: String,
    /// What sort of thing it happens to.
    pub aggregate: String,
    /// The JSON Schema of each version.
    pub versions: BTreeMap<u32, Value>,
    /// How the schema may change.
    pub compatibility: Compatibility,
    /// Where in a payload the aggregate's id is.
    pub ordering_key: Option<String>,
    /// Fields that every payload has.
    pub key_fields: Vec<String>,
    /// Who answers for it.
    pub owner: String,
    /// What a consumer is expected to do.
    pub expects: Option<String>,
    /// `source` of the `CloudEvent`.
    pub source: Option<String>,
    /// `dataschema` of the `CloudEvent`, with `{version}` where the version belongs.
    pub dataschema: Option<String>,
}

/// A mistake in a contract: the key of `[[event]]` where it is, and the rule that is broken.
#[derive(Debug)]
pub struct ContractMistake {
    /// Such as `ordering_key` or `versions.1`.
    pub field: String,
    /// What is wrong, and what to do.
    pub error: Error,
}

fn mistake(field: impl Into<String>, error: Error) -> ContractMistake {
    ContractMistake { field: field.into(), error }
}

/// A contract that was checked. Its schemas are compiled once, here.
#[derive(Debug)]
pub struct CompiledContract {
    terms: ContractTerms,
    event_type: EventType,
    aggregate: AggregateType,
    schemas: BTreeMap<u32, PayloadSchema>,
    ordering_key: Option<PayloadPointer>,
    key_fields: Vec<PayloadPointer>,
}

impl CompiledContract {
    /// Versions that a contract may have.
    pub const VERSIONS_MAX: usize = 100;
    /// Fields that may identify what an event is about.
    pub const KEY_FIELDS_MAX: usize = 16;
    /// Bytes of the texts for people, and of the attributes of the `CloudEvent`.
    pub const TEXT_BYTES_MAX: usize = 1024;

    /// Checks a contract and compiles its schemas.
    pub fn new(terms: ContractTerms) -> Result<Self, ContractMistake> {
        let event_type = EventType::parse(&terms.event_type).map_err(|error| mistake("type", error))?;
        if event_type.as_str().split('.').any(str::is_empty) {
            let what = format!("{:?} has an empty part between its dots", event_type.as_str());
            return Err(mistake(
                "type",
                wrong(what, "write a type such as case.submitted: its page is named after it"),
            ));
        }
        let aggregate = AggregateType::parse(&terms.aggregate).map_err(|error| mistake("aggregate", error))?;
        check_texts(&terms)?;
        if terms.versions.is_empty() || terms.versions.len() > Self::VERSIONS_MAX {
            let what = format!("it has {} versions, and 1 to {} are allowed", terms.versions.len(), Self::VERSIONS_MAX);
            return Err(mistake(
                "versions",
                wrong(what, "write versions = { 1 = \"FILE\" } with the JSON Schema of a payload"),
            ));
        }
        let mut schemas = BTreeMap::new();
        for (version, schema) in &terms.versions {
            let compiled =
                PayloadSchema::compile(schema).map_err(|error| mistake(format!("versions.{version}"), error))?;
            schemas.insert(*version, compiled);
        }
        let ordering_key = terms.ordering_key.as_deref().map(PayloadPointer::parse).transpose();
        let ordering_key = ordering_key.map_err(|error| mistake("ordering_key", error))?;
        if terms.key_fields.len() > Self::KEY_FIELDS_MAX {
            let what = format!("{} fields are named, and {} are allowed", terms.key_fields.len(), Self::KEY_FIELDS_MAX);
            return Err(mistake("key_fields", wrong(what, "name those that identify what the event is about")));
        }
        let mut key_fields = Vec::new();
        for (at, field) in terms.key_fields.iter().enumerate() {
            key_fields.push(PayloadPointer::parse(field).map_err(|error| mistake(format!("key_fields.{at}"), error))?);
        }
        Ok(Self { terms, event_type, aggregate, schemas, ordering_key, key_fields })
    }

    /// What it says.
    pub fn terms(&self) -> &ContractTerms {
        &self.terms
    }

    /// The type that it is about.
    pub fn event_type(&self) -> &EventType {
        &self.event_type
    }

    /// `source` of the `CloudEvent`, where the contract names one.
    pub fn source(&self) -> Option<&str> {
        self.terms.source.as_deref()
    }

    /// `dataschema` of the `CloudEvent` of a version, where the contract names one.
    pub fn dataschema(&self, version: u32) -> Option<String> {
        self.terms.dataschema.as_ref().map(|text| text.replace("{version}", &version.to_string()))
    }

    /// Refuses an event that breaks the contract. What is said holds no value of the payload.
    pub fn check(&self, event: &NewEvent) -> Result<()> {
        let version = event.schema_version;
        let Some(schema) = self.schemas.get(&version) else {
            let known: Vec<String> = self.schemas.keys().map(u32::to_string).collect();
            let detail = format!("event type {} has no version {version}", self.event_type);
            return Err(Error::new(EVENT_VERSION_UNSUPPORTED, detail)
                .hint(format!("declared: {}; declare the version with its schema first", known.join(", "))));
        };
        let aggregate = &event.aggregate;
        if aggregate.aggregate_type != self.aggregate {
            let what =
                format!("its aggregate is {:?}, not {:?}", self.aggregate.as_str(), aggregate.aggregate_type.as_str());
            return Err(self.broken(version, &what));
        }
        let payload = payload::json(event).map_err(|what| self.broken(version, &what))?;
        let mut violations = schema.violations(&payload);
        if let Some(key) = &self.ordering_key
            && let Some(what) = key.differs_from(&payload, &aggregate.id)
        {
            violations.push((key.as_str().to_owned(), what.to_owned()));
        }
        let missing = self.key_fields.iter().filter(|field| !field.is_set(&payload));
        violations.extend(missing.map(|field| (field.as_str().to_owned(), "the key field is missing".to_owned())));
        if violations.is_empty() {
            return Ok(());
        }
        violations.truncate(PayloadSchema::VIOLATIONS_MAX);
        let told: Vec<String> = violations.iter().map(|(at, what)| format!("{}: {what}", payload::shown(at))).collect();
        Err(self.broken(version, &told.join("; ")).violating(payload::as_findings(violations)))
    }

    fn broken(&self, version: u32, what: &str) -> Error {
        Error::new(EVENT_CONTRACT_INVALID, format!("event type {} version {version}: {what}", self.event_type))
            .hint("fix what stages it; where the contract itself is wrong, declare a new version")
    }
}

/// A contract that a program or a file declares is held by many.
pub type SharedContract = Arc<CompiledContract>;

fn check_texts(terms: &ContractTerms) -> Result<(), ContractMistake> {
    if terms.owner.trim().is_empty() {
        let error = wrong("it has no owner", "name the team that answers for it: owner = \"case team\"");
        return Err(mistake("owner", error));
    }
    let texts = [
        ("owner", Some(&terms.owner)),
        ("expects", terms.expects.as_ref()),
        ("source", terms.source.as_ref()),
        ("dataschema", terms.dataschema.as_ref()),
    ];
    for (field, text) in texts.into_iter().filter_map(|(field, text)| Some((field, text?))) {
        if text.len() > CompiledContract::TEXT_BYTES_MAX {
            let what = format!("it has {} bytes, and {} are allowed", text.len(), CompiledContract::TEXT_BYTES_MAX);
            return Err(mistake(field, wrong(what, "make it shorter")));
        }
        let attribute = field == "source" || field == "dataschema";
        let unfit = if attribute { |c: char| !c.is_ascii_graphic() } else { |c: char| c.is_control() && c != '\n' };
        if text.trim().is_empty() || text.chars().any(unfit) {
            let what = if attribute { "it is not a URI reference" } else { "it is blank or has control characters" };
            return Err(mistake(
                field,
                wrong(what, "write it as text without control characters, an address without spaces"),
            ));
        }
    }
    Ok(())
}
