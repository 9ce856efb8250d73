//! A lane's page in a transaction, under a `transactional.id` that only the lane's last holder can use.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::client::{Client, until};
use crate::driver::{AfterAbort, CLOSE_WITHIN, Producer};
use crate::fault::{ClientState, Fault};
use crate::page::Page;
use crate::send::{Sending, WaveEnd, send_wave};

/// A lane's producer, made under this fence.
struct LaneProducer {
    fence: u64,
    producer: Producer,
}

/// The producers of the lanes that are held. One that is in use is not among them.
#[derive(Default)]
pub(crate) struct LaneProducers(Mutex<HashMap<u16, LaneProducer>>);

/// A lane, its fence, and its `transactional.id`.
pub(crate) struct Lane {
    pub(crate) number: u16,
    pub(crate) fence: u64,
    pub(crate) transactional_id: String,
}

impl LaneProducers {
    /// Publishes a page in one transaction: all of it, except what is refused, or nothing.
    pub(crate) async fn publish(&self, client: &Client, lane: &Lane, page: &mut Page, sending: Sending) -> ClientState {
        while !page.is_done() {
            let held = match self.take(client, lane, sending.deadline).await {
                Ok(held) => held,
                Err(fault) => return give_up(page, &fault, sending),
            };
            match attempt(&held.producer, page, sending).await {
                Attempt::Committed => self.keep(lane.number, held),
                Attempt::WithoutRefused => {
                    page.take_back();
                    // One that cannot abort may have been fenced: another one would fence the lane's next holder.
                    match held.producer.abort(sending.deadline).await {
                        Ok(AfterAbort::GoesOn) => self.keep(lane.number, held),
                        Ok(AfterAbort::IsSpent) => held.producer.close(Duration::ZERO).await,
                        Err(fault) => {
                            held.producer.close(Duration::ZERO).await;
                            return give_up(page, &fault, sending);
                        }
                    }
                }
                Attempt::Failed(fault) => {
                    page.take_back();
                    // Whether it was committed may be unknown; the next producer of this id waits for that to be over.
                    held.producer.close(Duration::ZERO).await;
                    return give_up(page, &fault, sending);
                }
            }
        }
        ClientState::Usable
    }

    /// Closes the producer of a lane that is no longer ours.
    pub(crate) async fn leave(&self, lane: u16) {
        let held = self.lock().remove(&lane);
        if let Some(held) = held {
            held.producer.close(CLOSE_WITHIN).await;
        }
    }

    /// Closes all of them at once: the client that they are of is gone.
    pub(crate) async fn stop(&self) {
        let all: Vec<LaneProducer> = self.lock().drain().map(|(_, held)| held).collect();
        for held in all {
            held.producer.close(Duration::ZERO).await;
        }
    }

    /// The lane's producer; a new one where there is none of this fence, and it fences the one before it.
    async fn take(&self, client: &Client, lane: &Lane, deadline: Instant) -> Result<LaneProducer, Fault> {
        let held = self.lock().remove(&lane.number);
        match held {
            Some(held) if held.fence == lane.fence => return Ok(held),
            Some(earlier) => earlier.producer.close(CLOSE_WITHIN).await,
            None => {}
        }
        let made = until(deadline, client.driver.transactional(&lane.transactional_id)).await;
        let producer = made.ok_or_else(|| Fault::late("fencing the lane's last holder"))??;
        // A holder that was paused in between may have fenced the next one: it must at least write nothing.
        if Instant::now() >= deadline {
            producer.close(Duration::ZERO).await;
            return Err(Fault::late("fencing the lane's last holder"));
        }
        Ok(LaneProducer { fence: lane.fence, producer })
    }

    fn keep(&self, lane: u16, held: LaneProducer) {
        self.lock().insert(lane, held);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u16, LaneProducer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a transaction came to.
enum Attempt {
    Committed,
    /// It must be aborted, and can be tried without what the target refused.
    WithoutRefused,
    Failed(Fault),
}

async fn attempt(producer: &Producer, page: &mut Page, sending: Sending) -> Attempt {
    if let Err(fault) = producer.begin() {
        return Attempt::Failed(fault);
    }
    while !page.is_done() {
        match send_wave(producer, page, sending).await {
            WaveEnd::Acknowledged => {}
            WaveEnd::Refused => return Attempt::WithoutRefused,
            WaveEnd::Aborted(fault) | WaveEnd::Failed(fault) => return Attempt::Failed(fault),
        }
    }
    match producer.commit(sending.deadline).await {
        Ok(()) => Attempt::Committed,
        Err(fault) => Attempt::Failed(fault),
    }
}

fn give_up(page: &mut Page, fault: &Fault, sending: Sending) -> ClientState {
    page.end(&fault.publication(sending.topics));
    fault.client()
}
