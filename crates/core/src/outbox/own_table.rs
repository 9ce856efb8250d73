//! A team's own outbox table: how it is named, and what a target's answer does to a row of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::aside::RelayRetry;
use crate::error::{Code, DECLARATION_INVALID, Error, Result};
use crate::port::{Publication, RefusedRetry};
use crate::retry::Jitter;
use crate::time::Timestamp;

/// The name of a schema, a table or a column, as the database has it: capitals and all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SqlName(Arc<str>);

impl SqlName {
    /// Bytes that PostgreSQL keeps of a name.
    const BYTES_MAX: usize = 63;

    /// A name that a database can have.
    pub fn parse(text: &str) -> Result<Self> {
        if text.is_empty() || text.len() > Self::BYTES_MAX || text.contains('\0') {
            let shown: String = text.chars().take(40).collect();
            return Err(Error::new(
                DECLARATION_INVALID,
                format!("{shown:?} cannot be the name of a table or a column"),
            )
            .hint(format!("write the name as the database has it, 1 to {} bytes", Self::BYTES_MAX)));
        }
        Ok(Self(Arc::from(text)))
    }

    /// As a statement names it.
    pub fn quoted(&self) -> String {
        format!("\"{}\"", self.0.replace('"', "\"\""))
    }

    /// As the database has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SqlName {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<SqlName> for String {
    fn from(name: SqlName) -> Self {
        name.as_str().to_owned()
    }
}

/// What the columns of a team's own table are called; each is called like its key unless it is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OwnColumns {
    /// Which event: unique. A UUID is the event's id as it is; of anything else an id is derived.
    pub id: SqlName,
    /// What sort of thing it happened to.
    pub aggregate_type: SqlName,
    /// Which one.
    pub aggregate_id: SqlName,
    /// What happened.
    #[serde(rename = "type")]
    pub event_type: SqlName,
    /// What consumers read: bytes, text or JSON.
    pub payload: SqlName,
    /// When it was written: a timestamp with time zone.
    pub created_at: SqlName,
    /// When its target took it: a timestamp with time zone that may be null.
    pub published_at: SqlName,
    /// Not before this time: a timestamp with time zone that may be null. `infinity` is parked.
    pub next_attempt_at: SqlName,
    /// How often its target refused it: a whole number.
    pub attempts: SqlName,
    /// Whose event; the default tenant's where there is no column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<SqlName>,
    /// The version of its contract; 1 where there is no column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<SqlName>,
    /// What the payload is; `application/json` where there is no column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<SqlName>,
    /// What travels beside it, a JSON object of texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<SqlName>,
    /// What belongs to the same request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<SqlName>,
    /// Where the last refusal is written, with its code: text that may be null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<SqlName>,
}

impl Default for OwnColumns {
    fn default() -> Self {
        let name = |text: &str| SqlName(Arc::from(text));
        Self {
            id: name("id"),
            aggregate_type: name("aggregate_type"),
            aggregate_id: name("aggregate_id"),
            event_type: name("type"),
            payload: name("payload"),
            created_at: name("created_at"),
            published_at: name("published_at"),
            next_attempt_at: name("next_attempt_at"),
            attempts: name("attempts"),
            tenant: None,
            schema_version: None,
            content_type: None,
            headers: None,
            correlation_id: None,
            error: None,
        }
    }
}

/// A team's own table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTable {
    /// Its schema; the connection's search path where there is none.
    pub schema: Option<SqlName>,
    /// Its name.
    pub name: SqlName,
    /// Its columns.
    pub columns: OwnColumns,
}

impl OwnTable {
    /// Reads `outbox`, `app.outbox` or `"My Schema"."Out.box"`, each part as the database has it.
    pub fn parse(text: &str, columns: OwnColumns) -> Result<Self> {
        let wrong = || {
            let shown: String = text.chars().take(60).collect();
            Error::new(DECLARATION_INVALID, format!("{shown:?} is not the name of a table"))
                .hint("write \"app.outbox\"; a name with a dot in it is written in double quotes")
        };
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            let (part, after) = first_part(rest).ok_or_else(wrong)?;
            parts.push(SqlName::parse(&part)?);
            match after.strip_prefix('.') {
                Some(next) => rest = next,
                None if after.is_empty() => break,
                None => return Err(wrong()),
            }
        }
        let name = parts.pop().ok_or_else(wrong)?;
        let schema = parts.pop();
        if !parts.is_empty() {
            return Err(wrong());
        }
        Ok(Self { schema, name, columns })
    }

    /// As a statement names it.
    pub fn quoted(&self) -> String {
        let schema = self.schema.as_ref().map(|schema| format!("{}.", schema.quoted())).unwrap_or_default();
        format!("{schema}{}", self.name.quoted())
    }
}

/// The first part of a name, and what follows it.
fn first_part(text: &str) -> Option<(String, &str)> {
    let Some(mut inside) = text.strip_prefix('"') else {
        let end = text.find('.').unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..])).filter(|(part, _)| !part.contains('"'));
    };
    let mut part = String::new();
    loop {
        let end = inside.find('"')?;
        part.push_str(&inside[..end]);
        inside = &inside[end + 1..];
        let Some(next) = inside.strip_prefix('"') else { return Some((part, inside)) };
        part.push('"');
        inside = next;
    }
}

/// What a target's answer does to a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowMark {
    /// The target has it.
    Published,
    /// The target refused it; it is tried again then.
    Again {
        /// When.
        at: Timestamp,
        /// Why.
        code: Code,
        /// Why, in a sentence.
        reason: String,
    },
    /// It is not tried again by itself; a person decides.
    Parked {
        /// Why.
        code: Code,
        /// Why, in a sentence.
        reason: String,
    },
    /// It was not its fault, or it was not sent: it is due at once, and no attempt was used.
    PutBack,
}

impl RowMark {
    /// What an answer does to a row that was refused so often before.
    pub fn of(said: &Publication, attempts: u32, retry: &RelayRetry, now: Timestamp, jitter: Jitter) -> Self {
        match said {
            Publication::Published { .. } => Self::Published,
            Publication::Unavailable { .. } | Publication::NotSent => Self::PutBack,
            Publication::Refused { code, reason, retry: RefusedRetry::After(after) }
                if attempts.saturating_add(1) < retry.attempts_max =>
            {
                let wait = retry.schedule.wait(attempts.saturating_add(1), *after, jitter);
                Self::Again { at: now.plus(wait), code: *code, reason: reason.clone() }
            }
            Publication::Refused { code, reason, .. } => Self::Parked { code: *code, reason: reason.clone() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{EVENT_TARGET_REFUSED, TARGET_UNAVAILABLE};

    fn table(text: &str) -> Result<String> {
        OwnTable::parse(text, OwnColumns::default()).map(|table| table.quoted())
    }

    #[test]
    fn names_are_quoted_and_never_read_as_anything_else() {
        assert_eq!(table("outbox").unwrap(), "\"outbox\"");
        assert_eq!(table("App.Outbox").unwrap(), "\"App\".\"Outbox\"");
        assert_eq!(table("\"a.b\".\"Out\"\"box\"").unwrap(), "\"a.b\".\"Out\"\"box\"");
        let evil = "outbox; DROP TABLE cases; --";
        assert_eq!(table(evil).unwrap(), format!("\"{evil}\""));
        assert_eq!(SqlName::parse("a\"b").unwrap().quoted(), "\"a\"\"b\"");
        for wrong in ["", ".", "a.", ".a", "a.b.c", "\"a", "a\"b", "\"a\"b", "a\0b", &"n".repeat(64)] {
            assert!(table(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_targets_fault_uses_no_attempt_and_an_events_own_is_parked_in_the_end() {
        let now = Timestamp::from_micros(1_000_000);
        let retry = RelayRetry::default();
        let mark = |said: &Publication, attempts| RowMark::of(said, attempts, &retry, now, Jitter(0));
        let (code, reason) = (EVENT_TARGET_REFUSED, "no".to_owned());
        let refused = |retry| Publication::Refused { code, reason: reason.clone(), retry };
        assert!(matches!(mark(&refused(RefusedRetry::After(None)), 0), RowMark::Again { at, .. } if at > now));
        assert!(matches!(mark(&refused(RefusedRetry::After(None)), 4), RowMark::Parked { .. }));
        assert!(matches!(mark(&refused(RefusedRetry::Never), 0), RowMark::Parked { .. }));
        let away = Publication::Unavailable { code: TARGET_UNAVAILABLE, reason: "away".to_owned(), after: None };
        assert_eq!((mark(&away, 4), mark(&Publication::NotSent, 4)), (RowMark::PutBack, RowMark::PutBack));
        assert_eq!(mark(&Publication::Published { position: None }, 0), RowMark::Published);
    }
}
