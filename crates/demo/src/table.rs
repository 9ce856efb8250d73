//! The table that many teams build: look whether the operation was processed, act, write that it was.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use onefold_core::error::DATABASE_UNAVAILABLE;
use onefold_core::{Error, Result};
use rusqlite::{Connection, OptionalExtension as _};

use crate::request::Request;
use crate::word::Word;

const CREATE: &str = include_str!("../queries/create_processed.sql");
const FIND: &str = include_str!("../queries/find_processed.sql");
const LIST: &str = include_str!("../queries/list_processed.sql");
const KEEP: &str = include_str!("../queries/keep_processed.sql");

/// The processed operations of the table side; as durable as the ledger.
pub(super) struct Table {
    connection: Mutex<Connection>,
}

impl Table {
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(folder.join("table.db"))?;
            connection.busy_timeout(Duration::from_secs(30))?;
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.execute_batch(CREATE)?;
            Ok(connection)
        };
        Ok(Self { connection: Mutex::new(open().map_err(unreadable)?) })
    }

    /// What was written of a request. A table that cannot be read looks empty, as it does to those who build one.
    pub(super) fn find(&self, request: Request) -> Option<Word> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let found = connection.query_row(FIND, [request.to_string()], |row| row.get::<_, String>(0)).optional();
        Word::parse(&found.ok()??)
    }

    /// Writes how it ended; nothing is written of what was given up, so that it can be tried again.
    pub(super) fn keep(&self, request: Request, word: Word) {
        if !matches!(word, Word::Done | Word::Rejected) {
            return;
        }
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(cause) = connection.execute(KEEP, (request.to_string(), word.to_string())) {
            eprintln!("{request} was not written: {cause}");
        }
    }

    /// Everything that was written.
    pub(super) fn list(&self) -> Result<HashMap<Request, Word>> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || -> rusqlite::Result<Vec<(String, String)>> {
            let mut statement = connection.prepare(LIST)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        let rows = read().map_err(unreadable)?;
        Ok(rows.iter().filter_map(|(id, word)| Some((Request::parse(id)?, Word::parse(word)?))).collect())
    }
}

fn unreadable(cause: rusqlite::Error) -> Error {
    Error::new(DATABASE_UNAVAILABLE, format!("the demo's table: {cause}")).caused_by(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_is_found_again_and_what_was_given_up_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let table = Table::open(folder.path()).unwrap();
        let [done, rejected, failed] = [0, 1, 2].map(|number| Request::parse(&format!("REQ-{number}")).unwrap());
        for (request, word) in [(done, Word::Done), (rejected, Word::Rejected), (failed, Word::Failed)] {
            assert_eq!(table.find(request), None);
            table.keep(request, word);
            table.keep(request, word);
        }
        let reopened = Table::open(folder.path()).unwrap();
        assert_eq!(reopened.find(done), Some(Word::Done));
        assert_eq!(reopened.list().unwrap(), HashMap::from([(done, Word::Done), (rejected, Word::Rejected)]));
    }
}
