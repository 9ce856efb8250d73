//! One story per operation, derived from its row, its attempts and its notes.

use std::sync::Arc;

use serde::Serialize;

use super::attempt::{AttemptResult, PastAttempt};
use super::entry::{Entry, SettledBy, Status};
use super::transition::Note;
use crate::time::Timestamp;

/// One line of the story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimelineEvent {
    /// When.
    pub at: Timestamp,
    /// Of which attempt.
    pub fence: u64,
    /// Who: a worker, `ask`, `void`, `policy`, or a person.
    pub who: Arc<str>,
    /// What happened.
    pub what: String,
}

/// The story of an operation, oldest first.
pub fn timeline(entry: &Entry, attempts: &[PastAttempt], notes: &[Note]) -> Vec<TimelineEvent> {
    let mut events: Vec<TimelineEvent> = Vec::new();
    for attempt in attempts {
        if attempt.fence < entry.fence {
            events.push(claimed(attempt.fence, &attempt.worker, attempt.started_at, attempt.deadline));
        }
        events.push(ended(attempt));
    }
    events.push(claimed(entry.fence, &entry.worker, entry.attempt_started_at, entry.deadline));
    events.extend(present(entry, attempts));
    events.extend(notes.iter().map(said));
    events.sort_by_key(|event| event.at);
    events
}

fn claimed(fence: u64, worker: &Arc<str>, at: Timestamp, deadline: Timestamp) -> TimelineEvent {
    TimelineEvent { at, fence, who: Arc::clone(worker), what: format!("claimed, deadline {deadline}") }
}

/// The line of a kept attempt, as a note: it stays in the story when the attempt's row says something new.
pub(super) fn keep_line(attempt: &PastAttempt) -> Note {
    let TimelineEvent { at, fence, who, what } = ended(attempt);
    Note { at, who, what: Arc::from(what), why: None, fence }
}

fn ended(attempt: &PastAttempt) -> TimelineEvent {
    let code = attempt.error_code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
    let effect = attempt.side_effect;
    let what = match attempt.ending {
        AttemptResult::Recorded => format!("recorded{code}, effect {effect}"),
        AttemptResult::Expired => format!("went silent, last alive {}", attempt.last_alive_at),
        AttemptResult::Released => "released: nothing was sent".to_owned(),
        AttemptResult::Unheard => "released: the grant was never handed to its caller".to_owned(),
        AttemptResult::Late => {
            let evidence = attempt.evidence_ref.as_ref().map(|text| format!(", evidence {text}")).unwrap_or_default();
            format!("reported late: {}{code}, effect {effect}{evidence}", attempt.status)
        }
    };
    TimelineEvent { at: attempt.ended_at, fence: attempt.fence, who: Arc::clone(&attempt.worker), what }
}

fn present(entry: &Entry, attempts: &[PastAttempt]) -> Option<TimelineEvent> {
    let by_holder = entry.settled_by == Some(SettledBy::Holder);
    let told = attempts.iter().any(|attempt| attempt.fence == entry.fence && attempt.ending != AttemptResult::Expired);
    let code = entry.error_code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
    let what = match entry.status {
        Status::Completed if by_holder => {
            let evidence = entry.evidence_ref.as_ref().map(|text| format!(", evidence {text}")).unwrap_or_default();
            format!("completed{evidence}")
        }
        Status::FailedFinal if by_holder => format!("failed for good{code}"),
        Status::FailedRetryable if by_holder && !told => format!("failed{code}, may be tried again"),
        Status::Started
        | Status::Completed
        | Status::FailedFinal
        | Status::FailedRetryable
        | Status::Unknown
        | Status::Released => return None,
    };
    Some(TimelineEvent {
        at: entry.completed_at.unwrap_or(entry.updated_at),
        fence: entry.fence,
        who: Arc::clone(&entry.worker),
        what,
    })
}

fn said(note: &Note) -> TimelineEvent {
    let why = note.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    TimelineEvent { at: note.at, fence: note.fence, who: Arc::clone(&note.who), what: format!("{}{why}", note.what) }
}
