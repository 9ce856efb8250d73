//! Operation ids from business identity: `{caseId}:ISSUE_FORMAL_NOTICE:{noticeType}`.
//!
//! What changes with the attempt does not exist in a template, so an id cannot depend on it.

use serde::Serialize;

use super::OperationId;
use super::id::template_value;
use crate::error::{Error, INVALID_WORKER_CONTRACT, Result, TEMPLATE_INVALID};

/// Names that change between two attempts at the same thing, without case and separators.
const REFUSED: &[&str] = &[
    "jobkey",
    "jobid",
    "deadline",
    "jobdeadline",
    "retries",
    "jobretries",
    "retrycount",
    "worker",
    "workerid",
    "jobworker",
    "host",
    "hostname",
    "hostid",
    "time",
    "timestamp",
    "now",
    "date",
    "random",
    "uuid",
    "requestid",
    "traceid",
    "traceparent",
    "thread",
    "threadid",
    "attempt",
    "attemptid",
    "activatedat",
];

/// The coordinates of a job that stay the same when the engine delivers it again.
const JOB_COORDINATES: &[&str] =
    &["job.process_instance_key", "job.element_id", "job.process_id", "job.business_key", "job.type"];

/// A checked template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(String),
}

impl Template {
    /// Reads a template; a malformed one, or one that names something unstable, is refused.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find(['{', '}']) {
            if rest.as_bytes()[open] == b'}' {
                return Err(invalid(text, "a `}` closes nothing"));
            }
            push_text(&mut parts, &rest[..open]);
            let inner = &rest[open + 1..];
            let close = inner.find('}').ok_or_else(|| invalid(text, "a `{` is never closed"))?;
            parts.push(Part::Value(checked_name(text, &inner[..close])?));
            rest = &inner[close + 1..];
        }
        push_text(&mut parts, rest);
        if !parts.iter().any(|part| matches!(part, Part::Value(_))) {
            return Err(invalid(text, "it has no placeholder, so every operation would have one id"));
        }
        Ok(Self { parts })
    }

    /// The id for these values. An absent or empty value is refused: no id is ever made up.
    pub fn fill(&self, value: impl Fn(&str) -> Option<String>) -> Result<OperationId> {
        let mut id = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => id.push_str(text),
                Part::Value(name) => {
                    let found = value(name).filter(|found| !found.is_empty()).ok_or_else(|| {
                        Error::new(
                            INVALID_WORKER_CONTRACT,
                            format!("the operation id needs {{{name}}}, which is absent or empty"),
                        )
                    })?;
                    id.push_str(&template_value(&found));
                }
            }
        }
        OperationId::parse(&id)
    }

    /// The id from the fields of a request.
    pub fn fill_from(&self, request: &impl Serialize) -> Result<OperationId> {
        let fields = serde_json::to_value(request).map_err(|cause| {
            Error::new(INVALID_WORKER_CONTRACT, "the request cannot be read for its operation id").caused_by(cause)
        })?;
        self.fill(|name| scalar(fields.get(name)?))
    }
}

fn scalar(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        serde_json::Value::Bool(yes) => Some(yes.to_string()),
        serde_json::Value::Null
        | serde_json::Value::Number(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => None,
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    if !text.is_empty() {
        parts.push(Part::Text(text.to_owned()));
    }
}

fn checked_name(template: &str, name: &str) -> Result<String> {
    if refused(name) {
        return Err(invalid(template, &format!("{{{name}}} changes with every attempt")).hint(
            "use business identity: case, command, target, version; a caller's stable key is used as the id itself",
        ));
    }
    let variable = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if variable || JOB_COORDINATES.contains(&name) {
        return Ok(name.to_owned());
    }
    let known = JOB_COORDINATES.join(", ");
    Err(invalid(template, &format!("{{{name}}} is not a name")).hint(format!("use a variable, or one of {known}")))
}

fn invalid(template: &str, why: &str) -> Error {
    Error::new(TEMPLATE_INVALID, format!("template {template:?}: {why}"))
}

fn refused(name: &str) -> bool {
    REFUSED.iter().any(|refused| same_name(refused.as_bytes(), name.as_bytes()))
}

/// Stops the build when a literal template names something unstable; used by [`template!`](crate::template).
///
/// # Panics
///
/// At compile time, for a template that is malformed or names what changes with every attempt.
pub const fn check(template: &str) {
    let bytes = template.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'{' {
            let start = at + 1;
            while at < bytes.len() && bytes[at] != b'}' {
                at += 1;
            }
            assert!(at < bytes.len(), "an opening brace of the operation id's template is never closed");
            let mut index = 0;
            while index < REFUSED.len() {
                assert!(
                    !same_range(REFUSED[index].as_bytes(), bytes, start, at),
                    "the operation id's template names something that changes with every attempt"
                );
                index += 1;
            }
        }
        at += 1;
    }
}

const fn same_name(refused: &[u8], name: &[u8]) -> bool {
    same_range(refused, name, 0, name.len())
}

/// Whether `text[from..to]` is `refused`, leaving out case and everything that is not a letter or digit.
const fn same_range(refused: &[u8], text: &[u8], from: usize, to: usize) -> bool {
    let (mut at, mut matched) = (from, 0);
    while at < to {
        let byte = text[at].to_ascii_lowercase();
        at += 1;
        if !byte.is_ascii_alphanumeric() {
            continue;
        }
        if matched == refused.len() || refused[matched] != byte {
            return false;
        }
        matched += 1;
    }
    matched == refused.len()
}

/// An operation id from a template and the fields of a request; the template is checked by the compiler.
///
/// ```
/// #[derive(serde::Serialize)]
/// struct Issue { case_id: String, notice_type: String }
/// let command = Issue { case_id: "CASE-2026-000091".into(), notice_type: "BREACH".into() };
/// let id = onefold_core::template!("{case_id}:ISSUE_FORMAL_NOTICE:{notice_type}", command)?;
/// assert_eq!(id.as_str(), "CASE-2026-000091:ISSUE_FORMAL_NOTICE:BREACH");
/// # Ok::<(), onefold_core::Error>(())
/// ```
///
/// ```compile_fail
/// #[derive(serde::Serialize)]
/// struct Issue { case_id: String, request_id: String }
/// let command = Issue { case_id: "C".into(), request_id: "R".into() };
/// let id = onefold_core::template!("{case_id}:{request_id}", command);
/// ```
#[macro_export]
macro_rules! template {
    ($template:literal, $request:expr) => {{
        const _: () = $crate::operation::template::check($template);
        $crate::operation::Template::parse($template).and_then(|template| template.fill_from(&$request))
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(template: &str, values: &[(&str, &str)]) -> Result<OperationId> {
        Template::parse(template)?
            .fill(|name| values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_good_keys_of_the_source_texts_can_be_written() {
        type Values<'a> = &'a [(&'a str, &'a str)];
        let rows: &[(&str, Values<'_>, &str)] = &[
            (
                "{caseId}:ISSUE_NOTICE:{noticeType}",
                &[("caseId", "CASE-2026-000091"), ("noticeType", "NOTICE_OF_BREACH")],
                "CASE-2026-000091:ISSUE_NOTICE:NOTICE_OF_BREACH",
            ),
            (
                "{caseId}:EVIDENCE_VALIDATE:{packageId}:V{version}",
                &[("caseId", "CASE-2026-000091"), ("packageId", "EVP-8812"), ("version", "4")],
                "CASE-2026-000091:EVIDENCE_VALIDATE:EVP-8812:V4",
            ),
            (
                "PROCESS-{job.process_instance_key}:TASK-{job.element_id}",
                &[("job.process_instance_key", "2251799813689751"), ("job.element_id", "IssueNotice")],
                "PROCESS-2251799813689751:TASK-IssueNotice",
            ),
            (
                "{sanctionId}:REGISTER_OBLIGATION:{sequence}",
                &[("sanctionId", "SANCTION-8821"), ("sequence", "1")],
                "SANCTION-8821:REGISTER_OBLIGATION:1",
            ),
            (
                "{subscriptionId}-{job.element_id}",
                &[
                    ("subscriptionId", "550e8400-e29b-41d4-a716-446655440000"),
                    ("job.element_id", "Activity_SendConfirmationMail"),
                ],
                "550e8400-e29b-41d4-a716-446655440000-Activity_SendConfirmationMail",
            ),
        ];
        for (template, values, expected) in rows {
            assert_eq!(fill(template, values).unwrap().as_str(), *expected);
        }
    }

    #[test]
    fn names_that_change_with_the_attempt_do_not_exist() {
        for name in [
            "job.key",
            "job.deadline",
            "job.retries",
            "job.worker",
            "retryCount",
            "worker",
            "host",
            "hostname",
            "timestamp",
            "now",
            "random",
            "uuid",
            "requestId",
            "request_id",
            "traceId",
            "threadId",
            "attempt",
        ] {
            let error = Template::parse(&format!("{{caseId}}:{{{name}}}")).unwrap_err();
            assert_eq!(error.code(), TEMPLATE_INVALID, "{name}");
            assert!(error.to_string().contains("changes with every attempt"), "{error}");
        }
    }

    #[test]
    fn malformed_templates_are_refused() {
        for bad in ["", "CONSTANT", "{", "{caseId", "caseId}", "{}", "{case id}", "{job.unknown}", "{1a}"] {
            assert_eq!(Template::parse(bad).unwrap_err().code(), TEMPLATE_INVALID, "{bad}");
        }
    }

    #[test]
    fn different_values_cannot_give_one_id() {
        let template = "{a}:{b}";
        let left = fill(template, &[("a", "x:y"), ("b", "z")]).unwrap();
        let right = fill(template, &[("a", "x"), ("b", "y:z")]).unwrap();
        assert_ne!(left, right);
        assert_eq!(left.as_str(), "x%3Ay:z");
        assert_ne!(fill(template, &[("a", "x%3Ay"), ("b", "z")]).unwrap(), left);
    }

    #[test]
    fn an_absent_or_empty_value_is_a_broken_contract() {
        for values in [&[("b", "1")][..], &[("a", ""), ("b", "1")][..]] {
            let error = fill("{a}:{b}", values).unwrap_err();
            assert_eq!(error.code(), INVALID_WORKER_CONTRACT);
            assert!(error.to_string().contains("{a}"), "{error}");
        }
    }
}
