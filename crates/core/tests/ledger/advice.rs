//! What a person is told follows from where the operation stands: policy by status.

use std::sync::Arc;

use onefold_core::effect::{EffectContract, Policy};
use onefold_core::error::{
    COMMAND_FAILED, COMMAND_KILLED, Code, DOWNSTREAM_UNAVAILABLE, DUPLICATE_SUSPECTED, HOLDER_LOST, OUTCOME_CONFLICT,
    PERMISSION,
};
use onefold_core::incident::{Advice, Needs, RUNBOOKS, advise};
use onefold_core::ledger::{Entry, Failure, Outcome, ResolveRequest, SideEffect, Status, Verb, resolve};
use onefold_core::retry::Category;

use crate::fixture::Step::{Claim, TimeOut};
use crate::fixture::{ASK, LedgerFixture, SAME_KEY, accepts_duplicates, class_of, secs};

fn policies() -> [Policy; 7] {
    [Policy::Rerun, accepts_duplicates(), SAME_KEY, ASK, Policy::Void, Policy::Escalate, Policy::InTransaction]
}

/// An operation under this policy that stands here.
fn standing(policy: &Policy, status: Status) -> Entry {
    let mut entry = LedgerFixture::under(Policy::Escalate).play(&[Claim(1)]).entry().clone();
    entry.contract = EffectContract::new(class_of(policy), policy.clone()).expect("a legal pair");
    entry.status = status;
    entry.dependency = Some(Arc::from("notice-service"));
    (entry.side_effect, entry.category) = match status {
        Status::Unknown => (SideEffect::Unknown, Some(Category::DownstreamUnavailable)),
        Status::FailedFinal => (SideEffect::NotApplied, Some(Category::Permission)),
        Status::FailedRetryable => (SideEffect::NotApplied, Some(Category::RateLimited)),
        Status::Started | Status::Released => (SideEffect::NotApplied, None),
        Status::Completed => (SideEffect::Applied, None),
    };
    if status == Status::FailedRetryable {
        entry.next_attempt_at = Some(entry.created_at.plus(secs(60)));
    }
    entry
}

fn told(entry: &Entry, heads: Code) -> Advice {
    advise(entry, &heads.name(), Needs::Reconciliation)
}

fn allowed(entry: &Entry, verb: Verb) -> bool {
    let request = ResolveRequest {
        key: entry.key.clone(),
        fence: entry.fence,
        status: entry.status,
        verb,
        who: Arc::from("ada"),
        why: Arc::from("looked"),
        terms: None,
    };
    resolve(Some(entry), &request, entry.updated_at.plus(secs(86_400))).is_ok()
}

#[test]
fn advice_follows_policy_and_status() {
    let unknown = |policy: &Policy| match policy {
        Policy::Rerun | Policy::AcceptDuplicate { .. } => {
            "a repetition is harmless: `did not happen` lets the next request"
        }
        Policy::SameKey { .. } => "the provider may have forgotten the key",
        Policy::Ask { .. } | Policy::Void => "`ask` once more, or resolve it yourself",
        Policy::Escalate | Policy::InTransaction => "nothing is performed before you decide",
    };
    let rows: [(Status, &str, &str); 6] = [
        (Status::Started, "wait: an attempt is in flight", "attempts-exhausted"),
        (Status::Completed, "confirm with `took hold`", "attempts-exhausted"),
        (Status::FailedFinal, "fix the cause, then retry: nothing took hold", "attempts-exhausted"),
        (Status::FailedRetryable, "nothing yet: the next request after 2027-", "attempts-exhausted"),
        (Status::Unknown, "", "unknown-outcome"),
        (Status::Released, "the next request performs it", "attempts-exhausted"),
    ];
    assert_eq!(rows.map(|row| row.0).as_slice(), Status::ALL);
    for policy in &policies() {
        for (status, action, runbook) in rows {
            let entry = standing(policy, status);
            let advice = told(&entry, DOWNSTREAM_UNAVAILABLE);
            let action = if status == Status::Unknown { unknown(policy) } else { action };
            assert!(advice.suggested_action.contains(action), "{policy} {status}: {}", advice.suggested_action);
            assert_eq!(advice.runbook, runbook, "{policy} {status}");
            assert!(RUNBOOKS.contains(&advice.runbook));
            let search = advice.first_check.contains("search notice-service for \"CASE-1\"");
            assert_eq!(search, status == Status::Unknown, "{policy} {status}: {}", advice.first_check);
        }
    }
}

#[test]
fn nothing_says_that_an_operation_is_tried_again_by_itself() {
    for policy in &policies() {
        for status in Status::ALL {
            let entry = standing(policy, *status);
            for heads in [DOWNSTREAM_UNAVAILABLE, HOLDER_LOST, PERMISSION, COMMAND_KILLED, DUPLICATE_SUSPECTED] {
                let Advice { first_check, suggested_action, .. } = told(&entry, heads);
                let text = format!("{first_check}; {suggested_action}");
                assert!(!text.contains("tried again") && !text.contains("schedule"), "{policy} {status}: {text}");
            }
        }
    }
    let incident =
        LedgerFixture::under(Policy::Escalate).play(&[Claim(1), TimeOut]).open().cloned().expect("an incident");
    assert!(incident.suggested_action.contains("nothing is performed before you decide"), "{incident:?}");
}

#[test]
fn a_verb_is_suggested_only_where_the_rule_allows_it() {
    for policy in &policies() {
        for status in Status::ALL {
            let entry = standing(policy, *status);
            let advice = told(&entry, DOWNSTREAM_UNAVAILABLE);
            assert_eq!(advice.safe_to_retry, allowed(&entry, Verb::Retry), "{policy} {status}");
            if advice.suggested_action.contains("`ask`") {
                assert!(allowed(&entry, Verb::AskNow), "{policy} {status}: {}", advice.suggested_action);
            }
            for suspicion in [DUPLICATE_SUSPECTED, OUTCOME_CONFLICT] {
                let advice = told(&entry, suspicion);
                assert!(!advice.safe_to_retry && advice.runbook == "duplicate-suspected", "{policy} {status}");
                assert!(advice.first_check.starts_with("count the effects of \"CASE-1\""), "{}", advice.first_check);
            }
        }
    }
}

#[test]
fn a_question_on_its_way_is_waited_for() {
    let mut entry = standing(&ASK, Status::Unknown);
    entry.next_ask_at = Some(entry.created_at.plus(secs(30)));
    let advice = told(&entry, DOWNSTREAM_UNAVAILABLE);
    assert!(advice.suggested_action.starts_with("nothing yet: notice-service is asked at 2027-"), "{advice:?}");
    entry.next_ask_at = None;
    let advice = advise(&entry, &DOWNSTREAM_UNAVAILABLE.name(), Needs::DeploymentFix);
    assert!(advice.suggested_action.starts_with("start a process that declares the kind notice.issue"), "{advice:?}");
}

#[test]
fn what_the_attempt_says_it_needs_comes_before_the_retry() {
    let entry = standing(&Policy::Escalate, Status::FailedFinal);
    for (needs, first) in [
        (Needs::DataRepair, "repair the data, then retry"),
        (Needs::ProcessMigration, "migrate the process instances, then retry"),
        (Needs::DeploymentFix, "fix the cause, then retry"),
    ] {
        let advice = advise(&entry, &PERMISSION.name(), needs);
        assert!(advice.suggested_action.starts_with(first), "{needs}: {}", advice.suggested_action);
    }
}

#[test]
fn a_command_that_was_killed_is_not_a_dependency_that_was_slow() {
    let advice = told(&standing(&Policy::Escalate, Status::Unknown), COMMAND_KILLED);
    assert_eq!(&*advice.first_check, "what the command of \"CASE-1\" changes, and whether it is changed");
    assert_eq!(Category::CommandKilled.code(), COMMAND_KILLED);
    for code in [COMMAND_KILLED, COMMAND_FAILED] {
        let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claim(1)]);
        let failure = Failure { code: code.name(), ..Failure::technical(Category::Unexpected, SideEffect::Unknown) };
        ledger.record(1, Outcome::Unknown(failure));
        assert_eq!(ledger.open().expect("an incident").error_code, code, "the command's own code heads it");
    }
}

#[test]
fn advice_is_renewed_as_the_operation_moves_on() {
    let ledger = LedgerFixture::under(ASK).play(&[Claim(1), TimeOut]);
    assert!(ledger.open().is_none(), "the question comes first");
    let ledger = LedgerFixture::under(Policy::Escalate).play(&[Claim(1), TimeOut]);
    let incident = ledger.open().cloned().expect("an incident");
    let mut entry = ledger.entry().clone();
    (entry.status, entry.side_effect, entry.category) =
        (Status::FailedFinal, SideEffect::NotApplied, Some(Category::Permission));
    let renewed = incident.clone().advised(&entry);
    assert!(renewed.safe_to_retry && &*renewed.runbook == "/runbooks/attempts-exhausted", "{renewed:?}");
    assert_eq!(renewed.message, incident.message);
}
