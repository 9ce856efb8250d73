//! What is sent again, beside what is new: page after page within its rate, from where the last process was.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::Result;
use onefold_core::error::TARGET_UNAVAILABLE;
use onefold_core::event::StoredEvent;
use onefold_core::outbox::{EventReplay, ReplayRefusal, ReplayState, ReplayedPage, TargetUnavailable};
use onefold_core::port::{Delivery, FaultPoint, Publication, ReplayPage};
use tokio::sync::watch;

use super::outage::TargetWatch;
use super::relay::RunningRelay;
use crate::meter;

/// How often a relay looks whether something is to be sent again.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The lane of what is sent again: none of the live ones, so no live writer is fenced by it.
const REPLAY_LANE: u16 = u16::MAX;

/// Told when the relay ends.
type StopSignal = watch::Receiver<bool>;

/// What became of a page on its way.
enum PageSent {
    /// Every event was taken or refused.
    Whole(ReplayedPage),
    /// The relay ends, or another process holds the replay, or a person ended it.
    GivenUp,
}

impl RunningRelay {
    /// Serves the replays of this relay, one after another, until it ends.
    pub(crate) async fn serve_replays(&self, mut ending: StopSignal) {
        let mut target = TargetWatch::new();
        while !*ending.borrow() {
            if let Err(error) = self.replay(&mut target, &mut ending).await {
                tracing::warn!(relay = %self.spec.name, error_code = %error.code(), detail = error.detail(), "a replay could not go on; it is tried again");
            }
            self.pause(LOOK_EVERY, &mut ending).await;
        }
    }

    /// Takes the replay whose turn it is, and sends it to its end.
    async fn replay(&self, target: &mut TargetWatch, ending: &mut StopSignal) -> Result<()> {
        let Some(mut replay) = self.hold_replay(self.spec.lease_for).await? else { return Ok(()) };
        tracing::info!(relay = %self.spec.name, replay = %replay.id, published = replay.published, "a replay is sent");
        while replay.state == ReplayState::Running && !*ending.borrow() {
            let started = self.context.clock.monotonic();
            let limit = replay.page_max(self.spec.page_max);
            let page = self.context.store.replay_page(replay.clone(), limit).await?;
            let page = fitting(page, self.spec.page_bytes_max);
            let events = page.events.len();
            let PageSent::Whole(sent) = self.send_again(&replay, page.events, page.looked_to, target, ending).await?
            else {
                break;
            };
            if events > 0 {
                self.context.faults.reach(FaultPoint::MID_REPLAY);
            }
            let settled = self.context.store.settle_replay(replay.clone(), sent, self.spec.lease_for).await?;
            let Some(after) = settled else { break };
            replay = after;
            let took = self.context.clock.monotonic().saturating_sub(started);
            if replay.state == ReplayState::Running {
                self.pause(replay.spec.pause(events, took), ending).await;
            }
        }
        self.publisher.leave(REPLAY_LANE).await;
        if replay.state == ReplayState::Done {
            tracing::info!(relay = %self.spec.name, replay = %replay.id, published = replay.published, refused = replay.refused, "a replay is done");
        } else if *ending.borrow() {
            // Another process need not wait for the lease to end.
            self.hold_replay(Duration::ZERO).await?;
        }
        Ok(())
    }

    async fn hold_replay(&self, lease_for: Duration) -> Result<Option<EventReplay>> {
        self.context.store.hold_replay(self.spec.name.clone(), Arc::clone(&self.holder), lease_for).await
    }

    /// Sends a page until every event of it was taken or refused. A target that takes nothing is waited for; what it
    /// refuses is counted, and what follows it in its aggregate is sent all the same.
    async fn send_again(
        &self,
        replay: &EventReplay,
        events: Vec<Arc<StoredEvent>>,
        looked_to: i64,
        target: &mut TargetWatch,
        ending: &mut StopSignal,
    ) -> Result<PageSent> {
        let mut page = ReplayedPage { pos: looked_to, published: 0, refusals: Vec::new() };
        let mut left = self.sendable(events, &mut page);
        while !left.is_empty() {
            let before = left.len();
            let unavailable = self.send_round(replay, &mut left, &mut page).await;
            let now = self.context.clock.now();
            if left.len() < before {
                target.succeeded(&*self.context.store, &self.spec, now).await;
                if unavailable.is_none() {
                    continue;
                }
            }
            if left.is_empty() {
                break;
            }
            let said = unavailable.unwrap_or_else(no_answer);
            let seen = (&*self.context.clock, &*self.context.worker, now);
            let wait = target.failed(&*self.context.store, &self.spec, &said, seen).await;
            self.pause(wait, ending).await;
            let held = if *ending.borrow() { None } else { self.hold_replay(self.spec.lease_for).await? };
            if held.is_none_or(|held| held.id != replay.id || held.fence != replay.fence) {
                return Ok(PageSent::GivenUp);
            }
        }
        meter::outbox_replayed(&self.spec.name, page.published);
        Ok(PageSent::Whole(page))
    }

    /// Leaves out what can never be sent.
    fn sendable(&self, events: Vec<Arc<StoredEvent>>, page: &mut ReplayedPage) -> Vec<Arc<StoredEvent>> {
        let mut sendable = Vec::with_capacity(events.len());
        for stored in events {
            match self.judge.refusal(&stored) {
                Some(refusal) => self.judged(page, &stored, &refusal),
                None => sendable.push(stored),
            }
        }
        sendable
    }

    /// Sends what is left once; what is still left then, and whether the target takes nothing.
    async fn send_round(
        &self,
        replay: &EventReplay,
        left: &mut Vec<Arc<StoredEvent>>,
        page: &mut ReplayedPage,
    ) -> Option<TargetUnavailable> {
        let events = left.iter().map(|stored| self.judge.outgoing(stored, Some(&replay.id))).collect();
        let delivery = Delivery { lane: REPLAY_LANE, fence: replay.fence, events, within: self.spec.delivery_within };
        let answers = self.publisher.publish(vec![delivery]).await.pop().unwrap_or_default();
        let mut answers = answers.into_iter();
        let mut unavailable = None;
        left.retain(|stored| match answers.next().unwrap_or(Publication::NotSent) {
            Publication::Unavailable { code, reason, after } => {
                unavailable = Some(TargetUnavailable { code, reason, after });
                true
            }
            Publication::NotSent => true,
            ended @ (Publication::Published { .. } | Publication::Refused { .. }) => {
                self.judged(page, stored, &ended);
                false
            }
        });
        unavailable
    }

    /// Counts what was said of an event.
    fn judged(&self, page: &mut ReplayedPage, stored: &StoredEvent, said: &Publication) {
        match said {
            Publication::Published { .. } => page.published += 1,
            Publication::Refused { code, reason, .. } => {
                tracing::warn!(relay = %self.spec.name, event = %stored.event.id, error_code = %code, "an event was refused in a replay");
                meter::replay_refused(&self.spec.name, *code);
                page.refusals.push(ReplayRefusal::new(stored.event.id, *code, reason));
            }
            Publication::Unavailable { .. } | Publication::NotSent => {}
        }
    }

    /// Waits, unless the relay ends.
    async fn pause(&self, wait: Duration, ending: &mut StopSignal) {
        tokio::select! {
            biased;
            _ = ending.wait_for(|ending| *ending) => {}
            () = self.context.clock.sleep(wait) => {}
        }
    }
}

/// The beginning of a page that has too many bytes; at least one event of it.
fn fitting(mut page: ReplayPage, bytes_max: usize) -> ReplayPage {
    let mut bytes = 0;
    let fits = page.events.iter().take_while(|stored| {
        bytes += stored.bytes();
        bytes <= bytes_max
    });
    let fits = fits.count().max(1);
    if fits < page.events.len() {
        page.events.truncate(fits);
        page.looked_to = page.events.last().map_or(page.looked_to, |last| last.seq);
    }
    page
}

fn no_answer() -> TargetUnavailable {
    let reason = "the publisher gave no answer".to_owned();
    TargetUnavailable { code: TARGET_UNAVAILABLE, reason, after: None }
}
