//! What a closure is handed: the key to send, and the question whether it still may.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onefold_core::ledger::Lease;
use onefold_core::ports::Clock;
use onefold_core::retry::Category;

use crate::call::CallFailure;

/// One attempt at an operation.
#[derive(Clone)]
pub struct Attempt {
    inner: Arc<Inner>,
}

struct Inner {
    lease: Lease,
    clock: Arc<dyn Clock>,
    /// Both clocks as they stood before the claim was sent.
    started: Reading,
    /// The ledger says that the attempt is over.
    lost: AtomicBool,
    /// The closure says that nothing was sent yet.
    quiet: AtomicBool,
}

#[derive(Clone, Copy)]
pub(crate) struct Reading {
    monotonic: Duration,
    boot: Duration,
}

impl Reading {
    pub(crate) fn take(clock: &dyn Clock) -> Self {
        Self { monotonic: clock.monotonic(), boot: clock.boot() }
    }

    /// The longer of what the two clocks say: a machine that slept counts its sleep.
    pub(crate) fn elapsed(self, clock: &dyn Clock) -> Duration {
        clock.monotonic().saturating_sub(self.monotonic).max(clock.boot().saturating_sub(self.boot))
    }
}

/// The deadline has passed or the lease is lost: nothing may be sent any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLate;

impl std::fmt::Display for TooLate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the attempt's deadline has passed; nothing may be sent")
    }
}

impl std::error::Error for TooLate {}

impl From<TooLate> for CallFailure {
    fn from(_: TooLate) -> Self {
        Self::not_sent(Category::DownstreamTimeout).detail("the deadline passed before anything was sent")
    }
}

impl Attempt {
    pub(crate) fn new(lease: Lease, clock: Arc<dyn Clock>, started: Reading) -> Self {
        let inner = Inner { lease, clock, started, lost: AtomicBool::new(false), quiet: AtomicBool::new(false) };
        Self { inner: Arc::new(inner) }
    }

    /// The idempotency key to send: the operation's id, the same for every attempt. (Only after a
    /// `void`, which makes the provider refuse a key for ever, does the next attempt have another.)
    pub fn key(&self) -> &str {
        &self.inner.lease.provider_key
    }

    /// Which attempt it is, 1 for the first.
    pub fn number(&self) -> u32 {
        self.inner.lease.attempt
    }

    /// The grant behind it.
    pub fn lease(&self) -> &Lease {
        &self.inner.lease
    }

    /// How much time is left.
    pub fn remaining(&self) -> Duration {
        self.inner.lease.deadline_in.saturating_sub(self.inner.started.elapsed(&*self.inner.clock))
    }

    /// Whether a byte may still go out. Ask right before the first one does.
    pub fn may_send(&self) -> Result<(), TooLate> {
        if self.inner.lost.load(Ordering::Acquire) || self.remaining().is_zero() { Err(TooLate) } else { Ok(()) }
    }

    /// Promises that nothing is sent until [`Quiet::sending`]: a panic or a deadline before that releases the claim.
    pub fn quiet(&self) -> Quiet {
        self.inner.quiet.store(true, Ordering::Release);
        Quiet { attempt: self.clone() }
    }

    pub(crate) fn nothing_sent(&self) -> bool {
        self.inner.quiet.load(Ordering::Acquire)
    }

    pub(crate) fn lose(&self) {
        self.inner.lost.store(true, Ordering::Release);
    }
}

/// The time before anything is sent.
pub struct Quiet {
    attempt: Attempt,
}

impl Quiet {
    /// Ends it: the next thing is the first byte, if the attempt still may.
    pub fn sending(self) -> Result<(), TooLate> {
        self.attempt.may_send()?;
        self.attempt.inner.quiet.store(false, Ordering::Release);
        Ok(())
    }
}
