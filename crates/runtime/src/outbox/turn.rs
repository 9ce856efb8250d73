//! One turn of a relay: try again what was set aside, look for new events, publish, settle.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use onefold_core::Result;
use onefold_core::error::{ALL, Code, EVENT_TARGET_REFUSED, TARGET_UNAVAILABLE};
use onefold_core::event::StoredEvent;
use onefold_core::incident::IncidentChange;
use onefold_core::outbox::{
    AsideStatus, CursorStep, EventPlace, Found, JudgedEvent, LaneCursor, LaneState, PageSettlement, SendTime,
    TargetUnavailable, WindowEnd, settle, settle_asides,
};
use onefold_core::port::{FaultPoint, LanePoll, Poll, PollSize, SubjectChange};
use onefold_core::retry::Jitter;

use super::delivery::{LanePage, PageEvent};
use super::lanes::Lanes;
use super::outage::TargetWatch;
use super::relay::RunningRelay;
use crate::meter;

/// Events that are read at once; of a larger window only the places are.
const EVENTS_READ_MAX: usize = 20_000;
/// Places that are kept in memory.
const PLACES_MAX: usize = 1_000_000;

/// What a turn came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnResult {
    /// There was work; there may be more.
    Worked,
    /// There was none.
    Idle,
    /// Other processes hold every lane.
    NoLane,
    /// The target takes nothing; wait so long.
    Unavailable(Duration),
}

/// What is left of a lane's window.
enum Remaining {
    Events(VecDeque<Arc<StoredEvent>>),
    Places(VecDeque<EventPlace>),
}

impl Remaining {
    fn of(lane: LanePoll) -> Self {
        if lane.places.is_empty() {
            return Self::Events(lane.events.into_iter().map(|(_, event)| event).collect());
        }
        Self::Places(lane.places.into())
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Events(events) => events.is_empty(),
            Self::Places(places) => places.is_empty(),
        }
    }
}

impl RunningRelay {
    /// One turn.
    pub(crate) async fn turn(&self, lanes: &mut Option<Lanes>, watch: &mut TargetWatch) -> Result<TurnResult> {
        self.renew(lanes).await?;
        let Some(held) = lanes.as_mut().filter(|lanes| !lanes.cursors.is_empty()) else {
            *lanes = None;
            return Ok(TurnResult::NoLane);
        };
        let tried = self.try_asides(held, watch).await?;
        if let TurnResult::Unavailable(_) = tried {
            return Ok(tried);
        }
        let published = self.publish_new(held, watch).await?;
        let surplus = std::mem::take(&mut held.surplus);
        if !surplus.is_empty() {
            self.hold(lanes, surplus).await?;
        }
        Ok(if tried == TurnResult::Worked && published == TurnResult::Idle { tried } else { published })
    }

    /// Renews the leases once a third of them has passed.
    async fn renew(&self, lanes: &mut Option<Lanes>) -> Result<()> {
        let due = lanes.as_ref().is_none_or(|lanes| lanes.age(&*self.context.clock) >= self.spec.renew_every());
        if due { self.hold(lanes, Vec::new()).await } else { Ok(()) }
    }

    /// Tries again what was set aside and whose turn it is.
    async fn try_asides(&self, lanes: &mut Lanes, watch: &mut TargetWatch) -> Result<TurnResult> {
        if lanes.blocked.values().all(std::collections::HashSet::is_empty) {
            return Ok(TurnResult::Idle);
        }
        let held: Vec<u16> = lanes.moving().iter().map(|cursor| cursor.lane).collect();
        let due = self.context.store.asides_due(self.spec.name.clone(), held, self.spec.page_max).await?;
        if due.is_empty() {
            // A person may have let the last one go.
            return Ok(TurnResult::Idle);
        }
        let mut by_lane: BTreeMap<u16, Vec<PageEvent>> = BTreeMap::new();
        for (aside, stored) in due {
            by_lane.entry(aside.lane).or_default().push((stored, Some(aside)));
        }
        let mut pages = Vec::new();
        for (lane, events) in by_lane {
            if let Some(cursor) = lanes.cursors.get(&lane) {
                let blocked = lanes.blocked_in(lane);
                pages.push(LanePage::judge(&self.judge, (lane, cursor.fence), events, &blocked));
            }
        }
        let mut settlements = Vec::new();
        for (lane, judged) in self.send(pages, lanes).await {
            let blocked = lanes.blocked_in(lane);
            let Some(cursor) = lanes.cursors.get(&lane) else { continue };
            let state = lane_state(cursor, &blocked, usize::MAX);
            settlements.push(settle_asides(&self.spec, state, &judged, self.send_time(lanes)));
        }
        let result = self.write(lanes, watch, settlements).await?;
        // Which aggregates are free again, only the store knows.
        let mut renewed = None;
        self.hold(&mut renewed, Vec::new()).await?;
        if let Some(renewed) = renewed {
            *lanes = renewed;
        }
        Ok(result)
    }

    /// Publishes what is new: opens windows, then page after page of every lane.
    async fn publish_new(&self, lanes: &mut Lanes, watch: &mut TargetWatch) -> Result<TurnResult> {
        let cursors = lanes.moving();
        let polled = self.poll(lanes, cursors.clone()).await?;
        let mut remaining: BTreeMap<u16, Remaining> = BTreeMap::new();
        let mut steps = Vec::new();
        let truncated = polled.truncated;
        for (cursor, lane) in cursors.into_iter().zip(polled.lanes) {
            let found = found(&lane);
            if truncated && found != Found::Wanted {
                // There may be more in this lane than was read: it neither ends nor passes anything yet.
                continue;
            }
            let step = cursor.next(found, &polled.seen, lanes.passed(&*self.context.clock));
            match &step {
                CursorStep::Wait => continue,
                CursorStep::Publish | CursorStep::OpenWindow(_) => {
                    remaining.insert(cursor.lane, Remaining::of(lane));
                }
                CursorStep::PassUnwanted(_) | CursorStep::CloseWindow => {}
            }
            if step != CursorStep::Publish {
                steps.push((cursor, step));
            }
        }
        if steps.is_empty() && remaining.is_empty() {
            return Ok(TurnResult::Idle);
        }
        self.move_cursors(lanes, &mut remaining, steps).await?;
        let mut result = TurnResult::Worked;
        while !remaining.is_empty() && result == TurnResult::Worked {
            result = self.publish_round(lanes, watch, &mut remaining, truncated).await?;
            if lanes.age(&*self.context.clock) >= self.spec.renew_every() {
                // The next turn renews; what is left is read again from the stored window.
                break;
            }
        }
        Ok(result)
    }

    async fn poll(&self, lanes: &Lanes, cursors: Vec<LaneCursor>) -> Result<Poll> {
        let store = &self.context.store;
        let polled = store.poll(lanes.events.clone(), cursors.clone(), PollSize::Events(EVENTS_READ_MAX)).await?;
        if !polled.truncated {
            return Ok(polled);
        }
        store.poll(lanes.events.clone(), cursors, PollSize::Places(PLACES_MAX)).await
    }

    async fn move_cursors(
        &self,
        lanes: &mut Lanes,
        remaining: &mut BTreeMap<u16, Remaining>,
        steps: Vec<(LaneCursor, CursorStep)>,
    ) -> Result<()> {
        if steps.is_empty() {
            return Ok(());
        }
        let asked: Vec<u16> = steps.iter().map(|(cursor, _)| cursor.lane).collect();
        let moved = self.context.store.move_cursors(self.spec.name.clone(), steps.clone()).await?;
        if steps.iter().any(|(_, step)| matches!(step, CursorStep::PassUnwanted(_))) {
            lanes.passed_at = Some(self.context.clock.monotonic());
        }
        for (cursor, step) in steps {
            lanes.cursors.insert(cursor.lane, cursor.after(&step));
        }
        for lane in lanes.keep(&asked, &moved) {
            remaining.remove(&lane);
            self.publisher.leave(lane).await;
        }
        Ok(())
    }

    /// The next page of every lane: sent, judged, settled in one commit.
    async fn publish_round(
        &self,
        lanes: &mut Lanes,
        watch: &mut TargetWatch,
        remaining: &mut BTreeMap<u16, Remaining>,
        truncated: bool,
    ) -> Result<TurnResult> {
        let mut pages = Vec::new();
        let mut ends: BTreeMap<u16, WindowEnd> = BTreeMap::new();
        for (lane, left) in remaining.iter_mut() {
            let events = self.next_page(left).await?;
            let Some(cursor) = lanes.cursors.get(lane) else { continue };
            // With places left out, an empty rest does not end the window: the next poll tells.
            let reached = left.is_empty() && !truncated;
            ends.insert(*lane, if reached { WindowEnd::Reached } else { WindowEnd::Open });
            let events = events.into_iter().map(|event| (event, None)).collect();
            pages.push(LanePage::judge(&self.judge, (*lane, cursor.fence), events, &lanes.blocked_in(*lane)));
        }
        let mut settlements = Vec::new();
        for (lane, judged) in self.send(pages, lanes).await {
            let Some(cursor) = lanes.cursors.get(&lane) else { continue };
            let room = self.spec.set_aside_max.saturating_sub(lanes.set_aside);
            let end = ends.get(&lane).copied().unwrap_or(WindowEnd::Open);
            let blocked = lanes.blocked_in(lane);
            let state = lane_state(cursor, &blocked, room.max(1));
            let settled = settle(&self.spec, state, &judged, end, self.send_time(lanes));
            settlements.push(interrupted(settled, &judged));
        }
        let result = self.write(lanes, watch, settlements).await?;
        remaining.retain(|lane, left| {
            !left.is_empty() && lanes.cursors.get(lane).is_some_and(|cursor| cursor.stopped.is_none())
        });
        Ok(result)
    }

    /// Events of the next page, by number and by bytes.
    async fn next_page(&self, left: &mut Remaining) -> Result<Vec<Arc<StoredEvent>>> {
        let events = match left {
            Remaining::Events(events) => events,
            Remaining::Places(places) => {
                let page: Vec<EventPlace> = places.drain(..places.len().min(self.spec.page_max)).collect();
                return self.context.store.events_at(page).await;
            }
        };
        let mut page = Vec::new();
        let mut bytes = 0;
        while page.len() < self.spec.page_max
            && let Some(event) = events.front()
        {
            bytes += event.bytes();
            if bytes > self.spec.page_bytes_max && !page.is_empty() {
                break;
            }
            page.extend(events.pop_front());
        }
        Ok(page)
    }

    /// Sends pages; what was said of each event, lane by lane.
    async fn send(&self, pages: Vec<LanePage>, lanes: &Lanes) -> Vec<(u16, Vec<JudgedEvent>)> {
        let within = self.spec.delivery_within;
        let sends = pages.iter().any(LanePage::sends);
        let started = self.context.clock.monotonic();
        let answers = if sends {
            let deliveries = pages.iter().map(|page| page.delivery(&self.judge, within, None)).collect();
            self.publisher.publish(deliveries).await
        } else {
            pages.iter().map(|_| Vec::new()).collect()
        };
        if sends {
            meter::page_sent(&self.spec.name, self.context.clock.monotonic().saturating_sub(started));
            self.context.faults.reach(FaultPoint::AFTER_LAST_ACKNOWLEDGEMENT);
        }
        debug_assert!(
            pages.iter().all(|page| lanes.cursors.contains_key(&page.lane)),
            "a page is of a lane that is held"
        );
        pages.into_iter().zip(answers).map(|(page, answers)| (page.lane, page.answered(answers))).collect()
    }

    /// Writes what pages changed, and follows it in memory.
    async fn write(
        &self,
        lanes: &mut Lanes,
        watch: &mut TargetWatch,
        settlements: Vec<PageSettlement>,
    ) -> Result<TurnResult> {
        let now = lanes.store_now(&*self.context.clock);
        let published: usize = settlements.iter().map(|page| page.published).sum();
        let unavailable = settlements.iter().find_map(|page| page.unavailable.clone());
        let written: Vec<PageSettlement> = settlements.into_iter().filter(|page| !page.is_empty()).collect();
        if !written.is_empty() {
            let asked: Vec<u16> = written.iter().map(|page| page.lane).collect();
            let incidents = self.incidents(&written, now);
            let moved = self.context.store.settle(self.spec.name.clone(), written.clone(), incidents).await?;
            follow(lanes, &written);
            for lane in lanes.keep(&asked, &moved) {
                self.publisher.leave(lane).await;
            }
        }
        meter::published(&self.spec.name, published);
        if published > 0 {
            watch.succeeded(&*self.context.store, &self.spec, now).await;
        }
        let Some(said) = unavailable else { return Ok(TurnResult::Worked) };
        meter::publish_failed(&self.spec.name, said.code, "yes");
        let seen = (&*self.context.clock, &*self.context.worker, now);
        Ok(TurnResult::Unavailable(watch.failed(&*self.context.store, &self.spec, &said, seen).await))
    }

    /// The incidents of what was parked, and of lanes that stop.
    fn incidents(&self, pages: &[PageSettlement], now: onefold_core::Timestamp) -> Vec<SubjectChange> {
        let mut changes = Vec::new();
        for page in pages {
            for aside in page.parked() {
                let code = aside.code.as_ref().map_or(EVENT_TARGET_REFUSED, |name| registered(name.as_str()));
                meter::publish_failed(&self.spec.name, code, "no");
                changes.push(aside.incident_opened(code, &self.context.worker, now));
            }
            if let Some(code) = page.stopped {
                let stopped = IncidentChange::of_stopped_relay(&self.spec, code, page.lane, &self.context.worker, now);
                changes.push(SubjectChange::of_relay(&self.spec.name, stopped));
            }
        }
        changes
    }

    fn send_time(&self, lanes: &Lanes) -> SendTime {
        let [a, b, c, d, ..] = self.context.random.bytes();
        SendTime {
            now: lanes.store_now(&*self.context.clock),
            lease_until: lanes.lease_until,
            jitter: Jitter(u32::from_be_bytes([a, b, c, d])),
        }
    }
}

/// What the store wrote, in memory.
fn follow(lanes: &mut Lanes, pages: &[PageSettlement]) {
    for page in pages {
        let Some(cursor) = lanes.cursors.get_mut(&page.lane) else { continue };
        cursor.health = page.health.clone();
        cursor.stopped = page.stopped.map(Code::name).or(cursor.stopped.take());
        if let Some(pos) = page.pos {
            cursor.pos = pos;
        }
        if page.window == WindowEnd::Reached {
            *cursor = cursor.clone().after(&CursorStep::CloseWindow);
        }
        let blocked = lanes.blocked.entry(page.lane).or_default();
        for aside in page.asides.iter().filter(|aside| !aside.status.ended()) {
            blocked.insert(aside.aggregate.clone());
        }
        lanes.set_aside += page.asides.iter().filter(|aside| aside.status != AsideStatus::Published).count();
    }
}

fn lane_state<'a>(
    cursor: &'a LaneCursor,
    blocked: &'a std::collections::HashSet<onefold_core::event::Aggregate>,
    aside_room: usize,
) -> LaneState<'a> {
    LaneState { lane: cursor.lane, fence: cursor.fence, health: &cursor.health, blocked, aside_room }
}

fn found(lane: &LanePoll) -> Found {
    match (lane.events.is_empty() && lane.places.is_empty(), lane.unwanted) {
        (false, _) => Found::Wanted,
        (true, 0) => Found::Nothing,
        (true, _) => Found::OnlyUnwanted,
    }
}

/// A page that was not settled to its end, although nobody said why: its publisher gave up. It is tried again later.
fn interrupted(mut settled: PageSettlement, page: &[JudgedEvent]) -> PageSettlement {
    let last = page.last().map(|judged| judged.stored.seq);
    if settled.unavailable.is_none() && settled.stopped.is_none() && settled.pos != last {
        let reason = "the publisher gave no answer".to_owned();
        settled.unavailable = Some(TargetUnavailable { code: TARGET_UNAVAILABLE, reason, after: None });
    }
    settled
}

/// The code of this name.
fn registered(name: &str) -> Code {
    ALL.iter().copied().find(|code| code.as_str() == name).unwrap_or(EVENT_TARGET_REFUSED)
}
