//! Retention: small slices, what is open is never touched, and the archive is written first.

use std::sync::Arc;

use onefold_core::archive::{Deletion, History};
use onefold_core::error::DATABASE_UNAVAILABLE;
use onefold_core::ledger::Entry;
use onefold_core::operation::KindName;
use onefold_core::port::{Archive, PruneRequest, Pruned};
use onefold_core::row::{Cell, key_cells, operation};
use onefold_core::{Error, Result, Timestamp};
use rusqlite::Connection;

use crate::ledger::maintenance::count;
use crate::ledger::row;
use crate::ledger::transition::{execute, find, in_transaction, query};
use crate::{Sqlite, sql};

impl Sqlite {
    /// One slice: found without holding the write lock, deleted after each row was looked at again.
    pub(crate) async fn prune_slice(&self, request: PruneRequest) -> Result<Pruned> {
        let request = Arc::new(request);
        let reading = Arc::clone(&request);
        let found = self.inner.reader.call(move |connection| find_prunable(connection, &reading)).await?;
        let more = found.len() >= request.limit;
        if request.dry_run || found.len() == 0 {
            return Ok(Pruned { operations: found.ids.len(), results: found.results.len(), more });
        }
        let archived = match &request.archive {
            Some(archive) => Some(self.archive(archive, &found).await?),
            None => None,
        };
        let clock = Arc::clone(&self.inner.clock);
        let deleted = self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| delete(connection, &found, archived.as_ref(), now))
        });
        deleted.await.map(|pruned| Pruned { more, ..pruned })
    }

    /// Writes to the archive what is to be deleted, and answers with what it wrote.
    async fn archive(&self, archive: &Arc<dyn Archive>, found: &Prunable) -> Result<Deletion> {
        let (ids, results) = (found.ids.clone(), found.results.clone());
        let histories = self.inner.reader.call(move |connection| {
            ids.into_iter().map(|entry| history(connection, entry)).collect::<Result<Vec<_>>>()
        });
        let deletion = Deletion { operations: histories.await?, results };
        let archive = Arc::clone(archive);
        // Writing a file blocks.
        let writing = tokio::task::spawn_blocking(move || archive.keep(&deletion).map(|()| deletion));
        writing.await.map_err(|cause| Error::new(DATABASE_UNAVAILABLE, "the archive was cut short").caused_by(cause))?
    }
}

/// Everything that is stored of an operation.
fn history(connection: &Connection, entry: Entry) -> Result<History> {
    let key = &entry.key;
    Ok(History {
        attempts: query(connection, &sql::LIST_ATTEMPTS, key_cells(key), row::attempt)?,
        notes: query(connection, &sql::LIST_NOTES, key_cells(key), row::note)?,
        incidents: query(connection, &sql::CLOSED_INCIDENTS, key_cells(key), row::incident)?,
        entry,
    })
}

#[derive(Default)]
struct Prunable {
    ids: Vec<Entry>,
    results: Vec<Entry>,
}

impl Prunable {
    fn len(&self) -> usize {
        self.ids.len() + self.results.len()
    }
}

fn find_prunable(connection: &Connection, request: &PruneRequest) -> Result<Prunable> {
    let (mut found, now) = (Prunable::default(), request.by.at());
    for (kind, retention) in &request.rules {
        let left = request.limit.saturating_sub(found.len());
        found.ids.extend(expired(connection, &sql::EXPIRED_IDS, kind, retention.id_for, now, left)?);
        let left = request.limit.saturating_sub(found.len());
        let results = expired(connection, &sql::EXPIRED_RESULTS, kind, retention.result_for, now, left)?;
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

fn delete(connection: &Connection, found: &Prunable, archived: Option<&Deletion>, now: Timestamp) -> Result<Pruned> {
    let mut pruned = Pruned::default();
    for (index, entry) in found.ids.iter().enumerate() {
        // Somebody may have opened an incident since, or said something of it that is not in the archive; then it stays.
        let Some(present) = find(connection, &entry.key)?.filter(|present| present == entry) else { continue };
        let kept = archived.and_then(|archived| archived.operations.get(index));
        if kept.is_some() && kept != Some(&history(connection, present)?) {
            continue;
        }
        for sql in [&sql::DELETE_ATTEMPTS, &sql::DELETE_NOTES, &sql::DELETE_INCIDENTS, &sql::DELETE_OPERATIONS] {
            execute(connection, sql, key_cells(&entry.key))?;
        }
        pruned.operations += 1;
    }
    for entry in &found.results {
        if find(connection, &entry.key)?.as_ref() == Some(entry) {
            execute(connection, &sql::UPDATE, operation::updating_cells(&entry.without_result(now)))?;
            pruned.results += 1;
        }
    }
    Ok(pruned)
}
