//! What an incident says: specific, short, and free of payloads and secrets.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Code;

/// A message that may leave the process: one line, redacted, and more than the title.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message(Arc<str>);

impl Message {
    /// Characters a message may have.
    pub const CHARS_MAX: usize = 400;

    /// A message beside this code; none if it only repeats the title or says nothing.
    pub fn new(code: Code, text: &str) -> Option<Self> {
        let text = redact(text);
        let bare: String = text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
        let title: String =
            code.descriptor().title.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
        let code_bare = code.as_str().replace('_', "").to_lowercase();
        let empty_words = ["", "error", "failed", "failure", "unknown", "exception", "redacted", "payloadremoved"];
        if empty_words.contains(&bare.as_str()) || bare == title || bare == code_bare {
            return None;
        }
        Some(Self(Arc::from(text)))
    }

    /// A message read back from a store.
    pub fn stored(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "secret",
    "token",
    "apikey",
    "authorization",
    "cookie",
    "credential",
    "bearer",
    "basic",
    "signature",
];

/// The first line of a text without what looks like a secret, a payload, a statement or an address of a person.
pub fn redact(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let (prose, payload) = line.find(['{', '[', '<']).map_or((line, false), |at| (&line[..at], true));
    let (prose, statement) = statement_in(prose).map_or((prose, false), |at| (&prose[..at], true));
    let mut words: Vec<String> = Vec::new();
    let mut value_follows = false;
    for word in without_values(prose).split_whitespace() {
        let names_secret = names_secret(word);
        if value_follows && !names_secret {
            words.push("[redacted]".to_owned());
            value_follows = false;
        } else if names_secret {
            let (shown, complete) = without_value(word);
            words.push(shown);
            value_follows = !complete;
        } else {
            words.push(if looks_secret(word) { "[redacted]".to_owned() } else { word.to_owned() });
        }
    }
    if statement {
        words.push("[statement removed]".to_owned());
    }
    if payload {
        words.push("[payload removed]".to_owned());
    }
    let joined: String = words.join(" ").chars().filter(|c| !c.is_control()).take(Message::CHARS_MAX).collect();
    joined
}

/// A name that a caller chose, such as a worker, a dependency or a business key: kept as it is, but for what looks
/// like a secret, a payload or the name of a person before an `@`.
pub fn redact_name(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let (prose, payload) = line.find(['{', '[', '<']).map_or((line, false), |at| (&line[..at], true));
    let mut value_follows = false;
    let mut words: Vec<String> = Vec::new();
    for word in prose.split_whitespace() {
        if std::mem::take(&mut value_follows) {
            words.push("[redacted]".to_owned());
        } else if names_secret(word) {
            let (shown, complete) = without_value(word);
            words.push(shown);
            value_follows = !complete;
        } else {
            words.push(without_opaque(word));
        }
    }
    if payload {
        words.push("[payload removed]".to_owned());
    }
    words.join(" ").chars().filter(|c| !c.is_control()).take(Message::CHARS_MAX).collect()
}

/// A word without the part before an `@`, and without parts that look like keys; a host's or a pod's name stays.
fn without_opaque(word: &str) -> String {
    let (person, rest) = word.rsplit_once('@').map_or((None, word), |(person, rest)| (Some(person), rest));
    if uuid::Uuid::parse_str(rest).is_ok() {
        return word.to_owned();
    }
    let opaque = |text: &str| text.split(['-', '.', '/', ':', '_']).any(looks_secret);
    let shown = if opaque(rest) { "[redacted]" } else { rest };
    match person {
        None => shown.to_owned(),
        // `login@host` says where a command ran; with a dot it may be an address, with a colon it may be a password.
        Some(person) if !rest.contains('.') && !person.contains(':') && !opaque(person) => format!("{person}@{shown}"),
        Some(_) => format!("[redacted]@{shown}"),
    }
}

/// How a statement begins that a database repeats in its message.
const STATEMENTS: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE", "VALUES"];

fn statement_in(text: &str) -> Option<usize> {
    let begins =
        |keyword: &&str| text.match_indices(*keyword).map(|(at, _)| (at, at + keyword.len())).collect::<Vec<_>>();
    let words = STATEMENTS.iter().flat_map(begins);
    words.filter(|(_, end)| text[*end..].starts_with(' ')).map(|(at, _)| at).min()
}

/// What comes right before a value that a parser or a database repeats, and what ends the value.
const VALUES: &[(&str, char)] = &[
    ("string \"", '"'),
    ("variant `", '`'),
    ("integer `", '`'),
    ("point `", '`'),
    ("boolean `", '`'),
    ("character `", '`'),
    (")=(", ')'),
    (" '", '\''),
    ("('", '\''),
    ("='", '\''),
    (",'", '\''),
];

/// The same without the values that parsers and databases repeat; names stay.
fn without_values(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, end)) =
        VALUES.iter().filter_map(|(before, end)| Some((rest.find(before)? + before.len(), *end))).min()
    {
        kept.push_str(&rest[..at]);
        kept.push_str("[redacted]");
        let value = &rest[at..];
        let mut escaped = false;
        let closed = value.find(|c| {
            let closes = c == end && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        // A value that does not end hides the rest.
        rest = closed.map_or("", |closed| &value[closed..]);
    }
    kept.push_str(rest);
    kept
}

fn names_secret(word: &str) -> bool {
    let name = word.split(['=', ':']).next().unwrap_or_default();
    let bare: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    SECRET_NAMES.iter().any(|secret| bare == *secret || (word.contains(['=', ':']) && bare.ends_with(secret)))
}

/// `password=x` → `password=[redacted]`; `Bearer` alone is shown, its value follows.
fn without_value(word: &str) -> (String, bool) {
    match word.find(['=', ':']) {
        Some(at) if at + 1 < word.len() => (format!("{}[redacted]", &word[..=at]), true),
        Some(_) | None => (word.to_owned(), false),
    }
}

fn looks_secret(word: &str) -> bool {
    if word.contains('@') && word.contains('.') {
        return true;
    }
    let opaque = word.len() >= 32 && word.chars().all(|c| c.is_ascii_alphanumeric() || "+/=_-.".contains(c));
    let mixed = word.chars().any(|c| c.is_ascii_digit()) && word.chars().any(|c| c.is_ascii_alphabetic());
    opaque && mixed && uuid::Uuid::parse_str(word).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::DOWNSTREAM_TIMEOUT;

    #[test]
    fn secrets_payloads_addresses_and_traces_do_not_pass() {
        let marker = "m4rk3r";
        for text in [
            format!("refused: password={marker}"),
            format!("Authorization: Bearer {marker}"),
            format!("sent Bearer {marker} to it"),
            format!("api_token={marker} is wrong"),
            format!("body was {{\"iban\":\"{marker}\"}}"),
            format!("list [{marker}]"),
            format!("mail to {marker}@example.com"),
            format!("key {marker}0123456789abcdef0123456789abcdef"),
            format!("timeout\n   at com.example.{marker}.call(X.java:1)"),
            format!("near 'a {marker}'"),
            format!("variable 'iban' is '{marker}', refused"),
            format!("Key (email)=({marker} x) already exists"),
            format!("no such column in SELECT {marker} FROM t"),
            format!("no such table in INSERT INTO {marker} VALUES (?)"),
            format!("invalid type: string \"a \\\" {marker}\", expected u64 at line 1"),
            format!("unknown variant `{marker}`, expected one of `a`, `b`"),
            format!("it ends in ('{marker}"),
        ] {
            assert!(!redact(&text).contains(marker), "{text} → {}", redact(&text));
        }
    }

    #[test]
    fn a_name_is_kept_but_for_secrets_payloads_and_people() {
        for name in [
            "CASE-2026-000091",
            "CASE-2026-000091:ISSUE_NOTICE:NOTICE_OF_BREACH",
            "host-7/42",
            "payments-worker-7d9f8b6c5d-x2x9z/42",
            "550e8400-e29b-41d4-a716-446655440000",
            "notice-gateway.internal:8443",
            "order 44781",
            "ada@db1",
        ] {
            assert_eq!(redact_name(name), name);
        }
        let rows = [
            ("ada@db1.example.com", "[redacted]@db1.example.com"),
            ("password=hush", "password=[redacted]"),
            ("Bearer hush", "Bearer [redacted]"),
            ("pay {\"iban\":\"hush\"}", "pay [payload removed]"),
            ("https://ada:hush@pay.internal/v1", "[redacted]@pay.internal/v1"),
            ("c2VjcmV0LXRva2VuLTEyMzQ1Njc4OTAxMjM0NTY3ODkw", "[redacted]"),
            ("one\nhush", "one"),
        ];
        for (name, shown) in rows {
            assert_eq!(redact_name(name), shown, "{name}");
        }
    }

    #[test]
    fn what_helps_stays() {
        let text = "no answer from notice-service within 10s for 550e8400-e29b-41d4-a716-446655440000";
        assert_eq!(redact(text), text);
        let text =
            "it can't update the customers' constraint \"cases_reference\" at db-1.internal:5432, unknown field `x`";
        assert_eq!(redact(text), text);
    }

    #[test]
    fn a_message_that_only_repeats_the_title_does_not_pass() {
        for empty in
            ["", "failed", "Error!", "DOWNSTREAM_TIMEOUT", "The dependency did not answer in time.", "{\"a\":1}"]
        {
            assert_eq!(Message::new(DOWNSTREAM_TIMEOUT, empty), None, "{empty}");
        }
        assert!(Message::new(DOWNSTREAM_TIMEOUT, "no answer within 10s").is_some());
        let long = Message::new(DOWNSTREAM_TIMEOUT, &"word ".repeat(500)).unwrap();
        assert!(long.as_str().chars().count() <= Message::CHARS_MAX);
    }
}
