//! A target of a relay that remembers what it took.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use onefold_core::Result;
use onefold_core::error::TARGET_UNAVAILABLE;
use onefold_core::event::{EventId, StoredEvent};
use onefold_core::port::{BoxFuture, EventSender, OutgoingEvent, Publication};

type Answer = Box<dyn Fn(&StoredEvent) -> Publication + Send + Sync>;

/// A target that takes everything until it is told otherwise, and remembers what it took and was asked.
pub struct RecordingTarget {
    answer: Mutex<Answer>,
    taken: Mutex<Vec<TakenEvent>>,
    asked: Mutex<usize>,
}

/// An event that the target took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenEvent {
    /// Which one.
    pub id: EventId,
    /// What it is about.
    pub aggregate: String,
    /// What happened.
    pub event_type: String,
    /// What was sent.
    pub payload: String,
    /// The replay that sent it.
    pub replay: Option<String>,
}

impl Default for RecordingTarget {
    fn default() -> Self {
        Self { answer: Mutex::new(Box::new(|_| take())), taken: Mutex::default(), asked: Mutex::default() }
    }
}

/// The target has it.
fn take() -> Publication {
    Publication::Published { position: None }
}

impl RecordingTarget {
    /// From now on it answers so.
    pub fn answer_with(&self, answer: impl Fn(&StoredEvent) -> Publication + Send + Sync + 'static) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(answer);
    }

    /// From now on it takes everything.
    pub fn take_everything(&self) {
        self.answer_with(|_| take());
    }

    /// From now on it takes nothing.
    pub fn go_away(&self) {
        self.answer_with(|_| Publication::Unavailable {
            code: TARGET_UNAVAILABLE,
            reason: "it is away".to_owned(),
            after: None,
        });
    }

    /// What it took, in that order; an event that was sent twice is there twice.
    pub fn taken(&self) -> Vec<TakenEvent> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often it was sent an event.
    pub fn asked(&self) -> usize {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSender for RecordingTarget {
    fn target(&self) -> String {
        "a target that remembers".to_owned()
    }

    fn unfenced(&self) -> Option<&'static str> {
        None
    }

    fn check(&self, _lease_for: Duration, _within: Duration) -> BoxFuture<'_, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn send<'a>(&'a self, event: &'a OutgoingEvent, _within: Duration) -> BoxFuture<'a, Publication> {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let answer = (self.answer.lock().unwrap_or_else(PoisonError::into_inner))(&event.stored);
        if matches!(answer, Publication::Published { .. }) {
            let new = &event.stored.event;
            let taken = TakenEvent {
                id: new.id,
                aggregate: new.aggregate.id.to_string(),
                event_type: new.event_type.to_string(),
                payload: String::from_utf8_lossy(&new.payload).into_owned(),
                replay: event.replay.as_ref().map(ToString::to_string),
            };
            self.taken.lock().unwrap_or_else(PoisonError::into_inner).push(taken);
        }
        Box::pin(std::future::ready(answer))
    }
}
