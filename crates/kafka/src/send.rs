//! Sends a page in waves: each is answered before the next begins.

use krafka::Record;
use krafka::producer::{DeliveryConfirmation, DeliveryHandle, Producer, RecordMetadata, TransactionalProducer};
use onefold_core::port::Publication;
use tokio::time::Instant;

use crate::client::{Times, until};
use crate::fault::{Fault, TopicsOf};
use crate::page::Page;
use crate::record::record;

/// A producer of either sort.
#[derive(Clone, Copy)]
pub(crate) enum Sender<'p> {
    Plain(&'p Producer),
    /// Between `begin` and `commit`.
    InTransaction(&'p TransactionalProducer),
}

impl Sender<'_> {
    async fn enqueue(self, record: Record) -> krafka::Result<DeliveryHandle> {
        match self {
            Self::Plain(producer) => producer.enqueue(record).await,
            Self::InTransaction(producer) => producer.enqueue(record).await,
        }
    }

    async fn flush(self) -> krafka::Result<()> {
        match self {
            Self::Plain(producer) => producer.flush().await,
            Self::InTransaction(producer) => producer.flush().await,
        }
    }
}

/// When a page is sent, and for whom.
#[derive(Clone, Copy)]
pub(crate) struct Sending {
    pub(crate) times: Times,
    pub(crate) deadline: Instant,
    pub(crate) topics: TopicsOf,
}

/// What a wave came to.
#[derive(Debug)]
pub(crate) enum WaveEnd {
    /// Every record was acknowledged.
    Acknowledged,
    /// Some were refused, or are tried again by themselves; the page has it.
    Refused,
    /// The target is at fault; what was acknowledged before is in the page.
    Failed(Fault),
}

/// Sends the next wave and waits for its answers.
pub(crate) async fn send_wave(sender: Sender<'_>, page: &mut Page, sending: Sending) -> WaveEnd {
    let mut end = WaveEnd::Acknowledged;
    let mut sent: Vec<(usize, DeliveryHandle)> = Vec::new();
    // Later, and the batch could close by itself between two events of one aggregate.
    let closing = sending.deadline.min(Instant::now() + sending.times.linger / 2);
    for at in page.next_wave() {
        // An earlier event of its aggregate was refused just now.
        if page.is_answered(at) {
            continue;
        }
        let (outgoing, partition) = page.event(at);
        match until(closing, sender.enqueue(record(outgoing, partition))).await {
            Some(Ok(handle)) => sent.push((at, handle)),
            Some(Err(error)) => end.meet(page, at, Fault::of(&error), 1, sending.topics),
            None if sent.is_empty() => end.meet(page, at, Fault::late("handing over a record"), 1, sending.topics),
            // It was not handed over, and goes with the next wave.
            None => break,
        }
        if matches!(end, WaveEnd::Failed(_)) {
            break;
        }
    }
    // What it waits for is also said to each record, and more exactly.
    let _ = until(sending.deadline, sender.flush()).await;
    let wave: Vec<usize> = sent.iter().map(|(at, _)| *at).collect();
    let companies = page.companies(&wave);
    for ((at, handle), company) in sent.into_iter().zip(companies) {
        match until(sending.deadline, handle).await {
            Some(Ok(written)) => page.answer(at, Publication::Published { position: position(&written) }),
            Some(Err(error)) => end.meet(page, at, Fault::of(&error), company, sending.topics),
            None => end.meet(page, at, Fault::late("an acknowledgement"), 1, sending.topics),
        }
    }
    end
}

impl WaveEnd {
    /// Takes in the fault that an event has met in a batch of this many.
    fn meet(&mut self, page: &mut Page, at: usize, fault: Fault, company: usize, topics: TopicsOf) {
        match (&fault, topics) {
            (Fault::Record { .. }, _) if company > 1 => page.isolate(at),
            (Fault::Record { .. }, _) | (Fault::Topic { .. }, TopicsOf::Events) => {
                page.answer(at, fault.publication(topics));
            }
            (Fault::Topic { .. } | Fault::NotLetIn { .. } | Fault::Target { .. }, _) => {
                page.answer(at, fault.publication(topics));
                *self = match std::mem::replace(self, Self::Refused) {
                    // The worst that the client was found to be in is what counts.
                    Self::Failed(earlier) if earlier.client() >= fault.client() => Self::Failed(earlier),
                    Self::Acknowledged | Self::Refused | Self::Failed(_) => Self::Failed(fault),
                };
                return;
            }
        }
        if matches!(self, Self::Acknowledged) {
            *self = Self::Refused;
        }
    }
}

/// Where it is. Unknown where an earlier try of the same batch wrote it: the broker no longer says.
fn position(written: &RecordMetadata) -> Option<std::sync::Arc<str>> {
    let known = written.delivery == DeliveryConfirmation::Offset && written.offset >= 0;
    known.then(|| format!("{}/{}", written.partition, written.offset).into())
}
