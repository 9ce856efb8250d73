//! Kinds declared in configuration. A mistake is answered with its file, line, a caret and what is allowed.

mod place;
mod policy;
mod question;

pub use place::{Place, suggestion};
pub use policy::read as on_unknown;
pub use question::{DeclaredQuestion, read as question};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use crate::effect::{Contract, EffectClass, Retention, Terms};
use crate::error::{DECLARATION_INVALID, Result};
use crate::fingerprint::Mode;
use crate::operation::KindName;
use crate::retry::{Category, Schedule};
use crate::time::parse_duration;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    kind: BTreeMap<Spanned<String>, Declared>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declared {
    class: Spanned<String>,
    on_unknown: Option<Spanned<toml::Value>>,
    deadline: Option<Spanned<String>>,
    lease: Option<Spanned<String>>,
    settle: Option<Spanned<String>>,
    depends_on: Option<String>,
    fingerprint: Option<Spanned<toml::Value>>,
    attempts_max: Option<u32>,
    escalate_within: Option<Spanned<String>>,
    result_bytes_max: Option<usize>,
    #[serde(default)]
    remember: bool,
    #[serde(default)]
    retry: BTreeMap<Spanned<String>, DeclaredRetry>,
    #[serde(default)]
    retention: DeclaredRetention,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredRetry {
    schedule: Spanned<Vec<String>>,
    because: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct DeclaredRetention {
    result: Option<Spanned<String>>,
    id: Option<Spanned<String>>,
    redelivery: Option<Spanned<String>>,
}

/// A kind as configuration declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredKind {
    /// Everything but how to ask.
    pub terms: Terms,
    /// How the provider is asked, where the policy asks.
    pub question: Option<DeclaredQuestion>,
}

/// The kinds that `text` declares; `file` is named in every error.
///
/// ```
/// let text = r#"
/// [kind."payment.register"]
/// class = "financial-or-legal"
/// on_unknown = { ask = "GET https://payments.internal/payments?operation={id}" }
/// "#;
/// let error = onefold_core::declare::kinds("onefold.toml", text).unwrap_err();
/// assert!(error.detail().starts_with("onefold.toml:4:14: kind \"payment.register\""));
/// ```
pub fn kinds(file: &str, text: &str) -> Result<Vec<DeclaredKind>> {
    let place = Place::new(file, text);
    let parsed: File = toml::from_str(text).map_err(|cause| place.malformed(&cause))?;
    parsed.kind.into_iter().map(|(name, declared)| kind(&place, &name, declared)).collect()
}

fn kind(place: &Place<'_>, name: &Spanned<String>, declared: Declared) -> Result<DeclaredKind> {
    let question = match &declared.on_unknown {
        None => None,
        Some(value) => question::read(value.get_ref())
            .map_err(|error| place.wrap(value.span(), &format!("kind {:?}", name.get_ref()), &error))?,
    };
    Ok(DeclaredKind { terms: terms(place, name, declared)?, question })
}

fn terms(place: &Place<'_>, name: &Spanned<String>, declared: Declared) -> Result<Terms> {
    let at_name = |error| place.wrap(name.span(), &format!("kind {:?}", name.get_ref()), &error);
    let kind = KindName::parse(name.get_ref()).map_err(at_name)?;
    let class = EffectClass::parse(declared.class.get_ref())
        .map_err(|error| place.wrap(declared.class.span(), &format!("kind {:?}", name.get_ref()), &error))?;
    let contract = match &declared.on_unknown {
        None => Contract::default_of(class),
        Some(value) => {
            let wrapped = |error| place.wrap(value.span(), &format!("kind {:?}", name.get_ref()), &error);
            Contract::new(class, policy::read(value.get_ref()).map_err(wrapped)?).map_err(wrapped)?
        }
    };
    let mut terms = Terms::new(kind, contract);
    let duration = |text: &Option<Spanned<String>>| -> Result<Option<Duration>> {
        text.as_ref().map(|text| place.duration(text)).transpose()
    };
    terms.deadline_for = duration(&declared.deadline)?.unwrap_or(terms.deadline_for);
    terms.lease_for = duration(&declared.lease)?.unwrap_or(terms.lease_for);
    terms.settle = duration(&declared.settle)?.unwrap_or(terms.settle);
    terms.retry.escalate_within = duration(&declared.escalate_within)?;
    terms.retry.attempts_max = declared.attempts_max.unwrap_or(terms.retry.attempts_max);
    terms.dependency = declared.depends_on.map(Arc::from);
    terms.remember = declared.remember;
    terms.result_bytes_max = declared.result_bytes_max.unwrap_or(terms.result_bytes_max);
    terms.retention = Retention {
        result_for: duration(&declared.retention.result)?,
        id_for: duration(&declared.retention.id)?,
        redelivery_for: duration(&declared.retention.redelivery)?,
    };
    if let Some(value) = &declared.fingerprint {
        terms.fingerprint = fingerprint(place, value)?;
    }
    for (category, row) in declared.retry {
        terms.retry =
            terms.retry.with(category_of(place, &category)?, Some(schedule(place, &row.schedule)?), row.because);
    }
    terms.checked().map_err(at_name)
}

fn category_of(place: &Place<'_>, name: &Spanned<String>) -> Result<Category> {
    Category::parse(&name.get_ref().to_uppercase()).ok_or_else(|| {
        let known: Vec<_> = Category::ALL.iter().map(|category| category.as_str().to_lowercase()).collect();
        place.error(
            name.span(),
            &format!("{:?} is no failure category", name.get_ref()),
            &format!("use one of {}", known.join(", ")),
        )
    })
}

fn schedule(place: &Place<'_>, steps: &Spanned<Vec<String>>) -> Result<Schedule> {
    let read: Option<Vec<Duration>> = steps.get_ref().iter().map(|step| parse_duration(step)).collect();
    match read {
        Some(read) if !read.is_empty() => Ok(Schedule::Steps(read.into())),
        Some(_) | None => {
            Err(place.error(steps.span(), "a schedule is a list of durations", "write [\"1m\", \"5m\", \"15m\"]"))
        }
    }
}

/// Reads `fingerprint`: what of a request is compared.
pub fn fingerprint(place: &Place<'_>, value: &Spanned<toml::Value>) -> Result<Mode> {
    let hint = "use \"raw\", \"canonical\", or { fields = [\"/amount\"] }";
    match value.get_ref() {
        toml::Value::String(name) if name == "raw" => Ok(Mode::Raw),
        toml::Value::String(name) if name == "canonical" => Ok(Mode::Canonical),
        toml::Value::Table(table) => {
            let fields = table.get("fields").and_then(toml::Value::as_array);
            let names: Option<Vec<String>> =
                fields.and_then(|fields| fields.iter().map(|field| field.as_str().map(str::to_owned)).collect());
            let mode = names.and_then(|names| Mode::fields(names).ok());
            mode.ok_or_else(|| place.error(value.span(), "these fields cannot be compared", hint))
        }
        toml::Value::String(_)
        | toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_) => Err(place.error(value.span(), "this is no fingerprint mode", hint)),
    }
}

impl Place<'_> {
    /// Reads a duration such as `10s`.
    pub fn duration(&self, text: &Spanned<String>) -> Result<Duration> {
        parse_duration(text.get_ref()).ok_or_else(|| {
            self.error(
                text.span(),
                &format!("{:?} is no duration", text.get_ref()),
                "write \"250ms\", \"10s\", \"5m\", \"24h\" or \"30d\"",
            )
        })
    }

    /// A mistake at this place, and what to write instead.
    pub fn error(&self, span: std::ops::Range<usize>, what: &str, hint: &str) -> crate::Error {
        crate::Error::new(DECLARATION_INVALID, self.show(span, what)).hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::Policy;
    use crate::error::POLICY_NOT_ALLOWED;

    #[test]
    fn an_illegal_pair_names_file_line_and_what_is_allowed() {
        let text = "\n[kind.\"payment.register\"]\nclass = \"financial-or-legal\"\non_unknown = { ask = \"GET http://x/{id}\" }\n";
        let error = kinds("onefold.toml", text).unwrap_err();
        assert_eq!(error.code(), POLICY_NOT_ALLOWED);
        assert_eq!(
            error.detail(),
            "onefold.toml:4:14: kind \"payment.register\": class financial-or-legal may not `ask` on an unknown outcome\n  \
             4 | on_unknown = { ask = \"GET http://x/{id}\" }\n    |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
        );
        assert_eq!(error.next_step(), "allowed: escalate, same_key, void");
    }

    #[test]
    fn a_complete_declaration_is_read() {
        let text = r#"
            [kind."notice.issue-formal"]
            class = "external-command"
            on_unknown = { ask = "GET https://notices.internal/?operation={id}", settle = "20m" }
            deadline = "10s"
            depends_on = "notice-service"
            fingerprint = { fields = ["/caseId"] }
            retry.rate_limited = { schedule = ["1m", "5m"], because = "quota resets each minute" }
            retention = { id = "30d", redelivery = "7d" }
        "#;
        let DeclaredKind { terms, question } = kinds("onefold.toml", text).unwrap().remove(0);
        assert_eq!(question.unwrap().url, "https://notices.internal/?operation={id}");
        assert_eq!(terms.contract.policy(), &Policy::Ask { settle: Duration::from_mins(20) });
        assert_eq!(terms.deadline_for, Duration::from_secs(10));
        assert_eq!(terms.dependency.as_deref(), Some("notice-service"));
        assert!(terms.retry.row(Category::RateLimited).because.is_some());
    }

    #[test]
    fn every_mistake_is_shown_where_it_stands() {
        let rows = [
            ("[kind.k]\nclass = \"magic\"", ":2:9:", "use one of"),
            ("[kind.k]\nclass = \"pure\"\ndeadline = \"soon\"", ":3:12:", "write"),
            ("[kind.k]\nclass = \"pure\"\ndeadlin = \"1s\"", ":3:1", "did you mean `deadline`?"),
            ("[kind.k]\nclass = \"converging\"\non_unknown = { ask = \"GET x\" }", ":3:14:", "http://"),
            ("[kind.\"two words\"]\nclass = \"pure\"", ":1:7:", "ASCII"),
            ("[kind.k]\nclass = \"pure\"\non_unknown = \"guess\"", ":3:14:", "escalate"),
            ("[kind.k]\nclass = \"converging\"\non_unknown = { same_key = \"K\" }", ":3:14:", "provider_memory"),
            (
                "[kind.k]\nclass = \"pure\"\nretry.never = { schedule = [\"1s\"], because = \"x\" }",
                ":3:7:",
                "rate_limited",
            ),
            ("[kind.k]\nclass = \"pure\"\nretention = { id = \"1d\", redelivery = \"2d\" }", ":1:7:", "raise"),
            ("[kind.k\nclass", ":1:", ""),
            ("[[kind]]\nname = \"k\"\nclass = \"pure\"", ":1:", "write [kind.\"NAME\"]"),
        ];
        for (text, at, hint) in rows {
            let shown = kinds("x.toml", text).unwrap_err().to_string();
            assert!(shown.contains(&format!("x.toml{at}")) && shown.contains(hint), "{text}\n→ {shown}");
        }
    }
}
