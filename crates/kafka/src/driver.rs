//! The client libraries behind one face: connect, describe a topic, send records, send them in a transaction.
//!
//! Layout: `krafka` is always built, `rdkafka` with the feature of its name; each has the files `security` (settings as
//! the library wants them), `fault` (its errors read) and `producer`.

mod krafka;
#[cfg(feature = "rdkafka")]
mod rdkafka;

use std::sync::Arc;
use std::time::Duration;

use ::krafka::Record;
use tokio::time::Instant;

use crate::client::{Times, until};
use crate::fault::Fault;
use crate::page::KeysInWave;
use crate::settings::{KafkaClient, KafkaSettings};
use crate::topic::TopicFacts;

/// How long closing a producer may take.
pub(crate) const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// A connection to a cluster through one of the libraries.
pub(crate) enum Driver {
    Krafka(krafka::Driver),
    #[cfg(feature = "rdkafka")]
    Rdkafka(rdkafka::Driver),
}

/// What sends records: as they come, or in transactions.
pub(crate) enum Producer {
    Krafka(krafka::Producer),
    #[cfg(feature = "rdkafka")]
    Rdkafka(rdkafka::Producer),
}

/// A record that was handed over.
pub(crate) enum Acknowledgement {
    Krafka(krafka::Acknowledgement),
    #[cfg(feature = "rdkafka")]
    Rdkafka(rdkafka::Acknowledgement),
}

/// What a producer is worth that has aborted a transaction because of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterAbort {
    GoesOn,
    /// It counts the record as sent, and the broker does not: its next one would be out of order.
    #[cfg_attr(not(feature = "rdkafka"), allow(dead_code, reason = "only librdkafka is left so"))]
    IsSpent,
}

/// Where a record is, where that is known.
pub(crate) type Position = Option<Arc<str>>;

impl Driver {
    /// Connects to the first broker that answers.
    pub(crate) async fn connect(settings: &KafkaSettings, times: Times) -> Result<Self, Fault> {
        match settings.client {
            KafkaClient::Krafka => krafka::Driver::connect(settings, times).await.map(Self::Krafka),
            #[cfg(feature = "rdkafka")]
            KafkaClient::Rdkafka => rdkafka::Driver::connect(settings, times).await.map(Self::Rdkafka),
            #[cfg(not(feature = "rdkafka"))]
            KafkaClient::Rdkafka => Err(Fault::NotLetIn { reason: "rdkafka is not built in".to_owned() }),
        }
    }

    /// The topic as its cluster describes it.
    pub(crate) async fn describe(&self, topic: &str, within: Duration) -> Result<TopicFacts, Fault> {
        match self {
            Self::Krafka(driver) => driver.describe(topic, within).await,
            #[cfg(feature = "rdkafka")]
            Self::Rdkafka(driver) => driver.describe(topic, within).await,
        }
    }

    /// The producer without transactions.
    pub(crate) fn producer(&self) -> &Producer {
        match self {
            Self::Krafka(driver) => &driver.producer,
            #[cfg(feature = "rdkafka")]
            Self::Rdkafka(driver) => &driver.producer,
        }
    }

    /// A producer with transactions, which fences every earlier one with this id.
    pub(crate) async fn transactional(&self, id: &str) -> Result<Producer, Fault> {
        match self {
            Self::Krafka(driver) => driver.transactional(id).await.map(Producer::Krafka),
            #[cfg(feature = "rdkafka")]
            Self::Rdkafka(driver) => driver.transactional(id).await.map(Producer::Rdkafka),
        }
    }
}

impl Producer {
    /// How many records of a key may be on their way at once.
    pub(crate) fn keys_in_wave(&self) -> KeysInWave {
        match self {
            Self::Krafka(_) => KeysInWave::InOneBatch,
            #[cfg(feature = "rdkafka")]
            Self::Rdkafka(producer) => producer.keys_in_wave(),
        }
    }

    /// Hands a record over.
    pub(crate) async fn enqueue(&self, record: Record) -> Result<Acknowledgement, Fault> {
        match self {
            Self::Krafka(producer) => producer.enqueue(record).await.map(Acknowledgement::Krafka),
            #[cfg(feature = "rdkafka")]
            Self::Rdkafka(producer) => producer.enqueue(&record).map(Acknowledgement::Rdkafka),
        }
    }

    /// What was handed over is sent now. How it ends is said to each record.
    pub(crate) async fn flush(&self) {
        match self {
            Self::Krafka(producer) => producer.flush().await,
            // It closes its batches by itself, within a millisecond.
            #[cfg(feature = "rdkafka")]
            Self::Rdkafka(_) => {}
        }
    }

    /// Begins a transaction.
    pub(crate) fn begin(&self) -> Result<(), Fault> {
        match self {
            Self::Krafka(producer) => producer.begin(),
            #[cfg(feature = "rdkafka")]
            Self::Rdkafka(producer) => producer.begin(),
        }
    }

    /// Commits it until then. Where that fails, it may be committed or not.
    pub(crate) async fn commit(&self, deadline: Instant) -> Result<(), Fault> {
        let committing = async {
            match self {
                Self::Krafka(producer) => producer.commit().await,
                #[cfg(feature = "rdkafka")]
                Self::Rdkafka(producer) => producer.commit(deadline).await,
            }
        };
        until(deadline, committing).await.unwrap_or_else(|| Err(Fault::late("committing the transaction")))
    }

    /// Aborts it until then.
    pub(crate) async fn abort(&self, deadline: Instant) -> Result<AfterAbort, Fault> {
        let aborting = async {
            match self {
                Self::Krafka(producer) => producer.abort().await.map(|()| AfterAbort::GoesOn),
                #[cfg(feature = "rdkafka")]
                Self::Rdkafka(producer) => producer.abort(deadline).await.map(|()| AfterAbort::IsSpent),
            }
        };
        until(deadline, aborting).await.unwrap_or_else(|| Err(Fault::late("aborting the transaction")))
    }

    /// Nothing that still waits after this time is sent any more; what is on its way may be written within one
    /// request's time. Ends within two seconds more.
    pub(crate) async fn close(&self, within: Duration) {
        let closing = async {
            match self {
                Self::Krafka(producer) => producer.close(within).await,
                #[cfg(feature = "rdkafka")]
                Self::Rdkafka(producer) => producer.close().await,
            }
        };
        // Where it does not end in time, the coordinator ends the transaction.
        let _ = tokio::time::timeout(within + CLOSE_WITHIN, closing).await;
    }
}

impl Acknowledgement {
    /// Waits until it is written, and says where.
    pub(crate) async fn written(self) -> Result<Position, Fault> {
        match self {
            Self::Krafka(acknowledgement) => acknowledgement.written().await,
            #[cfg(feature = "rdkafka")]
            Self::Rdkafka(acknowledgement) => acknowledgement.written().await,
        }
    }
}
