//! A kind as its first claim declares it. What it needs beside this, such as addresses to ask, is configuration.

use std::time::Duration;

use onefold_core::effect::{Contract, EffectClass, Policy, PolicyName, Terms};
use onefold_core::error::{DECLARATION_INVALID, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::operation::KindName;
use onefold_core::retry::{Category, RetryTable, Schedule};
use onefold_core::time::parse_duration;
use onefold_core::{Error, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::fields::whole_or_none;

/// What sort of effect a kind has. Sent with the first claim of a kind, and pinned from then on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Declaration {
    /// `pure`, `converging`, `message-publish`, `human-notification`, `external-command` or `financial-or-legal`.
    #[schema(example = "external-command")]
    pub(crate) class: String,
    /// What an unknown outcome may do; the class's default where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) on_unknown: Option<OnUnknown>,
    /// How long one attempt may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "10s")]
    pub(crate) deadline: Option<String>,
    /// How long a silent caller keeps its lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "30s")]
    pub(crate) lease: Option<String>,
    /// The dependency that failures are counted against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) depends_on: Option<String>,
    /// Attempts an operation may use in all.
    #[serde(default, deserialize_with = "whole_or_none", skip_serializing_if = "Option::is_none")]
    pub(crate) attempts_max: Option<u32>,
    /// Waits between attempts after any failure that may be retried; the last one repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["1s", "5s"]))]
    pub(crate) backoff: Option<Vec<String>>,
    /// Larger results are kept as a digest.
    #[serde(default, deserialize_with = "whole_or_none", skip_serializing_if = "Option::is_none")]
    pub(crate) result_bytes_max: Option<usize>,
}

/// What an unknown outcome may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum OnUnknown {
    /// `rerun` or `escalate`.
    Named(String),
    /// A policy that needs more than its name.
    With(PolicyTerms),
}

/// A policy that needs more than its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PolicyTerms {
    /// The name under which the provider takes the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Idempotency-Key")]
    pub(crate) same_key: Option<String>,
    /// How long the provider remembers a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "24h")]
    pub(crate) provider_memory: Option<String>,
    /// Why a second effect is acceptable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) accept_duplicate: Option<String>,
}

impl Declaration {
    /// A declaration of this class with everything else at its default.
    pub(crate) fn of(class: &str) -> Self {
        Self {
            class: class.to_owned(),
            on_unknown: None,
            deadline: None,
            lease: None,
            depends_on: None,
            attempts_max: None,
            backoff: None,
            result_bytes_max: None,
        }
    }

    /// As it is pinned.
    pub(crate) fn to_text(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// A pinned one.
    pub(crate) fn stored(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|cause| {
            Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a pinned kind cannot be read").caused_by(cause)
        })
    }

    /// The terms it means.
    pub(crate) fn terms(&self, kind: KindName) -> Result<Terms> {
        let class = EffectClass::parse(&self.class)?;
        let contract = match &self.on_unknown {
            None => Contract::default_of(class),
            Some(policy) => Contract::new(class, policy.policy()?)?,
        };
        let mut terms = Terms::new(kind, contract);
        if let Some(text) = &self.deadline {
            terms.deadline_for = duration("deadline", text)?;
        }
        if let Some(text) = &self.lease {
            terms.lease_for = duration("lease", text)?;
        }
        if let Some(steps) = &self.backoff {
            let steps = steps.iter().map(|step| duration("backoff", step)).collect::<Result<Vec<Duration>>>()?;
            if steps.is_empty() {
                return Err(invalid("backoff is a list of durations", "write [\"1s\", \"5s\"]"));
            }
            let retried = RetryTable::default();
            for category in Category::ALL.iter().filter(|category| retried.row(**category).schedule.is_some()) {
                let schedule = Schedule::Steps(steps.clone().into());
                terms.retry =
                    std::mem::take(&mut terms.retry).with(*category, Some(schedule), "declared by its first claim");
            }
        }
        terms.retry.attempts_max = self.attempts_max.unwrap_or(terms.retry.attempts_max);
        terms.dependency = self.depends_on.as_deref().map(Into::into);
        terms.result_bytes_max = self.result_bytes_max.unwrap_or(terms.result_bytes_max);
        terms.checked()
    }
}

impl OnUnknown {
    fn policy(&self) -> Result<Policy> {
        match self {
            Self::Named(name) => match PolicyName::parse(name) {
                Some(PolicyName::Rerun) => Ok(Policy::Rerun),
                Some(PolicyName::Escalate) => Ok(Policy::Escalate),
                Some(PolicyName::Ask | PolicyName::Void) => Err(invalid(
                    &format!("`{name}` needs an address, and addresses come from configuration only"),
                    "declare this kind in the server's configuration",
                )),
                Some(PolicyName::SameKey) => Err(invalid(
                    "`same_key` lacks how long the provider remembers a key",
                    "send {\"sameKey\": \"Idempotency-Key\", \"providerMemory\": \"24h\"}",
                )),
                Some(PolicyName::AcceptDuplicate) => Err(invalid(
                    "`accept_duplicate` is said out loud",
                    "send {\"acceptDuplicate\": \"why a second one is acceptable\"}",
                )),
                Some(PolicyName::InTransaction | PolicyName::Outbox) | None => Err(invalid(
                    &format!("{name:?} is no policy for a claim"),
                    "use rerun, escalate, or {\"sameKey\": …}",
                )),
            },
            Self::With(PolicyTerms { same_key: Some(_), provider_memory: Some(memory), accept_duplicate: None }) => {
                Ok(Policy::SameKey { provider_memory: duration("providerMemory", memory)? })
            }
            Self::With(PolicyTerms { same_key: None, provider_memory: None, accept_duplicate: Some(why) })
                if !why.trim().is_empty() =>
            {
                Ok(Policy::AcceptDuplicate)
            }
            Self::With(_) => Err(invalid(
                "this policy lacks something or mixes two",
                "send {\"sameKey\": \"Idempotency-Key\", \"providerMemory\": \"24h\"}",
            )),
        }
    }
}

fn duration(name: &str, text: &str) -> Result<Duration> {
    parse_duration(text).ok_or_else(|| {
        invalid(&format!("{name}: {text:?} is no duration"), "write \"250ms\", \"10s\", \"5m\", \"24h\" or \"30d\"")
    })
}

fn invalid(what: &str, hint: &str) -> Error {
    Error::new(DECLARATION_INVALID, what).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(json: &str) -> Result<Terms> {
        let declaration: Declaration = serde_json::from_str(json).unwrap();
        declaration.terms(KindName::parse("k").unwrap())
    }

    #[test]
    fn a_declaration_means_its_terms_and_survives_being_pinned() {
        let json = r#"{"class":"external-command","onUnknown":{"sameKey":"Idempotency-Key","providerMemory":"24h"},"deadline":"10s","backoff":["0ms"],"attemptsMax":9}"#;
        let declared = terms(json).unwrap();
        assert_eq!(declared.contract.policy(), &Policy::SameKey { provider_memory: Duration::from_hours(24) });
        assert_eq!(declared.deadline_for, Duration::from_secs(10));
        let again = Declaration::stored(&serde_json::from_str::<Declaration>(json).unwrap().to_text()).unwrap();
        assert_eq!(again.terms(KindName::parse("k").unwrap()).unwrap(), declared);
    }

    #[test]
    fn what_a_claim_may_not_declare_is_refused_with_what_it_may() {
        let rows = [
            (r#"{"class":"magic"}"#, "use one of"),
            (r#"{"class":"external-command","onUnknown":"ask"}"#, "configuration"),
            (r#"{"class":"external-command","onUnknown":"guess"}"#, "escalate"),
            (r#"{"class":"external-command","onUnknown":"same_key"}"#, "providerMemory"),
            (r#"{"class":"financial-or-legal","onUnknown":"rerun"}"#, "allowed"),
            (r#"{"class":"pure","deadline":"soon"}"#, "write"),
            (r#"{"class":"pure","backoff":[]}"#, "write"),
        ];
        for (json, hint) in rows {
            let error = terms(json).unwrap_err();
            assert!(error.next_step().contains(hint), "{json}: {error}");
        }
    }
}
