//! `on_unknown` as configuration writes it: a name, or a table with its parameters.

use std::time::Duration;

use crate::effect::{Policy, PolicyName};
use crate::error::{DECLARATION_INVALID, Error, Result};
use crate::time::parse_duration;

const SETTLE: Duration = Duration::from_mins(15);

/// Reads `on_unknown`: a policy's name, or a table with what the policy needs.
pub fn read(value: &toml::Value) -> Result<Policy> {
    match value {
        toml::Value::String(name) => named(name),
        toml::Value::Table(table) => {
            let name = table.keys().find_map(|key| PolicyName::parse(key)).ok_or_else(unknown)?;
            with_parameters(name, table)
        }
        toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_) => Err(unknown()),
    }
}

fn named(name: &str) -> Result<Policy> {
    match PolicyName::parse(name).ok_or_else(unknown)? {
        PolicyName::Rerun => Ok(Policy::Rerun),
        PolicyName::Escalate => Ok(Policy::Escalate),
        PolicyName::InTransaction => Ok(Policy::InTransaction),
        PolicyName::Outbox => Ok(Policy::Outbox),
        name @ (PolicyName::AcceptDuplicate | PolicyName::SameKey | PolicyName::Ask | PolicyName::Void) => {
            Err(needs(name))
        }
    }
}

fn with_parameters(name: PolicyName, table: &toml::Table) -> Result<Policy> {
    let text = |key: &str| table.get(key).and_then(toml::Value::as_str).filter(|text| !text.is_empty());
    let duration = |key: &str| text(key).and_then(parse_duration);
    let given = text(name.as_str()).is_some();
    match name {
        PolicyName::SameKey => {
            duration("provider_memory").filter(|_| given).map(|provider_memory| Policy::SameKey { provider_memory })
        }
        PolicyName::Ask if table.contains_key("settle") => {
            duration("settle").filter(|_| given).map(|settle| Policy::Ask { settle })
        }
        PolicyName::Ask => given.then_some(Policy::Ask { settle: SETTLE }),
        PolicyName::Void => given.then_some(Policy::Void),
        PolicyName::AcceptDuplicate => given.then_some(Policy::AcceptDuplicate),
        PolicyName::Rerun | PolicyName::Escalate | PolicyName::InTransaction | PolicyName::Outbox => None,
    }
    .ok_or_else(|| needs(name))
}

fn needs(name: PolicyName) -> Error {
    let example = match name {
        PolicyName::SameKey => "{ same_key = \"Idempotency-Key\", provider_memory = \"24h\" }",
        PolicyName::Ask => "{ ask = \"GET https://…?operation={id}\", settle = \"15m\" }",
        PolicyName::Void => "{ void = \"DELETE https://…/{key}\" }",
        PolicyName::AcceptDuplicate => "{ accept_duplicate = \"why a second one is acceptable\" }",
        PolicyName::Rerun => "\"rerun\"",
        PolicyName::Escalate => "\"escalate\"",
        PolicyName::InTransaction => "\"in_transaction\"",
        PolicyName::Outbox => "\"outbox\"",
    };
    Error::new(DECLARATION_INVALID, format!("`{name}` lacks what it needs"))
        .hint(format!("write on_unknown = {example}"))
}

fn unknown() -> Error {
    let known: Vec<_> = PolicyName::ALL.iter().map(|name| name.as_str()).collect();
    Error::new(DECLARATION_INVALID, "this is no policy for an unknown outcome")
        .hint(format!("use one of {}", known.join(", ")))
}
