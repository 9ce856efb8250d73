//! What a person is told, from the operation's state and not only from what went wrong.

use std::sync::Arc;

use super::incident::Needs;
use crate::effect::PolicyName;
use crate::error::{ALL, COMMAND_FAILED, COMMAND_KILLED, Code, CodeName, DUPLICATE_SUSPECTED, OUTCOME_CONFLICT};
use crate::ledger::{Entry, SideEffect, Status};
use crate::retry::Category;

/// What a person is told about an operation that needs one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// What to look at first.
    pub first_check: Arc<str>,
    /// What to do then.
    pub suggested_action: Arc<str>,
    /// Whether the verb `retry` is allowed and cannot harm.
    pub safe_to_retry: bool,
    /// The page that says more.
    pub runbook: &'static str,
}

/// The runbooks that advice names.
pub const RUNBOOKS: [&str; 8] = [
    "attempts-exhausted",
    "duplicate-suspected",
    "unknown-outcome",
    "restored-database",
    "dependency-unavailable",
    "parked-event",
    "target-unavailable",
    "stopped-relay",
];

/// The page of a runbook, in Markdown; none where there is no such runbook.
pub fn runbook_page(name: &str) -> Option<&'static str> {
    match name {
        "attempts-exhausted" => Some(include_str!("runbooks/attempts-exhausted.md")),
        "dependency-unavailable" => Some(include_str!("runbooks/dependency-unavailable.md")),
        "duplicate-suspected" => Some(include_str!("runbooks/duplicate-suspected.md")),
        "parked-event" => Some(include_str!("runbooks/parked-event.md")),
        "restored-database" => Some(include_str!("runbooks/restored-database.md")),
        "stopped-relay" => Some(include_str!("runbooks/stopped-relay.md")),
        "target-unavailable" => Some(include_str!("runbooks/target-unavailable.md")),
        "unknown-outcome" => Some(include_str!("runbooks/unknown-outcome.md")),
        _ => None,
    }
}

/// What a person is told: by status, policy, next question and next attempt, and by the code that heads the incident.
pub fn advise(entry: &Entry, heads: &CodeName, needs: Needs) -> Advice {
    let suspected = *heads == DUPLICATE_SUSPECTED || *heads == OUTCOME_CONFLICT;
    let open_question = open_question(entry);
    let (first_check, suggested_action) = if suspected {
        (count_effects(entry), after_counting(entry))
    } else {
        (first_check(entry, heads, open_question), next(entry, needs))
    };
    let runbook = match (suspected, open_question) {
        (true, _) => RUNBOOKS[1],
        (false, true) => RUNBOOKS[2],
        (false, false) => RUNBOOKS[0],
    };
    Advice {
        first_check: Arc::from(first_check),
        suggested_action: Arc::from(suggested_action),
        safe_to_retry: !suspected && safe_to_retry(entry),
        runbook,
    }
}

/// Whether it is open if the effect took hold.
fn open_question(entry: &Entry) -> bool {
    match entry.status {
        Status::Unknown => true,
        Status::FailedRetryable | Status::Started => entry.side_effect == SideEffect::Unknown,
        Status::Completed | Status::FailedFinal | Status::Released => false,
    }
}

/// Whether the rule lets a person retry it.
fn safe_to_retry(entry: &Entry) -> bool {
    let ended = match entry.status {
        Status::FailedFinal => entry.category.is_some(),
        Status::FailedRetryable => true,
        Status::Started | Status::Completed | Status::Unknown | Status::Released => false,
    };
    ended && entry.side_effect == SideEffect::NotApplied
}

fn count_effects(entry: &Entry) -> String {
    format!("count the effects of {} in {}; the timeline shows every attempt", named(entry), place(entry))
}

/// What to do once the effects are counted.
fn after_counting(entry: &Entry) -> String {
    match entry.status {
        Status::Started => {
            format!("wait until the attempt in flight ends, by {} at the latest; then decide", entry.deadline)
        }
        Status::Completed => "two effects: undo one there; then confirm with `took hold`".to_owned(),
        Status::FailedFinal => {
            "the operation is recorded as failed: undo an effect that is there, then confirm with `failed`".to_owned()
        }
        Status::Released => "an effect that is there makes the next request a second one: stop its callers first; \
             confirm once the operation is settled"
            .to_owned(),
        Status::Unknown | Status::FailedRetryable => {
            "two effects: undo one there; then resolve with what is left: took hold, did not happen or failed"
                .to_owned()
        }
    }
}

fn first_check(entry: &Entry, heads: &CodeName, open_question: bool) -> String {
    if !open_question {
        return registered(heads)
            .map_or("the last failure in the timeline", |code| code.descriptor().guide.first_check)
            .to_owned();
    }
    if *heads == COMMAND_KILLED || *heads == COMMAND_FAILED {
        return format!("what the command of {} changes, and whether it is changed", named(entry));
    }
    let search = format!("search {} for {}", place(entry), named(entry));
    if *heads == Category::HolderLost.code() {
        format!("{search}; and whether {} crashed", entry.worker)
    } else {
        search
    }
}

/// What to do after the first check.
fn next(entry: &Entry, needs: Needs) -> String {
    let repair = match needs {
        Needs::DataRepair => "repair the data, then ",
        Needs::ProcessMigration => "migrate the process instances, then ",
        Needs::Nothing | Needs::Reconciliation | Needs::DeploymentFix => "",
    };
    match entry.status {
        Status::Unknown => after_search(entry, needs),
        Status::FailedFinal if safe_to_retry(entry) => {
            let fix = if repair.is_empty() { "fix the cause, then " } else { repair };
            format!("{fix}retry: nothing took hold, and the next request starts with fresh attempts")
        }
        Status::FailedFinal => "nothing: it failed for good; a new request is a new operation".to_owned(),
        Status::FailedRetryable => match entry.next_attempt_at {
            Some(at) => format!("nothing yet: the next request after {at} performs it"),
            None => "nothing yet: the next request performs it".to_owned(),
        },
        Status::Started => format!("wait: an attempt is in flight and ends by {} at the latest", entry.deadline),
        Status::Completed => "confirm with `took hold`: the operation is completed".to_owned(),
        Status::Released => "nothing: it is known that nothing took hold; the next request performs it".to_owned(),
    }
}

/// What to do about an effect that may have taken hold.
fn after_search(entry: &Entry, needs: Needs) -> String {
    let found = "found: resolve as `took hold` with its reference";
    if let Some(at) = entry.next_ask_at {
        return format!("nothing yet: {} is asked at {at}; `ask` asks now", place(entry));
    }
    if needs == Needs::DeploymentFix {
        return format!(
            "start a process that declares the kind {} with its question, then `ask`; {found}",
            entry.key.kind
        );
    }
    match entry.contract.policy().name() {
        PolicyName::Ask | PolicyName::Void => {
            format!(
                "`ask` once more, or resolve it yourself; {found}; not there: `did not happen`; rejected there: `failed`"
            )
        }
        PolicyName::SameKey => format!(
            "{found}; not there: `did not happen` lets the next request perform it, and the provider may have forgotten the key"
        ),
        PolicyName::Rerun | PolicyName::AcceptDuplicate => format!(
            "{found}; not there, or a repetition is harmless: `did not happen` lets the next request perform it; attempts are used up"
        ),
        PolicyName::Escalate | PolicyName::InTransaction => {
            format!(
                "{found}; not there: `did not happen`; rejected there: `failed`; nothing is performed before you decide"
            )
        }
    }
}

fn registered(name: &CodeName) -> Option<Code> {
    ALL.iter().copied().find(|code| *name == *code)
}

fn place(entry: &Entry) -> &str {
    entry.dependency.as_deref().unwrap_or("the system it acts on")
}

fn named(entry: &Entry) -> String {
    format!("{:?}", entry.key.id.as_str())
}
