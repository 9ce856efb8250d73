//! What the answers to a page change: how far the cursor moves, what is set aside, whether the lane stops.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::aside::{AsideEvent, AsideStatus, RefusedAttempt, SendTime};
use super::relay::RelaySpec;
use crate::error::{Code, CodeName, RELAY_SET_ASIDE_FULL, RELAY_STOPPED};
use crate::event::{Aggregate, StoredEvent};
use crate::port::Publication;

/// How late after its staging an event may be published: what operators promise of a relay is counted by this.
pub const PUBLISHED_WITHIN: Duration = Duration::from_secs(10);

/// What was refused of late in one lane: enough with one code, and the lane stops before thousands are set aside.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LaneHealth {
    /// Events that a target or we ourselves have judged.
    pub judged: u64,
    /// By code, which of the last ones were refused; counted as `judged` counts.
    pub refused: BTreeMap<CodeName, Vec<u64>>,
}

impl LaneHealth {
    /// Events that are looked back at.
    pub const LOOK_BACK: u64 = 1_000;
    /// Refusals with one code among them that stop a lane.
    pub const REFUSED_MAX: usize = 100;

    fn published(&mut self) {
        self.judged += 1;
    }

    /// Counts a refusal; true where the lane must stop.
    fn refused(&mut self, code: CodeName) -> bool {
        self.judged += 1;
        let oldest = self.judged.saturating_sub(Self::LOOK_BACK);
        for ordinals in self.refused.values_mut() {
            ordinals.retain(|ordinal| *ordinal > oldest);
        }
        self.refused.retain(|known, ordinals| *known == code || !ordinals.is_empty());
        let ordinals = self.refused.entry(code).or_default();
        ordinals.push(self.judged);
        ordinals.len() >= Self::REFUSED_MAX
    }
}

/// An event of a page and what was said about it, by its target or before it was sent.
#[derive(Debug, Clone)]
pub struct JudgedEvent {
    /// The event.
    pub stored: Arc<StoredEvent>,
    /// What was said.
    pub publication: Publication,
    /// What it was set aside as before, where this is another try.
    pub aside: Option<AsideEvent>,
}

/// What a page changes; written in one commit, under the lane's fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSettlement {
    /// The lane.
    pub lane: u16,
    /// The fence under which it is written.
    pub fence: u64,
    /// The last event that is done; none where the cursor stays.
    pub pos: Option<i64>,
    /// Whether nothing of the window is left.
    pub window: WindowEnd,
    /// Events that are set aside, or were.
    pub asides: Vec<AsideEvent>,
    /// Events that the target has now.
    pub published: usize,
    /// Events that the cursor passes.
    pub passed: usize,
    /// Of these, the ones that the target had in time ([`PUBLISHED_WITHIN`]); what is set aside is late.
    pub on_time: usize,
    /// What was refused of late, with this page.
    pub health: LaneHealth,
    /// Why the lane stops here, if it does.
    pub stopped: Option<Code>,
    /// What the target said where it takes nothing: the relay waits.
    pub unavailable: Option<TargetUnavailable>,
}

/// Whether a page is the last of its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowEnd {
    /// More pages follow.
    Open,
    /// It is the last one: where it is done, the window is.
    Reached,
}

/// A target that takes nothing now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetUnavailable {
    /// Why.
    pub code: Code,
    /// Why, in a sentence.
    pub reason: String,
    /// When it asked to be tried again.
    pub after: Option<Duration>,
}

/// What of a lane the rule needs.
#[derive(Debug, Clone, Copy)]
pub struct LaneState<'a> {
    /// The lane.
    pub lane: u16,
    /// The fence of its lease.
    pub fence: u64,
    /// What was refused of late.
    pub health: &'a LaneHealth,
    /// Aggregates of which an event is set aside.
    pub blocked: &'a HashSet<Aggregate>,
    /// Further events that may be set aside.
    pub aside_room: usize,
}

/// Settles a page of a window, in the order of its events.
///
/// The cursor passes every event up to the first that the target gave no answer about: from there on the page is read
/// again. A refused event is set aside and its aggregate's later ones wait behind it; the others go on.
pub fn settle(
    spec: &RelaySpec,
    lane: LaneState<'_>,
    page: &[JudgedEvent],
    end: WindowEnd,
    time: SendTime,
) -> PageSettlement {
    let mut settled = nothing_settled(lane);
    let mut blocked: HashSet<&Aggregate> = lane.blocked.iter().collect();
    for judged in page {
        let stored = &judged.stored;
        let aggregate = &stored.event.aggregate;
        match &judged.publication {
            Publication::Published { .. } => {
                settled.published += 1;
                settled.on_time += usize::from(time.now <= stored.created_at.plus(PUBLISHED_WITHIN));
                settled.health.published();
            }
            Publication::NotSent if blocked.contains(aggregate) => {
                settled.asides.push(AsideEvent::behind(&spec.name, lane.lane, stored, time));
            }
            Publication::Refused { code, reason, retry } => {
                blocked.insert(aggregate);
                let refused = RefusedAttempt { code: *code, reason, retry: *retry };
                let aside = AsideEvent::behind(&spec.name, lane.lane, stored, time);
                settled.asides.push(aside.refused(refused, &spec.retry, time));
                if settled.health.refused(code.name()) {
                    settled.stopped = Some(RELAY_STOPPED);
                }
            }
            Publication::Unavailable { code, reason, after } => {
                settled.unavailable = Some(TargetUnavailable { code: *code, reason: reason.clone(), after: *after });
                return settled;
            }
            // Behind an event that the target gave no answer about, which this page met already or will meet.
            Publication::NotSent => return unavailable_behind(settled, page),
        }
        settled.pos = Some(stored.seq);
        settled.passed += 1;
        if settled.stopped.is_none() && settled.asides.len() >= lane.aside_room {
            settled.stopped = Some(RELAY_SET_ASIDE_FULL);
        }
        if settled.stopped.is_some() {
            return settled;
        }
    }
    settled.window = end;
    settled
}

/// Settles another try of events that were set aside. The cursor stays where it is.
pub fn settle_asides(spec: &RelaySpec, lane: LaneState<'_>, page: &[JudgedEvent], time: SendTime) -> PageSettlement {
    let mut settled = nothing_settled(lane);
    for judged in page {
        let Some(aside) = judged.aside.clone() else { continue };
        match &judged.publication {
            Publication::Published { .. } => {
                settled.published += 1;
                settled.asides.push(aside.published(time));
            }
            Publication::Refused { code, reason, retry } => {
                let refused = RefusedAttempt { code: *code, reason, retry: *retry };
                settled.asides.push(aside.refused(refused, &spec.retry, time));
            }
            Publication::Unavailable { code, reason, after } => {
                let unavailable = TargetUnavailable { code: *code, reason: reason.clone(), after: *after };
                settled.unavailable.get_or_insert(unavailable);
            }
            Publication::NotSent => {}
        }
    }
    settled
}

impl PageSettlement {
    /// Events that a person must decide about since this page.
    pub fn parked(&self) -> impl Iterator<Item = &AsideEvent> {
        self.asides.iter().filter(|aside| aside.status == AsideStatus::Parked)
    }

    /// Whether it changes anything in the store.
    pub fn is_empty(&self) -> bool {
        self.pos.is_none() && self.window == WindowEnd::Open && self.asides.is_empty() && self.stopped.is_none()
    }
}

fn nothing_settled(lane: LaneState<'_>) -> PageSettlement {
    PageSettlement {
        lane: lane.lane,
        fence: lane.fence,
        pos: None,
        window: WindowEnd::Open,
        asides: Vec::new(),
        published: 0,
        passed: 0,
        on_time: 0,
        health: lane.health.clone(),
        stopped: None,
        unavailable: None,
    }
}

/// What the target said about the event that an unsent one waits for.
fn unavailable_behind(mut settled: PageSettlement, page: &[JudgedEvent]) -> PageSettlement {
    settled.unavailable = page.iter().find_map(|judged| match &judged.publication {
        Publication::Unavailable { code, reason, after } => {
            Some(TargetUnavailable { code: *code, reason: reason.clone(), after: *after })
        }
        Publication::Published { .. } | Publication::Refused { .. } | Publication::NotSent => None,
    });
    settled
}

#[cfg(test)]
mod tests;
