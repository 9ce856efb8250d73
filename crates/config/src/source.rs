//! Where in a file a mistake is, as people and editors read it.

use std::ops::Range;

use onefold_core::Error;
#[cfg(feature = "toml")]
use onefold_core::error::DECLARATION_INVALID;

#[cfg(feature = "toml")]
use crate::mistake::{Mistake, MistakeAt};
#[cfg(feature = "toml")]
use crate::values::split;

/// A text with the name of its file.
pub struct SourceText<'a> {
    file: &'a str,
    text: &'a str,
}

impl<'a> SourceText<'a> {
    /// A text from this file.
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text }
    }

    /// `file:line:column: what`, the line itself, and a caret under the span.
    pub fn show(&self, span: Range<usize>, what: &str) -> String {
        let start = span.start.min(self.text.len());
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let line_number = self.text[..start].matches('\n').count() + 1;
        let column = self.text[line_start..start].chars().count() + 1;
        let width = self.text[start..span.end.clamp(start, line_end)].chars().count().max(1);
        let margin = " ".repeat(line_number.to_string().len());
        format!(
            "{}:{line_number}:{column}: {what}\n  {line_number} | {}\n  {margin} | {}{}",
            self.file,
            &self.text[line_start..line_end],
            " ".repeat(column - 1),
            "^".repeat(width),
        )
    }

    /// A rule's error, shown where it was provoked.
    pub fn wrap(&self, span: Range<usize>, who: &str, error: &Error) -> Error {
        Error::new(error.code(), self.show(span, &format!("{who}: {}", error.detail()))).hint(error.next_step())
    }
}

#[cfg(feature = "toml")]
impl SourceText<'_> {
    /// A mistake at this place, and what to write instead.
    pub fn error(&self, span: Range<usize>, what: &str, hint: &str) -> Error {
        Error::new(DECLARATION_INVALID, self.show(span, what)).hint(hint)
    }

    /// A mistake in the declaration at this path of tables, such as `["kind", "NAME"]`.
    pub fn mistake(&self, path: &[&str], who: &str, mistake: &Mistake) -> Error {
        let span = self.find(path, mistake.at()).unwrap_or(0..0);
        self.wrap(span, who, mistake.error())
    }

    /// The position of a name or value. An item of a list has its name in `name`.
    fn find(&self, path: &[&str], at: &MistakeAt) -> Option<Range<usize>> {
        let root = toml::de::DeTable::parse(self.text).ok()?;
        let (mut name, mut value) = (0..0, toml::de::DeValue::Table(root.into_inner()));
        let key = match at {
            MistakeAt::Name => None,
            MistakeAt::Value(key) => Some(key.as_ref()),
        };
        let mut span = 0..0;
        for step in path.iter().copied().chain(key.into_iter().flat_map(|key| key.split('.'))) {
            let inner = match value {
                toml::de::DeValue::Table(table) => {
                    let (key, inner) = table.into_iter().find(|(key, _)| key.get_ref() == step)?;
                    name = key.span();
                    inner
                }
                toml::de::DeValue::Array(list) => {
                    let inner = list.into_iter().nth(step.parse().ok()?)?;
                    name = own_name(&inner);
                    inner
                }
                toml::de::DeValue::String(_)
                | toml::de::DeValue::Integer(_)
                | toml::de::DeValue::Float(_)
                | toml::de::DeValue::Boolean(_)
                | toml::de::DeValue::Datetime(_) => return None,
            };
            span = inner.span();
            value = inner.into_inner();
        }
        Some(if key.is_some() { span } else { name })
    }

    /// What the parser itself did not understand.
    pub fn malformed(&self, cause: &toml::de::Error) -> Error {
        let span = cause.span().unwrap_or(0..0);
        let (what, hint) = split(cause.message());
        let shown = self.show(span, what);
        let hint = hint
            .map(str::to_owned)
            .or_else(|| misspelt(what).map(|meant| format!("did you mean `{meant}`?")))
            .or_else(|| self.wrong_brackets(what));
        let error = Error::new(DECLARATION_INVALID, shown);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// What to write for `[[kind]]`, where TOML has a table for each name, and for `[route]`, where it has a list.
    fn wrong_brackets(&self, message: &str) -> Option<String> {
        let header = |name: &str, open: &str, close: &str| {
            self.text.lines().any(|line| {
                let inner = line.trim().strip_prefix(open).and_then(|rest| rest.split_once(close));
                inner.is_some_and(|(inner, _)| inner.trim() == name)
            })
        };
        if message.contains("invalid type: sequence, expected a map") {
            let name = ["kind", "dependency"].into_iter().find(|name| header(name, "[[", "]]"))?;
            return Some(format!(
                "write [{name}.\"NAME\"] for each {name}: its name is in the brackets, and there is no `name` key"
            ));
        }
        let listed = message.contains("expected a sequence") && header("route", "[", "]");
        listed.then(|| "write [[route]], in double brackets, for each route".to_owned())
    }
}

/// Where something in a list is named; its own position without a name.
#[cfg(feature = "toml")]
fn own_name(value: &toml::Spanned<toml::de::DeValue<'_>>) -> Range<usize> {
    let named = match value.get_ref() {
        toml::de::DeValue::Table(table) => table.iter().find(|(key, _)| key.get_ref() == "name"),
        toml::de::DeValue::String(_)
        | toml::de::DeValue::Integer(_)
        | toml::de::DeValue::Float(_)
        | toml::de::DeValue::Boolean(_)
        | toml::de::DeValue::Datetime(_)
        | toml::de::DeValue::Array(_) => None,
    };
    named.map_or_else(|| value.span(), |(_, name)| name.span())
}

/// Words that other tools, or earlier files, have for a key.
#[cfg(feature = "toml")]
const OTHER_WORDS: &[(&str, &str)] = &[
    ("body_read_timeout", "read_within"),
    ("bulkhead", "calls_max"),
    ("dependency", "depends_on"),
    ("idempotent_methods", "methods"),
];

#[cfg(feature = "toml")]
/// The name that a parser's message about an unknown one probably means.
fn misspelt(message: &str) -> Option<String> {
    let mut quoted = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2);
    let word = quoted.next()?;
    let known = OTHER_WORDS.iter().find(|(other, name)| *other == word && message.contains(&format!("`{name}`")));
    if let Some((_, name)) = known {
        return Some((*name).to_owned());
    }
    suggestion(word, quoted).map(str::to_owned)
}

/// The known name that a misspelt one probably means.
///
/// ```
/// use onefold_config::suggestion;
/// assert_eq!(suggestion("databse", ["database", "listen"]), Some("database"));
/// assert_eq!(suggestion("colour", ["database", "listen"]), None);
/// ```
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|name| (strsim::jaro_winkler(word, name), name));
    scored.filter(|(score, _)| *score > 0.8).max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name)
}
