//! What a closure is handed: the key to send, and the question whether it still may.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use onefold_core::ledger::Lease;
use onefold_core::port::Clock;
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
    /// Both clocks before the claim was sent.
    started: ClockReading,
    /// The ledger says that the attempt is over.
    lost: AtomicBool,
    /// Whether something may have been sent; one word decides between the closure and its deadline.
    sending: AtomicU8,
}

/// Something may have been sent. Every attempt starts so, because only its closure can say otherwise.
const MAY_HAVE_SENT: u8 = 0;
/// The closure promised that nothing was sent yet, and that it asks before it sends.
const QUIET: u8 = 1;
/// The attempt was ended while it was quiet: nothing was sent, and nothing will be.
const ENDED_QUIET: u8 = 2;
/// The quiet time is over for good.
const SENT: u8 = 3;

#[derive(Clone, Copy)]
pub(crate) struct ClockReading {
    monotonic: Duration,
    boot: Duration,
}

impl ClockReading {
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
    pub(crate) fn new(lease: Lease, clock: Arc<dyn Clock>, started: ClockReading) -> Self {
        let inner =
            Inner { lease, clock, started, lost: AtomicBool::new(false), sending: AtomicU8::new(MAY_HAVE_SENT) };
        Self { inner: Arc::new(inner) }
    }

    /// The idempotency key to send: the operation's id, the same for every attempt. (Only after a
    /// `void`, which makes the provider refuse a key for ever, does the next attempt have another.)
    pub fn provider_key(&self) -> &str {
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

    /// Promises that nothing is sent until [`SendGuard::sending`]: a panic or a deadline before that releases the claim.
    pub fn quiet(&self) -> SendGuard {
        self.inner.move_to(MAY_HAVE_SENT, QUIET);
        SendGuard { attempt: self.clone() }
    }

    /// Ends the attempt where nothing was sent, and tells whether that is so. From then on nothing may be sent.
    pub(crate) fn end_quiet(&self) -> bool {
        self.inner.move_to(QUIET, ENDED_QUIET)
    }

    pub(crate) fn lose(&self) {
        self.inner.lost.store(true, Ordering::Release);
    }
}

/// The time before anything is sent.
pub struct SendGuard {
    attempt: Attempt,
}

impl SendGuard {
    /// Ends it: the next thing is the first byte, if the attempt still may.
    pub fn sending(self) -> Result<(), TooLate> {
        self.attempt.may_send()?;
        // The deadline may have ended the attempt since: the first one decides.
        self.attempt.inner.move_to(QUIET, SENT);
        if self.attempt.inner.sending.load(Ordering::Acquire) == ENDED_QUIET { Err(TooLate) } else { Ok(()) }
    }
}

impl Inner {
    fn move_to(&self, from: u8, to: u8) -> bool {
        self.sending.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::SystemClock;
    use onefold_core::Timestamp;
    use onefold_core::ledger::{AttemptId, SideEffect};
    use onefold_core::operation::{KindName, OperationId, OperationKey, Tenant};

    fn attempt() -> Attempt {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let id = OperationId::parse("CASE-1").unwrap();
        let lease = Lease {
            key: OperationKey::new(Tenant::default(), KindName::parse("notice").unwrap(), id),
            fence: 1,
            attempt_id: AttemptId::from_random([7; 16]),
            deadline: Timestamp::default(),
            lease_until: Timestamp::default(),
            deadline_in: Duration::from_hours(1),
            attempt: 1,
            earlier: SideEffect::NotApplied,
            provider_key: Arc::from("CASE-1"),
        };
        let started = ClockReading::take(&*clock);
        Attempt::new(lease, clock, started)
    }

    #[test]
    fn an_attempt_that_ended_quiet_never_sends_although_its_own_check_passed() {
        let attempt = attempt();
        let quiet = attempt.quiet();
        assert!(attempt.may_send().is_ok());
        assert!(attempt.end_quiet());
        assert_eq!(quiet.sending(), Err(TooLate));
    }

    #[test]
    fn an_attempt_that_sent_is_never_ended_quiet() {
        let attempt = attempt();
        assert!(attempt.quiet().sending().is_ok());
        assert!(!attempt.end_quiet());
        let _again = attempt.quiet();
        assert!(!attempt.end_quiet());
    }

    #[test]
    fn an_attempt_that_promised_nothing_may_have_sent() {
        assert!(!attempt().end_quiet());
    }
}
