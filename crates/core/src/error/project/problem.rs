//! An error over HTTP: RFC 9457, with the registry's members.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Visibility};
use crate::ledger::named;

/// An error as `application/problem+json`. No detail leaves that its code does not let out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// A page about the code.
    pub r#type: String,
    /// The same for every problem of this code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened here.
    pub detail: String,
    /// What to do next.
    pub next: String,
    /// Where it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The registry's code.
    pub code: String,
    /// The trace it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Whether sending the same request again may help and cannot harm.
    pub retryable: bool,
    /// Who must act.
    pub owner: String,
    /// What exactly is wrong with what was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// What else a client may act on, such as `expectedVersion` and `actualVersion`.
    #[serde(flatten)]
    pub facts: BTreeMap<String, serde_json::Value>,
}

/// One thing that is wrong with what was sent, or worth a warning.
///
/// It says where and what: made by [`Violation::new`], which refuses blank texts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "SentViolation")]
#[non_exhaustive]
pub struct Violation {
    /// Where, as a JSON path such as `$.evidence[0].occurredAt`.
    pub path: String,
    /// The code of the rule.
    pub code: String,
    /// What is wrong, without the value.
    pub message: String,
    /// Whether it rejects.
    pub severity: Severity,
}

impl Violation {
    /// A finding at this path, by the rule of this code.
    ///
    /// # Panics
    ///
    /// Where path, code or message is blank: a finding that does not say where and what is a defect of the rule that
    /// made it, and the panic layer of the HTTP part answers it as one.
    #[track_caller]
    pub fn new(path: impl Into<String>, code: Code, message: impl Into<String>, severity: Severity) -> Self {
        let sent =
            SentViolation { path: path.into(), code: code.as_str().to_owned(), message: message.into(), severity };
        match Self::try_from(sent) {
            Ok(violation) => violation,
            Err(blank) => panic!("{blank}"),
        }
    }
}

/// A violation as it was sent, unchecked.
#[derive(Deserialize)]
struct SentViolation {
    path: String,
    code: String,
    message: String,
    severity: Severity,
}

impl TryFrom<SentViolation> for Violation {
    type Error = String;

    fn try_from(sent: SentViolation) -> Result<Self, String> {
        let SentViolation { path, code, message, severity } = sent;
        for (name, text) in [("path", &path), ("code", &code), ("message", &message)] {
            if text.trim().is_empty() {
                return Err(format!("a finding needs a {name} that is not blank"));
            }
        }
        Ok(Self { path, code, message, severity })
    }
}

named! {
    /// Whether a finding rejects.
    Severity {
        /// It rejects.
        Error = "ERROR",
        /// It is returned with the success.
        Warning = "WARNING",
    }
}

/// What a problem says beside the error itself.
#[derive(Debug, Clone, Default)]
pub struct ProblemContext {
    /// Where the pages of codes are; `/errors/` unless set.
    pub base: Option<String>,
    /// Where it happened.
    pub instance: Option<String>,
    /// The trace it belongs to.
    pub correlation_id: Option<String>,
    /// Whether the request carried a key that deduplicates it.
    pub had_key: bool,
}

impl Problem {
    /// The projection of an error.
    pub fn of(error: &Error, context: &ProblemContext) -> Self {
        let known = error.code().descriptor();
        let external = known.visibility == Visibility::External;
        let facts = error.facts().iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let base = context.base.as_deref().unwrap_or("/errors/");
        Self {
            r#type: format!("{base}{}", error.code().kebab()),
            title: known.title.to_owned(),
            status: known.status,
            detail: if external { error.detail() } else { known.guide.summary }.to_owned(),
            next: if external { error.next_step() } else { known.guide.safe_action }.to_owned(),
            instance: context.instance.clone(),
            code: known.code.to_owned(),
            correlation_id: context.correlation_id.clone(),
            retryable: error.code().retryable(context.had_key),
            owner: known.owner.as_str().to_owned(),
            violations: if external { error.violations().to_vec() } else { Vec::new() },
            facts: if external { facts } else { BTreeMap::new() },
        }
    }
}

impl Code {
    /// The code as an address has it: `LEASE_ENDED` is `lease-ended`.
    pub fn kebab(self) -> String {
        self.as_str().to_ascii_lowercase().replace('_', "-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{DATABASE_UNAVAILABLE, LEASE_ENDED, OUTCOME_NOT_RECORDED, UNEXPECTED};

    #[test]
    fn internal_detail_never_leaves() {
        for code in [DATABASE_UNAVAILABLE, UNEXPECTED] {
            let found = Violation {
                path: "$.pg-7".into(),
                code: "PG".into(),
                message: "pg-7".into(),
                severity: Severity::Error,
            };
            let error = Error::new(code, "pg-7.internal:5432").hint("pg-7").violating(vec![found]);
            let problem = Problem::of(&error.with_fact("host", "pg-7"), &ProblemContext::default());
            assert!(!serde_json::to_string(&problem).unwrap().contains("pg-7"), "{code}");
        }
        let problem = Problem::of(&Error::new(LEASE_ENDED, "fence 3"), &ProblemContext::default());
        assert_eq!((problem.detail.as_str(), problem.r#type.as_str()), ("fence 3", "/errors/lease-ended"));
    }

    #[test]
    fn a_finding_with_a_blank_path_or_message_is_refused() {
        let made = |path: &'static str, message: &'static str| {
            std::panic::catch_unwind(move || Violation::new(path, LEASE_ENDED, message, Severity::Error))
        };
        assert!(made("$.amount", "is negative").is_ok());
        for (path, message) in [("", "is negative"), (" ", "is negative"), ("$.amount", ""), ("$.amount", "\t")] {
            assert!(made(path, message).is_err(), "{path:?} {message:?}");
            let sent = serde_json::json!({ "path": path, "code": "X", "message": message, "severity": "ERROR" });
            assert!(serde_json::from_value::<Violation>(sent).is_err(), "{path:?} {message:?}");
        }
    }

    #[test]
    fn retryable_is_true_only_where_a_repetition_cannot_harm() {
        let with = |had_key| ProblemContext { had_key, ..ProblemContext::default() };
        let error = Error::new(OUTCOME_NOT_RECORDED, "x");
        assert!(!Problem::of(&error, &with(false)).retryable);
        assert!(Problem::of(&error, &with(true)).retryable);
    }
}
