//! What a decision changes, collected as data; a store writes it in one commit.

use std::sync::Arc;

use super::attempt::PastAttempt;
use super::entry::Entry;
use crate::incident::{Incident, IncidentChange};
use crate::time::Timestamp;

/// An answer, and what it changes; nothing where it changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision<A> {
    /// What the caller hears.
    pub answer: A,
    /// What is written before the caller hears it.
    pub transition: Option<Box<Transition>>,
}

impl<A> Decision<A> {
    /// An answer that changes nothing.
    pub(super) fn unchanged(answer: A) -> Self {
        Self { answer, transition: None }
    }

    /// The same decision with its answer in another shape.
    pub fn map<B>(self, shape: impl FnOnce(A) -> B) -> Decision<B> {
        Decision { answer: shape(self.answer), transition: self.transition }
    }

    /// An answer with its change.
    pub(super) fn changed(answer: A, transition: Transition) -> Self {
        Self { answer, transition: Some(Box::new(transition)) }
    }
}

/// Everything that one decision writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// The entry afterwards.
    pub entry: Entry,
    /// An attempt that is over.
    pub past: Option<PastAttempt>,
    /// What becomes of the operation's incident.
    pub incident: Option<IncidentChange>,
    /// Lines of the timeline that no attempt has.
    pub notes: Vec<Note>,
}

/// Something that somebody other than an attempt said of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Note {
    /// When.
    pub at: Timestamp,
    /// Who: `ask`, `void`, `sweeper`, `policy`, or a person from their credential.
    pub who: Arc<str>,
    /// What was said or done.
    pub what: Arc<str>,
    /// Why, in the person's words.
    pub why: Option<Arc<str>>,
    /// Of which attempt.
    pub fence: u64,
}

impl Transition {
    pub(super) fn to(entry: Entry) -> Self {
        Self { entry, past: None, incident: None, notes: Vec::new() }
    }

    pub(super) fn past(mut self, attempt: PastAttempt) -> Self {
        self.past = Some(attempt);
        self
    }

    pub(super) fn incident(mut self, change: IncidentChange) -> Self {
        self.incident = Some(change);
        self
    }

    pub(super) fn note(mut self, note: Note) -> Self {
        self.notes.push(note);
        self
    }

    /// Whether nothing but the operation's own row changes.
    pub fn row_alone(&self) -> bool {
        self.past.is_none() && self.incident.is_none() && self.notes.is_empty()
    }

    /// The incident to write, given the one that is open; the entry then points at what stays open.
    pub fn settle_incident(&mut self, open: Option<Incident>) -> Option<Incident> {
        let written = self.incident.take()?.apply(open);
        self.entry.incident =
            written.as_ref().filter(|incident| incident.is_open()).map(|incident| incident.id.clone());
        written
    }
}
