//! Retention: small slices, what is open is never touched, and the archive is written first.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use onefold_core::archive::{Deletion, History};
use onefold_core::error::DATABASE_UNAVAILABLE;
use onefold_core::ledger::Entry;
use onefold_core::operation::{KindName, OperationKey};
use onefold_core::port::{Archive, PruneRequest, Pruned};
use onefold_core::row::operation;
use onefold_core::{Error, Result, Timestamp};
use sqlx::{PgConnection, SqlStr};

use crate::Postgres;
use crate::error::translate;
use crate::ledger::maintenance::count;
use crate::ledger::row;
use crate::ledger::transition::{LockedElsewhere, run, write_rows};

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

impl Postgres {
    /// One slice: found without a lock, deleted in a short transaction after each row was looked at again. Pruners of
    /// several servers leave each other's rows out.
    pub(crate) async fn prune_slice(&self, request: &PruneRequest) -> Result<Pruned> {
        let found = self.answered(self.find_prunable(request)).await?;
        let more = found.len() >= request.limit;
        if request.dry_run || found.len() == 0 {
            return Ok(Pruned { operations: found.ids.len(), results: found.results.len(), more });
        }
        let archived = match &request.archive {
            Some(archive) => Some(self.archive(archive, &found).await?),
            None => None,
        };
        self.answered(self.delete(&found, archived.as_ref())).await.map(|pruned| Pruned { more, ..pruned })
    }

    /// Writes to the archive what is to be deleted, and answers with what it wrote.
    async fn archive(&self, archive: &Arc<dyn Archive>, found: &Prunable) -> Result<Deletion> {
        let operations = self.answered(self.histories(&found.ids)).await?;
        let deletion = Deletion { operations, results: found.results.clone() };
        let archive = Arc::clone(archive);
        // Writing a file blocks.
        let writing = tokio::task::spawn_blocking(move || archive.keep(&deletion).map(|()| deletion));
        writing.await.map_err(|cause| Error::new(DATABASE_UNAVAILABLE, "the archive was cut short").caused_by(cause))?
    }

    /// Everything that is stored of these operations.
    async fn histories(&self, entries: &[Entry]) -> Result<Vec<History>> {
        let sql = &self.inner.sql;
        let empty = |entry: &Entry| History {
            entry: entry.clone(),
            attempts: Vec::new(),
            notes: Vec::new(),
            incidents: Vec::new(),
        };
        let mut histories: Vec<History> = entries.iter().map(empty).collect();
        let places: HashMap<&OperationKey, usize> =
            entries.iter().enumerate().map(|(at, entry)| (&entry.key, at)).collect();
        let of_keys = |sql| row::bind_keys(row::query(sql), entries.iter().map(|entry| &entry.key));
        let mut transaction = self.inner.connected.begin().await?;
        for found in of_keys(&sql.attempts_of).fetch_all(&mut *transaction).await.map_err(translate)? {
            let attempt = row::attempt(&found)?;
            if let Some(at) = places.get(&attempt.key) {
                histories[*at].attempts.push(attempt);
            }
        }
        for found in of_keys(&sql.notes_of).fetch_all(&mut *transaction).await.map_err(translate)? {
            if let Some(at) = places.get(&row::key(&found)?) {
                histories[*at].notes.push(row::note(&found)?);
            }
        }
        for found in of_keys(&sql.closed_incidents).fetch_all(&mut *transaction).await.map_err(translate)? {
            let incident = row::incident(&found)?;
            if let Some(at) = incident.operation_key().and_then(|key| places.get(&key)) {
                histories[*at].incidents.push(incident);
            }
        }
        transaction.rollback().await.map_err(translate)?;
        Ok(histories)
    }

    async fn find_prunable(&self, request: &PruneRequest) -> Result<Prunable> {
        let (mut found, sql, now) = (Prunable::default(), &self.inner.sql, request.by.at());
        let mut transaction = self.inner.connected.begin().await?;
        for (kind, retention) in &request.rules {
            let by = |kept: Option<std::time::Duration>| kept.map(|kept| now.minus(kept));
            let left = request.limit.saturating_sub(found.len());
            let rule = Rule { sql: &sql.expired_ids, what: PrunedPart::Id, kind, by: by(retention.id_for) };
            found.ids.extend(self.expired(&mut transaction, &rule, request, left).await?);
            let left = request.limit.saturating_sub(found.len());
            let rule = Rule { sql: &sql.expired_results, what: PrunedPart::Result, kind, by: by(retention.result_for) };
            let results = self.expired(&mut transaction, &rule, request, left).await?;
            found.results.extend(results.into_iter().filter(|entry| !entry.forgotten(retention, now)));
        }
        transaction.rollback().await.map_err(translate)?;
        Ok(found)
    }

    /// What a rule finds: from where the slice before it stopped to the end, then from the beginning to there. What is
    /// kept at the beginning is read once a pass and not once a slice, and fewer than were asked for is all there is.
    async fn expired(
        &self,
        connection: &mut PgConnection,
        rule: &Rule<'_>,
        request: &PruneRequest,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let Some(by) = rule.by.filter(|_| limit > 0) else {
            return Ok(Vec::new());
        };
        let place = (rule.kind.clone(), rule.what);
        let start = if request.dry_run { None } else { self.inner.prune_places.get(&place) };
        let start = start.filter(|start| *start <= by);
        let mut found = rule.find(connection, start.unwrap_or_default()..=by, limit).await?;
        if let (Some(start), true) = (start, found.len() < limit) {
            let before = Timestamp::default()..=start.minus(std::time::Duration::from_micros(1));
            let left = limit - found.len();
            found.extend(rule.find(connection, before, left).await?);
        }
        if !request.dry_run {
            let next = found.last().filter(|_| found.len() >= limit).map(|entry| entry.created_at);
            self.inner.prune_places.keep(place, next);
        }
        Ok(found)
    }

    async fn delete(&self, found: &Prunable, archived: Option<&Deletion>) -> Result<Pruned> {
        let mut transaction = self.inner.connected.begin().await?;
        let keys: Vec<_> = found.ids.iter().chain(&found.results).map(|entry| entry.key.clone()).collect();
        let locked = self.lock(&mut transaction, &keys, LockedElsewhere::LeaveOut).await?;
        // Somebody may have moved it or opened an incident since; then it stays.
        let unchanged = |entry: &Entry| locked.entry(&entry.key) == Some(entry);
        let ids: Vec<usize> = (0..found.ids.len()).filter(|at| unchanged(&found.ids[*at])).collect();
        let results: Vec<Entry> = found
            .results
            .iter()
            .filter(|entry| unchanged(entry))
            .map(|entry| entry.without_result(locked.now))
            .collect();
        let pruned = Pruned { operations: ids.len(), results: results.len(), more: false };
        let sql = &self.inner.sql;
        if !ids.is_empty() {
            let mut histories = 0;
            for statement in [&sql.delete_attempts, &sql.delete_notes, &sql.delete_incidents] {
                let keys = ids.iter().map(|at| &found.ids[*at].key);
                let deleting = row::bind_keys(row::query(statement), keys).execute(&mut *transaction);
                histories += deleting.await.map_err(translate)?.rows_affected();
            }
            // What was said after the archive was written is not in it: then nothing is deleted, and all of it next time.
            if archived.is_some_and(|archived| rows(archived, &ids) != histories) {
                transaction.rollback().await.map_err(translate)?;
                return Ok(Pruned::default());
            }
            let keys = ids.iter().map(|at| &found.ids[*at].key);
            run(&mut transaction, row::bind_keys(row::query(&sql.delete_operations), keys)).await?;
        }
        let rows: Vec<_> = results.iter().map(operation::updating_cells).collect();
        write_rows(&mut transaction, &sql.update, &operation::UPDATING, &rows).await?;
        transaction.commit().await.map_err(translate)?;
        Ok(pruned)
    }
}

/// Attempts, notes and incidents of these operations in the archive.
fn rows(archived: &Deletion, ids: &[usize]) -> u64 {
    let histories = ids.iter().filter_map(|at| archived.operations.get(*at));
    histories.map(|history| (history.attempts.len() + history.notes.len() + history.incidents.len()) as u64).sum()
}

/// Which operations of a kind may lose what.
struct Rule<'a> {
    sql: &'a SqlStr,
    what: PrunedPart,
    kind: &'a KindName,
    /// What was completed by then; nothing without it.
    by: Option<Timestamp>,
}

impl Rule<'_> {
    /// Those created in this time.
    async fn find(
        &self,
        connection: &mut PgConnection,
        created: RangeInclusive<Timestamp>,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let query = row::query(self.sql)
            .bind(self.kind.as_str())
            .bind(self.by.map(Timestamp::as_micros))
            .bind(created.start().as_micros())
            .bind(created.end().as_micros())
            .bind(count(limit));
        query.fetch_all(connection).await.map_err(translate)?.iter().map(row::entry).collect()
    }
}

/// What a rule drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum PrunedPart {
    Id,
    Result,
}

/// Where the slices of a pass stopped: at which creation.
#[derive(Default)]
pub(crate) struct PrunePlaces(Mutex<HashMap<(KindName, PrunedPart), Timestamp>>);

impl PrunePlaces {
    fn get(&self, rule: &(KindName, PrunedPart)) -> Option<Timestamp> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(rule).copied()
    }

    /// Remembers a place; the next pass begins at the beginning without one.
    fn keep(&self, rule: (KindName, PrunedPart), place: Option<Timestamp>) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match place {
            Some(place) => places.insert(rule, place),
            None => places.remove(&rule),
        };
    }
}
