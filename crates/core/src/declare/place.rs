//! Where in a file a mistake stands, as people and editors read it.

use std::ops::Range;

use crate::error::{DECLARATION_INVALID, Error};

/// A text with the name of its file.
pub struct Place<'a> {
    file: &'a str,
    text: &'a str,
}

impl<'a> Place<'a> {
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

    /// What the parser itself did not understand.
    pub fn malformed(&self, cause: &toml::de::Error) -> Error {
        let span = cause.span().unwrap_or(0..0);
        let shown = self.show(span, cause.message());
        let hint = misspelt(cause.message())
            .map(|meant| format!("did you mean `{meant}`?"))
            .or_else(|| self.wrong_brackets(cause.message()));
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
                "write [{name}.\"NAME\"] for each {name}: its name stands in the brackets, and there is no `name` key"
            ));
        }
        let listed = message.contains("expected a sequence") && header("route", "[", "]");
        listed.then(|| "write [[route]], in double brackets, for each route".to_owned())
    }
}

/// The name that a parser's message about an unknown one probably means.
fn misspelt(message: &str) -> Option<String> {
    let mut quoted = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2);
    let word = quoted.next()?;
    suggestion(word, quoted).map(str::to_owned)
}

/// The known name that a misspelt one probably means.
///
/// ```
/// use onefold_core::declare::suggestion;
/// assert_eq!(suggestion("databse", ["database", "listen"]), Some("database"));
/// assert_eq!(suggestion("colour", ["database", "listen"]), None);
/// ```
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|name| (strsim::jaro_winkler(word, name), name));
    scored.filter(|(score, _)| *score > 0.8).max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name)
}
