//! A producer of librdkafka, with transactions or without.

use ::krafka::Record;
use ::rdkafka::error::{KafkaError, RDKafkaErrorCode};
use ::rdkafka::message::{Header, OwnedHeaders};
use ::rdkafka::producer::future_producer::{Delivery, DeliveryFuture};
use ::rdkafka::producer::{FutureRecord, Producer as _, PurgeConfig};
use tokio::time::Instant;

use super::fault;
use super::native::Native;
use crate::driver::Position;
use crate::fault::{ClientState, Fault};
use crate::page::KeysInWave;

/// Closes its batches as it sees fit.
pub(crate) struct Producer {
    native: Native,
    sort: Sort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Plain,
    Transactional,
}

/// A record that was handed over.
pub(crate) struct Acknowledgement {
    delivery: DeliveryFuture,
    native: Native,
    sort: Sort,
}

impl Producer {
    pub(super) fn plain(native: Native) -> Self {
        Self { native, sort: Sort::Plain }
    }

    pub(super) fn transactional(native: Native) -> Self {
        Self { native, sort: Sort::Transactional }
    }

    /// A transaction is written as a whole; without one, a later record of a key could be in a batch behind.
    pub(crate) fn keys_in_wave(&self) -> KeysInWave {
        match self.sort {
            Sort::Plain => KeysInWave::One,
            Sort::Transactional => KeysInWave::InOneBatch,
        }
    }

    pub(crate) fn enqueue(&self, record: &Record) -> Result<Acknowledgement, Fault> {
        let mut headers = OwnedHeaders::new_with_capacity(record.headers.len());
        for (key, value) in &record.headers {
            headers = headers.insert(Header { key, value: value.as_deref() });
        }
        let outgoing = FutureRecord::<[u8], [u8]> {
            topic: &record.topic,
            partition: record.partition,
            payload: record.value.as_deref(),
            key: record.key.as_deref(),
            // It takes nought for now.
            timestamp: record.timestamp.map(|at| at.max(1)),
            headers: Some(headers),
        };
        match self.native.producer()?.send_result(outgoing) {
            Ok(delivery) => Ok(Acknowledgement { delivery, native: self.native.clone(), sort: self.sort }),
            Err((error, _)) => Err(read(&self.native, self.sort, &error)),
        }
    }

    pub(crate) fn begin(&self) -> Result<(), Fault> {
        self.native.producer()?.begin_transaction().map_err(|error| read(&self.native, self.sort, &error))
    }

    pub(crate) async fn commit(&self, deadline: Instant) -> Result<(), Fault> {
        let within = deadline.saturating_duration_since(Instant::now());
        let committed = self.native.call(move |producer| producer.commit_transaction(within)).await;
        committed.map_err(|error| fault::in_transaction(fault::of(&error)))
    }

    pub(crate) async fn abort(&self, deadline: Instant) -> Result<(), Fault> {
        let within = deadline.saturating_duration_since(Instant::now());
        let aborted = self.native.call(move |producer| producer.abort_transaction(within)).await;
        aborted.map_err(|error| fault::in_transaction(fault::of(&error)))
    }

    /// Nothing that waits is sent any more. Its threads end once nothing uses it.
    pub(crate) async fn close(&self) {
        let purge = PurgeConfig::default().queue().inflight();
        // It can only be gone already.
        let _ = self
            .native
            .call(move |producer| {
                producer.purge(purge);
                Ok(())
            })
            .await;
    }
}

impl Acknowledgement {
    pub(crate) async fn written(self) -> Result<Position, Fault> {
        match self.delivery.await {
            Ok(Ok(Delivery { partition, offset: offset @ 0.., .. })) => {
                Ok(Some(format!("{partition}/{offset}").into()))
            }
            // An earlier try of the same batch wrote it, and the broker no longer says where.
            Ok(Ok(_)) => Ok(None),
            Ok(Err((error, _))) => Err(read(&self.native, self.sort, &error)),
            Err(_) => Err(read(&self.native, self.sort, &KafkaError::Canceled)),
        }
    }
}

fn read(native: &Native, sort: Sort, error: &KafkaError) -> Fault {
    let fault = fault::of(error);
    if sort == Sort::Plain {
        return fault;
    }
    // Also what was on its way in a batch behind the one that was refused.
    let taken_back = matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::PurgeQueue
                | RDKafkaErrorCode::PurgeInflight
                | RDKafkaErrorCode::State
                | RDKafkaErrorCode::OutOfOrderSequenceNumber
        )
    );
    // A producer that was fenced takes its records back too, and must not try again.
    match native.producer().map(|producer| producer.client().fatal_error()) {
        Ok(None) if taken_back => Fault::Aborted { reason: fault.reason().to_owned() },
        Ok(Some((_, reason))) => Fault::Target { reason, client: ClientState::ProducerSpent },
        Ok(None) | Err(_) => fault::in_transaction(fault),
    }
}
