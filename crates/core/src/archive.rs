//! What a prune deletes, as lines of JSON that can be read back whole.
//!
//! A line says what it is (`record`), in which format, and what its content hashes to: a line that was cut or changed
//! is told, never believed. The content is the stored row under the names of its columns.

mod json_row;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{ARCHIVE_DAMAGED, Error, Result};
use crate::incident::Incident;
use crate::ledger::{Digest, Entry, Note, PastAttempt, StoredResult, TimelineEvent, timeline};
use crate::operation::OperationKey;
use crate::row::{attempt, incident, key, note, operation};

/// The format that this version writes.
const FORMAT: u32 = 1;

/// Everything that is stored of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// Its row.
    pub entry: Entry,
    /// Its past attempts, by fence.
    pub attempts: Vec<PastAttempt>,
    /// What was said of it, in order.
    pub notes: Vec<Note>,
    /// Its incidents, the oldest first.
    pub incidents: Vec<Incident>,
}

impl History {
    /// The story that it tells.
    pub fn timeline(&self) -> Vec<TimelineEvent> {
        timeline(&self.entry, &self.attempts, &self.notes)
    }
}

/// What a prune is about to delete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deletion {
    /// Operations, with all that is stored of them.
    pub operations: Vec<History>,
    /// Operations of which only the result is dropped.
    pub results: Vec<Entry>,
}

impl Deletion {
    /// Whether there is nothing to delete.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.results.is_empty()
    }

    /// The same, record by record: an operation first, then what belongs to it.
    pub fn records(&self) -> Vec<ArchiveRecord> {
        let operations = self.operations.iter().flat_map(|history| {
            let History { entry, attempts, notes, incidents } = history.clone();
            let key = entry.key.clone();
            std::iter::once(ArchiveRecord::Operation(Box::new(entry)))
                .chain(attempts.into_iter().map(|attempt| ArchiveRecord::Attempt(Box::new(attempt))))
                .chain(notes.into_iter().map(move |note| ArchiveRecord::Note(key.clone(), note)))
                .chain(incidents.into_iter().map(|incident| ArchiveRecord::Incident(Box::new(incident))))
        });
        let results = self.results.iter().filter_map(|entry| {
            let result = entry.result.clone()?;
            Some(ArchiveRecord::Result(entry.key.clone(), result))
        });
        operations.chain(results).collect()
    }
}

/// One line of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveRecord {
    /// An operation that was deleted.
    Operation(Box<Entry>),
    /// One of its past attempts.
    Attempt(Box<PastAttempt>),
    /// Something that was said of it.
    Note(OperationKey, Note),
    /// One of its incidents.
    Incident(Box<Incident>),
    /// The result of an operation that stays.
    Result(OperationKey, StoredResult),
}

/// A line as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArchiveLine {
    format: u32,
    record: String,
    /// What the content hashes to, as the line has it.
    digest: String,
    content: Box<RawValue>,
}

impl ArchiveRecord {
    /// What it is, as the line says it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Operation(_) => "operation",
            Self::Attempt(_) => "attempt",
            Self::Note(..) => "note",
            Self::Incident(_) => "incident",
            Self::Result(..) => "result",
        }
    }

    /// The operation that it belongs to; none for an incident about something else.
    pub fn key(&self) -> Option<OperationKey> {
        match self {
            Self::Operation(entry) => Some(entry.key.clone()),
            Self::Attempt(attempt) => Some(attempt.key.clone()),
            Self::Note(key, _) | Self::Result(key, _) => Some(key.clone()),
            Self::Incident(incident) => incident.operation_key(),
        }
    }

    /// The content alone, as JSON.
    pub fn content(&self) -> Result<serde_json::Value> {
        Ok(match self {
            Self::Operation(entry) => json_row::write(&operation::ALL, operation::cells(entry)),
            Self::Attempt(attempt) => json_row::write(&attempt::ALL, attempt::cells(attempt)),
            Self::Note(key, note) => json_row::write(&note::ALL, note::cells(key, note)),
            Self::Incident(incident) => {
                serde_json::to_value(incident).map_err(|cause| unwritable().caused_by(cause))?
            }
            Self::Result(key, result) => json_row::write(&operation::RESULT, operation::result_cells(key, result)),
        })
    }

    /// The line, without its end.
    pub fn to_line(&self) -> Result<String> {
        let content =
            RawValue::from_string(self.content()?.to_string()).map_err(|cause| unwritable().caused_by(cause))?;
        let line =
            ArchiveLine { format: FORMAT, record: self.name().to_owned(), digest: digest(content.get()), content };
        serde_json::to_string(&line).map_err(|cause| unwritable().caused_by(cause))
    }

    /// Reads a line back; one that was cut or changed is refused.
    pub fn parse(line: &str) -> Result<Self> {
        let line: ArchiveLine = serde_json::from_str(line).map_err(|_| damaged("it is not a line of an archive"))?;
        if line.format != FORMAT {
            return Err(Error::new(ARCHIVE_DAMAGED, format!("the line has format {}", line.format))
                .hint("read it with a newer version"));
        }
        if line.digest != digest(line.content.get()) {
            return Err(damaged("its content is not what was written"));
        }
        let text = line.content.get();
        Ok(match line.record.as_str() {
            "operation" => Self::Operation(Box::new(operation::read(&json_row::read(&operation::ALL, text)?)?)),
            "attempt" => Self::Attempt(Box::new(attempt::read(&json_row::read(&attempt::ALL, text)?)?)),
            "note" => {
                let read = json_row::read(&note::ALL, text)?;
                Self::Note(key(&read)?, note::read(&read)?)
            }
            "incident" => Self::Incident(Box::new(incident::read(text)?)),
            "result" => {
                let read = json_row::read(&operation::ALL, text)?;
                let result = operation::result(&read)?.ok_or_else(|| damaged("it has no result"))?;
                Self::Result(key(&read)?, result)
            }
            other => return Err(damaged(&format!("{other:?} is not a record of this version"))),
        })
    }
}

fn digest(content: &str) -> String {
    json_row::hex(&Digest::of(content.as_bytes()).0)
}

fn unwritable() -> Error {
    Error::new(crate::error::PROGRAMMING_INVARIANT_VIOLATED, "a record cannot be written as JSON")
}

fn damaged(why: &str) -> Error {
    Error::new(ARCHIVE_DAMAGED, format!("the line is damaged: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{KindName, OperationId, Tenant};
    use std::sync::Arc;

    fn key() -> OperationKey {
        OperationKey::new(
            Tenant::default(),
            KindName::parse("notice.issue").unwrap(),
            OperationId::stored("CASE-7:ä\"").unwrap(),
        )
    }

    fn result(bytes: &[u8]) -> ArchiveRecord {
        let kept = StoredResult::Kept { content_type: Arc::from("application/octet-stream"), bytes: Arc::from(bytes) };
        ArchiveRecord::Result(key(), kept)
    }

    #[test]
    fn a_result_is_read_back_bytewise_whatever_its_bytes_are() {
        for bytes in [&b"{\"n\":1}"[..], b"", b"\xff\xfe\x00", b"a\nb", "ä".as_bytes()] {
            let line = result(bytes).to_line().unwrap();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(ArchiveRecord::parse(&line).unwrap(), result(bytes));
        }
        assert!(result(b"{\"n\":1}").to_line().unwrap().contains(r#""text":"{\"n\":1}""#), "text stays readable");
    }

    #[test]
    fn a_line_that_was_cut_or_changed_is_told() {
        let line = result(b"{\"n\":1}").to_line().unwrap();
        for cut in 0..line.len() {
            if let Some(part) = line.get(..cut) {
                assert_eq!(ArchiveRecord::parse(part).unwrap_err().code(), ARCHIVE_DAMAGED, "{part}");
            }
        }
        let changed = line.replace("octet", "octat");
        assert_ne!(changed, line);
        assert_eq!(ArchiveRecord::parse(&changed).unwrap_err().code(), ARCHIVE_DAMAGED);
        let newer = line.replace("\"format\":1", "\"format\":2");
        assert!(ArchiveRecord::parse(&newer).unwrap_err().next_step().contains("newer version"));
    }
}
