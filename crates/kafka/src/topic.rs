//! What must be known of a topic before a record is sent to it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::driver::Driver;
use crate::fault::Fault;

/// The setting that says whether a topic is compacted.
pub(crate) const CLEANUP_POLICY: &str = "cleanup.policy";
/// The setting that limits its batches.
pub(crate) const BATCH_BYTES_MAX: &str = "max.message.bytes";

/// A topic as its cluster describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TopicFacts {
    /// Its partitions.
    pub(crate) partitions: i32,
    /// Whether only the last record of a key is kept.
    pub(crate) compacted: bool,
    /// Bytes of a batch that it takes.
    pub(crate) batch_bytes_max: usize,
}

impl TopicFacts {
    /// Reads a topic's settings.
    pub(crate) fn read(partitions: usize, setting: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name| setting(name).unwrap_or_default();
        Self {
            partitions: i32::try_from(partitions).unwrap_or(i32::MAX),
            compacted: value(CLEANUP_POLICY).split(',').any(|policy| policy.trim() == "compact"),
            // Kafka's own default, should a broker not say it.
            batch_bytes_max: value(BATCH_BYTES_MAX).parse().unwrap_or(1_048_588),
        }
    }
}

/// Topics that were asked about a short while ago.
#[derive(Debug, Default)]
pub(crate) struct KnownTopics(Mutex<HashMap<String, (Instant, TopicFacts)>>);

impl KnownTopics {
    /// How long they are believed: partitions are added and limits changed.
    const BELIEVED_FOR: Duration = Duration::from_mins(1);
    /// Topics that are remembered. A template names few.
    const TOPICS_MAX: usize = 1_000;

    /// The topic, asked about where it was not a short while ago.
    pub(crate) async fn facts(&self, driver: &Driver, topic: &str, within: Duration) -> Result<TopicFacts, Fault> {
        if let Some((asked, facts)) = self.lock().get(topic)
            && asked.elapsed() < Self::BELIEVED_FOR
        {
            return Ok(*facts);
        }
        let facts = driver.describe(topic, within).await?;
        let mut known = self.lock();
        if known.len() >= Self::TOPICS_MAX {
            known.clear();
        }
        known.insert(topic.to_owned(), (Instant::now(), facts));
        Ok(facts)
    }

    /// Something has changed: everything is asked about again.
    pub(crate) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Instant, TopicFacts)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
