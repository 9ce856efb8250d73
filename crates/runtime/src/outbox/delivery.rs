//! A page on its way: what can be judged here is judged before the first event is sent.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::event::{Aggregate, EventContracts, EventLimits, ReplayId, StoredEvent};
use onefold_core::outbox::{AsideEvent, DestinationTemplate, JudgedEvent};
use onefold_core::port::{Delivery, OutgoingEvent, Publication, RefusedRetry};

/// Judges events without their target.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventJudge {
    pub(crate) limits: EventLimits,
    /// What was staged by SQL is held to its contract here.
    pub(crate) contracts: EventContracts,
    pub(crate) destination: Option<DestinationTemplate>,
}

impl EventJudge {
    /// Why an event can never be sent as it is.
    pub(crate) fn refusal(&self, stored: &StoredEvent) -> Option<Publication> {
        let event = &stored.event;
        let error = self.limits.check(event).and_then(|()| self.contracts.judge(event)).err()?;
        let reason = error.detail().to_owned();
        Some(Publication::Refused { code: error.code(), reason, retry: RefusedRetry::Never })
    }

    pub(crate) fn outgoing(&self, stored: &Arc<StoredEvent>, replay: Option<&ReplayId>) -> OutgoingEvent {
        let destination =
            self.destination.as_ref().map_or_else(|| Arc::from(""), |template| template.of(&stored.event));
        let contract = self.contracts.of_event(stored);
        OutgoingEvent { stored: Arc::clone(stored), destination, replay: replay.cloned(), contract }
    }
}

/// An event of a page, with what it was set aside as, where this is another try.
pub(crate) type PageEvent = (Arc<StoredEvent>, Option<AsideEvent>);

/// A page of one lane: what is sent of it, and what is known without sending.
pub(crate) struct LanePage {
    pub(crate) lane: u16,
    pub(crate) fence: u64,
    judged: Vec<JudgedEvent>,
    /// The places of what is sent.
    sent: Vec<usize>,
}

impl LanePage {
    /// Judges a page. Events of a blocked aggregate, and those behind one that is refused here, are not sent.
    pub(crate) fn judge(
        judge: &EventJudge,
        (lane, fence): (u16, u64),
        events: Vec<PageEvent>,
        blocked: &HashSet<Aggregate>,
    ) -> Self {
        let mut page = Self { lane, fence, judged: Vec::with_capacity(events.len()), sent: Vec::new() };
        let mut stopped: HashSet<Aggregate> = HashSet::new();
        for (stored, aside) in events {
            let aggregate = &stored.event.aggregate;
            // What was set aside blocks its aggregate for others, not for itself.
            let behind = stopped.contains(aggregate) || aside.is_none() && blocked.contains(aggregate);
            let known = if behind { Some(Publication::NotSent) } else { judge.refusal(&stored) };
            match &known {
                Some(_) => {
                    stopped.insert(aggregate.clone());
                }
                None => page.sent.push(page.judged.len()),
            }
            let publication = known.unwrap_or(Publication::NotSent);
            page.judged.push(JudgedEvent { stored, publication, aside });
        }
        page
    }

    /// What is sent of it.
    pub(crate) fn delivery(&self, judge: &EventJudge, within: Duration, replay: Option<&ReplayId>) -> Delivery {
        let events = self.sent.iter().map(|place| judge.outgoing(&self.judged[*place].stored, replay)).collect();
        Delivery { lane: self.lane, fence: self.fence, events, within }
    }

    /// The page with what the target said of the events that were sent.
    pub(crate) fn answered(mut self, answers: Vec<Publication>) -> Vec<JudgedEvent> {
        for (place, publication) in self.sent.iter().zip(answers) {
            self.judged[*place].publication = publication;
        }
        self.judged
    }

    /// Whether anything is sent.
    pub(crate) fn sends(&self) -> bool {
        !self.sent.is_empty()
    }
}
