//! krafka's two producers.

use std::time::Duration;

use ::krafka::producer::{
    Acks, DeliveryConfirmation, DeliveryHandle, Producer as PlainProducer, ProducerBuilder, TransactionalProducer,
};
use ::krafka::{CloseOptions, Kafka, Record};

use super::fault;
use crate::client::{BATCH_BYTES_MAX, Times, WAVE_BYTES_MAX};
use crate::driver::Position;
use crate::fault::Fault;

/// Sends a batch as it was filled: it is closed by a flush.
pub(crate) enum Producer {
    Plain(Box<PlainProducer>),
    Transactional(Box<TransactionalProducer>),
}

/// A record that was handed over.
pub(crate) struct Acknowledgement(DeliveryHandle);

impl Producer {
    pub(super) async fn plain(kafka: &Kafka, times: Times) -> Result<Self, Fault> {
        let built = builder(kafka, times).build().await;
        built.map(|producer| Self::Plain(Box::new(producer))).map_err(|error| fault::of(&error))
    }

    pub(super) async fn transactional(kafka: &Kafka, times: Times, id: &str) -> Result<Self, Fault> {
        let builder = builder(kafka, times).transaction_timeout(times.transaction());
        let built = builder.build_transactional(id).await;
        built.map(|producer| Self::Transactional(Box::new(producer))).map_err(|error| fault::of(&error))
    }

    pub(crate) async fn enqueue(&self, record: Record) -> Result<Acknowledgement, Fault> {
        let handle = match self {
            Self::Plain(producer) => producer.enqueue(record).await,
            Self::Transactional(producer) => producer.enqueue(record).await,
        };
        handle.map(Acknowledgement).map_err(|error| fault::of(&error))
    }

    pub(crate) async fn flush(&self) {
        // What it waits for is also said to each record, and more exactly.
        let _ = match self {
            Self::Plain(producer) => producer.flush().await,
            Self::Transactional(producer) => producer.flush().await,
        };
    }

    pub(crate) fn begin(&self) -> Result<(), Fault> {
        self.in_transaction()?.begin().map_err(|error| fault::of(&error))
    }

    pub(crate) async fn commit(&self) -> Result<(), Fault> {
        self.in_transaction()?.commit().await.map_err(|error| fault::of(&error))
    }

    pub(crate) async fn abort(&self) -> Result<(), Fault> {
        self.in_transaction()?.abort().await.map_err(|error| fault::of(&error))
    }

    pub(crate) async fn close(&self, within: Duration) {
        let options = CloseOptions::new().timeout(within);
        // Its only failure is that something waited.
        let _ = match self {
            Self::Plain(producer) => producer.close_with(options).await,
            Self::Transactional(producer) => producer.close_with(options).await,
        };
    }

    fn in_transaction(&self) -> Result<&TransactionalProducer, Fault> {
        match self {
            Self::Transactional(producer) => Ok(producer),
            Self::Plain(_) => Err(Fault::no_transactions()),
        }
    }
}

impl Acknowledgement {
    /// The place is unknown where an earlier try of the same batch wrote it: the broker no longer says.
    pub(crate) async fn written(self) -> Result<Position, Fault> {
        let written = self.0.await.map_err(|error| fault::of(&error))?;
        let known = written.delivery == DeliveryConfirmation::Offset && written.offset >= 0;
        Ok(known.then(|| format!("{}/{}", written.partition, written.offset).into()))
    }
}

fn builder(kafka: &Kafka, times: Times) -> ProducerBuilder {
    kafka
        .producer()
        .acks(Acks::All)
        .idempotent(true)
        .linger(times.hand_over * 2)
        // Larger than any batch that is planned, so that only a flush closes one.
        .batch_size(2 * BATCH_BYTES_MAX)
        .buffer_memory(2 * WAVE_BYTES_MAX)
        .delivery_timeout(times.delivery)
        .max_block(times.block)
        .metrics_push(false)
}
