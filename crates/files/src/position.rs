//! How far a ledger had come, in a file outside its database.

use std::io;
use std::path::{Path, PathBuf};

use onefold_core::error::{DATABASE_READ_ONLY, LEDGER_WENT_BACK};
use onefold_core::position::{Generation, Position};
use onefold_core::{Error, Result, Timestamp};
use serde::{Deserialize, Serialize};

use crate::synced::replace;

/// The file that remembers a ledger's position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionFile {
    path: PathBuf,
}

/// The file's content.
#[derive(Serialize, Deserialize)]
struct PositionRecord {
    generation: String,
    mark: u64,
    at: String,
}

impl PositionFile {
    /// The file at this path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The file that belongs to a database file, beside it.
    pub fn beside(database: &Path) -> Self {
        let mut name = database.as_os_str().to_owned();
        name.push(".position");
        Self::at(name)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is remembered; nothing where there is no file.
    pub fn read(&self) -> Result<Option<Position>> {
        match std::fs::read(&self.path) {
            Ok(bytes) => parse(&bytes).map(Some).ok_or_else(|| self.unreadable()),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(self.unusable(cause)),
        }
    }

    /// Remembers a position, unless a later one of the same ledger is remembered already.
    pub fn raise(&self, to: &Position) -> Result<()> {
        let passed =
            || matches!(self.read(), Ok(Some(known)) if known.generation == to.generation && known.mark >= to.mark);
        self.write(to, || !passed())
    }

    /// Remembers a position whatever is remembered: a person accepted the ledger as it is.
    pub fn accept(&self, position: &Position) -> Result<()> {
        self.write(position, || true)
    }

    fn write(&self, position: &Position, needed: impl FnOnce() -> bool) -> Result<()> {
        let remembered = PositionRecord {
            generation: position.generation.to_string(),
            mark: position.mark,
            at: position.at.to_string(),
        };
        let text = serde_json::json!(remembered).to_string();
        replace(&self.path, format!("{text}\n").as_bytes(), needed).map_err(|cause| self.unusable(cause))
    }

    fn unreadable(&self) -> Error {
        Error::new(
            LEDGER_WENT_BACK,
            format!("{} cannot be read, so it is unknown how far the ledger had come", self.path.display()),
        )
    }

    fn unusable(&self, cause: io::Error) -> Error {
        Error::new(DATABASE_READ_ONLY, format!("{}: {cause}", self.path.display())).caused_by(cause)
    }
}

fn parse(bytes: &[u8]) -> Option<Position> {
    let remembered: PositionRecord = serde_json::from_slice(bytes).ok()?;
    Some(Position {
        generation: Generation::parse(&remembered.generation)?,
        mark: remembered.mark,
        at: Timestamp::parse(&remembered.at)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(generation: u8, mark: u64) -> Position {
        Position { generation: Generation([generation; 16]), mark, at: Timestamp::from_micros(1_000_000) }
    }

    #[test]
    fn a_position_is_read_back_and_never_lowered_within_a_generation() {
        let folder = tempfile::tempdir().unwrap();
        let file = PositionFile::beside(&folder.path().join("onefold.db"));
        assert_eq!(file.read().unwrap(), None);
        for (written, read) in [(5, 5), (4, 5), (6, 6)] {
            file.raise(&position(1, written)).unwrap();
            assert_eq!(file.read().unwrap(), Some(position(1, read)));
        }
        file.raise(&position(2, 1)).unwrap();
        assert_eq!(file.read().unwrap(), Some(position(2, 1)), "another generation counts anew");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_taken_for_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = PositionFile::at(folder.path().join("x"));
        for torn in ["", "{", "{\"generation\":\"00\",\"mark\":1,\"at\":\"1970-01-01T00:00:00Z\"}"] {
            std::fs::write(file.path(), torn).unwrap();
            assert_eq!(file.read().unwrap_err().code(), LEDGER_WENT_BACK, "{torn}");
        }
    }
}
