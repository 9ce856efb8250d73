//! Breaker, bulkhead and rate as one: who may pass, and what the end of a call changes. Pure.

use std::time::Duration;

use super::circuit::{Circuit, Position, Stub};
use super::rate::CallStarts;
use onefold_config::DependencyDeclaration;
use onefold_core::incident::CallHistory;

use super::{LimitReached, Refused};

/// How long to wait for a free permit: it is unknown when a call ends.
const PLACE_WAIT: Duration = Duration::from_secs(1);

/// All limits of a dependency at work.
#[derive(Debug)]
pub(super) struct LimitState {
    circuit: Option<Circuit>,
    calls_max: Option<usize>,
    in_flight: usize,
    starts: Option<CallStarts>,
    /// When the first and the last call failed since one succeeded.
    failing: Option<(Duration, Duration)>,
    succeeded_at: Option<Duration>,
}

/// What a call that was let through holds until it ends.
#[derive(Debug)]
pub(super) struct PermitGuard {
    stub: Option<Stub>,
    began: Duration,
}

/// How a call ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum CallEnd {
    Succeeded,
    Failed,
    Neither,
    /// It never began.
    Unused,
}

impl LimitState {
    pub(super) fn new(limits: &DependencyDeclaration) -> Self {
        Self {
            circuit: limits.breaker.map(Circuit::new),
            calls_max: limits.calls_max,
            in_flight: 0,
            starts: limits.rate.map(CallStarts::new),
            failing: None,
            succeeded_at: None,
        }
    }

    /// The state of its breaker, if it has one.
    pub(super) fn position(&self) -> Option<Position> {
        self.circuit.as_ref().map(Circuit::position)
    }

    /// Lets a call through, or says why not. The rate comes last: a refused call has not begun.
    pub(super) fn enter(&mut self, now: Duration) -> Result<PermitGuard, Refused> {
        if let Some(circuit) = &self.circuit {
            circuit.check(now).map_err(|wait| refused(LimitReached::BreakerOpen, wait))?;
        }
        if self.calls_max.is_some_and(|max| self.in_flight >= max) {
            return Err(refused(LimitReached::BulkheadFull, PLACE_WAIT));
        }
        if let Some(starts) = &mut self.starts {
            starts.begin(now).map_err(|wait| refused(LimitReached::RateExceeded, wait))?;
        }
        self.in_flight += 1;
        Ok(PermitGuard { stub: self.circuit.as_mut().map(Circuit::begin), began: now })
    }

    /// A call ended.
    pub(super) fn leave(&mut self, PermitGuard { stub, began }: PermitGuard, end: CallEnd, now: Duration) {
        self.in_flight = self.in_flight.saturating_sub(1);
        match end {
            CallEnd::Succeeded => (self.failing, self.succeeded_at) = (None, Some(now)),
            CallEnd::Failed => self.failing = Some((self.failing.map_or(now, |(first, _)| first), now)),
            CallEnd::Neither => {}
            CallEnd::Unused => {
                if let Some(starts) = &mut self.starts {
                    starts.forget(began);
                }
            }
        }
        let (Some(circuit), Some(stub)) = (&mut self.circuit, stub) else { return };
        match end {
            CallEnd::Succeeded => circuit.succeeded(stub),
            CallEnd::Failed => circuit.failed(stub, now),
            CallEnd::Neither | CallEnd::Unused => circuit.abandoned(stub),
        }
    }

    /// What calls have shown, where an incident was raised at that time.
    pub(super) fn history(&self, reported_at: Option<Duration>) -> CallHistory {
        CallHistory {
            failing_for: self.failing.map(|(first, last)| last.saturating_sub(first)),
            succeeded_since: reported_at.is_some_and(|since| self.succeeded_at.is_some_and(|at| at >= since)),
        }
    }
}

fn refused(because: LimitReached, retry_after: Duration) -> Refused {
    Refused { because, retry_after }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onefold_config::{Breaker, Rate};

    const SECOND: Duration = Duration::from_secs(1);

    fn why_not(limits: &mut LimitState, now: Duration) -> LimitReached {
        limits.enter(now).unwrap_err().because
    }

    #[test]
    fn without_limits_everything_passes() {
        let mut limits = LimitState::new(&DependencyDeclaration::default());
        let guards: Vec<PermitGuard> = (0..1_000).map(|_| limits.enter(SECOND).unwrap()).collect();
        for guard in guards {
            limits.leave(guard, CallEnd::Failed, SECOND);
        }
        assert!(limits.enter(SECOND).is_ok());
    }

    #[test]
    fn a_refused_call_uses_up_no_rate() {
        let rate = Rate { calls: 2, per: SECOND * 60 };
        let mut limits =
            LimitState::new(&DependencyDeclaration { calls_max: Some(1), rate: Some(rate), ..limitless() });
        let guard = limits.enter(SECOND).unwrap();
        for _ in 0..10 {
            assert_eq!(why_not(&mut limits, SECOND), LimitReached::BulkheadFull);
        }
        limits.leave(guard, CallEnd::Neither, SECOND);
        let guard = limits.enter(SECOND).unwrap();
        limits.leave(guard, CallEnd::Succeeded, SECOND);
        assert_eq!(why_not(&mut limits, SECOND), LimitReached::RateExceeded);
    }

    #[test]
    fn a_call_that_never_began_uses_up_nothing() {
        let breaker = Breaker { failures: 1, open_for: SECOND };
        let rate = Rate { calls: 1, per: SECOND * 60 };
        let limits =
            DependencyDeclaration { breaker: Some(breaker), calls_max: Some(1), rate: Some(rate), ..limitless() };
        let mut limits = LimitState::new(&limits);
        for _ in 0..10 {
            let guard = limits.enter(SECOND).unwrap();
            limits.leave(guard, CallEnd::Unused, SECOND * 2);
        }
        assert!(limits.enter(SECOND * 3).is_ok());
        assert_eq!(why_not(&mut limits, SECOND * 3), LimitReached::BulkheadFull);
    }

    #[test]
    fn failures_are_counted_from_the_first_since_a_success() {
        let mut limits = LimitState::new(&limitless());
        let mut call = |at: u32, end| {
            let guard = limits.enter(SECOND * at).unwrap();
            limits.leave(guard, end, SECOND * at);
            limits.history(Some(SECOND * 50))
        };
        assert_eq!(
            call(10, CallEnd::Failed),
            CallHistory { failing_for: Some(Duration::ZERO), succeeded_since: false }
        );
        assert_eq!(call(40, CallEnd::Neither).failing_for, Some(Duration::ZERO), "it says nothing of the dependency");
        assert_eq!(call(70, CallEnd::Failed).failing_for, Some(SECOND * 60));
        assert_eq!(call(71, CallEnd::Succeeded), CallHistory { failing_for: None, succeeded_since: true });
        assert_eq!(call(72, CallEnd::Failed), CallHistory { failing_for: Some(Duration::ZERO), succeeded_since: true });
    }

    fn limitless() -> DependencyDeclaration {
        DependencyDeclaration::default()
    }

    #[test]
    fn a_probe_that_the_rate_refuses_leaves_its_permit_free() {
        let breaker = Breaker { failures: 1, open_for: SECOND };
        let rate = Rate { calls: 1, per: SECOND * 10 };
        let mut limits =
            LimitState::new(&DependencyDeclaration { breaker: Some(breaker), rate: Some(rate), ..limitless() });
        let guard = limits.enter(SECOND).unwrap();
        limits.leave(guard, CallEnd::Failed, SECOND);
        assert_eq!(why_not(&mut limits, SECOND), LimitReached::BreakerOpen);
        assert_eq!(why_not(&mut limits, SECOND * 5), LimitReached::RateExceeded);
        assert!(limits.enter(SECOND * 11).is_ok());
        assert_eq!(why_not(&mut limits, SECOND * 11), LimitReached::BreakerOpen);
    }
}
