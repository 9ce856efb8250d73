//! Breaker, bulkhead and rate as one: who may pass, and what the end of a call changes. Pure.

use std::time::Duration;

use super::circuit::{Circuit, Position, Stub};
use super::rate::Beginnings;
use super::{Because, Limits, Refused};

/// How long to wait for a place: nobody knows when a call ends.
const PLACE_WAIT: Duration = Duration::from_secs(1);

/// All limits of a dependency at work.
#[derive(Debug)]
pub(super) struct Gate {
    circuit: Option<Circuit>,
    at_once_max: Option<usize>,
    under_way: usize,
    beginnings: Option<Beginnings>,
}

/// What a call that was let through holds until it ends.
#[derive(Debug)]
pub(super) struct Place {
    stub: Option<Stub>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Succeeded,
    Failed,
    Neither,
}

impl Gate {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            circuit: limits.breaker.map(Circuit::new),
            at_once_max: limits.at_once_max,
            under_way: 0,
            beginnings: limits.rate.map(Beginnings::new),
        }
    }

    /// Where its breaker stands, if it has one.
    pub(super) fn position(&self) -> Option<Position> {
        self.circuit.as_ref().map(Circuit::position)
    }

    /// Lets a call through, or says why not. The rate comes last: a refused call has not begun.
    pub(super) fn enter(&mut self, now: Duration) -> Result<Place, Refused> {
        if let Some(circuit) = &self.circuit {
            circuit.check(now).map_err(|wait| refused(Because::BreakerOpen, wait))?;
        }
        if self.at_once_max.is_some_and(|max| self.under_way >= max) {
            return Err(refused(Because::BulkheadFull, PLACE_WAIT));
        }
        if let Some(beginnings) = &mut self.beginnings {
            beginnings.begin(now).map_err(|wait| refused(Because::RateExceeded, wait))?;
        }
        self.under_way += 1;
        Ok(Place { stub: self.circuit.as_mut().map(Circuit::begin) })
    }

    /// A call ended.
    pub(super) fn leave(&mut self, Place { stub }: Place, end: End, now: Duration) {
        self.under_way = self.under_way.saturating_sub(1);
        let (Some(circuit), Some(stub)) = (&mut self.circuit, stub) else { return };
        match end {
            End::Succeeded => circuit.succeeded(stub),
            End::Failed => circuit.failed(stub, now),
            End::Neither => circuit.abandoned(stub),
        }
    }
}

fn refused(because: Because, retry_after: Duration) -> Refused {
    Refused { because, retry_after }
}

#[cfg(test)]
mod tests {
    use super::super::{Breaker, Rate};
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn why_not(gate: &mut Gate, now: Duration) -> Because {
        gate.enter(now).unwrap_err().because
    }

    #[test]
    fn without_limits_everything_passes() {
        let mut gate = Gate::new(Limits::default());
        let places: Vec<Place> = (0..1_000).map(|_| gate.enter(SECOND).unwrap()).collect();
        for place in places {
            gate.leave(place, End::Failed, SECOND);
        }
        assert!(gate.enter(SECOND).is_ok());
    }

    #[test]
    fn whoever_is_refused_uses_up_no_rate() {
        let rate = Rate { calls: 2, per: SECOND * 60 };
        let mut gate = Gate::new(Limits { at_once_max: Some(1), rate: Some(rate), breaker: None });
        let place = gate.enter(SECOND).unwrap();
        for _ in 0..10 {
            assert_eq!(why_not(&mut gate, SECOND), Because::BulkheadFull);
        }
        gate.leave(place, End::Neither, SECOND);
        let place = gate.enter(SECOND).unwrap();
        gate.leave(place, End::Succeeded, SECOND);
        assert_eq!(why_not(&mut gate, SECOND), Because::RateExceeded);
    }

    #[test]
    fn a_probe_that_the_rate_refuses_leaves_its_place_free() {
        let breaker = Breaker { failures: 1, open_for: SECOND };
        let rate = Rate { calls: 1, per: SECOND * 10 };
        let mut gate = Gate::new(Limits { breaker: Some(breaker), rate: Some(rate), at_once_max: None });
        let place = gate.enter(SECOND).unwrap();
        gate.leave(place, End::Failed, SECOND);
        assert_eq!(why_not(&mut gate, SECOND), Because::BreakerOpen);
        assert_eq!(why_not(&mut gate, SECOND * 5), Because::RateExceeded);
        assert!(gate.enter(SECOND * 11).is_ok());
        assert_eq!(why_not(&mut gate, SECOND * 11), Because::BreakerOpen);
    }
}
