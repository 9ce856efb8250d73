//! What a side says it did, held against what really happened.

use std::collections::HashMap;

use onefold_core::ledger::Status;
use serde::Serialize;

use crate::plan::Plan;
use crate::provider::Truth;
use crate::request::{Kind, Request, Side};
use crate::run::SideResult;
use crate::word::Word;

/// What a side's own records say of a request in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    Done,
    /// It will not be done: rejected, or given up.
    Failed,
    /// Unknown; this many open incidents say so.
    Unknown {
        incidents: u64,
    },
    /// Neither: the side was not driven to rest.
    Unsettled,
}

impl Record {
    /// What a worker without a ledger said last; only the queue remembers it.
    pub(super) fn of_word(word: Option<Word>) -> Self {
        match word {
            Some(Word::Done) => Self::Done,
            Some(Word::Rejected | Word::Failed) => Self::Failed,
            Some(Word::Unknown | Word::Later(_)) | None => Self::Unsettled,
        }
    }

    /// The state of an operation by the ledger.
    pub(super) fn of_standing(standing: Option<(Status, usize)>) -> Self {
        match standing {
            Some((Status::Completed, _)) => Self::Done,
            Some((Status::FailedFinal, _)) => Self::Failed,
            Some((Status::Unknown, incidents)) => Self::Unknown { incidents: incidents as u64 },
            Some((Status::Started | Status::FailedRetryable | Status::Released, _)) | None => Self::Unsettled,
        }
    }
}

/// One line of the closing table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) side: Side,
    pub(super) requests: u64,
    /// Calls that were made, refused connections included.
    pub(super) attempts: u64,
    pub(super) effects: u64,
    /// Effects beyond the first of each request.
    pub(super) duplicate_effects: u64,
    /// Requests reported done or given up, without an effect, that the provider does not reject.
    pub(super) lost_effects: u64,
    /// Requests with an unknown outcome.
    pub(super) unknowns: u64,
    /// Open incidents of those.
    pub(super) incidents: u64,
    /// Requests recorded done that took hold, be it once or twice.
    pub(super) recorded_done: u64,
    /// Requests recorded done of which the provider counted one effect: a record of two as one is not knowledge.
    pub(super) known_completed: u64,
    /// Requests reported failed that took hold.
    pub(super) false_failures: u64,
    /// Unknown requests that do not have one open incident.
    pub(super) unknowns_without_incident: u64,
    /// Unknown requests of a kind that must not end so.
    pub(super) unknowns_not_allowed: u64,
    /// Requests without a last word.
    pub(super) unsettled: u64,
    pub(super) workers_killed: u32,
    pub(super) operator_retries: u32,
    pub(super) seconds: f64,
}

impl Row {
    /// Counts one request: what its record says, and what really happened.
    fn count(&mut self, request: Request, record: Record, effects: u32, rejected: bool) {
        match record {
            Record::Done => {
                self.recorded_done += u64::from(effects > 0);
                self.known_completed += u64::from(effects == 1);
                self.lost_effects += u64::from(effects == 0);
            }
            Record::Failed => {
                self.false_failures += u64::from(effects > 0);
                self.lost_effects += u64::from(effects == 0 && !rejected);
            }
            Record::Unknown { incidents } => {
                self.unknowns += 1;
                self.incidents += incidents;
                self.unknowns_without_incident += u64::from(incidents != 1);
                self.unknowns_not_allowed += u64::from(request.kind() != Kind::Escalate);
            }
            Record::Unsettled => self.unsettled += 1,
        }
    }
}

/// Holds a side's records against the provider's.
pub(super) fn tally(
    side: Side,
    requests: u32,
    plan: Plan,
    truth: &Truth,
    ran: &SideResult,
    record: impl Fn(Request) -> Record,
) -> Row {
    let mut row = Row {
        side,
        requests: requests.into(),
        attempts: truth.calls + ran.refused,
        effects: truth.effects_in_all(),
        duplicate_effects: truth.duplicates(),
        lost_effects: 0,
        unknowns: 0,
        incidents: 0,
        recorded_done: 0,
        known_completed: 0,
        false_failures: 0,
        unknowns_without_incident: 0,
        unknowns_not_allowed: 0,
        unsettled: 0,
        workers_killed: ran.killed,
        operator_retries: ran.operator_retries,
        seconds: (ran.took.as_secs_f64() * 10.0).round() / 10.0,
    };
    for request in Request::all(requests) {
        let effects = truth.effects.get(&request.number()).copied().unwrap_or(0);
        row.count(request, record(request), effects, plan.rejects(request));
    }
    row
}

/// The records of the table side: what the table says, and what was given up.
pub(super) fn table_record(table: &HashMap<Request, Word>, ran: &SideResult, request: Request) -> Record {
    Record::of_word(table.get(&request).or_else(|| ran.words.get(&request)).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: u32 = 9;

    fn row(effects: &[(u32, u32)], record: impl Fn(u32) -> Record) -> Row {
        let truth = Truth { calls: 12, too_late: 0, effects: effects.iter().copied().collect() };
        let ran = SideResult { refused: 3, ..SideResult::default() };
        let rejects_none = |plan: &Plan| !Request::all(REQUESTS).any(|request| plan.rejects(request));
        let plan = (1..100).map(Plan::new).find(rejects_none).unwrap();
        tally(Side::Table, REQUESTS, plan, &truth, &ran, |request| record(request.number()))
    }

    #[test]
    fn effects_beyond_the_first_are_duplicates_and_are_not_known() {
        let row = row(&[(0, 1), (1, 3), (2, 2)], |_| Record::Done);
        assert_eq!((row.attempts, row.effects, row.duplicate_effects), (15, 6, 3));
        assert_eq!((row.recorded_done, row.known_completed), (3, 1));
        assert_eq!(row.lost_effects, 6, "reported done, and never happened");
    }

    #[test]
    fn what_was_given_up_is_lost_if_it_never_happened_and_a_false_failure_if_it_did() {
        let row = row(&[(4, 1)], |_| Record::Failed);
        assert_eq!((row.lost_effects, row.false_failures, row.known_completed), (8, 1, 0));
    }

    #[test]
    fn an_unknown_needs_one_open_incident_and_a_kind_that_may_end_so() {
        let row = row(&[(2, 1)], |number| match number {
            2 => Record::Unknown { incidents: 1 },
            5 => Record::Unknown { incidents: 0 },
            1 => Record::Unknown { incidents: 2 },
            _ => Record::Unsettled,
        });
        assert_eq!((row.unknowns, row.incidents, row.unknowns_without_incident), (3, 3, 2));
        assert_eq!((row.unknowns_not_allowed, row.unsettled, row.lost_effects), (1, 6, 0));
    }

    #[test]
    fn the_ledger_is_at_rest_only_when_completed_failed_for_good_or_unknown() {
        for (status, record) in [
            (Status::Completed, Record::Done),
            (Status::FailedFinal, Record::Failed),
            (Status::Unknown, Record::Unknown { incidents: 1 }),
            (Status::Started, Record::Unsettled),
            (Status::FailedRetryable, Record::Unsettled),
            (Status::Released, Record::Unsettled),
        ] {
            assert_eq!(Record::of_standing(Some((status, 1))), record);
        }
        assert_eq!(Record::of_standing(None), Record::Unsettled);
    }
}
