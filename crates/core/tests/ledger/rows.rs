//! Which columns each step writes: what stores leave out of their statements has not changed.

use std::collections::BTreeMap;

use onefold_core::effect::Policy;
use onefold_core::ledger::Entry;
use onefold_core::retry::Category;
use onefold_core::row::operation::{self, only_settles};
use onefold_core::row::{Cell, ColumnGroup, ColumnValue, Columns, WrongType, attempt, note};

use crate::fixture::{ASK, LedgerFixture, SAME_KEY, completed, retryable, secs, timed_out, with_evidence};

/// Cells as a driver gives them back.
struct Stored<'a>(&'a [Cell<'a>]);

impl Columns for Stored<'_> {
    fn int(&self, at: usize) -> ColumnValue<i64> {
        match &self.0[at] {
            Cell::Null => Ok(None),
            Cell::Int(value) => Ok(Some(*value)),
            Cell::Text(_) | Cell::Blob(_) => Err(WrongType),
        }
    }
    fn text(&self, at: usize) -> ColumnValue<&str> {
        match &self.0[at] {
            Cell::Null => Ok(None),
            Cell::Text(text) => Ok(Some(text)),
            Cell::Int(_) | Cell::Blob(_) => Err(WrongType),
        }
    }
    fn blob(&self, at: usize) -> ColumnValue<&[u8]> {
        match &self.0[at] {
            Cell::Null => Ok(None),
            Cell::Blob(bytes) => Ok(Some(bytes)),
            Cell::Int(_) | Cell::Text(_) => Err(WrongType),
        }
    }
}

/// The cells of an entry, by group and name.
fn by_group(entry: &Entry) -> BTreeMap<(ColumnGroup, &'static str), Cell<'_>> {
    let columns = operation::ALL.iter().map(|column| (column.group, column.name));
    columns.zip(operation::cells(entry)).collect()
}

/// A life with everything in it: a retry, an unknown outcome, a takeover, a completion.
fn lives() -> Vec<Vec<Entry>> {
    let mut lives = Vec::new();
    for policy in [Policy::Rerun, SAME_KEY, ASK, Policy::Void, Policy::Escalate] {
        let mut ledger = LedgerFixture::under(policy);
        let mut life = vec![ledger.granted(1).entry().clone()];
        ledger.record(1, retryable(Category::DownstreamUnavailable));
        life.push(ledger.entry().clone());
        life.push(ledger.wait(secs(3_600)).granted(2).entry().clone());
        ledger.record(2, timed_out());
        life.push(ledger.entry().clone());
        ledger.record(2, with_evidence("{\"notice\":\"N-1\"}"));
        life.push(ledger.entry().clone());
        lives.push(life);
    }
    lives
}

#[test]
fn a_first_grant_writes_nothing_but_the_columns_of_a_grant() {
    for life in lives() {
        let first = &life[0];
        for ((group, name), cell) in by_group(first) {
            assert!(
                !matches!(group, ColumnGroup::Ending | ColumnGroup::Trouble) || cell == Cell::Null,
                "{name}: {cell:?}"
            );
        }
        let granted: Vec<_> = operation::GRANTED.iter().map(|column| column.name).collect();
        assert!(granted.contains(&"lease_until") && !granted.contains(&"result"), "{granted:?}");
    }
}

#[test]
fn key_and_fixed_columns_never_change() {
    for life in lives() {
        let fixed = |entry: &Entry| -> Vec<String> {
            let cells = by_group(entry).into_iter().filter(|((group, _), _)| *group <= ColumnGroup::Fixed);
            cells.map(|cell| format!("{cell:?}")).collect()
        };
        for entry in &life {
            assert_eq!(fixed(entry), fixed(&life[0]));
        }
    }
}

#[test]
fn what_changes_the_row_alone_only_settles_and_what_needs_a_person_does_not() {
    for (outcome, settles) in
        [(completed("{}"), true), (retryable(Category::DownstreamTimeout), true), (timed_out(), false)]
    {
        let mut ledger = LedgerFixture::under(Policy::Escalate);
        let before = ledger.granted(1).entry().clone();
        ledger.wait(secs(1)).record(1, outcome.clone());
        assert_eq!(only_settles(&before, ledger.entry()), settles, "{outcome:?}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    for entry in lives().into_iter().flatten() {
        assert_eq!(operation::read(&Stored(&operation::cells(&entry))).unwrap(), entry);
    }
    let mut ledger = LedgerFixture::under(Policy::Escalate);
    ledger.granted(1).record(1, retryable(Category::DownstreamUnavailable));
    ledger.wait(secs(3_600)).granted(2);
    let past = &ledger.past[&1];
    assert_eq!(attempt::read(&Stored(&attempt::cells(past))).unwrap(), *past);
    let key = ledger.key();
    for said in &ledger.notes {
        assert_eq!(note::read(&Stored(&note::cells(&key, said))).unwrap(), *said);
    }
}

#[test]
fn a_value_that_cannot_be_read_is_told_by_its_column() {
    let mut ledger = LedgerFixture::under(Policy::Escalate);
    let entry = ledger.granted(1).entry().clone();
    let mut cells = operation::cells(&entry);
    let fence = operation::ALL.iter().position(|column| column.name == "fence").unwrap();
    cells[fence] = Cell::Null;
    assert_eq!(operation::read(&Stored(&cells)).unwrap_err().detail(), "column fence of a stored row is absent");
    cells[fence] = Cell::Text("one".into());
    assert_eq!(operation::read(&Stored(&cells)).unwrap_err().detail(), "column fence of a stored row cannot be read");
}
