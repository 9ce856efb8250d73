use super::*;
use crate::error::{EVENT_TARGET_REFUSED, EVENT_TOO_LARGE, TARGET_UNAVAILABLE};
use crate::event::testing::stored;
use crate::outbox::{EventPattern, EventPatterns, RelayName};
use crate::port::RefusedRetry;
use crate::retry::Jitter;
use crate::time::Timestamp;

const AT: Timestamp = Timestamp::from_micros(100_000_000);
const TIME: SendTime = SendTime { now: AT, lease_until: Timestamp::from_micros(130_000_000), jitter: Jitter(0) };

fn spec() -> RelaySpec {
    let events = EventPatterns::new(vec![EventPattern::All]).unwrap();
    RelaySpec::new(RelayName::parse("cases").unwrap(), events, "nowhere".to_owned())
}

fn published() -> Publication {
    Publication::Published { position: None }
}

fn refused(retry: RefusedRetry) -> Publication {
    Publication::Refused { code: EVENT_TARGET_REFUSED, reason: "no".to_owned(), retry }
}

fn unavailable() -> Publication {
    Publication::Unavailable { code: TARGET_UNAVAILABLE, reason: "away".to_owned(), after: None }
}

fn page(events: &[(&str, Publication)]) -> Vec<JudgedEvent> {
    let judged = |(seq, (aggregate, publication)): (i64, &(&str, Publication))| JudgedEvent {
        stored: Arc::new(stored(seq, aggregate)),
        publication: publication.clone(),
        aside: None,
    };
    (1..).zip(events).map(judged).collect()
}

fn settled(health: &LaneHealth, blocked: &HashSet<Aggregate>, page: &[JudgedEvent]) -> PageSettlement {
    settle(&spec(), LaneState { lane: 3, fence: 9, health, blocked, aside_room: 1_000 }, page, WindowEnd::Reached, TIME)
}

fn settled_afresh(events: &[(&str, Publication)]) -> PageSettlement {
    settled(&LaneHealth::default(), &HashSet::new(), &page(events))
}

fn asides(settled: &PageSettlement) -> Vec<(i64, AsideStatus)> {
    settled.asides.iter().map(|aside| (aside.seq, aside.status)).collect()
}

#[test]
fn a_page_that_was_taken_moves_the_cursor_behind_its_last_event() {
    let settled = settled_afresh(&[("A", published()), ("B", published())]);
    assert_eq!((settled.pos, settled.published, settled.health.judged), (Some(2), 2, 2));
    assert_eq!(settled.window, WindowEnd::Reached);
    assert!(settled.asides.is_empty() && settled.stopped.is_none());
}

#[test]
fn a_refused_event_is_set_aside_its_aggregate_waits_and_the_others_go_on() {
    let events = [
        ("A", refused(RefusedRetry::After(None))),
        ("A", Publication::NotSent),
        ("B", published()),
        ("C", refused(RefusedRetry::Never)),
        ("A", Publication::NotSent),
    ];
    let settled = settled_afresh(&events);
    assert_eq!((settled.pos, settled.published), (Some(5), 1));
    let expected =
        [(1, AsideStatus::Waiting), (2, AsideStatus::Behind), (4, AsideStatus::Parked), (5, AsideStatus::Behind)];
    assert_eq!(asides(&settled), expected);
    assert_eq!(settled.parked().count(), 1);
}

#[test]
fn an_event_behind_an_earlier_page_is_set_aside_too() {
    let blocked: HashSet<Aggregate> = [stored(1, "A").event.aggregate].into();
    let settled = settled(&LaneHealth::default(), &blocked, &page(&[("A", Publication::NotSent), ("B", published())]));
    assert_eq!((settled.pos, asides(&settled)), (Some(2), vec![(1, AsideStatus::Behind)]));
}

#[test]
fn the_cursor_stays_before_the_first_event_without_an_answer() {
    let events = [("A", published()), ("B", unavailable()), ("C", published()), ("B", Publication::NotSent)];
    let settled = settled_afresh(&events);
    assert_eq!((settled.pos, settled.published), (Some(1), 1));
    assert_eq!(settled.window, WindowEnd::Open);
    assert_eq!(settled.unavailable.unwrap().code, TARGET_UNAVAILABLE);
    assert_eq!(settled_afresh(&[("A", unavailable()), ("A", Publication::NotSent)]).pos, None);
}

#[test]
fn what_waits_for_a_silent_target_is_not_set_aside() {
    let settled =
        settled_afresh(&[("A", unavailable()), ("A", Publication::NotSent), ("B", refused(RefusedRetry::Never))]);
    assert!(settled.is_empty(), "{settled:?}");
}

#[test]
fn a_hundred_refusals_with_one_code_among_a_thousand_stop_the_lane() {
    let mut health = LaneHealth::default();
    let mut judged = 0;
    // One event in ten is refused: the hundredth refusal is the thousandth event.
    let stopped = loop {
        judged += 1;
        let publication = if judged % 10 == 0 { refused(RefusedRetry::Never) } else { published() };
        let settled = settled(&health, &HashSet::new(), &page(&[("A", publication)]));
        health = settled.health;
        if settled.stopped.is_some() {
            break settled.stopped;
        }
    };
    assert_eq!((judged, stopped), (1_000, Some(RELAY_STOPPED)));
}

#[test]
fn fewer_refusals_or_different_ones_do_not_stop_it() {
    let mut health = LaneHealth::default();
    for judged in 1..5_000 {
        let publication = match judged % 11 {
            0 => refused(RefusedRetry::Never),
            5 => Publication::Refused { code: EVENT_TOO_LARGE, reason: String::new(), retry: RefusedRetry::Never },
            _ => published(),
        };
        let settled = settled(&health, &HashSet::new(), &page(&[("A", publication)]));
        assert_eq!(settled.stopped, None, "{judged}");
        health = settled.health;
    }
    assert!(health.refused.values().all(|ordinals| ordinals.len() <= LaneHealth::REFUSED_MAX));
}

#[test]
fn a_lane_stops_before_it_sets_aside_more_than_it_may() {
    let refusals: Vec<(&str, Publication)> =
        ["A", "B", "C", "D"].map(|name| (name, refused(RefusedRetry::Never))).into();
    let lane = LaneState { lane: 0, fence: 1, health: &LaneHealth::default(), blocked: &HashSet::new(), aside_room: 2 };
    let settled = settle(&spec(), lane, &page(&refusals), WindowEnd::Reached, TIME);
    assert_eq!((settled.pos, settled.asides.len(), settled.stopped), (Some(2), 2, Some(RELAY_SET_ASIDE_FULL)));
}

#[test]
fn another_try_changes_the_event_and_not_the_cursor() {
    let first = settled_afresh(&[("A", refused(RefusedRetry::After(None))), ("A", Publication::NotSent)]);
    let mut again = page(&[("A", published()), ("A", refused(RefusedRetry::Never))]);
    for (judged, aside) in again.iter_mut().zip(first.asides) {
        judged.aside = Some(aside);
    }
    let lane = LaneState { lane: 3, fence: 9, health: &LaneHealth::default(), blocked: &HashSet::new(), aside_room: 9 };
    let settled = settle_asides(&spec(), lane, &again, TIME);
    assert_eq!(settled.pos, None);
    assert_eq!(asides(&settled), [(1, AsideStatus::Published), (2, AsideStatus::Parked)]);
    assert_eq!(settled.health.judged, 0);
}
