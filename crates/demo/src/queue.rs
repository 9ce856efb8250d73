//! The queue that brings requests at least once: time is an argument, chance is in the plan.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::plan::{Copies, Plan};
use crate::request::Request;

/// Deliveries that one worker carries out at a time.
pub(super) const AT_ONCE: usize = 8;

/// A delivery in a worker's hands; it comes back if the worker dies before it says what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) request: Request,
    /// The slot it must go to, so that two copies meet in two workers.
    slot: Option<usize>,
}

/// A delivery that was handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HandedDelivery {
    pub(super) slot: usize,
    pub(super) ticket: u64,
    pub(super) request: Request,
    /// How often the request has been delivered, this time included.
    pub(super) delivery: u32,
}

/// What is to be delivered, and what is out.
pub(super) struct Queue {
    ready: VecDeque<Delivery>,
    later: BTreeMap<(Instant, u64), Delivery>,
    out: Vec<HashMap<u64, Delivery>>,
    delivered: HashMap<Request, u32>,
    tickets: u64,
}

impl Queue {
    /// Every request of a run, with the copies that the plan adds.
    pub(super) fn of(plan: Plan, requests: u32, slots: usize) -> Self {
        let mut ordered: Vec<(usize, Delivery)> = Vec::new();
        for request in Request::all(requests) {
            let at = request.index();
            let to = |slot| Delivery { request, slot };
            match plan.copies(request) {
                Copies::One => ordered.push((at, to(None))),
                Copies::Beside => ordered.extend([(at, to(Some(0))), (at, to(Some(slots - 1)))]),
                Copies::Later(by) => ordered.extend([(at, to(None)), (at + by, to(None))]),
            }
        }
        ordered.sort_by_key(|(at, _)| *at);
        Self {
            ready: ordered.into_iter().map(|(_, delivery)| delivery).collect(),
            later: BTreeMap::new(),
            out: vec![HashMap::new(); slots],
            delivered: HashMap::new(),
            tickets: 0,
        }
    }

    /// The next delivery for one of these slots, if there is one now and a slot that may take it.
    pub(super) fn hand_out(&mut self, now: Instant, living: impl Fn(usize) -> bool) -> Option<HandedDelivery> {
        while let Some(due) = self.later.first_entry().filter(|entry| entry.key().0 <= now) {
            let delivery = due.remove();
            // What comes again has waited long enough.
            self.ready.push_front(delivery);
        }
        let next = *self.ready.front()?;
        let free = |slot: &usize| living(*slot) && self.out[*slot].len() < AT_ONCE;
        let slot = match next.slot {
            Some(slot) => Some(slot).filter(free),
            None => (0..self.out.len()).filter(free).min_by_key(|slot| self.out[*slot].len()),
        }?;
        self.ready.pop_front();
        self.tickets += 1;
        self.out[slot].insert(self.tickets, next);
        let delivery = self.delivered.entry(next.request).or_default();
        *delivery += 1;
        Some(HandedDelivery { slot, ticket: self.tickets, request: next.request, delivery: *delivery })
    }

    /// Takes back what a worker has ended.
    pub(super) fn ended(&mut self, slot: usize, ticket: u64) -> Option<Request> {
        Some(self.out.get_mut(slot)?.remove(&ticket)?.request)
    }

    /// Delivers a request again after a while.
    pub(super) fn again(&mut self, request: Request, now: Instant, wait: Duration) {
        self.tickets += 1;
        self.later.insert((now + wait, self.tickets), Delivery { request, slot: None });
    }

    /// A worker died: whatever it had not acknowledged is delivered again. Answers how many.
    pub(super) fn died(&mut self, slot: usize) -> usize {
        let mut lost: Vec<(u64, Delivery)> = self.out[slot].drain().collect();
        lost.sort_by_key(|(ticket, _)| *ticket);
        for (_, delivery) in lost.iter().rev() {
            self.ready.push_front(Delivery { slot: None, ..*delivery });
        }
        lost.len()
    }

    /// Whether nothing waits and nothing is out.
    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.later.is_empty() && self.out.iter().all(HashMap::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: u32 = 600;

    fn all_out(queue: &mut Queue, now: Instant) -> Vec<HandedDelivery> {
        std::iter::from_fn(|| queue.hand_out(now, |_| true)).collect()
    }

    #[test]
    fn every_request_is_delivered_and_a_planned_share_twice() {
        let (plan, now) = (Plan::new(5), Instant::now());
        let mut queue = Queue::of(plan, REQUESTS, 2);
        let mut delivered: HashMap<Request, u32> = HashMap::new();
        while !queue.is_empty() {
            for handed in all_out(&mut queue, now) {
                delivered.insert(handed.request, handed.delivery);
                assert_eq!(queue.ended(handed.slot, handed.ticket), Some(handed.request));
            }
        }
        for request in Request::all(REQUESTS) {
            let wanted = if plan.copies(request) == Copies::One { 1 } else { 2 };
            assert_eq!(delivered[&request], wanted, "{request}");
        }
    }

    #[test]
    fn what_a_dead_worker_had_not_acknowledged_is_delivered_again() {
        let now = Instant::now();
        let mut queue = Queue::of(Plan::new(5), REQUESTS, 2);
        let first = all_out(&mut queue, now);
        let (lost, kept): (Vec<HandedDelivery>, Vec<HandedDelivery>) =
            first.into_iter().partition(|handed| handed.slot == 0);
        assert!(!lost.is_empty() && !kept.is_empty());
        assert_eq!(queue.ended(0, lost[0].ticket), Some(lost[0].request));
        assert_eq!(queue.died(0), lost.len() - 1);
        assert_eq!(queue.ended(0, lost[1].ticket), None, "a dead worker says nothing");
        let again = queue.hand_out(now, |_| true).unwrap();
        assert_eq!((again.request, again.delivery >= 2), (lost[1].request, true));
    }

    #[test]
    fn a_delivery_waits_for_its_time_and_for_a_living_worker() {
        let now = Instant::now();
        let mut queue = Queue::of(Plan::new(5), 1, 2);
        assert_eq!(queue.hand_out(now, |_| false), None);
        let handed = queue.hand_out(now, |slot| slot == 1).unwrap();
        assert_eq!(handed.slot, 1);
        queue.ended(handed.slot, handed.ticket);
        queue.again(handed.request, now, Duration::from_millis(50));
        assert_eq!(queue.hand_out(now, |_| true), None);
        assert!(!queue.is_empty());
        assert!(queue.hand_out(now + Duration::from_millis(50), |_| true).is_some());
    }
}
