//! One failure, one code: what is wrong, who must act, whether a retry is safe.

mod class;
mod code;
mod descriptor;
mod project;
mod redacted;
mod registry;
mod sample;

pub use class::{ErrorClass, Owner, Retryability, Visibility};
pub use code::{Code, CodeName};
pub use descriptor::{Descriptor, Guide, Override};
pub use project::{
    BpmnCode, JobAnswer, Level, Problem, ProblemContext, Severity, Verdict, Violation, registry_json, review, runbook,
};
pub use redacted::Redacted;
pub use registry::*;
pub use sample::{LINES_MAX, LogDecision, Sampler, WINDOW};

use std::error::Error as StdError;
use std::fmt;

/// The result of whatever can fail with a registry code.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure with its registry code, what happened here, and what to do next.
#[derive(Debug)]
pub struct Error {
    code: Code,
    detail: String,
    hint: Option<String>,
    more: Option<Box<More>>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What few failures have.
#[derive(Debug, Clone, Default)]
struct More {
    native: Option<&'static str>,
    constraint: Option<String>,
    violations: Vec<Violation>,
    facts: Vec<(&'static str, serde_json::Value)>,
}

impl Error {
    /// A failure of this code; `detail` says what happened, with the value that is wrong.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), hint: None, more: None, source: None }
    }

    /// The same with a next step more exact than the registry's general one.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with what caused it, kept for logs.
    #[must_use]
    pub fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// The same with the name that the store itself gives it, such as `SQLITE_BUSY` or `40P01`; for metrics and logs.
    #[must_use]
    pub fn native_code(mut self, native: &'static str) -> Self {
        self.more().native = Some(native);
        self
    }

    /// The same with the name of the database's constraint that was broken; for metrics and logs.
    #[must_use]
    pub fn breaking(mut self, constraint: impl Into<String>) -> Self {
        self.more().constraint = Some(constraint.into());
        self
    }

    /// The same with what exactly is wrong with what was sent.
    #[must_use]
    pub fn violating(mut self, violations: Vec<Violation>) -> Self {
        self.more().violations = violations;
        self
    }

    /// The same with a further member of its problem, for clients that act on it.
    #[must_use]
    pub fn with_fact(mut self, name: &'static str, value: impl Into<serde_json::Value>) -> Self {
        self.more().facts.push((name, value.into()));
        self
    }

    /// The further members of its problem.
    pub fn facts(&self) -> &[(&'static str, serde_json::Value)] {
        self.more.as_ref().map_or(&[], |more| &more.facts)
    }

    /// What exactly is wrong with what was sent.
    pub fn violations(&self) -> &[Violation] {
        self.more.as_ref().map_or(&[], |more| &more.violations)
    }

    /// The name that the store itself gives it.
    pub fn native(&self) -> Option<&'static str> {
        self.more.as_ref().and_then(|more| more.native)
    }

    /// The name of the database's constraint that was broken.
    pub fn constraint(&self) -> Option<&str> {
        self.more.as_ref().and_then(|more| more.constraint.as_deref())
    }

    fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    /// The registry code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What happened, in a sentence.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// What to do next.
    pub fn next_step(&self) -> &str {
        self.hint.as_deref().unwrap_or(self.code.descriptor().guide.safe_action)
    }

    /// The same failure for another waiting caller; the cause stays with the first.
    #[must_use]
    pub fn share(&self) -> Self {
        Self {
            code: self.code,
            detail: self.detail.clone(),
            hint: self.hint.clone(),
            more: self.more.clone(),
            source: None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.code, self.detail, self.next_step())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_is_wrong_and_what_to_do_next() {
        let error =
            Error::new(OPERATION_ID_INVALID, "the operation id is empty").hint("build it from business identity");
        assert_eq!(
            error.to_string(),
            "OPERATION_ID_INVALID: the operation id is empty (build it from business identity)"
        );
    }

    #[test]
    fn every_registered_code_is_complete_and_appears_once() {
        let mut seen = std::collections::HashSet::new();
        for code in ALL {
            let descriptor = code.descriptor();
            assert!(seen.insert(descriptor.code), "{} twice", descriptor.code);
            assert!(CodeName::parse(descriptor.code).is_ok(), "{}", descriptor.code);
            assert!((400..600).contains(&descriptor.status), "{}", descriptor.code);
            for text in [
                descriptor.title,
                descriptor.guide.summary,
                descriptor.guide.first_check,
                descriptor.guide.safe_action,
                descriptor.guide.escalation,
            ] {
                assert!(!text.trim().is_empty(), "{} has an empty text", descriptor.code);
            }
        }
    }
}
