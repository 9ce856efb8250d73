//! A connected client, with times that all end within the delivery's.

use std::sync::Arc;
use std::time::Duration;

use krafka::CloseOptions;
use krafka::admin::AdminClient;
use krafka::producer::{Acks, Producer, ProducerBuilder, TransactionalProducer};
use tokio::time::Instant;

use crate::settings::KafkaSettings;
use crate::topic::KnownTopics;

/// Bytes of a batch of several records; a larger record is alone in its batch.
pub(crate) const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// Bytes that are on their way at once.
pub(crate) const WAVE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Brokers refuse a longer transaction, unless they are told otherwise.
const TRANSACTION_FOR_MAX: Duration = Duration::from_mins(15);

/// The client's times, as parts of what a delivery may take.
///
/// A request that is on its way when the delivery ends may still be written within `request`; so nothing is written
/// later than four thirds of the delivery's time after its begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    /// One request, with the connection that it needs.
    pub(crate) request: Duration,
    /// From handing over a record to its answer, with every repetition.
    delivery: Duration,
    /// How long a batch stays open. It is closed by a flush before that: were it closed by itself in the middle, a key
    /// could be in two batches.
    pub(crate) linger: Duration,
    /// Waiting for a topic's leaders, for memory, or for the coordinator of a transaction.
    block: Duration,
}

impl Times {
    pub(crate) fn of(within: Duration) -> Self {
        let within = within.max(Duration::from_millis(600));
        Self { request: within / 3, delivery: within * 2 / 3, linger: within / 3, block: within / 6 }
    }

    /// When the last byte of a delivery can be written, counted from its begin.
    pub(crate) fn written_within(within: Duration) -> Duration {
        within + Self::of(within).request
    }
}

/// A client and its producer without transactions.
pub(crate) struct Client {
    kafka: krafka::Kafka,
    pub(crate) producer: Producer,
    pub(crate) admin: AdminClient,
    pub(crate) topics: KnownTopics,
    pub(crate) times: Times,
}

impl Client {
    /// Connects to the first broker that answers.
    pub(crate) async fn connect(settings: &KafkaSettings, times: Times) -> krafka::Result<Arc<Self>> {
        let kafka = krafka::Kafka::builder(settings.brokers.join(","))
            .client_id(&settings.client_id)
            .security(settings.security())
            .connect_timeout(times.request)
            .request_timeout(times.request)
            .connect()
            .await?;
        let producer = producer(&kafka, times).build().await?;
        let admin = kafka.admin().default_api_timeout(times.delivery);
        Ok(Arc::new(Self { kafka, producer, admin, topics: KnownTopics::default(), times }))
    }

    /// A producer that fences every earlier one with this id.
    pub(crate) async fn transactional(&self, id: &str) -> krafka::Result<TransactionalProducer> {
        // An open transaction holds readers back, so one that nobody ends is ended soon.
        let open_for = (self.times.delivery * 3).min(TRANSACTION_FOR_MAX);
        producer(&self.kafka, self.times).transaction_timeout(open_for).build_transactional(id).await
    }

    /// Nothing that waits is sent any more; what is on its way may be written within one request's time.
    pub(crate) async fn stop(&self) {
        // Its only failure is that something waited.
        let _ = self.producer.close_with(CloseOptions::new().timeout(Duration::ZERO)).await;
    }
}

fn producer(kafka: &krafka::Kafka, times: Times) -> ProducerBuilder {
    kafka
        .producer()
        .acks(Acks::All)
        .idempotent(true)
        .linger(times.linger)
        // Larger than any batch that is planned, so that only a flush closes one.
        .batch_size(2 * BATCH_BYTES_MAX)
        .buffer_memory(2 * WAVE_BYTES_MAX)
        .delivery_timeout(times.delivery)
        .max_block(times.block)
        .metrics_push(false)
}

/// Waits until this time and not longer.
pub(crate) async fn until<T>(deadline: Instant, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout_at(deadline, future).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_fits_into_the_delivery_and_the_client_takes_them() {
        for seconds in [1, 3, 15, 120] {
            let within = Duration::from_secs(seconds);
            let times = Times::of(within);
            assert!(times.delivery < within && times.block < times.delivery, "{times:?}");
            assert!(times.linger + times.request <= times.delivery, "{times:?}: the client refuses these");
            assert!(Times::written_within(within) <= within * 4 / 3, "{times:?}");
        }
    }
}
