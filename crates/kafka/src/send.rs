//! Sends a page in waves: each is answered before the next begins.

use std::collections::HashSet;
use std::sync::Arc;

use onefold_core::port::Publication;
use tokio::time::Instant;

use crate::client::{Times, until};
use crate::driver::{Acknowledgement, Producer};
use crate::fault::{Fault, TopicsOf};
use crate::page::{Page, Place};
use crate::record::record;

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
    /// Its transaction cannot go on, and no record of this wave is the cause.
    Aborted(Fault),
    /// The target is at fault; what was acknowledged before is in the page.
    Failed(Fault),
}

/// Sends the next wave and waits for its answers.
pub(crate) async fn send_wave(producer: &Producer, page: &mut Page, sending: Sending) -> WaveEnd {
    let mut end = WaveEnd::Acknowledged;
    let mut sent: Vec<(usize, Acknowledgement)> = Vec::new();
    // Later, and the batch could close by itself between two events of one aggregate.
    let closing = sending.deadline.min(Instant::now() + sending.times.hand_over);
    for at in page.next_wave(producer.keys_in_wave()) {
        // An earlier event of its aggregate was refused just now.
        if page.is_answered(at) {
            continue;
        }
        let (outgoing, partition) = page.event(at);
        match until(closing, producer.enqueue(record(outgoing, partition))).await {
            Some(Ok(acknowledgement)) => sent.push((at, acknowledgement)),
            Some(Err(fault)) => end.meet(page, at, fault, 1, sending.topics),
            None if sent.is_empty() => end.meet(page, at, Fault::late("handing over a record"), 1, sending.topics),
            // It was not handed over, and goes with the next wave.
            None => break,
        }
        if !matches!(end, WaveEnd::Acknowledged | WaveEnd::Refused) {
            break;
        }
    }
    let _ = until(sending.deadline, producer.flush()).await;
    let wave: Vec<usize> = sent.iter().map(|(at, _)| *at).collect();
    let companies = page.companies(&wave);
    let mut unknown: HashSet<Place> = HashSet::new();
    for ((at, acknowledgement), company) in sent.into_iter().zip(companies) {
        match until(sending.deadline, acknowledgement.written()).await {
            Some(Ok(position)) => {
                let (outgoing, partition) = page.event(at);
                let place = (Arc::clone(&outgoing.destination), partition);
                // Where the first of a batch is not known, a client may count the others from a wrong one.
                let position = position.filter(|_| !unknown.contains(&place));
                if position.is_none() {
                    unknown.insert(place);
                }
                page.answer(at, Publication::Published { position });
            }
            Some(Err(fault)) => end.meet(page, at, fault, company, sending.topics),
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
            // It goes with the next transaction, where another record is the cause.
            (Fault::Aborted { .. }, _) => {
                if matches!(self, Self::Acknowledged) {
                    *self = Self::Aborted(fault);
                }
                return;
            }
            (Fault::Topic { .. } | Fault::NotLetIn { .. } | Fault::Target { .. }, _) => {
                page.answer(at, fault.publication(topics));
                *self = match std::mem::replace(self, Self::Refused) {
                    // The worst that the client was found to be in is what counts.
                    Self::Failed(earlier) if earlier.client() >= fault.client() => Self::Failed(earlier),
                    Self::Acknowledged | Self::Refused | Self::Aborted(_) | Self::Failed(_) => Self::Failed(fault),
                };
                return;
            }
        }
        if matches!(self, Self::Acknowledged | Self::Aborted(_)) {
            *self = Self::Refused;
        }
    }
}
