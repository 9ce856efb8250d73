//! What must be known of the stream behind a subject before a message is sent to it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::GetStreamByNameErrorKind;
use tokio::time::Instant;

use crate::fault::Fault;

/// A stream as its server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamFacts {
    name: Arc<str>,
    /// How long it drops a repeated message id.
    duplicates_for: Duration,
}

impl StreamFacts {
    /// Whether a message that a paused relay sends again is still known as a repeated one.
    pub(crate) fn outlasts(&self, needed: Duration) -> Result<(), Fault> {
        if self.duplicates_for > needed {
            return Ok(());
        }
        Err(Fault::Window { stream: Arc::clone(&self.name), is: self.duplicates_for, needed })
    }
}

/// Streams that were asked about a short while ago, by subject.
#[derive(Debug, Default)]
pub(crate) struct KnownStreams(Mutex<HashMap<String, (Instant, StreamFacts)>>);

impl KnownStreams {
    /// How long they are believed: streams are edited.
    const BELIEVED_FOR: Duration = Duration::from_mins(1);
    /// Subjects that are remembered. A template names few.
    const SUBJECTS_MAX: usize = 1_000;

    /// The stream of a subject, asked about where it was not a short while ago.
    pub(crate) async fn facts(&self, context: &Context, subject: &str) -> Result<StreamFacts, Fault> {
        if let Some((asked, facts)) = self.lock().get(subject)
            && asked.elapsed() < Self::BELIEVED_FOR
        {
            return Ok(facts.clone());
        }
        let facts = describe(context, subject).await?;
        let mut known = self.lock();
        if known.len() >= Self::SUBJECTS_MAX {
            known.clear();
        }
        known.insert(subject.to_owned(), (Instant::now(), facts.clone()));
        Ok(facts)
    }

    /// Something has changed: everything is asked about again.
    pub(crate) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Instant, StreamFacts)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn describe(context: &Context, subject: &str) -> Result<StreamFacts, Fault> {
    let named = context.stream_by_subject(subject).await.map_err(|error| match error.kind() {
        GetStreamByNameErrorKind::NotFound => Fault::Place { reason: format!("no stream has the subject {subject:?}") },
        GetStreamByNameErrorKind::InvalidSubject
        | GetStreamByNameErrorKind::Request
        | GetStreamByNameErrorKind::JetStream(_) => Fault::asking(&error),
    })?;
    let stream = context.get_stream(&named).await.map_err(|error| Fault::asking(&error))?;
    let duplicates_for = stream.cached_info().config.duplicate_window;
    Ok(StreamFacts { name: Arc::from(named), duplicates_for })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_not_longer_than_needed_is_refused() {
        let facts = StreamFacts { name: Arc::from("CASES"), duplicates_for: Duration::from_secs(45) };
        assert!(facts.outlasts(Duration::from_secs(44)).is_ok());
        for needed in [45, 46] {
            let needed = Duration::from_secs(needed);
            assert!(matches!(facts.outlasts(needed), Err(Fault::Window { .. })), "{needed:?}");
        }
    }
}
