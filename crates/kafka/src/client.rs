//! A connected client, with times that all end within the delivery's.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::driver::Driver;
use crate::fault::Fault;
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
    pub(crate) delivery: Duration,
    /// How long a wave may be handed over for. A client that closes batches by a flush keeps them open for twice as
    /// long: were one closed by itself in the middle, a key could be in two batches.
    pub(crate) hand_over: Duration,
    /// Waiting for a topic's leaders, for memory, or for the coordinator of a transaction.
    pub(crate) block: Duration,
}

impl Times {
    pub(crate) fn of(within: Duration) -> Self {
        let within = within.max(Duration::from_millis(600));
        Self { request: within / 3, delivery: within * 2 / 3, hand_over: within / 6, block: within / 6 }
    }

    /// When the last byte of a delivery can be written, counted from its begin.
    pub(crate) fn written_within(within: Duration) -> Duration {
        within + Self::of(within).request
    }

    /// How long a transaction may be open: it holds readers back, so one that nobody ends is ended soon.
    pub(crate) fn transaction(self) -> Duration {
        (self.delivery * 3).min(TRANSACTION_FOR_MAX)
    }
}

/// A client, what it knows of its topics, and its times.
pub(crate) struct Client {
    pub(crate) driver: Driver,
    pub(crate) topics: KnownTopics,
    pub(crate) times: Times,
}

impl Client {
    /// Connects to the first broker that answers.
    pub(crate) async fn connect(settings: &KafkaSettings, times: Times) -> Result<Arc<Self>, Fault> {
        let driver = Driver::connect(settings, times).await?;
        Ok(Arc::new(Self { driver, topics: KnownTopics::default(), times }))
    }
}

/// Waits until this time and not longer.
pub(crate) async fn until<T>(deadline: Instant, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout_at(deadline, future).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_fits_into_the_delivery_and_the_clients_take_them() {
        for seconds in [1, 3, 15, 120] {
            let within = Duration::from_secs(seconds);
            let times = Times::of(within);
            assert!(times.delivery < within && times.block < times.delivery, "{times:?}");
            assert!(times.hand_over * 2 + times.request <= times.delivery, "{times:?}: krafka refuses these");
            assert!(times.delivery < times.transaction(), "{times:?}: librdkafka refuses these");
            assert!(Times::written_within(within) <= within * 4 / 3, "{times:?}");
        }
    }
}
