//! What answers show of a promise, and what they do not.

use std::collections::BTreeSet;

use onefold_core::error::{
    BREAKER_OPEN, BULKHEAD_FULL, Code, OPERATION_IN_FLIGHT, OPERATION_WAITING, OUTCOME_UNKNOWN, RATE_EXCEEDED,
    RESULT_UNAVAILABLE, TOO_BUSY,
};
use serde_json::{Value, json};

use super::wire::{Cut, SeenAnswer};

/// What a step says of the promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Held,
    Broken,
    /// It can be kept or broken: this step did not see it.
    NotShown,
}

impl Verdict {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Broken => "broken",
            Self::NotShown => "not shown",
        }
    }
}

/// What the configuration says of the answers that a route gives.
#[derive(Debug, Clone)]
pub(super) struct Route {
    /// Status and code of a key that was used for another request.
    pub(super) reused: (u16, String),
    /// Bytes of an answer that are kept.
    pub(super) answer_bytes_max: usize,
    /// The status of a replayed success, where it differs from the stored one.
    pub(super) replay_status: Option<u16>,
    /// Stored answers are hidden from anonymous callers.
    pub(super) hides: bool,
}

/// One step, and what it shows.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: &'static str,
    requests: usize,
    statuses: Vec<String>,
    replayed: usize,
    /// Different answers of the upstream itself.
    answers: usize,
    /// What the upstream counted.
    effects: Option<u64>,
    pub(super) what: String,
    pub(super) verdict: Verdict,
}

impl Step {
    pub(super) fn row(&self) -> [String; 7] {
        [
            self.name.to_owned(),
            self.requests.to_string(),
            self.statuses.join(", "),
            self.replayed.to_string(),
            self.answers.to_string(),
            self.effects.map_or_else(|| "not counted".to_owned(), |effects| effects.to_string()),
            format!("{}: {}", self.verdict.as_str(), self.what),
        ]
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "step": self.name,
            "requests": self.requests,
            "statuses": self.statuses,
            "replayed": self.replayed,
            "distinctAnswers": self.answers,
            "effects": self.effects,
            "shows": self.what,
            "verdict": self.verdict.as_str(),
        })
    }

    /// The same with what the upstream counted, where so many effects keep the promise.
    pub(super) fn counted(mut self, effects: Option<u64>, expected: u64) -> Self {
        self.effects = effects;
        match effects {
            Some(effects) if effects > expected => {
                self.verdict = Verdict::Broken;
                self.what = format!("{}, but the upstream counted {}", self.what, times(effects));
            }
            Some(effects) if effects < expected && self.verdict == Verdict::Held => {
                self.verdict = Verdict::NotShown;
                self.what = format!("{}, but the upstream counted {}", self.what, times(effects));
            }
            Some(_) | None => {}
        }
        self
    }
}

/// What one answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The upstream's own success.
    Performed,
    /// The upstream's own answer, and no success: nothing took hold.
    Declined,
    Replayed,
    /// It was performed; its answer is not given.
    Withheld,
    /// Someone is at it.
    AtWork,
    Unknown,
    Reused,
    /// A limit let nothing through.
    Limited,
    /// Any other problem: nothing was performed.
    Refused,
    Silent,
}

fn meaning(route: &Route, seen: Option<&SeenAnswer>) -> Meaning {
    let Some(seen) = seen else { return Meaning::Silent };
    let is = |code: Code| seen.code.as_deref() == Some(code.as_str());
    let reused = seen.status == route.reused.0 && seen.code.as_deref() == Some(route.reused.1.as_str());
    match seen {
        SeenAnswer { replayed: true, .. } => Meaning::Replayed,
        _ if reused => Meaning::Reused,
        _ if is(RESULT_UNAVAILABLE) => Meaning::Withheld,
        _ if is(OPERATION_IN_FLIGHT) || is(OPERATION_WAITING) => Meaning::AtWork,
        SeenAnswer { unknown: true, .. } => Meaning::Unknown,
        _ if is(OUTCOME_UNKNOWN) => Meaning::Unknown,
        _ if [TOO_BUSY, BREAKER_OPEN, BULKHEAD_FULL, RATE_EXCEEDED].into_iter().any(is) => Meaning::Limited,
        SeenAnswer { code: Some(_), .. } => Meaning::Refused,
        SeenAnswer { status: 200..=399, .. } => Meaning::Performed,
        SeenAnswer { code: None, .. } => Meaning::Declined,
    }
}

/// Whether this key is still being performed.
pub(super) fn at_work(route: &Route, seen: &SeenAnswer) -> bool {
    meaning(route, Some(seen)) == Meaning::AtWork
}

fn step(route: &Route, name: &'static str, seen: &[Option<&SeenAnswer>], (verdict, what): (Verdict, String)) -> Step {
    let mut statuses: Vec<(u16, usize)> = Vec::new();
    for status in seen.iter().map(|seen| seen.map_or(0, |seen| seen.status)) {
        match statuses.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += 1,
            None => statuses.push((status, 1)),
        }
    }
    let named = |status: u16| if status == 0 { "no answer".to_owned() } else { status.to_string() };
    let statuses = statuses.into_iter().map(|(status, count)| match count {
        1 => named(status),
        many => format!("{} ({many} times)", named(status)),
    });
    Step {
        name,
        requests: seen.len(),
        statuses: statuses.collect(),
        replayed: count(route, seen, Meaning::Replayed),
        answers: answers(route, seen).len(),
        effects: None,
        what,
        verdict,
    }
}

fn count(route: &Route, seen: &[Option<&SeenAnswer>], wanted: Meaning) -> usize {
    seen.iter().filter(|seen| meaning(route, **seen) == wanted).count()
}

/// The upstream's answers, however they came.
fn answers<'a>(route: &Route, seen: &[Option<&'a SeenAnswer>]) -> BTreeSet<(u16, &'a [u8])> {
    let own = |seen: &&SeenAnswer| {
        matches!(meaning(route, Some(*seen)), Meaning::Performed | Meaning::Declined | Meaning::Replayed)
    };
    // A replay under a status of its own is the same answer.
    let status = |seen: &SeenAnswer| match (route.replay_status, seen.status) {
        (Some(replayed), 200..=299) => replayed,
        (Some(_) | None, status) => status,
    };
    seen.iter().flatten().copied().filter(own).map(|seen| (status(seen), seen.body.as_ref())).collect()
}

/// Why nothing can be said of an answer.
fn nothing(route: &Route, seen: Option<&SeenAnswer>) -> (Verdict, String) {
    let status = seen.map_or(0, |seen| seen.status);
    let code = seen.and_then(|seen| seen.code.as_deref()).unwrap_or("no code");
    let what = match meaning(route, seen) {
        Meaning::Declined => format!("the upstream answered {status}: nothing took hold"),
        Meaning::Unknown => format!("{status}: it is unknown whether it took hold"),
        Meaning::Silent => "no answer".to_owned(),
        Meaning::Limited => format!("a limit let nothing through: {code}"),
        Meaning::AtWork => "still at work".to_owned(),
        Meaning::Refused => format!("refused: {status} {code}"),
        Meaning::Performed | Meaning::Replayed | Meaning::Withheld | Meaning::Reused => format!("{status} {code}"),
    };
    (Verdict::NotShown, what)
}

/// A first request.
pub(super) fn once(route: &Route, first: Option<&SeenAnswer>) -> Step {
    let verdict = match meaning(route, first) {
        Meaning::Performed => (Verdict::Held, "performed".to_owned()),
        Meaning::Replayed | Meaning::Withheld | Meaning::Reused | Meaning::AtWork => {
            (Verdict::Broken, "a fresh key was not new".to_owned())
        }
        Meaning::Declined | Meaning::Unknown | Meaning::Silent | Meaning::Limited | Meaning::Refused => {
            nothing(route, first)
        }
    };
    step(route, "once", &[first], verdict)
}

/// The same key a second time.
pub(super) fn again(route: &Route, first: &SeenAnswer, second: Option<&SeenAnswer>) -> Step {
    let verdict = match meaning(route, second) {
        Meaning::Replayed if answers(route, &[Some(first), second]).len() == 1 => {
            (Verdict::Held, "replayed, not performed".to_owned())
        }
        Meaning::Replayed => (Verdict::Broken, "replayed, but not what was answered first".to_owned()),
        Meaning::Withheld => (Verdict::Held, format!("not performed; {}", why_withheld(route, first))),
        Meaning::Performed => (Verdict::Broken, "performed again".to_owned()),
        Meaning::Reused => (Verdict::Broken, "the same request was taken for another one".to_owned()),
        Meaning::Declined
        | Meaning::Unknown
        | Meaning::Silent
        | Meaning::AtWork
        | Meaning::Limited
        | Meaning::Refused => nothing(route, second),
    };
    step(route, "again", &[second], verdict)
}

/// Why an answer that was given once is not given again.
fn why_withheld(route: &Route, first: &SeenAnswer) -> &'static str {
    match first {
        SeenAnswer { events: true, .. } => "a stream of events is not kept",
        SeenAnswer { body, .. } if body.len() > route.answer_bytes_max => {
            "the answer is larger than `answer_bytes_max`"
        }
        _ if route.hides => "stored answers are not shown to anonymous callers (`anonymous_replay`)",
        _ => "the answer is not kept",
    }
}

/// One fresh key from many at once.
pub(super) fn at_once(route: &Route, seen: &[Option<SeenAnswer>]) -> Step {
    let seen: Vec<Option<&SeenAnswer>> = seen.iter().map(Option::as_ref).collect();
    let of = |meaning| count(route, &seen, meaning);
    let (performed, replayed) = (of(Meaning::Performed), of(Meaning::Replayed));
    let (held_back, limited) = (of(Meaning::AtWork) + of(Meaning::Withheld), of(Meaning::Limited));
    let others = seen.len() - performed - replayed - held_back - limited;
    let parts = [
        (replayed, "replayed"),
        (held_back, "told to wait or that it was done"),
        (limited, "refused by a limit"),
        (others, "answered otherwise"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let what = parts.fold(format!("performed {}", times(performed as u64)), |what, (count, how)| {
        format!("{what}, {how} {}", times(count as u64))
    });
    let verdict = match (performed, replayed + held_back) {
        (2.., _) => Verdict::Broken,
        (1, 1..) if others == 0 && answers(route, &seen).len() == 1 => Verdict::Held,
        (1, 1..) if others == 0 => Verdict::Broken,
        _ => Verdict::NotShown,
    };
    step(route, "8 at once", &seen, (verdict, what))
}

fn times(count: u64) -> String {
    match count {
        0 => "none".to_owned(),
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// A request that was cut, and what its key got afterwards.
#[derive(Debug)]
pub(super) struct AfterCut {
    pub(super) cut: Cut,
    pub(super) seen: Option<SeenAnswer>,
    /// What the upstream counted for this key.
    pub(super) effects: Option<u64>,
}

/// What one cut request shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CutShows {
    /// It went on without its caller, and its key is known.
    WentOn,
    /// It had ended; its answer was not heard, and its key is known.
    Answered,
    /// The upstream counted two effects for one key.
    Forgotten,
    /// The key was new: the request had not begun. Only a count can tell that from a key that was forgotten.
    New,
    Nothing,
}

fn cut_shows(route: &Route, one: &AfterCut) -> CutShows {
    match (meaning(route, one.seen.as_ref()), one.cut, one.effects) {
        (_, _, Some(2..)) => CutShows::Forgotten,
        (Meaning::Replayed | Meaning::Withheld, Cut::BeforeTheAnswer, _) => CutShows::WentOn,
        (Meaning::Replayed | Meaning::Withheld, Cut::AfterTheAnswer, _) => CutShows::Answered,
        (Meaning::Performed, _, _) => CutShows::New,
        _ => CutShows::Nothing,
    }
}

/// Whether further cuts would show nothing more.
pub(super) fn settles(route: &Route, cuts: &[AfterCut]) -> bool {
    cuts.iter().any(|one| matches!(cut_shows(route, one), CutShows::WentOn | CutShows::Forgotten))
}

/// Requests whose connections were cut after sending.
pub(super) fn after_cuts(route: &Route, cuts: &[AfterCut]) -> Step {
    let shows: Vec<CutShows> = cuts.iter().map(|one| cut_shows(route, one)).collect();
    let seen: Vec<Option<&SeenAnswer>> = cuts.iter().map(|one| one.seen.as_ref()).collect();
    let counted = cuts.iter().all(|one| one.effects.is_some());
    let effects = cuts.iter().map(|one| one.effects).sum();
    let has = |wanted| shows.contains(&wanted);
    let verdict = if has(CutShows::Forgotten) {
        (Verdict::Broken, "a cut request's key was forgotten: the upstream counted two effects for it".to_owned())
    } else if has(CutShows::WentOn) {
        (Verdict::Held, "the cut request went on, and its key is known".to_owned())
    } else if has(CutShows::Answered) && (counted || !has(CutShows::New)) {
        (Verdict::Held, "the lost answer is known; no request could be cut while it was at work".to_owned())
    } else if has(CutShows::New) && !counted {
        let what = "the key was new each time it could have been at work: not begun, or forgotten; --effects can tell";
        (Verdict::NotShown, what.to_owned())
    } else if has(CutShows::New) {
        (Verdict::NotShown, "no request had begun when it was cut".to_owned())
    } else {
        nothing(route, seen.last().copied().flatten())
    };
    let step = step(route, "cut, then again", &seen, verdict);
    Step { requests: 2 * cuts.len(), effects, ..step }
}

/// A known key with another body.
pub(super) fn another_body(route: &Route, seen: Option<&SeenAnswer>) -> Step {
    let verdict = match meaning(route, seen) {
        Meaning::Reused => (Verdict::Held, "refused: the key belongs to another request".to_owned()),
        Meaning::Performed => (Verdict::Broken, "performed: the key was not kept".to_owned()),
        Meaning::Replayed | Meaning::Withheld => (Verdict::Broken, "another body was taken for the same".to_owned()),
        Meaning::Declined
        | Meaning::AtWork
        | Meaning::Unknown
        | Meaning::Silent
        | Meaning::Limited
        | Meaning::Refused => nothing(route, seen),
    };
    step(route, "another body", &[seen], verdict)
}

/// No other body can be made.
pub(super) fn nothing_compared() -> Step {
    let what = "the body has none of the `fields` that the route compares; give one with --body".to_owned();
    Step {
        name: "another body",
        requests: 0,
        statuses: Vec::new(),
        replayed: 0,
        answers: 0,
        effects: None,
        what,
        verdict: Verdict::NotShown,
    }
}

#[cfg(test)]
mod tests;
