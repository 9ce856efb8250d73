//! Retention: small slices, what is open is never touched, and the archive is written first.

use std::sync::Arc;

use onefold_core::ledger::Entry;
use onefold_core::operation::KindName;
use onefold_core::ports::{PruneRequest, Pruned};
use onefold_core::{Result, Timestamp};
use rusqlite::Connection;

use crate::keep::count;
use crate::row::{self, Cell};
use crate::write::{execute, find, in_transaction, query};
use crate::{Sqlite, sql};

impl Sqlite {
    /// One slice: found without holding the write lock, deleted after each row was looked at again.
    pub(crate) async fn prune_slice(&self, request: PruneRequest) -> Result<Pruned> {
        let request = Arc::new(request);
        let clock = Arc::clone(&self.inner.clock);
        let reading = Arc::clone(&request);
        let found = self.inner.reader.call(move |connection| find_prunable(connection, &reading, clock.now())).await?;
        let more = found.ids.len() + found.results.len() >= request.limit;
        if request.dry_run {
            return Ok(Pruned { operations: found.ids.len(), results: found.results.len(), more });
        }
        if let (Some(archive), false) = (&request.archive, found.ids.is_empty()) {
            archive.keep(&found.ids)?;
        }
        let clock = Arc::clone(&self.inner.clock);
        let deleted = self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| delete(connection, &found, now))
        });
        deleted.await.map(|pruned| Pruned { more, ..pruned })
    }
}

#[derive(Default)]
struct Prunable {
    ids: Vec<Entry>,
    results: Vec<Entry>,
}

fn find_prunable(connection: &Connection, request: &PruneRequest, now: Timestamp) -> Result<Prunable> {
    let mut found = Prunable::default();
    for (kind, retention) in &request.rules {
        let left = request.limit.saturating_sub(found.ids.len() + found.results.len());
        found.ids.extend(expired(connection, sql::EXPIRED_IDS, kind, retention.id_for, now, left)?);
        let left = request.limit.saturating_sub(found.ids.len() + found.results.len());
        let results = expired(connection, sql::EXPIRED_RESULTS, kind, retention.result_for, now, left)?;
        found.results.extend(results.into_iter().filter(|entry| !entry.forgotten(retention, now)));
    }
    Ok(found)
}

fn expired(
    connection: &Connection,
    sql: &str,
    kind: &KindName,
    kept_for: Option<std::time::Duration>,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Entry>> {
    let Some(kept_for) = kept_for else {
        return Ok(Vec::new());
    };
    let cells = [Cell::Text(kind.as_str().to_owned().into()), Cell::Int(now.minus(kept_for).as_micros()), count(limit)];
    query(connection, sql, cells, |found| row::entry(found))
}

fn delete(connection: &Connection, found: &Prunable, now: Timestamp) -> Result<Pruned> {
    let mut pruned = Pruned::default();
    for entry in &found.ids {
        // Somebody may have opened an incident since; then it stays.
        if find(connection, &entry.key)?.as_ref() == Some(entry) {
            for sql in [sql::DELETE_ATTEMPTS, sql::DELETE_NOTES, sql::DELETE_INCIDENTS, sql::DELETE_OPERATIONS] {
                execute(connection, sql, row::key_cells(&entry.key))?;
            }
            pruned.operations += 1;
        }
    }
    for entry in &found.results {
        if find(connection, &entry.key)?.as_ref() == Some(entry) {
            execute(connection, sql::UPDATE, row::cells(&entry.without_result(now)))?;
            pruned.results += 1;
        }
    }
    Ok(pruned)
}
