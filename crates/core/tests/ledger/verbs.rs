//! What a person may do.

use std::sync::Arc;

use onefold_core::effect::{EffectClass, Policy};
use onefold_core::error::{EVIDENCE_REQUIRED, LIMIT_EXCEEDED, OPERATION_CONFLICT, RESOLUTION_REFUSED};
use onefold_core::ledger::{
    Completion, OVERDUE_FOR, Resolution, ResolveRequest, Resolved, SettledBy, SideEffect, Status, Verb,
};
use onefold_core::retry::Category::DownstreamUnavailable;

use crate::fixture::Step::{Claim, Complete, Fail, GiveUp, Refuse, Release, Sweep, TimeOut, Wait};
use crate::fixture::{ASK, LedgerFixture, SAME_KEY, Step, completed, completion, secs, terms};

fn did_not(force: bool) -> Verb {
    Verb::Resolve(Resolution::DidNotHappen { force })
}

fn took_hold() -> Verb {
    Verb::Resolve(Resolution::TookHold(completion("\"seen\"")))
}

fn failed() -> Verb {
    Verb::Resolve(Resolution::Failed(OPERATION_CONFLICT.name()))
}

const SETTLED: u64 = 935;

/// A story, a verb, and where it leads; none where it is refused.
type Row = (&'static str, Policy, &'static [Step], Verb, Option<Status>);

#[test]
fn a_verb_is_carried_out_or_refused_by_where_the_operation_stands() {
    use Policy::{Escalate, Void};
    const TRIED: &[Step] = &[Claim(1), Fail(DownstreamUnavailable)];
    const UNKNOWN: &[Step] = &[Claim(1), TimeOut];
    const SETTLED_UNKNOWN: &[Step] = &[Claim(1), TimeOut, Wait(SETTLED)];
    let rows: Vec<Row> = vec![
        ("retry: a technical end", Escalate, &[Claim(1), GiveUp], Verb::Retry, Some(Status::Released)),
        ("retry: waiting, not applied", Escalate, TRIED, Verb::Retry, Some(Status::Released)),
        ("retry: the provider's no", Escalate, &[Claim(1), Refuse], Verb::Retry, None),
        ("retry: unknown", Escalate, UNKNOWN, Verb::Retry, None),
        ("retry: waiting, unknown effect", SAME_KEY, UNKNOWN, Verb::Retry, None),
        ("retry: completed", Escalate, &[Claim(1), Complete], Verb::Retry, None),
        ("retry: released", Escalate, &[Claim(1), Release], Verb::Retry, None),
        ("ask now: ask", ASK, UNKNOWN, Verb::AskNow, Some(Status::Unknown)),
        ("ask now: void", Void, UNKNOWN, Verb::AskNow, Some(Status::Unknown)),
        ("ask now: nobody to ask", Escalate, UNKNOWN, Verb::AskNow, None),
        ("ask now: known", ASK, &[Claim(1), Complete], Verb::AskNow, None),
        ("took hold: unknown", Escalate, UNKNOWN, took_hold(), Some(Status::Completed)),
        ("took hold: waiting, unknown effect", SAME_KEY, UNKNOWN, took_hold(), Some(Status::Completed)),
        ("took hold: not applied", Escalate, TRIED, took_hold(), None),
        ("took hold: failed for good", Escalate, &[Claim(1), Refuse], took_hold(), None),
        ("did not: before settle", Escalate, UNKNOWN, did_not(false), None),
        ("did not: before settle, with force", Escalate, UNKNOWN, did_not(true), Some(Status::Released)),
        ("did not: after settle", Escalate, SETTLED_UNKNOWN, did_not(false), Some(Status::Released)),
        ("did not: the settle of ask", ASK, SETTLED_UNKNOWN, did_not(false), Some(Status::Released)),
        ("did not: completed", Escalate, &[Claim(1), Complete], did_not(true), None),
        ("failed: unknown", Escalate, UNKNOWN, failed(), Some(Status::FailedFinal)),
        ("failed: completed", Escalate, &[Claim(1), Complete], failed(), None),
        ("live lease: took hold", Escalate, &[Claim(1)], took_hold(), None),
        ("live lease: did not, with force", Escalate, &[Claim(1)], did_not(true), None),
        ("live lease: retry", Escalate, &[Claim(1)], Verb::Retry, None),
    ];
    for (name, policy, story, verb, status) in rows {
        let mut ledger = LedgerFixture::under(policy).play(story);
        let before = ledger.entry.clone();
        match (ledger.says("ana", verb), status) {
            (Ok(resolved), Some(status)) => assert_eq!(resolved, Resolved::Done(status), "{name}"),
            (Err(error), None) => {
                assert_eq!(error.code(), RESOLUTION_REFUSED, "{name}");
                assert_eq!(ledger.entry, before, "{name}");
            }
            (answer, _) => panic!("{name}: {answer:?}"),
        }
    }
}

#[test]
fn a_verb_needs_who_and_why() {
    let long = "x".repeat(501);
    for (who, why) in
        [("", "seen"), (" ", "seen"), ("ana", ""), ("ana", "  "), ("ana", long.as_str()), (long.as_str(), "seen")]
    {
        let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claim(1), TimeOut]);
        let request = ResolveRequest { why: Arc::from(why), ..ledger.verb_request(who, took_hold()) };
        assert_eq!(ledger.ask_for(&request).expect_err("refused").code(), LIMIT_EXCEEDED, "{who:.5} {why:.5}");
        assert_eq!(ledger.status(), Status::Unknown);
    }
}

#[test]
fn a_verb_is_kept_with_who_and_why() {
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claim(1), TimeOut]);
    ledger.says("ana", took_hold()).expect("allowed");
    let note = ledger.notes.last().expect("a note");
    assert_eq!((&*note.who, note.why.as_deref(), note.fence), ("ana", Some("looked at the provider's list"), 1));
    assert_eq!(ledger.entry().settled_by, Some(SettledBy::Person));
    assert_eq!(ledger.incident.as_ref().and_then(|incident| incident.closed_by.as_deref()), Some("ana"));
}

#[test]
fn a_verb_on_what_changed_since_it_was_looked_at_is_refused() {
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claim(1), TimeOut]);
    let seen = ledger.verb_request("ana", took_hold());
    for request in [
        ResolveRequest { fence: 2, ..seen.clone() },
        ResolveRequest { fence: 0, ..seen.clone() },
        ResolveRequest { status: Status::FailedRetryable, ..seen.clone() },
    ] {
        assert_eq!(ledger.ask_for(&request).expect_err("refused").code(), RESOLUTION_REFUSED);
    }
    ledger.record(1, completed("1"));
    assert_eq!(ledger.ask_for(&seen).expect_err("refused").code(), RESOLUTION_REFUSED, "recorded meanwhile");
    let mut absent = LedgerFixture::under(Policy::Escalate);
    assert_eq!(absent.ask_for(&seen).expect_err("refused").code(), RESOLUTION_REFUSED, "absent");
}

#[test]
fn did_not_happen_waits_for_settle_after_the_deadline_and_its_slack() {
    for (after, allowed) in [(0, false), (30, false), (934, false), (935, true)] {
        let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claim(1), TimeOut, Wait(after)]);
        let answer = ledger.says("ana", did_not(false));
        assert_eq!(answer.is_ok(), allowed, "{after} s");
        if let Err(error) = answer {
            assert!(error.next_step().contains("force"), "{error}");
        }
    }
}

#[test]
fn a_financial_effect_did_not_happen_only_by_two_people() {
    let ledger =
        || LedgerFixture::of(terms(EffectClass::FinancialOrLegal, Policy::Escalate)).play(&[Claim(1), TimeOut]);
    for (force, after) in [(true, 0), (false, SETTLED)] {
        let mut ledger = ledger();
        ledger.wait(secs(after));
        assert_eq!(ledger.says("ana", did_not(force)).expect("noted"), Resolved::NeedsSecondPerson);
        assert_eq!((ledger.status(), ledger.entry().approved_by.as_deref()), (Status::Unknown, Some("ana")));
        assert_eq!(ledger.says("ana", did_not(force)).expect("noted"), Resolved::NeedsSecondPerson, "the same person");
        assert_eq!(ledger.says("ben", did_not(force)).expect("done"), Resolved::Done(Status::Released));
        assert_eq!(ledger.entry().approved_by, None);
    }
    let mut hasty = ledger();
    assert_eq!(hasty.says("ana", did_not(false)).expect_err("refused").code(), RESOLUTION_REFUSED);
}

#[test]
fn a_financial_effect_took_hold_only_with_its_evidence() {
    let mut ledger =
        LedgerFixture::of(terms(EffectClass::FinancialOrLegal, Policy::Escalate)).play(&[Claim(1), TimeOut]);
    assert_eq!(ledger.says("ana", took_hold()).expect_err("refused").code(), EVIDENCE_REQUIRED);
    let proved = Completion { evidence: Some(Arc::from("booking 12")), ..completion("1") };
    let answer = ledger.finds(Resolution::TookHold(proved)).expect("done");
    assert_eq!(answer, Resolved::Done(Status::Completed));
    assert_eq!(ledger.entry().evidence_ref.as_deref(), Some("booking 12"));
}

#[test]
fn ask_now_makes_the_question_due_and_keeps_the_incident() {
    let mut ledger = LedgerFixture::under(ASK).play(&[Claim(1), Wait(35), Sweep]);
    ledger.wait(OVERDUE_FOR);
    ledger.take(Sweep);
    assert_eq!(ledger.entry().next_ask_at, None);
    ledger.says("ana", Verb::AskNow).expect("allowed");
    assert_eq!(ledger.entry().next_ask_at, Some(ledger.now));
    assert!(ledger.open().is_some());
}

#[test]
fn a_person_confirms_what_stands_and_so_closes_a_suspicion() {
    let mut ledger = LedgerFixture::under(SAME_KEY).play(&[Claim(1), Wait(35), Sweep, Wait(1), Claim(2), Complete]);
    ledger.record(1, completed("late"));
    let before = ledger.entry().result.clone();
    assert!(ledger.open().is_some());
    assert_eq!(ledger.says("ana", took_hold()).expect("confirmed"), Resolved::Done(Status::Completed));
    assert!(ledger.open().is_none());
    assert_eq!(ledger.entry().result, before, "the stored result stays");
}

#[test]
fn a_retry_starts_with_all_its_attempts() {
    let mut ledger = LedgerFixture::under(Policy::Escalate).play(&[Claim(1), GiveUp]);
    ledger.says("ana", Verb::Retry).expect("allowed");
    assert!(ledger.open().is_none());
    ledger.granted(2);
    assert_eq!((ledger.entry().attempts, ledger.entry().fence), (1, 2));
    assert_eq!(ledger.entry().side_effect, SideEffect::NotApplied);
}
