use std::time::Duration;

use onefold_core::error::IDEMPOTENCY_KEY_REUSED;

use super::*;

fn route() -> Route {
    Route {
        reused: (422, IDEMPOTENCY_KEY_REUSED.as_str().to_owned()),
        answer_bytes_max: 4,
        replay_status: None,
        hides: false,
    }
}

fn answered(status: u16, body: &'static str) -> SeenAnswer {
    let (unknown, took) = (false, Duration::from_millis(1));
    SeenAnswer { status, replayed: false, unknown, code: None, events: false, body: body.into(), took }
}

fn replayed(body: &'static str) -> SeenAnswer {
    SeenAnswer { replayed: true, ..answered(200, body) }
}

fn problem(status: u16, code: Code) -> SeenAnswer {
    SeenAnswer { code: Some(code.as_str().to_owned()), ..answered(status, "{}") }
}

#[test]
fn only_a_success_of_the_upstream_is_performed() {
    use Verdict::{Broken, Held, NotShown};
    let unknown = SeenAnswer { unknown: true, ..answered(500, "") };
    let rows = [
        (Some(answered(201, "1")), Held, "performed"),
        (Some(answered(404, "")), NotShown, "404"),
        (Some(answered(401, "")), NotShown, "401"),
        (Some(answered(429, "")), NotShown, "429"),
        (Some(answered(500, "")), NotShown, "500"),
        (Some(unknown), NotShown, "unknown"),
        (Some(problem(401, onefold_core::error::AUTHENTICATION_REQUIRED)), NotShown, "AUTHENTICATION_REQUIRED"),
        (Some(problem(429, RATE_EXCEEDED)), NotShown, "RATE_EXCEEDED"),
        (Some(replayed("1")), Broken, "not new"),
        (None, NotShown, "no answer"),
    ];
    for (seen, verdict, words) in rows {
        let step = once(&route(), seen.as_ref());
        assert_eq!(step.verdict, verdict, "{seen:?}");
        assert!(step.what.contains(words), "{}", step.what);
    }
}

#[test]
fn a_replay_of_the_same_answer_holds_and_of_another_does_not() {
    let first = answered(200, "1");
    let again = |second: &SeenAnswer| again(&route(), &first, Some(second)).verdict;
    assert_eq!(again(&replayed("1")), Verdict::Held);
    assert_eq!(again(&replayed("2")), Verdict::Broken);
    assert_eq!(again(&answered(200, "2")), Verdict::Broken);
    assert_eq!(again(&problem(503, BULKHEAD_FULL)), Verdict::NotShown);
}

#[test]
fn a_replay_under_its_declared_status_is_the_same_answer() {
    let first = answered(201, "1");
    let replays = Route { replay_status: Some(200), ..route() };
    assert_eq!(again(&replays, &first, Some(&replayed("1"))).verdict, Verdict::Held);
    assert_eq!(again(&replays, &first, Some(&replayed("2"))).verdict, Verdict::Broken);
    assert_eq!(again(&route(), &first, Some(&replayed("1"))).verdict, Verdict::Broken);
}

#[test]
fn an_answer_that_is_not_given_again_is_named_as_what_it_is() {
    let withheld = problem(409, RESULT_UNAVAILABLE);
    let hides = Route { hides: true, ..route() };
    let events = SeenAnswer { events: true, ..answered(200, "") };
    let rows = [
        (route(), answered(200, "12345"), "answer_bytes_max"),
        (route(), events, "events"),
        (hides, answered(200, "1"), "anonymous_replay"),
        (route(), answered(200, "1"), "not kept"),
    ];
    for (route, first, words) in rows {
        let step = again(&route, &first, Some(&withheld));
        assert_eq!(step.verdict, Verdict::Held);
        assert!(step.what.contains(words), "{}", step.what);
    }
}

#[test]
fn of_eight_at_once_one_is_performed() {
    let of = |performed: usize, other: &SeenAnswer| -> Vec<Option<SeenAnswer>> {
        (0..8).map(|i| Some(if i < performed { answered(200, "1") } else { other.clone() })).collect()
    };
    let shown = at_once(&route(), &of(1, &replayed("1")));
    assert_eq!(shown.verdict, Verdict::Held);
    assert_eq!((shown.what.as_str(), shown.replayed, shown.answers), ("performed once, replayed 7 times", 7, 1));
    assert_eq!(shown.statuses, ["200 (8 times)"]);
    assert_eq!(at_once(&route(), &of(2, &replayed("1"))).verdict, Verdict::Broken);
    assert_eq!(at_once(&route(), &of(1, &replayed("2"))).verdict, Verdict::Broken);
    assert_eq!(at_once(&route(), &of(1, &problem(409, OPERATION_IN_FLIGHT))).verdict, Verdict::Held);
    assert_eq!(at_once(&route(), &of(0, &replayed("1"))).verdict, Verdict::NotShown);
    assert_eq!(at_once(&route(), &of(0, &answered(404, ""))).verdict, Verdict::NotShown);
    // Whom a limit refused has shown nothing of the ledger.
    assert_eq!(at_once(&route(), &of(1, &problem(503, BULKHEAD_FULL))).verdict, Verdict::NotShown);
    assert_eq!(at_once(&route(), &[None]).verdict, Verdict::NotShown);
}

#[test]
fn what_the_upstream_counted_goes_before_what_was_answered() {
    let once = |effects| once(&route(), Some(&answered(201, "1"))).counted(effects, 1).verdict;
    assert_eq!(once(None), Verdict::Held);
    assert_eq!(once(Some(1)), Verdict::Held);
    assert_eq!(once(Some(0)), Verdict::NotShown);
    assert_eq!(once(Some(2)), Verdict::Broken);
    let again = again(&route(), &answered(201, "1"), Some(&replayed("1")));
    assert_eq!(again.counted(Some(1), 0).verdict, Verdict::Broken);
}

#[test]
fn a_cut_shows_something_only_where_its_key_is_known_or_effects_are_counted() {
    use Cut::{AfterTheAnswer, BeforeTheAnswer};
    let one = |cut, seen: &SeenAnswer, effects| AfterCut { cut, seen: Some(seen.clone()), effects };
    let (known, new) = (replayed("1"), answered(200, "1"));
    let withheld = problem(409, RESULT_UNAVAILABLE);
    let rows = [
        (vec![one(BeforeTheAnswer, &known, None)], Verdict::Held),
        (vec![one(BeforeTheAnswer, &withheld, None)], Verdict::Held),
        (vec![one(BeforeTheAnswer, &new, None), one(BeforeTheAnswer, &known, None)], Verdict::Held),
        // A front that forgets what is cut at work looks like this.
        (vec![one(BeforeTheAnswer, &new, None), one(AfterTheAnswer, &known, None)], Verdict::NotShown),
        (vec![one(BeforeTheAnswer, &new, Some(2))], Verdict::Broken),
        (vec![one(BeforeTheAnswer, &new, Some(1)), one(AfterTheAnswer, &known, Some(1))], Verdict::Held),
        (vec![one(BeforeTheAnswer, &new, Some(1))], Verdict::NotShown),
        (vec![one(AfterTheAnswer, &known, None)], Verdict::Held),
        (vec![one(BeforeTheAnswer, &problem(409, OUTCOME_UNKNOWN), None)], Verdict::NotShown),
        (vec![AfterCut { cut: Cut::NotSent, seen: None, effects: None }], Verdict::NotShown),
    ];
    for (cuts, verdict) in rows {
        let step = after_cuts(&route(), &cuts);
        assert_eq!(step.verdict, verdict, "{cuts:?}: {}", step.what);
        assert_eq!(step.requests, 2 * cuts.len());
    }
}

#[test]
fn a_key_with_another_body_must_be_refused_as_the_route_says() {
    let other = |seen: &SeenAnswer| another_body(&route(), Some(seen)).verdict;
    assert_eq!(other(&problem(422, IDEMPOTENCY_KEY_REUSED)), Verdict::Held);
    assert_eq!(other(&replayed("1")), Verdict::Broken);
    assert_eq!(other(&answered(200, "2")), Verdict::Broken);
    assert_eq!(other(&problem(409, OPERATION_IN_FLIGHT)), Verdict::NotShown);
    assert_eq!(other(&problem(429, RATE_EXCEEDED)), Verdict::NotShown);
}
