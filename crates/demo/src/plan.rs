//! What goes wrong, and when: pure functions of the seed, so that each side meets the same.

use std::time::Duration;

use crate::request::{Kind, Request};

/// How long a worker waits for an answer.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_millis(250);
/// A slow provider answers, or even acts, only after this long.
pub(super) const SLOW_FOR: Duration = Duration::from_millis(450);
/// The provider does not act on a request that was sent longer ago than this.
pub(super) const AGE_MAX: Duration = Duration::from_secs(1);

/// What the provider does to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Fault {
    /// Acts and answers.
    None,
    /// Acts and closes the connection without an answer.
    AnswerLost,
    /// Acts, and answers when nobody listens any more.
    AnswerSlow,
    /// Acts only when nobody listens any more.
    ActsLate,
    /// Acts, and has the worker killed before it hears of it.
    WorkerKilled,
}

/// How often a request is delivered although once would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copies {
    /// Once.
    One,
    /// To two workers at the same time.
    Beside,
    /// Again, when this many other requests have been handed out.
    Later(usize),
}

/// Everything that goes wrong in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    seed: u64,
}

/// What a draw is for; each has numbers of its own.
#[derive(Debug, Clone, Copy)]
enum Draw {
    Reject = 1,
    Kill,
    Fault,
    Work,
    Refuse,
    Copies,
    Operator,
    Lookup,
}

const PERMILLE: u64 = 1000;

impl Plan {
    pub(super) const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Whether the provider rejects this request for good, whenever it comes.
    pub(super) fn rejects(self, request: Request) -> bool {
        self.draw(Draw::Reject, request, 0, 0) % PERMILLE < 5
    }

    /// What the provider does to the n-th call for a request, 1 for the first.
    pub(super) fn fault(self, request: Request, call: u32) -> Fault {
        if self.rejects(request) {
            return Fault::None;
        }
        if call == 1 && self.draw(Draw::Kill, request, 0, 0) % PERMILLE < 7 {
            return Fault::WorkerKilled;
        }
        match self.draw(Draw::Fault, request, call, 0) % PERMILLE {
            0..60 => Fault::AnswerLost,
            60..95 => Fault::AnswerSlow,
            95..120 => Fault::ActsLate,
            _ => Fault::None,
        }
    }

    /// How long the provider works on a call.
    pub(super) fn works_for(self, request: Request, call: u32) -> Duration {
        Duration::from_millis(40 + self.draw(Draw::Work, request, call, 0) % 80)
    }

    /// Whether this try goes to the provider's dead address, which refuses the connection.
    pub(super) fn refuses(self, request: Request, delivery: u32, number: u32) -> bool {
        self.draw(Draw::Refuse, request, delivery, number) % PERMILLE < 60
    }

    /// Whether the answer to the n-th lookup is lost.
    pub(super) fn loses_lookup(self, request: Request, lookup: u32) -> bool {
        self.draw(Draw::Lookup, request, lookup, 0) % PERMILLE < 50
    }

    /// How often a request is delivered.
    pub(super) fn copies(self, request: Request) -> Copies {
        match self.draw(Draw::Copies, request, 0, 0) % PERMILLE {
            0..60 => Copies::Beside,
            60..100 => Copies::Later(20 + usize::try_from(self.draw(Draw::Copies, request, 1, 0) % 200).unwrap_or(0)),
            _ => Copies::One,
        }
    }

    /// Whether an operator presses retry on a request that looks failed, having done so this often.
    pub(super) fn operator_retries(self, request: Request, pressed: u32) -> bool {
        pressed < 2 && self.draw(Draw::Operator, request, pressed, 0).is_multiple_of(2)
    }

    /// What the first calls meet, over all requests: the same for every run with this seed.
    pub(super) fn first_calls(self, requests: u32) -> FirstCalls {
        let mut counts = FirstCalls { requests, ..FirstCalls::default() };
        for request in Request::all(requests) {
            match self.fault(request, 1) {
                Fault::None => {}
                Fault::AnswerLost => counts.answers_lost += 1,
                Fault::AnswerSlow => counts.answers_slow += 1,
                Fault::ActsLate => counts.acts_late += 1,
                Fault::WorkerKilled => counts.workers_killed += 1,
            }
            counts.rejected += u32::from(self.rejects(request));
            counts.refused += u32::from(self.refuses(request, 1, 1));
            counts.delivered_twice += u32::from(self.copies(request) != Copies::One);
            match request.kind() {
                Kind::SameKey => counts.same_key += 1,
                Kind::Ask => counts.ask += 1,
                Kind::Escalate => counts.escalate += 1,
            }
        }
        counts
    }

    fn draw(self, what: Draw, request: Request, first: u32, second: u32) -> u64 {
        [what as u64, u64::from(request.number()), u64::from(first), u64::from(second)]
            .into_iter()
            .fold(mixed(self.seed), |state, part| mixed(state ^ mixed(part)))
    }
}

/// What the plan holds for the first call of each request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FirstCalls {
    pub(super) requests: u32,
    pub(super) same_key: u32,
    pub(super) ask: u32,
    pub(super) escalate: u32,
    pub(super) answers_lost: u32,
    pub(super) answers_slow: u32,
    pub(super) acts_late: u32,
    pub(super) workers_killed: u32,
    pub(super) refused: u32,
    pub(super) rejected: u32,
    pub(super) delivered_twice: u32,
}

/// The finalizer of splitmix64: every bit of the input moves every bit of the output.
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: u32 = 3_000;

    #[test]
    fn the_same_seed_gives_the_same_plan_of_faults_in_any_order() {
        let calls = || Request::all(REQUESTS).flat_map(|request| (1..=4).map(move |call| (request, call)));
        let forward: Vec<Fault> = calls().map(|(request, call)| Plan::new(7).fault(request, call)).collect();
        let mut backward: Vec<Fault> =
            calls().collect::<Vec<_>>().into_iter().rev().map(|(r, call)| Plan::new(7).fault(r, call)).collect();
        backward.reverse();
        assert_eq!(forward, backward);
        let other: Vec<Fault> = calls().map(|(request, call)| Plan::new(8).fault(request, call)).collect();
        assert_ne!(forward, other);
    }

    #[test]
    fn the_default_seed_holds_what_it_held_in_every_earlier_version() {
        let planned = FirstCalls {
            requests: REQUESTS,
            same_key: 1_000,
            ask: 1_000,
            escalate: 1_000,
            answers_lost: 170,
            answers_slow: 93,
            acts_late: 78,
            workers_killed: 18,
            refused: 181,
            rejected: 21,
            delivered_twice: 293,
        };
        assert_eq!(Plan::new(20_261_115).first_calls(REQUESTS), planned);
    }

    #[test]
    fn every_fault_has_its_share_and_a_third_of_the_requests_each_policy() {
        let counts = Plan::new(1).first_calls(REQUESTS);
        assert_eq!([counts.same_key, counts.ask, counts.escalate], [1_000; 3]);
        for (name, count, from, to) in [
            ("answers lost", counts.answers_lost, 120, 240),
            ("answers slow", counts.answers_slow, 60, 150),
            ("acts late", counts.acts_late, 40, 120),
            ("workers killed", counts.workers_killed, 8, 40),
            ("refused", counts.refused, 120, 240),
            ("rejected", counts.rejected, 4, 35),
            ("delivered twice", counts.delivered_twice, 220, 380),
        ] {
            assert!((from..to).contains(&count), "{name}: {count}");
        }
    }

    #[test]
    fn a_rejected_request_is_rejected_at_every_call() {
        let plan = Plan::new(3);
        let rejected: Vec<Request> = Request::all(REQUESTS).filter(|request| plan.rejects(*request)).collect();
        assert!(!rejected.is_empty());
        assert!(rejected.iter().all(|request| (1..5).all(|call| plan.fault(*request, call) == Fault::None)));
    }
}
