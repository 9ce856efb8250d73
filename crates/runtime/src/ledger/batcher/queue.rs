//! Steps on their way to the store. The receiver says how many are worth waking up for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};

use super::QueuedStep;

/// A bounded queue, empty.
pub(super) fn queue(max: usize) -> (StepSender, StepReceiver) {
    let (steps, waiting) = mpsc::channel(max);
    let enough = Arc::new(Enough { count: AtomicUsize::new(1), reached: Notify::new() });
    (StepSender { steps, enough: Arc::clone(&enough) }, StepReceiver { waiting, enough })
}

/// How many steps the receiver waits for. A receiver that is woken for every single one does nothing else.
struct Enough {
    count: AtomicUsize,
    reached: Notify,
}

#[derive(Clone)]
pub(super) struct StepSender {
    steps: mpsc::Sender<QueuedStep>,
    enough: Arc<Enough>,
}

impl StepSender {
    /// Whether no step waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting() == 0
    }

    fn waiting(&self) -> usize {
        self.steps.max_capacity() - self.steps.capacity()
    }

    /// Waits for room. Gives the step back when nobody takes any more.
    pub(super) async fn send(&self, step: QueuedStep) -> Result<(), QueuedStep> {
        self.steps.send(step).await.map_err(|refused| refused.0)?;
        self.tell();
        Ok(())
    }

    /// Does not wait for room.
    pub(super) fn try_send(&self, step: QueuedStep) -> Result<(), TrySendError<QueuedStep>> {
        self.steps.try_send(step)?;
        self.tell();
        Ok(())
    }

    fn tell(&self) {
        // After the step was put in, as the receiver looks after it has said how many it wants: one of both sees the other.
        fence(Ordering::SeqCst);
        if self.waiting() >= self.enough.count.load(Ordering::Relaxed) {
            self.enough.reached.notify_one();
        }
    }

    /// The same queue, which may end meanwhile.
    pub(super) fn downgrade(&self) -> WeakStepSender {
        WeakStepSender { steps: self.steps.downgrade(), enough: Arc::clone(&self.enough) }
    }
}

pub(super) struct WeakStepSender {
    steps: mpsc::WeakSender<QueuedStep>,
    enough: Arc<Enough>,
}

impl WeakStepSender {
    pub(super) fn upgrade(&self) -> Option<StepSender> {
        Some(StepSender { steps: self.steps.upgrade()?, enough: Arc::clone(&self.enough) })
    }
}

pub(super) struct StepReceiver {
    waiting: mpsc::Receiver<QueuedStep>,
    enough: Arc<Enough>,
}

impl StepReceiver {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Takes what waits, at most so many; waits while there is nothing. Nothing once every sender is gone.
    pub(super) async fn take(&mut self, max: usize) -> Vec<QueuedStep> {
        let mut taken = Vec::with_capacity(self.len().clamp(1, max));
        self.waiting.recv_many(&mut taken, max).await;
        taken
    }

    /// Waits until so many steps wait. It may not end where senders go away meanwhile.
    pub(super) async fn reaches(&self, count: usize) {
        self.enough.count.store(count, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        while self.len() < count {
            self.enough.reached.notified().await;
        }
    }
}
