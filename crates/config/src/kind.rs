//! `[kind.NAME]`, and `declare` of a first claim: what sort of effect a kind has.

use std::collections::BTreeMap;
use std::time::Duration;

use onefold_core::effect::{EffectClass, EffectContract, KindSpec, Policy, Retention};
use onefold_core::error::{DECLARATION_INVALID, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::fingerprint::Mode;
use onefold_core::operation::KindName;
use onefold_core::retry::{Category, RetryTable, Schedule};
use onefold_core::{Error, Result};

use crate::mistake::Mistake;
use crate::policy::{OnUnknownDeclaration, default_contract};
use crate::question::DeclaredQuestion;
use crate::setting::declaration;
use crate::values::category::CategoryKey;
use crate::values::{class, duration, durations, fingerprint};

declaration! {
    /// What sort of effect a kind has.
    [cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(rename_all = "camelCase"))]
    pub struct KindDeclaration {
        /// What sort of effect it is, and so what may follow an unknown outcome.
        ["`pure`, `converging`, `local`, `external-command`, `message-publish`, `human-notification` or `financial-or-legal`", "required"]
        #[serde(default, with = "class")]
        #[cfg_attr(feature = "openapi", schema(value_type = String, required = true, example = "external-command"))]
        pub class: Option<EffectClass>,
        /// What an unknown outcome may do.
        ["policy", "by class; required for `message-publish`"]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub on_unknown: Option<OnUnknownDeclaration>,
        /// How long one attempt may take; fixed when it is granted.
        ["duration", "\"30s\""]
        #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "10s"))]
        pub deadline: Option<Duration>,
        /// How long a lease lasts without renewal.
        ["duration", "\"30s\""]
        #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "30s"))]
        pub lease: Option<Duration>,
        /// For how long after the last deadline "it did not happen" needs force.
        ["duration", "`settle` of `ask`, else `\"15m\"`"]
        #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "15m"))]
        pub settle: Option<Duration>,
        /// The dependency that failures are counted against, named in incidents and metrics.
        ["name", "none"]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub depends_on: Option<String>,
        /// What part of a request is compared under a known id.
        ["`\"raw\"`, `\"canonical\"` (JSON by value) or `{ fields = [\"/amount\"] }`", "\"raw\""]
        #[serde(default, with = "fingerprint", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>, example = "canonical"))]
        pub fingerprint: Option<Mode>,
        /// Attempts an operation may use in all; then a person is asked.
        ["number", "5"]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 4_294_967_295_u64))]
        pub attempts_max: Option<u32>,
        /// How long after the first attempt retries end and a person is asked.
        ["duration", "none"]
        #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "1h"))]
        pub escalate_within: Option<Duration>,
        /// Waits between attempts after any failure that may be retried; the last one repeats.
        ["list of durations", "by failure category"]
        #[serde(default, with = "backoff", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>, example = json!(["1s", "5s"])))]
        pub backoff: Option<Vec<Duration>>,
        /// Waits after failures of one category, such as `rate_limited`, and why they differ. Categories are those of `onefold errors`, in lower case.
        ["`retry.CATEGORY = { schedule = [\"1m\", \"5m\"], because = \"…\" }`", "by failure category"]
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, RetryDeclaration>, required = false))]
        pub retry: BTreeMap<CategoryKey, RetryDeclaration>,
        /// Bytes of the largest result that is kept; of a larger one only a digest is.
        ["number", "262144"]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(maximum = 9_007_199_254_740_991_u64))]
        pub result_bytes_max: Option<usize>,
        /// Whether a `pure` operation leaves a row, so that its duplicates get its result.
        ["true or false", "false"]
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub remember: bool,
        /// How long results and ids are kept.
        ["`{ result = \"90d\", id = \"1825d\", redelivery = \"7d\" }`", "kept for ever"]
        #[serde(default, skip_serializing_if = "RetentionDeclaration::is_empty")]
        #[cfg_attr(feature = "openapi", schema(required = false))]
        pub retention: RetentionDeclaration,
    }
}

declaration! {
    /// Waits after failures of one category.
    [cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(rename_all = "camelCase"))]
    pub struct RetryDeclaration {
        /// The waits before the next attempts; the last one repeats.
        ["list of durations", "required"]
        #[serde(default, with = "durations")]
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>, required = true, example = json!(["1m", "5m"])))]
        pub schedule: Vec<Duration>,
        /// Why they differ from the default.
        ["text", "required"]
        #[serde(default)]
        #[cfg_attr(feature = "openapi", schema(required = true))]
        pub because: String,
    }
}

declaration! {
    /// How long what is kept is kept.
    [cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(rename_all = "camelCase"))]
    pub struct RetentionDeclaration {
        /// The result is dropped this long after completion; the id stays.
        ["duration", "kept for ever"]
        #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "90d"))]
        pub result: Option<Duration>,
        /// The id is forgotten this long after completion. **A duplicate after that is performed.**
        ["duration", "kept for ever"]
        #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "1825d"))]
        pub id: Option<Duration>,
        /// How late a duplicate may still arrive; `id` may not be shorter.
        ["duration", "none"]
        #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "7d"))]
        pub redelivery: Option<Duration>,
    }
}

/// A kind as it was declared, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredKind {
    /// Everything but how to ask.
    pub terms: KindSpec,
    /// How the provider is asked, where the policy asks.
    pub question: Option<DeclaredQuestion>,
}

impl KindDeclaration {
    /// A declaration of this class with everything else at its default.
    pub fn of(class: EffectClass) -> Self {
        Self { class: Some(class), ..Self::default() }
    }

    /// The kind that it declares under this name, or its first mistake.
    pub fn check(&self, name: &str) -> Result<DeclaredKind, Mistake> {
        let kind = KindName::parse(name).map_err(Mistake::name)?;
        let class = self.class.ok_or_else(|| {
            Mistake::name(
                Error::new(DECLARATION_INVALID, "this kind has no class")
                    .hint("say what sort of effect it has: class = \"external-command\""),
            )
        })?;
        let at_policy = |error| Mistake::value("on_unknown", error);
        let (contract, question) = match &self.on_unknown {
            None => (default_contract(class).map_err(|error| Mistake::value("class", error))?, None),
            Some(declared) => {
                let question = declared.question().map_err(at_policy)?;
                let policy = declared.policy().map_err(at_policy)?;
                (EffectContract::new(class, policy).map_err(at_policy)?, question)
            }
        };
        Ok(DeclaredKind { terms: self.terms(kind, contract)?, question })
    }

    /// The terms that it declares under a contract that is known already: Rust's types allow no other one.
    pub fn terms(&self, kind: KindName, contract: EffectContract) -> Result<KindSpec, Mistake> {
        let mut terms = KindSpec::new(kind, contract);
        self.fill(&mut terms)?;
        terms.checked().map_err(Mistake::name)
    }

    fn fill(&self, terms: &mut KindSpec) -> Result<(), Mistake> {
        terms.deadline_for = self.deadline.unwrap_or(terms.deadline_for);
        terms.lease_for = self.lease.unwrap_or(terms.lease_for);
        let asked_after = match terms.contract.policy() {
            Policy::Ask { settle } => *settle,
            Policy::Rerun
            | Policy::AcceptDuplicate { .. }
            | Policy::SameKey { .. }
            | Policy::Void
            | Policy::Escalate
            | Policy::InTransaction => terms.settle,
        };
        terms.settle = self.settle.unwrap_or(asked_after);
        terms.dependency = self.depends_on.as_deref().map(Into::into);
        terms.fingerprint = self.fingerprint.clone().unwrap_or_default();
        terms.result_bytes_max = self.result_bytes_max.unwrap_or(terms.result_bytes_max);
        terms.remember = self.remember;
        terms.retention = self.retention.clone().into();
        terms.retry = self.retries(std::mem::take(&mut terms.retry))?;
        Ok(())
    }

    fn retries(&self, mut table: RetryTable) -> Result<RetryTable, Mistake> {
        table.escalate_within = self.escalate_within;
        table.attempts_max = self.attempts_max.unwrap_or(table.attempts_max);
        if let Some(steps) = &self.backoff {
            let defaults = RetryTable::default();
            for category in Category::ALL.iter().filter(|category| defaults.row(**category).schedule.is_some()) {
                table = table.with(*category, Some(Schedule::Steps(steps.clone().into())), "declared as `backoff`");
            }
        }
        for (CategoryKey(category), row) in &self.retry {
            if row.because.trim().is_empty() || row.schedule.is_empty() {
                let what = format!("retry.{} lacks `schedule` or `because`", category.as_str().to_lowercase());
                let error = Error::new(DECLARATION_INVALID, what)
                    .hint("write { schedule = [\"1m\", \"5m\"], because = \"why the default does not fit\" }");
                return Err(Mistake::value("retry", error));
            }
            table = table.with(*category, Some(Schedule::Steps(row.schedule.clone().into())), row.because.clone());
        }
        Ok(table)
    }

    /// Refuses what a claim may not declare: addresses that the server would ask come from its own configuration.
    pub fn without_addresses(self) -> Result<Self> {
        let addressed = self.on_unknown.as_ref().and_then(OnUnknownDeclaration::addressed);
        match addressed {
            None => Ok(self),
            Some(name) => Err(Error::new(
                DECLARATION_INVALID,
                format!("`{name}` needs an address, and addresses come from configuration only"),
            )
            .hint("declare this kind in the server's configuration")),
        }
    }

    /// As it is pinned.
    pub fn to_text(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// A pinned one.
    pub fn stored(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|cause| {
            Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a pinned kind cannot be read").caused_by(cause)
        })
    }
}

impl RetentionDeclaration {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl From<Retention> for RetentionDeclaration {
    fn from(kept: Retention) -> Self {
        let Retention { result_for, id_for, redelivery_for } = kept;
        Self { result: result_for, id: id_for, redelivery: redelivery_for }
    }
}

impl From<RetentionDeclaration> for Retention {
    fn from(declared: RetentionDeclaration) -> Self {
        let RetentionDeclaration { result, id, redelivery } = declared;
        Self { result_for: result, id_for: id, redelivery_for: redelivery }
    }
}

/// Waits that may be left out, but not empty.
mod backoff {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::durations;

    #[derive(Deserialize)]
    struct Steps(#[serde(with = "durations")] Vec<Duration>);

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Duration>>, D::Error> {
        Ok(Option::<Steps>::deserialize(deserializer)?.map(|Steps(steps)| steps))
    }

    #[allow(clippy::ref_option, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(steps: &Option<Vec<Duration>>, serializer: S) -> Result<S::Ok, S::Error> {
        durations::serialize(steps.as_deref().unwrap_or_default(), serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_publishes_says_what_an_unknown_outcome_may_do() {
        let error = Error::from(KindDeclaration::of(EffectClass::MessagePublish).check("case.event").unwrap_err());
        assert_eq!(
            error.to_string(),
            "DECLARATION_INVALID: class message-publish has no default for an unknown outcome (write on_unknown = { same_key = \"Idempotency-Key\", provider_memory = \"24h\" })"
        );
        let of = |policy: &str| {
            let text = format!("class = 'message-publish'\non_unknown = {policy}");
            toml::from_str::<KindDeclaration>(&text).unwrap().check("case.event").map_err(Error::from)
        };
        assert!(of("{ same_key = 'event-id', provider_memory = '24h' }").is_ok());
        let outbox = of("'outbox'").unwrap_err().to_string();
        assert!(outbox.contains("\"outbox\" is not a policy for an unknown outcome"), "{outbox}");
    }

    #[test]
    fn the_defaults_that_the_guide_shows_are_those_that_hold() {
        let bare = KindDeclaration::of(EffectClass::ExternalCommand).check("k").unwrap();
        let rows = KindDeclaration::SETTINGS.iter().filter(|row| row.shows_toml());
        let shown = rows.map(|row| {
            let text = format!("class = \"external-command\"\n{} = {}\n", row.key, row.default);
            (row.key, toml::from_str::<KindDeclaration>(&text).unwrap().check("k").unwrap())
        });
        let mut count = 0;
        for (key, declared) in shown {
            assert_eq!(declared, bare, "{key}");
            count += 1;
        }
        assert!(count >= 6, "{count}");
    }
}
