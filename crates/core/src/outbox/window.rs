//! Windows between snapshots: what a relay publishes next, and in which order.
//!
//! A transaction takes its number at its first write and may wait for the aggregate afterwards, so a later event can
//! have a smaller number: neither numbers nor their lowest running one give an order. What two snapshots show does: an
//! event that the later one sees and the earlier one does not was committed in between, and among those `seq` rises
//! within an aggregate whose writers lock it first. An open transaction delays its own events and no others.

use std::fmt;

use crate::error::{DATABASE_CORRUPT, Error, Result};

/// What one statement of PostgreSQL saw: every transaction below `xmax` that was not running.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Snapshot {
    xmin: u64,
    xmax: u64,
    running: Vec<u64>,
}

impl Snapshot {
    /// The snapshot that sees every transaction below `xmax` except the running ones.
    pub fn new(xmax: u64, mut running: Vec<u64>) -> Self {
        running.retain(|txid| *txid < xmax);
        running.sort_unstable();
        Self { xmin: running.first().copied().unwrap_or(xmax), xmax, running }
    }

    /// Reads PostgreSQL's `xmin:xmax:running`.
    pub fn parse(text: &str) -> Result<Self> {
        let unreadable = || Error::new(DATABASE_CORRUPT, format!("{text:?} is not a snapshot"));
        let mut parts = text.split(':');
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok()).ok_or_else(unreadable);
        let (xmin, xmax) = (number()?, number()?);
        let running = parts.next().unwrap_or_default();
        let running: Option<Vec<u64>> =
            running.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect();
        Ok(Self { xmin, xmax, running: running.ok_or_else(unreadable)? })
    }

    /// Whether it sees what this transaction wrote, once that is committed.
    pub fn sees(&self, txid: u64) -> bool {
        txid < self.xmin || (txid < self.xmax && self.running.binary_search(&txid).is_err())
    }

    /// What it sees of the transactions below this number.
    #[must_use]
    pub fn before(&self, xmax: u64) -> Self {
        Self::new(xmax.min(self.xmax), self.running.clone())
    }

    /// The first number that no transaction had when it was taken.
    pub fn xmax(&self) -> u64 {
        self.xmax
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running: Vec<String> = self.running.iter().map(u64::to_string).collect();
        write!(f, "{}:{}:{}", self.xmin, self.xmax, running.join(","))
    }
}

/// Where an event lies: its number, and on PostgreSQL the transaction that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPlace {
    /// Its number.
    pub seq: i64,
    /// The transaction; 0 on a store with one writer.
    pub txid: u64,
}

/// One end of a window.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Horizon {
    /// On PostgreSQL: what a statement saw.
    Snapshot(Snapshot),
    /// On SQLite, which has one writer, so that `seq` is the order of commits: the last number that was seen.
    Seq(i64),
}

impl Horizon {
    /// Whether an event lies on this side of it.
    pub fn sees(&self, place: EventPlace) -> bool {
        match self {
            Self::Snapshot(snapshot) => snapshot.sees(place.txid),
            Self::Seq(seq) => place.seq <= *seq,
        }
    }
}

/// The events that `until` sees and `since` does not; delivered by `seq`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// What was delivered before.
    pub since: Horizon,
    /// What is delivered now.
    pub until: Horizon,
}

impl Window {
    /// Whether an event is delivered in this window.
    pub fn contains(&self, place: EventPlace) -> bool {
        self.until.sees(place) && !self.since.sees(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(text: &str) -> Snapshot {
        Snapshot::parse(text).unwrap()
    }

    #[test]
    fn a_snapshot_reads_back_as_the_server_writes_it() {
        for text in ["10:10:", "10:20:10,14,15", "7:9:7"] {
            assert_eq!(snapshot(text).to_string(), text);
        }
        for bad in ["", "10", "10:", "a:b:", "10:20:x"] {
            assert_eq!(Snapshot::parse(bad).unwrap_err().code(), DATABASE_CORRUPT, "{bad}");
        }
        assert_eq!(Snapshot::new(20, vec![15, 10, 14, 25]), snapshot("10:20:10,14,15"));
    }

    #[test]
    fn a_snapshot_sees_what_was_committed_when_it_was_taken() {
        let taken = snapshot("10:20:10,14");
        for (txid, seen) in [(9, true), (10, false), (11, true), (14, false), (19, true), (20, false), (21, false)] {
            assert_eq!(taken.sees(txid), seen, "{txid}");
        }
    }

    #[test]
    fn a_transaction_that_was_running_before_is_in_the_next_window_although_its_number_is_smaller() {
        let window =
            Window { since: Horizon::Snapshot(snapshot("10:20:10")), until: Horizon::Snapshot(snapshot("20:22:20")) };
        let contained: Vec<u64> = (8..24).filter(|txid| window.contains(EventPlace { seq: 1, txid: *txid })).collect();
        assert_eq!(contained, [10, 21]);
    }

    #[test]
    fn with_one_writer_a_window_is_a_range_of_numbers() {
        let window = Window { since: Horizon::Seq(3), until: Horizon::Seq(5) };
        let contained: Vec<i64> = (1..8).filter(|seq| window.contains(EventPlace { seq: *seq, txid: 0 })).collect();
        assert_eq!(contained, [4, 5]);
    }
}
