//! What the demo must show; anything else is said, and ends it with a failure.

use crate::tally::Row;

/// The three lines of the closing table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    pub(super) naive: Row,
    pub(super) table: Row,
    pub(super) onefold: Row,
}

impl Rows {
    pub(super) fn all(&self) -> [&Row; 3] {
        [&self.naive, &self.table, &self.onefold]
    }
}

/// Every rule that does not hold, as a sentence; none if the promise was seen.
pub(super) fn broken(rows: &Rows) -> Vec<String> {
    let mut broken = Vec::new();
    for row in [&rows.naive, &rows.table] {
        if row.duplicate_effects + row.lost_effects == 0 {
            broken.push(format!("the {} worker shows no duplicate and no loss: nothing was put to the test", row.side));
        }
    }
    let Row { known_completed, .. } = rows.onefold;
    for (count, what) in [
        (rows.onefold.duplicate_effects, "duplicate effects"),
        (rows.onefold.lost_effects, "lost effects"),
        (rows.onefold.false_failures, "requests reported failed that took hold"),
        (rows.onefold.unknowns_without_incident, "unknown outcomes without one open incident"),
        (rows.onefold.unknowns_not_allowed, "unknown outcomes of a kind that must not end so"),
        (rows.onefold.unsettled, "requests that did not come to rest"),
    ] {
        if count > 0 {
            broken.push(format!("onefold has {count} {what}, and must have none"));
        }
    }
    if known_completed < rows.table.known_completed {
        let table = rows.table.known_completed;
        broken.push(format!(
            "onefold knows of {known_completed} completed requests, fewer than the {table} of the table worker"
        ));
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Side;

    fn row(side: Side) -> Row {
        Row {
            side,
            requests: 300,
            attempts: 340,
            effects: 300,
            duplicate_effects: if side == Side::Onefold { 0 } else { 9 },
            lost_effects: 0,
            unknowns: 0,
            incidents: 0,
            recorded_done: 290,
            known_completed: 290,
            false_failures: 0,
            unknowns_without_incident: 0,
            unknowns_not_allowed: 0,
            unsettled: 0,
            workers_killed: 2,
            operator_retries: 1,
            seconds: 4.0,
        }
    }

    fn good() -> Rows {
        Rows { naive: row(Side::Naive), table: row(Side::Table), onefold: row(Side::Onefold) }
    }

    #[test]
    fn a_run_that_shows_the_promise_breaks_no_rule() {
        assert_eq!(broken(&good()), Vec::<String>::new());
    }

    #[test]
    fn unknowns_with_their_incidents_are_allowed_and_so_are_losses_instead_of_duplicates() {
        let mut rows = good();
        (rows.onefold.unknowns, rows.onefold.incidents) = (12, 12);
        (rows.table.duplicate_effects, rows.table.lost_effects) = (0, 1);
        assert_eq!(broken(&rows), Vec::<String>::new());
    }

    #[test]
    fn each_violated_rule_is_named_alone() {
        type Break = fn(&mut Rows);
        let cases: [(Break, &str); 9] = [
            (|rows| rows.naive.duplicate_effects = 0, "the naive worker shows no duplicate and no loss"),
            (|rows| rows.table.duplicate_effects = 0, "the table worker shows no duplicate and no loss"),
            (|rows| rows.onefold.duplicate_effects = 2, "2 duplicate effects"),
            (|rows| rows.onefold.lost_effects = 3, "3 lost effects"),
            (|rows| rows.onefold.false_failures = 4, "4 requests reported failed that took hold"),
            (|rows| rows.onefold.unknowns_without_incident = 5, "5 unknown outcomes without one open incident"),
            (|rows| rows.onefold.unknowns_not_allowed = 6, "6 unknown outcomes of a kind that must not end so"),
            (|rows| rows.onefold.unsettled = 7, "7 requests that did not come to rest"),
            (|rows| rows.onefold.known_completed = 289, "fewer than the 290 of the table worker"),
        ];
        for (break_it, sentence) in cases {
            let mut rows = good();
            break_it(&mut rows);
            let broken = broken(&rows);
            assert_eq!(broken.len(), 1, "{broken:?}");
            assert!(broken[0].contains(sentence), "{broken:?} does not say {sentence:?}");
        }
    }
}
