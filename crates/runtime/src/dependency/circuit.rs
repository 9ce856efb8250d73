//! The breaker's states: closed, open, half-open. Pure: time is an argument.

use std::time::Duration;

use onefold_config::Breaker;

/// How long to wait while a probe is in flight: it is unknown when it ends, and it decides for all.
const PROBE_WAIT: Duration = Duration::from_secs(1);

/// The state of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    Closed,
    HalfOpen,
    Open,
}

/// A breaker at work.
#[derive(Debug, Clone)]
pub(super) struct Circuit {
    breaker: Breaker,
    state: State,
    /// Rises whenever it opens or closes, so that a call from before is known by its stub.
    era: u64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed { failures: u32 },
    Open { until: Duration },
    HalfOpen { probing: bool },
}

/// What a call that was let through holds until it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stub {
    era: u64,
}

impl Circuit {
    pub(super) fn new(breaker: Breaker) -> Self {
        Self { breaker, state: State::Closed { failures: 0 }, era: 0 }
    }

    pub(super) fn position(&self) -> Position {
        match self.state {
            State::Closed { .. } => Position::Closed,
            State::Open { .. } => Position::Open,
            State::HalfOpen { .. } => Position::HalfOpen,
        }
    }

    /// Whether a call may begin now; else how long until it is worth asking. Changes nothing.
    pub(super) fn check(&self, now: Duration) -> Result<(), Duration> {
        match self.state {
            State::Open { until } if now < until => Err(until.saturating_sub(now)),
            State::HalfOpen { probing: true } => Err(self.breaker.open_for.min(PROBE_WAIT)),
            State::Closed { .. } | State::Open { .. } | State::HalfOpen { probing: false } => Ok(()),
        }
    }

    /// A call that passed [`Self::check`] begins; unless the breaker is closed it is the probe.
    pub(super) fn begin(&mut self) -> Stub {
        if !matches!(self.state, State::Closed { .. }) {
            self.state = State::HalfOpen { probing: true };
        }
        Stub { era: self.era }
    }

    pub(super) fn succeeded(&mut self, stub: Stub) {
        if stub.era != self.era {
            return;
        }
        match self.state {
            State::Closed { .. } => self.state = State::Closed { failures: 0 },
            State::HalfOpen { .. } => self.turn(State::Closed { failures: 0 }),
            State::Open { .. } => {}
        }
    }

    pub(super) fn failed(&mut self, stub: Stub, now: Duration) {
        if stub.era != self.era {
            return;
        }
        match self.state {
            State::Closed { failures } if failures.saturating_add(1) < self.breaker.failures => {
                self.state = State::Closed { failures: failures + 1 };
            }
            State::Closed { .. } | State::HalfOpen { .. } => {
                self.turn(State::Open { until: now.saturating_add(self.breaker.open_for) });
            }
            State::Open { .. } => {}
        }
    }

    /// A call ended without a result: a probe's slot is free again.
    pub(super) fn abandoned(&mut self, stub: Stub) {
        if stub.era == self.era && matches!(self.state, State::HalfOpen { .. }) {
            self.state = State::HalfOpen { probing: false };
        }
    }

    fn turn(&mut self, state: State) {
        self.state = state;
        self.era += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const START: Duration = Duration::from_secs(100);

    fn circuit(failures: u32) -> Circuit {
        Circuit::new(Breaker { failures, open_for: SECOND * 10 })
    }

    fn begun(circuit: &mut Circuit, now: Duration) -> Stub {
        circuit.check(now).unwrap();
        circuit.begin()
    }

    fn opened(failures: u32) -> Circuit {
        let mut circuit = circuit(failures);
        for _ in 0..failures {
            let stub = begun(&mut circuit, START);
            circuit.failed(stub, START);
        }
        assert_eq!(circuit.position(), Position::Open);
        circuit
    }

    #[test]
    fn failures_in_a_row_open_it() {
        let mut circuit = circuit(3);
        for failed in [true, true, false, true, true] {
            let stub = begun(&mut circuit, START);
            if failed { circuit.failed(stub, START) } else { circuit.succeeded(stub) }
        }
        assert_eq!(circuit.position(), Position::Closed);
        let stub = begun(&mut circuit, START);
        circuit.failed(stub, START);
        assert_eq!(circuit.position(), Position::Open);
        assert_eq!(circuit.check(START + SECOND * 4), Err(SECOND * 6));
    }

    #[test]
    fn a_threshold_of_zero_is_one() {
        let mut circuit = circuit(0);
        let stub = begun(&mut circuit, START);
        circuit.failed(stub, START);
        assert_eq!(circuit.position(), Position::Open);
    }

    #[test]
    fn after_a_while_one_call_probes_at_a_time() {
        let mut circuit = opened(1);
        let later = START + SECOND * 10;
        let probe = begun(&mut circuit, later);
        assert_eq!(circuit.position(), Position::HalfOpen);
        assert_eq!(circuit.check(later), Err(PROBE_WAIT));
        circuit.succeeded(probe);
        assert_eq!(circuit.position(), Position::Closed);
        assert_eq!(circuit.check(later), Ok(()));
    }

    #[test]
    fn a_probe_that_fails_opens_it_again_for_the_whole_time() {
        let mut circuit = opened(5);
        let later = START + SECOND * 12;
        let probe = begun(&mut circuit, later);
        circuit.failed(probe, later + SECOND);
        assert_eq!(circuit.position(), Position::Open);
        assert_eq!(circuit.check(later + SECOND), Err(SECOND * 10));
    }

    #[test]
    fn a_probe_that_was_abandoned_gives_its_place_to_the_next() {
        let mut circuit = opened(1);
        let later = START + SECOND * 10;
        let probe = begun(&mut circuit, later);
        circuit.abandoned(probe);
        assert_eq!(circuit.position(), Position::HalfOpen);
        assert_eq!(circuit.check(later), Ok(()));
    }

    #[test]
    fn calls_from_before_it_opened_neither_extend_nor_close_it() {
        let mut circuit = circuit(1);
        let (first, late, later) = (begun(&mut circuit, START), begun(&mut circuit, START), begun(&mut circuit, START));
        circuit.failed(first, START);
        circuit.failed(late, START + SECOND * 5);
        assert_eq!(circuit.check(START + SECOND * 5), Err(SECOND * 5));
        let probe = begun(&mut circuit, START + SECOND * 10);
        circuit.succeeded(later);
        assert_eq!(circuit.position(), Position::HalfOpen);
        circuit.failed(later, START);
        circuit.abandoned(late);
        assert_eq!(circuit.check(START + SECOND * 10), Err(PROBE_WAIT), "the probe is still in flight");
        circuit.succeeded(probe);
        assert_eq!(circuit.position(), Position::Closed);
    }

    #[test]
    fn a_call_from_before_it_opened_does_not_count_after_it_closed() {
        let mut circuit = circuit(1);
        let (first, late) = (begun(&mut circuit, START), begun(&mut circuit, START));
        circuit.failed(first, START);
        let probe = begun(&mut circuit, START + SECOND * 10);
        circuit.succeeded(probe);
        circuit.failed(late, START + SECOND * 11);
        assert_eq!(circuit.position(), Position::Closed);
    }
}
