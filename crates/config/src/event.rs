//! `[[event]]`: the contract of an event type.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use onefold_core::error::DECLARATION_INVALID;
use onefold_core::event::{Compatibility, CompiledContract, ContractTerms};
use onefold_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::mistake::Mistake;
use crate::setting::declaration;

declaration! {
    /// The contract of an event type: what is promised to everyone who reads it.
    [serde(default)]
    pub struct EventDeclaration {
        /// The type: `domain.what-happened`, such as `case.submitted`. It is declared once.
        ["text", "required"]
        pub r#type: String,
        /// What sort of thing it happens to.
        ["text", "required"]
        pub aggregate: String,
        /// The JSON Schema of a payload, for each version: a file such as `"events/case.submitted.v1.json"`, or the schema itself as a table. It refers to nothing outside itself.
        ["table", "required"]
        pub versions: BTreeMap<String, SchemaDeclaration>,
        /// Who answers for it.
        ["text", "required"]
        pub owner: String,
        /// How the schema may change from version to version: `"backward"` (the newest schema reads every event), `"forward"` (an earlier schema reads newer events), `"full"` or `"none"`.
        ["text", "\"backward\""]
        pub compatibility: Compatibility = Compatibility::Backward,
        /// Where in a payload the aggregate's id is, as a JSON pointer such as `"/caseId"`; an event in which the two differ is refused.
        ["text", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ordering_key: Option<String>,
        /// Fields that identify what an event is about, as JSON pointers; a payload without them is refused.
        ["list of texts", "[]"]
        pub key_fields: Vec<String>,
        /// What a consumer is expected to do, for its page.
        ["text", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub expects: Option<String>,
        /// `source` of the `CloudEvent`.
        ["text", "`/{tenant}/{aggregate}`"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub source: Option<String>,
        /// `dataschema` of the `CloudEvent`, with `{version}` where the version belongs.
        ["text", "`/events/{type}/{version}`"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub dataschema: Option<String>,
    }
}

/// The JSON Schema of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "the file of a JSON Schema, or the schema itself as a table")]
pub enum SchemaDeclaration {
    /// A file that holds it.
    File(PathBuf),
    /// The schema itself.
    Inline(Map<String, Value>),
}

impl EventDeclaration {
    /// Bytes that the file of a schema may have.
    pub const SCHEMA_BYTES_MAX: u64 = 64 * 1024;

    /// The contract that it declares; `read` reads the file of a schema.
    pub fn check(&self, read: impl Fn(&Path) -> Result<String>) -> Result<CompiledContract, Mistake> {
        for (key, value) in [("type", &self.r#type), ("aggregate", &self.aggregate), ("owner", &self.owner)] {
            if value.is_empty() {
                let hint = format!("write {key} = \"…\"");
                return Err(Mistake::missing(&format!("it has no {key}"), &hint));
            }
        }
        let mut versions = BTreeMap::new();
        for (version, schema) in &self.versions {
            let key = format!("versions.{version}");
            let number = version.parse::<u32>().ok().filter(|number| number.to_string() == *version);
            let Some(number) = number.filter(|number| i32::try_from(*number).is_ok()) else {
                let what = format!("{version:?} is not a version");
                return Err(Mistake::wrong(key, what, "write a number: versions = { 1 = \"FILE\" }"));
            };
            versions.insert(number, schema.read(&read).map_err(|error| Mistake::value(key, error))?);
        }
        let terms = ContractTerms {
            event_type: self.r#type.clone(),
            aggregate: self.aggregate.clone(),
            versions,
            compatibility: self.compatibility,
            ordering_key: self.ordering_key.clone(),
            key_fields: self.key_fields.clone(),
            owner: self.owner.clone(),
            expects: self.expects.clone(),
            source: self.source.clone(),
            dataschema: self.dataschema.clone(),
        };
        CompiledContract::new(terms).map_err(|mistake| {
            if self.versions.is_empty() && mistake.field == "versions" {
                return Mistake::name(mistake.error);
            }
            Mistake::value(mistake.field, mistake.error)
        })
    }

    /// The same with its relative paths beginning in this folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        for schema in self.versions.values_mut() {
            if let SchemaDeclaration::File(file) = schema {
                *file = folder.join(&*file);
            }
        }
        self
    }
}

impl SchemaDeclaration {
    fn read(&self, read: impl Fn(&Path) -> Result<String>) -> Result<Value> {
        match self {
            Self::Inline(schema) => Ok(Value::Object(schema.clone())),
            Self::File(file) => serde_json::from_str(&read(file)?).map_err(|cause| {
                let what = format!("{}:{}:{}: it is not JSON", file.display(), cause.line(), cause.column());
                Error::new(DECLARATION_INVALID, what).hint("write the schema as JSON")
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_the_guide_shows_are_those_that_hold() {
        crate::setting::tests::shown_defaults_hold::<EventDeclaration>(EventDeclaration::SETTINGS);
    }
}
