//! `on_unknown`: a policy's name, or a table with what the policy needs.

use std::fmt;
use std::time::Duration;

use onefold_core::effect::{DuplicateReason, EffectClass, EffectContract, Policy, PolicyName};
use onefold_core::error::DECLARATION_INVALID;
use onefold_core::{Error, Result};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};

use crate::question::DeclaredQuestion;
use crate::setting::declaration;
use crate::values::duration;

/// How long a "no" is not believed yet, unless a declaration says otherwise.
const SETTLE: Duration = Duration::from_mins(15);

/// What an unknown outcome may do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", serde(untagged))]
pub enum OnUnknownDeclaration {
    /// A policy that needs no more than its name: `rerun` or `escalate`.
    Named(String),
    /// A policy that needs more than its name.
    With(PolicyDeclaration),
}

declaration! {
    /// A policy that needs more than its name: `same_key`, `ask`, `void` or `accept_duplicate`, with what belongs to it.
    [cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(rename_all = "camelCase"))]
    pub struct PolicyDeclaration {
        /// Perform again under the same key; the name under which the provider takes it.
        ["header", "none"]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(example = "Idempotency-Key"))]
        pub same_key: Option<String>,
        /// How long the provider remembers a key.
        ["duration", "required with `same_key`"]
        #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "24h"))]
        pub provider_memory: Option<Duration>,
        /// Ask the provider. Configuration only.
        ["`\"GET https://…?operation={id}\"`", "none"]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(ignore = true))] // tidy: allow(the word is utoipa's)
        pub ask: Option<String>,
        /// Make the provider refuse the key. Configuration only.
        ["`\"DELETE https://…/{key}\"`", "none"]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(ignore = true))] // tidy: allow(the word is utoipa's)
        pub void: Option<String>,
        /// Where in the provider's JSON stands what exists only if the effect took hold.
        ["JSON pointer", "every success is a yes"]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(ignore = true))] // tidy: allow(the word is utoipa's)
        pub took_hold: Option<String>,
        /// Where in the provider's JSON stands the result.
        ["JSON pointer", "what `took_hold` points at"]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(ignore = true))] // tidy: allow(the word is utoipa's)
        pub result: Option<String>,
        /// How long after the last deadline a "no" to `ask` is believed.
        ["duration", "\"15m\""]
        #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(ignore = true))] // tidy: allow(the word is utoipa's)
        pub settle: Option<Duration>,
        /// Why a second effect is acceptable; the timeline of an operation that is performed again quotes it.
        ["text", "none"]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub accept_duplicate: Option<String>,
    }
}

impl OnUnknownDeclaration {
    /// The policy that it names, with its parameters.
    pub fn policy(&self) -> Result<Policy> {
        match self {
            Self::Named(name) => match PolicyName::parse(name).ok_or_else(|| unknown(name))? {
                PolicyName::Rerun => Ok(Policy::Rerun),
                PolicyName::Escalate => Ok(Policy::Escalate),
                PolicyName::InTransaction => Ok(Policy::InTransaction),
                name @ (PolicyName::AcceptDuplicate | PolicyName::SameKey | PolicyName::Ask | PolicyName::Void) => {
                    Err(needs(name))
                }
            },
            Self::With(declared) => declared.policy(),
        }
    }

    /// How the provider is asked, where the policy asks.
    pub fn question(&self) -> Result<Option<DeclaredQuestion>> {
        match self {
            Self::Named(_) => Ok(None),
            Self::With(declared) => declared.question(),
        }
    }

    /// The name under which the provider takes the key, where it takes one.
    pub fn provider_key(&self) -> Option<&str> {
        match self {
            Self::Named(_) => None,
            Self::With(declared) => declared.same_key.as_deref(),
        }
    }

    /// The policy that needs an address, if it is one.
    pub(crate) fn addressed(&self) -> Option<PolicyName> {
        let named = match self {
            Self::Named(name) => PolicyName::parse(name),
            Self::With(declared) if declared.ask.is_some() => Some(PolicyName::Ask),
            Self::With(declared) if declared.void.is_some() => Some(PolicyName::Void),
            Self::With(_) => None,
        };
        named.filter(|name| matches!(name, PolicyName::Ask | PolicyName::Void))
    }
}

impl PolicyDeclaration {
    fn policy(&self) -> Result<Policy> {
        let given = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.trim().is_empty());
        let named = [
            (PolicyName::SameKey, given(&self.same_key)),
            (PolicyName::Ask, given(&self.ask)),
            (PolicyName::Void, given(&self.void)),
            (PolicyName::AcceptDuplicate, given(&self.accept_duplicate)),
        ];
        let mut named = named.into_iter().filter(|(_, given)| *given).map(|(name, _)| name);
        let (Some(name), None) = (named.next(), named.next()) else { return Err(one_policy()) };
        self.only_for(name)?;
        match (name, self.provider_memory) {
            (PolicyName::SameKey, Some(provider_memory)) => Ok(Policy::SameKey { provider_memory }),
            (PolicyName::SameKey, None) => Err(needs(name)),
            (PolicyName::Ask, _) => Ok(Policy::Ask { settle: self.settle.unwrap_or(SETTLE) }),
            (PolicyName::Void, _) => Ok(Policy::Void),
            (PolicyName::AcceptDuplicate, _) => {
                let because = DuplicateReason::new(self.accept_duplicate.as_deref().unwrap_or_default());
                Ok(Policy::AcceptDuplicate { because })
            }
            (PolicyName::Rerun | PolicyName::Escalate | PolicyName::InTransaction, _) => Err(one_policy()),
        }
    }

    /// Refuses what belongs to another policy.
    fn only_for(&self, name: PolicyName) -> Result<()> {
        let asks = matches!(name, PolicyName::Ask | PolicyName::Void);
        let rows = [
            ("provider_memory", self.provider_memory.is_some(), name == PolicyName::SameKey),
            ("settle", self.settle.is_some(), asks),
            ("took_hold", self.took_hold.is_some(), asks),
            ("result", self.result.is_some(), asks),
        ];
        match rows.into_iter().find(|(_, given, belongs)| *given && !belongs) {
            None => Ok(()),
            Some((key, ..)) => {
                Err(Error::new(DECLARATION_INVALID, format!("`{key}` does not belong to `{name}`")).hint(example(name)))
            }
        }
    }

    fn question(&self) -> Result<Option<DeclaredQuestion>> {
        let Some(question) = self.ask.as_deref().or(self.void.as_deref()) else { return Ok(None) };
        if self.void.as_ref().is_some_and(|void| void.contains("{id}")) {
            return Err(Error::new(
                DECLARATION_INVALID,
                "`void` names the operation by {id}, which is not the key that a later attempt sent",
            )
            .hint("write void = \"DELETE https://…/{key}\": after a void every attempt has a key of its own"));
        }
        DeclaredQuestion::parse(question, self.took_hold.as_deref(), self.result.as_deref()).map(Some)
    }
}

impl Serialize for OnUnknownDeclaration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Named(name) => serializer.serialize_str(name),
            Self::With(declared) => declared.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for OnUnknownDeclaration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = OnUnknownDeclaration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy's name, or a table with what it needs")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(OnUnknownDeclaration::Named(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        PolicyDeclaration::deserialize(MapAccessDeserializer::new(map)).map(OnUnknownDeclaration::With)
    }
}

fn example(name: PolicyName) -> String {
    let example = match name {
        PolicyName::SameKey => "{ same_key = \"Idempotency-Key\", provider_memory = \"24h\" }",
        PolicyName::Ask => "{ ask = \"GET https://…?operation={id}\", settle = \"15m\" }",
        PolicyName::Void => "{ void = \"DELETE https://…/{key}\" }",
        PolicyName::AcceptDuplicate => "{ accept_duplicate = \"why a second one is acceptable\" }",
        PolicyName::Rerun => "\"rerun\"",
        PolicyName::Escalate => "\"escalate\"",
        PolicyName::InTransaction => "\"in_transaction\"",
    };
    format!("write on_unknown = {example}")
}

fn needs(name: PolicyName) -> Error {
    Error::new(DECLARATION_INVALID, format!("`{name}` lacks what it needs")).hint(example(name))
}

/// The contract of a class whose declaration does not say what an unknown outcome may do.
pub fn default_contract(class: EffectClass) -> Result<EffectContract> {
    EffectContract::default_of(class).ok_or_else(|| {
        let allowed = EffectContract::allowed(class).iter().copied().map(example).collect::<Vec<_>>();
        Error::new(DECLARATION_INVALID, format!("class {class} has no default for an unknown outcome"))
            .hint(allowed.join(", or "))
    })
}

fn one_policy() -> Error {
    Error::new(DECLARATION_INVALID, "this names no policy, or more than one")
        .hint(format!("{}, or ask, void or accept_duplicate with what it needs", example(PolicyName::SameKey)))
}

fn unknown(name: &str) -> Error {
    let known: Vec<_> = PolicyName::ALL.iter().map(|name| name.as_str()).collect();
    Error::new(DECLARATION_INVALID, format!("{name:?} is not a policy for an unknown outcome"))
        .hint(format!("use one of {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> OnUnknownDeclaration {
        #[derive(serde::Deserialize)]
        struct Holder {
            on_unknown: OnUnknownDeclaration,
        }
        toml::from_str::<Holder>(text).unwrap().on_unknown
    }

    #[test]
    fn a_void_names_the_key_that_was_sent() {
        assert!(read("on_unknown = { void = 'DELETE http://n/{key}' }").question().unwrap().is_some());
        let error = read("on_unknown = { void = 'DELETE http://n/{id}' }").question().unwrap_err();
        assert_eq!(error.code(), DECLARATION_INVALID);
        assert!(read("on_unknown = { ask = 'GET http://n/{id}' }").question().unwrap().is_some());
    }

    #[test]
    fn a_table_names_one_policy_and_what_belongs_to_it() {
        for text in [
            "{ same_key = 'K' }",
            "{ same_key = 'K', provider_memory = '1h', settle = '1m' }",
            "{ same_key = 'K', provider_memory = '1h', accept_duplicate = 'why' }",
            "{ accept_duplicate = ' ' }",
            "{ provider_memory = '1h' }",
            "{}",
        ] {
            let error = read(&format!("on_unknown = {text}")).policy().unwrap_err();
            assert_eq!(error.code(), DECLARATION_INVALID, "{text}");
        }
        let read = read("on_unknown = { accept_duplicate = 'a second reminder harms nobody' }");
        assert_eq!(read.policy().unwrap().to_string(), "accept_duplicate because a second reminder harms nobody");
    }
}
