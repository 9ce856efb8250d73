//! What answers show of a promise.

use std::collections::BTreeSet;

use onefold_core::error::{
    Code, IDEMPOTENCY_KEY_REUSED, OPERATION_IN_FLIGHT, OPERATION_WAITING, OUTCOME_UNKNOWN, RESULT_UNAVAILABLE,
};
use serde_json::{Value, json};

use super::wire::Seen;

/// One step, and what it shows.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) step: &'static str,
    requests: usize,
    statuses: Vec<String>,
    replayed: usize,
    /// Different answers of the upstream itself.
    answers: usize,
    pub(super) what: String,
    pub(super) held: bool,
}

impl Shown {
    pub(super) fn row(&self) -> [String; 6] {
        [
            self.step.to_owned(),
            self.requests.to_string(),
            self.statuses.join(", "),
            self.replayed.to_string(),
            self.answers.to_string(),
            self.what.clone(),
        ]
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "step": self.step,
            "requests": self.requests,
            "statuses": self.statuses,
            "replayed": self.replayed,
            "distinctAnswers": self.answers,
            "shows": self.what,
            "held": self.held,
        })
    }
}

/// What one answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The upstream's own answer to this request.
    Performed,
    Replayed,
    /// It was performed; the stored answer is not given to this caller.
    Withheld,
    /// Someone is at it.
    AtWork,
    Unknown,
    Reused,
    /// Any other problem of the gateway: nothing was performed.
    Refused,
    Silent,
}

fn meaning(seen: Option<&Seen>) -> Meaning {
    let Some(seen) = seen else { return Meaning::Silent };
    let is = |code: Code| seen.code.as_deref() == Some(code.as_str());
    match seen {
        Seen { replayed: true, .. } => Meaning::Replayed,
        _ if is(RESULT_UNAVAILABLE) => Meaning::Withheld,
        _ if is(OPERATION_IN_FLIGHT) || is(OPERATION_WAITING) => Meaning::AtWork,
        _ if is(OUTCOME_UNKNOWN) => Meaning::Unknown,
        _ if is(IDEMPOTENCY_KEY_REUSED) => Meaning::Reused,
        Seen { code: Some(_), .. } => Meaning::Refused,
        Seen { code: None, .. } => Meaning::Performed,
    }
}

/// Whether this key is still being performed.
pub(super) fn at_work(seen: &Seen) -> bool {
    meaning(Some(seen)) == Meaning::AtWork
}

fn shown(step: &'static str, seen: &[Option<&Seen>], (held, what): (bool, String)) -> Shown {
    let mut statuses: Vec<(u16, usize)> = Vec::new();
    for status in seen.iter().map(|seen| seen.map_or(0, |seen| seen.status)) {
        match statuses.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += 1,
            None => statuses.push((status, 1)),
        }
    }
    let name = |status: u16| if status == 0 { "no answer".to_owned() } else { status.to_string() };
    let statuses = statuses.into_iter().map(|(status, count)| match count {
        1 => name(status),
        many => format!("{} ({many} times)", name(status)),
    });
    Shown {
        step,
        requests: seen.len(),
        statuses: statuses.collect(),
        replayed: count(seen, Meaning::Replayed),
        answers: answers(seen).len(),
        what,
        held,
    }
}

fn count(seen: &[Option<&Seen>], wanted: Meaning) -> usize {
    seen.iter().filter(|seen| meaning(**seen) == wanted).count()
}

/// The upstream's answers, however they came.
fn answers<'a>(seen: &[Option<&'a Seen>]) -> BTreeSet<(u16, &'a [u8])> {
    let from_upstream = |seen: &&Seen| matches!(meaning(Some(*seen)), Meaning::Performed | Meaning::Replayed);
    seen.iter().flatten().copied().filter(from_upstream).map(|seen| (seen.status, seen.body.as_ref())).collect()
}

/// A first request.
pub(super) fn once(first: Option<&Seen>) -> Shown {
    let verdict = match meaning(first) {
        Meaning::Performed => (true, "performed".to_owned()),
        Meaning::Unknown => (false, "nobody knows whether it took hold".to_owned()),
        Meaning::Silent => (false, "no answer".to_owned()),
        Meaning::Replayed | Meaning::Withheld | Meaning::Reused | Meaning::AtWork => {
            (false, "a fresh key was not new".to_owned())
        }
        Meaning::Refused => (false, refusal(first)),
    };
    shown("once", &[first], verdict)
}

fn refusal(seen: Option<&Seen>) -> String {
    let code = seen.and_then(|seen| seen.code.as_deref()).unwrap_or("no code");
    format!("the gateway refused it: {code}")
}

/// The same key a second time.
pub(super) fn again(first: Option<&Seen>, second: Option<&Seen>) -> Shown {
    let verdict = match meaning(second) {
        Meaning::Replayed if answers(&[first, second]).len() == 1 => (true, "replayed, not performed".to_owned()),
        Meaning::Replayed => (false, "replayed, but not what was answered first".to_owned()),
        Meaning::Withheld => (true, "not performed; the stored answer is not for this caller".to_owned()),
        Meaning::Performed => (false, "performed again: the first answer says that nothing took hold".to_owned()),
        Meaning::Unknown => (false, "nobody knows whether the first took hold".to_owned()),
        Meaning::Silent => (false, "no answer".to_owned()),
        Meaning::AtWork | Meaning::Reused | Meaning::Refused => (false, refusal(second)),
    };
    shown("again", &[second], verdict)
}

/// One fresh key from many at once.
pub(super) fn at_once(seen: &[Option<Seen>]) -> Shown {
    let seen: Vec<Option<&Seen>> = seen.iter().map(Option::as_ref).collect();
    let performed = count(&seen, Meaning::Performed);
    let replayed = count(&seen, Meaning::Replayed);
    let not_yet = count(&seen, Meaning::AtWork) + count(&seen, Meaning::Withheld);
    let others = seen.len() - performed - replayed - not_yet;
    let mut what = format!("performed {}", times(performed));
    if replayed > 0 {
        what = format!("{what}, replayed {}", times(replayed));
    }
    if not_yet > 0 {
        what = format!("{what}, told to wait or withheld {}", times(not_yet));
    }
    if others > 0 {
        what = format!("{what}, otherwise {}", times(others));
    }
    let held = performed == 1 && others == 0 && answers(&seen).len() == 1;
    shown("8 at once", &seen, (held, what))
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// The key of a request whose connection was cut.
pub(super) fn after_cut(seen: Option<&Seen>) -> Shown {
    let verdict = match meaning(seen) {
        Meaning::Replayed => (true, "the cut request was performed and is replayed".to_owned()),
        Meaning::Withheld => (true, "the cut request was performed; its answer is not for this caller".to_owned()),
        Meaning::Performed => (true, "the cut request had not begun; performed now".to_owned()),
        Meaning::Unknown => (false, "nobody knows whether the cut request took hold".to_owned()),
        Meaning::AtWork => (false, "the cut request is still at work".to_owned()),
        Meaning::Silent => (false, "no answer".to_owned()),
        Meaning::Reused | Meaning::Refused => (false, refusal(seen)),
    };
    Shown { requests: 2, ..shown("cut, then again", &[seen], verdict) }
}

/// A known key with another body.
pub(super) fn other_body(seen: Option<&Seen>) -> Shown {
    let verdict = match meaning(seen) {
        Meaning::Reused => (true, "refused: the key belongs to another request".to_owned()),
        // A route may choose its own code for it.
        Meaning::Refused if seen.is_some_and(|seen| matches!(seen.status, 409 | 422)) => {
            (true, "refused: the key belongs to another request".to_owned())
        }
        Meaning::Performed => (false, "performed: the key was not kept".to_owned()),
        Meaning::Replayed | Meaning::Withheld => {
            (false, "taken for the same: the fingerprint leaves the difference out".to_owned())
        }
        Meaning::AtWork | Meaning::Unknown => (false, "the key is not at rest".to_owned()),
        Meaning::Silent => (false, "no answer".to_owned()),
        Meaning::Refused => (false, refusal(seen)),
    };
    shown("another body", &[seen], verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, body: &'static str) -> Seen {
        Seen { status, replayed: false, code: None, body: body.into() }
    }

    fn replayed(body: &'static str) -> Seen {
        Seen { replayed: true, ..answered(200, body) }
    }

    fn problem(status: u16, code: Code) -> Seen {
        Seen { code: Some(code.as_str().to_owned()), ..answered(status, "{}") }
    }

    #[test]
    fn a_replay_of_the_same_answer_holds_and_of_another_does_not() {
        let first = answered(200, "1");
        assert!(again(Some(&first), Some(&replayed("1"))).held);
        assert!(!again(Some(&first), Some(&replayed("2"))).held);
        assert!(!again(Some(&first), Some(&answered(200, "2"))).held);
        assert!(again(Some(&first), Some(&problem(409, RESULT_UNAVAILABLE))).held);
    }

    #[test]
    fn of_eight_at_once_one_is_performed() {
        let of = |performed: usize| -> Vec<Option<Seen>> {
            (0..8).map(|i| Some(if i < performed { answered(200, "1") } else { replayed("1") })).collect()
        };
        let shown = at_once(&of(1));
        assert!(shown.held);
        assert_eq!((shown.what.as_str(), shown.replayed, shown.answers), ("performed once, replayed 7 times", 7, 1));
        assert_eq!(shown.statuses, ["200 (8 times)"]);
        assert!(!at_once(&of(2)).held);
        assert!(!at_once(&of(0)).held);
        assert!(!at_once(&[None]).held);
    }

    #[test]
    fn a_key_with_another_body_must_be_refused() {
        assert!(other_body(Some(&problem(422, IDEMPOTENCY_KEY_REUSED))).held);
        assert!(!other_body(Some(&replayed("1"))).held);
        assert!(!other_body(Some(&answered(200, "2"))).held);
    }

    #[test]
    fn a_request_that_was_cut_is_performed_once() {
        assert!(after_cut(Some(&replayed("1"))).held);
        assert!(after_cut(Some(&answered(200, "1"))).held);
        assert!(!after_cut(Some(&problem(409, OUTCOME_UNKNOWN))).held);
        assert!(!after_cut(None).held);
    }
}
