//! A target that is a dependency: what a relay sends is held to the same breaker, bulkhead and rate as everyone's calls.
//!
//! A bulkhead that is full and a rate that is used up are waited for, within the delivery's time. An open breaker is
//! the target's fault: no attempt is used, and the relay waits.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::Result;
use onefold_core::call::CallHealth;
use onefold_core::outbox::DestinationTemplate;
use onefold_core::port::{BoxFuture, Clock, Delivery, EventSender, OutgoingEvent, Publication, Publisher};

use crate::dependency::{Dependencies, LimitReached, Permit, Refused};

/// How often a full bulkhead is looked at: it does not say when a call will end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The limits of a dependency, by its name: a configuration that is read again may change them.
#[derive(Clone)]
pub(super) struct TargetLimits {
    pub(super) dependencies: Arc<Dependencies>,
    pub(super) name: Arc<str>,
    pub(super) clock: Arc<dyn Clock>,
}

impl TargetLimits {
    /// Lets a call begin before this time, or says what becomes of it.
    async fn enter(&self, give_up: Duration) -> Result<Permit, Publication> {
        let Some(dependency) = self.dependencies.get(&self.name) else { return Ok(Permit::unlimited()) };
        loop {
            let refused = match dependency.enter() {
                Ok(permit) => return Ok(permit),
                Err(refused) => refused,
            };
            let wait = match refused.because {
                LimitReached::BreakerOpen => return Err(unavailable(refused)),
                LimitReached::BulkheadFull => LOOK_EVERY,
                LimitReached::RateExceeded => refused.retry_after,
            };
            if self.clock.monotonic().saturating_add(wait) >= give_up {
                return Err(unavailable(refused));
            }
            self.clock.sleep(wait).await;
        }
    }

    fn give_up(&self, within: Duration) -> Duration {
        self.clock.monotonic().saturating_add(within)
    }

    fn left(&self, give_up: Duration) -> Duration {
        give_up.saturating_sub(self.clock.monotonic())
    }
}

fn unavailable(refused: Refused) -> Publication {
    let error = onefold_core::Error::from(refused);
    Publication::Unavailable { code: error.code(), reason: error.detail().to_owned(), after: Some(refused.retry_after) }
}

/// What answers say about the dependency: one that refuses an event is well.
fn health<'a>(answers: impl IntoIterator<Item = &'a Publication>) -> CallHealth {
    let mut health = CallHealth::NotInvolved;
    for answer in answers {
        match answer {
            Publication::Unavailable { .. } => return CallHealth::Failed,
            Publication::Published { .. } | Publication::Refused { .. } => health = CallHealth::Answered,
            Publication::NotSent => {}
        }
    }
    health
}

/// A target that takes single events: each is a call.
pub(super) struct LimitedSender {
    pub(super) sender: Arc<dyn EventSender>,
    pub(super) limits: TargetLimits,
}

impl EventSender for LimitedSender {
    fn target(&self) -> String {
        self.sender.target()
    }

    fn destination(&self) -> Option<DestinationTemplate> {
        self.sender.destination()
    }

    fn unfenced(&self) -> Option<&'static str> {
        self.sender.unfenced()
    }

    fn check(&self, lease_for: Duration, within: Duration) -> BoxFuture<'_, Result<()>> {
        self.sender.check(lease_for, within)
    }

    fn send<'a>(&'a self, event: &'a OutgoingEvent, within: Duration) -> BoxFuture<'a, Publication> {
        Box::pin(async move {
            let give_up = self.limits.give_up(within);
            let permit = match self.limits.enter(give_up).await {
                Ok(permit) => permit,
                Err(answer) => return answer,
            };
            let answer = self.sender.send(event, self.limits.left(give_up)).await;
            permit.ended(health([&answer]));
            answer
        })
    }
}

/// A target that takes pages: each page is a call.
pub(super) struct LimitedPublisher {
    pub(super) publisher: Arc<dyn Publisher>,
    pub(super) limits: TargetLimits,
}

impl Publisher for LimitedPublisher {
    fn target(&self) -> String {
        self.publisher.target()
    }

    fn destination(&self) -> Option<DestinationTemplate> {
        self.publisher.destination()
    }

    fn unfenced(&self) -> Option<&'static str> {
        self.publisher.unfenced()
    }

    fn check(&self, lease_for: Duration, within: Duration) -> BoxFuture<'_, Result<()>> {
        self.publisher.check(lease_for, within)
    }

    fn publish(&self, mut deliveries: Vec<Delivery>) -> BoxFuture<'_, Vec<Vec<Publication>>> {
        Box::pin(async move {
            let within = deliveries.iter().map(|delivery| delivery.within).min().unwrap_or_default();
            let give_up = self.limits.give_up(within);
            let permit = match self.limits.enter(give_up).await {
                Ok(permit) => permit,
                Err(answer) => {
                    return deliveries.iter().map(|page| vec![answer.clone(); page.events.len()]).collect();
                }
            };
            let left = self.limits.left(give_up);
            for delivery in &mut deliveries {
                delivery.within = delivery.within.min(left);
            }
            let answers = self.publisher.publish(deliveries).await;
            permit.ended(health(answers.iter().flatten()));
            answers
        })
    }

    fn leave(&self, lane: u16) -> BoxFuture<'_, ()> {
        self.publisher.leave(lane)
    }
}
