//! How far a ledger has come: what is remembered outside its database, and whether a database still is that ledger.
//!
//! A database counts in [`Position::mark`]: about once a second while something is written, and at a clean stop, the
//! mark is raised in a commit of its own and remembered in a synced file. Commits are durable in their order, so a
//! database that has a mark has everything that was acknowledged before it. What was acknowledged *after* the last
//! mark and is lost with the database cannot be noticed: that is the assumption beside the promise.

use std::fmt;

use crate::error::{Error, LEDGER_WENT_BACK};
use crate::time::Timestamp;

/// Which ledger it is. A new one begins with a new ledger, and whenever a person accepts one that went back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Generation(pub [u8; 16]);

impl Generation {
    /// The generation that is written as 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let shaped = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        shaped.then(|| u128::from_str_radix(text, 16).ok()).flatten().map(|number| Self(number.to_be_bytes()))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// How far a ledger had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Which ledger.
    pub generation: Generation,
    /// Rises with the ledger.
    pub mark: u64,
    /// When the mark was raised, for people.
    pub at: Timestamp,
}

/// What a database says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerState {
    /// Its generations, the present one last.
    pub generations: Vec<Generation>,
    /// Its mark.
    pub mark: u64,
    /// When the mark was raised.
    pub at: Timestamp,
    /// When this copy was made, until a person accepts it as the ledger.
    pub copied_at: Option<Timestamp>,
}

impl LedgerState {
    /// Its position; none before its first generation began.
    pub fn position(&self) -> Option<Position> {
        let generation = *self.generations.last()?;
        Some(Position { generation, mark: self.mark, at: self.at })
    }
}

/// Why a database is not the ledger that was last seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setback {
    /// There is none where there was one.
    Missing {
        /// What is remembered.
        remembered: Position,
    },
    /// It is another ledger.
    Different {
        /// What is remembered.
        remembered: Position,
    },
    /// It is an older state of this ledger.
    Behind {
        /// What is remembered.
        remembered: Position,
        /// When the database's own mark was raised.
        reaches: Timestamp,
    },
    /// It is a backup that was not accepted yet.
    Copy {
        /// When it was made.
        made: Timestamp,
    },
}

impl Setback {
    /// What is wrong with a database, if anything is; `found` is none where there is no ledger.
    ///
    /// A generation that the database has left behind was left by a person's acceptance, so it is fine wherever it is
    /// still remembered.
    pub fn of(remembered: Option<Position>, found: Option<&LedgerState>) -> Option<Self> {
        let Some(present) = found.and_then(LedgerState::position) else {
            return remembered.map(|remembered| Self::Missing { remembered });
        };
        if let Some(made) = found.and_then(|found| found.copied_at) {
            return Some(Self::Copy { made });
        }
        let remembered = remembered?;
        if remembered.generation == present.generation {
            let reaches = present.at;
            return (present.mark < remembered.mark).then_some(Self::Behind { remembered, reaches });
        }
        let left = found.is_some_and(|found| found.generations.contains(&remembered.generation));
        (!left).then_some(Self::Different { remembered })
    }

    /// The refusal.
    pub fn error(self) -> Error {
        let what = match self {
            Self::Missing { remembered } => {
                format!("there is no ledger in it, and there was one here, last seen {}", remembered.at)
            }
            Self::Different { remembered } => {
                format!("this is not the ledger that was last seen here ({})", remembered.at)
            }
            Self::Behind { remembered, reaches } => format!(
                "the ledger went back: it reaches {reaches}, and had come to {}; what was acknowledged in between is missing",
                remembered.at
            ),
            Self::Copy { made } => format!(
                "this is a backup of {made}; what was acknowledged since then is missing from it and would be performed again"
            ),
        };
        Error::new(LEDGER_WENT_BACK, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_micros(7);

    fn position(generation: u8, mark: u64) -> Position {
        Position { generation: Generation([generation; 16]), mark, at: AT }
    }

    fn state(generations: &[u8], mark: u64) -> LedgerState {
        let generations = generations.iter().map(|generation| Generation([*generation; 16])).collect();
        LedgerState { generations, mark, at: AT, copied_at: None }
    }

    #[test]
    fn a_ledger_that_came_as_far_or_further_is_the_one_that_was_seen() {
        for mark in [5, 6] {
            assert_eq!(Setback::of(Some(position(1, 5)), Some(&state(&[1], mark))), None);
        }
        assert_eq!(Setback::of(None, Some(&state(&[1], 0))), None, "nothing is remembered");
        assert_eq!(Setback::of(None, None), None, "a new ledger");
        assert_eq!(Setback::of(None, Some(&state(&[], 0))), None, "a new ledger");
    }

    #[test]
    fn a_ledger_that_went_back_is_gone_or_is_another_is_refused() {
        let remembered = position(1, 5);
        assert_eq!(
            Setback::of(Some(remembered), Some(&state(&[1], 4))),
            Some(Setback::Behind { remembered, reaches: AT })
        );
        assert_eq!(Setback::of(Some(remembered), Some(&state(&[2], 9))), Some(Setback::Different { remembered }));
        for empty in [None, Some(&state(&[], 0))] {
            assert_eq!(Setback::of(Some(remembered), empty), Some(Setback::Missing { remembered }));
        }
    }

    #[test]
    fn an_accepted_ledger_is_fine_wherever_its_earlier_generation_is_remembered() {
        assert_eq!(Setback::of(Some(position(1, 50)), Some(&state(&[1, 2], 3))), None);
        let remembered = position(2, 3);
        assert_eq!(Setback::of(Some(remembered), Some(&state(&[1], 50))), Some(Setback::Different { remembered }));
    }

    #[test]
    fn a_copy_is_refused_even_where_nothing_is_remembered() {
        let copy = LedgerState { copied_at: Some(AT), ..state(&[1], 5) };
        for remembered in [None, Some(position(1, 5)), Some(position(9, 1))] {
            assert_eq!(Setback::of(remembered, Some(&copy)), Some(Setback::Copy { made: AT }));
        }
    }

    #[test]
    fn a_generation_is_read_as_it_is_written() {
        let generation = Generation([0xab; 16]);
        assert_eq!(Generation::parse(&generation.to_string()), Some(generation));
        assert_eq!(Generation::parse("+0"), None);
    }
}
