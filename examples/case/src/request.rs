//! A submission as it is read: its form, and every place where the form is broken.

use std::fmt;

use onefold::error::{Error, REQUEST_BODY_INVALID};
use onefold::use_case::Findings;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use time::Date;
use time::macros::format_description;

/// Characters a title may have.
pub const TITLE_CHARS_MAX: usize = 200;
/// Pieces of evidence a submission may have.
pub const EVIDENCE_MAX: usize = 20;

/// A submission of the right form. Whether it may be accepted is for the rules to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Submission {
    /// What the case is about, in a line.
    pub title: String,
    /// Whom it is about.
    pub subject: String,
    /// The actor who submits it.
    pub submitted_by: String,
    /// The actor who is to review it.
    pub reviewer: Option<String>,
    /// What sort of case it is; a general one where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The day of the decision that the case is about, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_on: Option<Day>,
    /// The case that it adds to.
    pub supplements: Option<String>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
}

/// What a case rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Its id with the one who keeps it.
    pub id: String,
    /// What it is.
    pub kind: String,
    /// When it happened.
    pub occurred_on: Day,
}

/// A day, written as `2026-01-31`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub Date);

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Submission {
    /// Reads a body; the error has a finding for each place that is wrong.
    pub fn read(body: &Value) -> Result<Self, Error> {
        let mut form = Form::default();
        let submission = form.submission(body);
        match submission {
            Some(submission) if !form.findings.reject() => Ok(submission),
            Some(_) | None => {
                Err(Error::new(REQUEST_BODY_INVALID, "the submission has not the form that is read here")
                    .hint("fix each place that the violations name")
                    .violating(form.findings.into_vec()))
            }
        }
    }
}

/// Reads on after a mistake, so that one answer names them all.
#[derive(Default)]
struct Form {
    findings: Findings,
}

impl Form {
    fn submission(&mut self, body: &Value) -> Option<Submission> {
        let fields = self.object(body, "$")?;
        let title = self.text(fields, "$", "title").and_then(|title| {
            if title.chars().count() <= TITLE_CHARS_MAX {
                return Some(title);
            }
            self.wrong("$.title", format!("has more than {TITLE_CHARS_MAX} characters"))
        });
        let subject = self.text(fields, "$", "subject");
        let submitted_by = self.text(fields, "$", "submittedBy");
        let reviewer = self.text_if_any(fields, "$", "reviewer");
        let category = self.text_if_any(fields, "$", "category");
        let decided_on = self.text_if_any(fields, "$", "decidedOn").and_then(|text| self.day(&text, "$.decidedOn"));
        let supplements = self.text_if_any(fields, "$", "supplements");
        let evidence = self.list(fields);
        Some(Submission {
            title: title?,
            subject: subject?,
            submitted_by: submitted_by?,
            reviewer,
            category,
            decided_on,
            supplements,
            evidence: evidence?,
        })
    }

    fn list(&mut self, fields: &Map<String, Value>) -> Option<Vec<Evidence>> {
        let items = match fields.get("evidence") {
            Some(Value::Array(items)) => items,
            Some(_) => return self.wrong("$.evidence", "is not a list"),
            None => return self.wrong("$.evidence", "is missing"),
        };
        if items.len() > EVIDENCE_MAX {
            return self.wrong("$.evidence", format!("has more than {EVIDENCE_MAX} items"));
        }
        // Each item is read before one that is wrong ends the list.
        let read: Vec<_> = items.iter().enumerate().map(|(at, item)| self.evidence(item, at)).collect();
        read.into_iter().collect()
    }

    fn evidence(&mut self, item: &Value, at: usize) -> Option<Evidence> {
        let path = format!("$.evidence[{at}]");
        let fields = self.object(item, &path)?;
        let id = self.text(fields, &path, "id");
        let kind = self.text(fields, &path, "kind");
        let occurred_on =
            self.text(fields, &path, "occurredOn").and_then(|text| self.day(&text, &format!("{path}.occurredOn")));
        Some(Evidence { id: id?, kind: kind?, occurred_on: occurred_on? })
    }

    fn day(&mut self, text: &str, path: &str) -> Option<Day> {
        match Date::parse(text, format_description!("[year]-[month]-[day]")) {
            Ok(date) => Some(Day(date)),
            Err(_) => self.wrong(path, "is not a day of the form 2026-01-31"),
        }
    }

    fn object<'a>(&mut self, value: &'a Value, path: &str) -> Option<&'a Map<String, Value>> {
        value.as_object().or_else(|| self.wrong(path, "is not an object"))
    }

    fn text(&mut self, fields: &Map<String, Value>, within: &str, name: &str) -> Option<String> {
        if fields.contains_key(name) {
            self.text_if_any(fields, within, name)
        } else {
            self.wrong(&format!("{within}.{name}"), "is missing")
        }
    }

    fn text_if_any(&mut self, fields: &Map<String, Value>, within: &str, name: &str) -> Option<String> {
        let path = format!("{within}.{name}");
        match fields.get(name)? {
            Value::String(text) if text.trim().is_empty() => self.wrong(&path, "is empty"),
            Value::String(text) => Some(text.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.wrong(&path, "is not a text")
            }
        }
    }

    fn wrong<T>(&mut self, path: &str, message: impl Into<String>) -> Option<T> {
        self.findings.error(path, REQUEST_BODY_INVALID, message);
        None
    }
}
