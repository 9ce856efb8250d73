//! Retention: small slices, what is open is never touched, and the archive is written first.

use std::sync::Arc;

use onefold_core::error::DATABASE_UNAVAILABLE;
use onefold_core::ledger::Entry;
use onefold_core::operation::{KindName, OperationKey};
use onefold_core::persistence::columns::cells;
use onefold_core::ports::{PruneRequest, Pruned};
use onefold_core::{Error, Result, Timestamp};
use sqlx::{PgConnection, SqlStr};

use crate::Postgres;
use crate::error::translate;
use crate::keep::count;
use crate::row;
use crate::write::{Others, run};

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
        let now = self.server_time().await?;
        let found = self.answered(self.find_prunable(request, now)).await?;
        let more = found.len() >= request.limit;
        if request.dry_run || found.len() == 0 {
            return Ok(Pruned { operations: found.ids.len(), results: found.results.len(), more });
        }
        let found = Arc::new(found);
        if let (Some(archive), false) = (&request.archive, found.ids.is_empty()) {
            // Writing a file blocks.
            let (archive, kept) = (Arc::clone(archive), Arc::clone(&found));
            let cut_short = |cause| Error::new(DATABASE_UNAVAILABLE, "the archive was cut short").caused_by(cause);
            tokio::task::spawn_blocking(move || archive.keep(&kept.ids)).await.map_err(cut_short)??;
        }
        self.answered(self.delete(&found)).await.map(|pruned| Pruned { more, ..pruned })
    }

    async fn find_prunable(&self, request: &PruneRequest, now: Timestamp) -> Result<Prunable> {
        let (mut found, sql) = (Prunable::default(), &self.inner.sql);
        let mut transaction = self.inner.connected.begin().await?;
        for (kind, retention) in &request.rules {
            let left = request.limit.saturating_sub(found.len());
            let rule = |kept: Option<std::time::Duration>| kept.map(|kept| now.minus(kept));
            found.ids.extend(expired(&mut transaction, &sql.expired_ids, kind, rule(retention.id_for), left).await?);
            let left = request.limit.saturating_sub(found.len());
            let results =
                expired(&mut transaction, &sql.expired_results, kind, rule(retention.result_for), left).await?;
            found.results.extend(results.into_iter().filter(|entry| !entry.forgotten(retention, now)));
        }
        transaction.rollback().await.map_err(translate)?;
        Ok(found)
    }

    async fn delete(&self, found: &Prunable) -> Result<Pruned> {
        let mut transaction = self.inner.connected.begin().await?;
        let keys: Vec<_> = found.ids.iter().chain(&found.results).map(|entry| entry.key.clone()).collect();
        let locked = self.lock(&mut transaction, &keys, Others::LeaveOut).await?;
        // Somebody may have moved it or opened an incident since; then it stays.
        let unchanged = |entry: &&Entry| locked.entry(&entry.key) == Some(entry);
        let ids: Vec<&OperationKey> = found.ids.iter().filter(unchanged).map(|entry| &entry.key).collect();
        let results: Vec<Entry> =
            found.results.iter().filter(unchanged).map(|entry| entry.without_result(locked.now)).collect();
        let pruned = Pruned { operations: ids.len(), results: results.len(), more: false };
        let sql = &self.inner.sql;
        if !ids.is_empty() {
            for statement in [&sql.delete_attempts, &sql.delete_notes, &sql.delete_incidents, &sql.delete_operations] {
                run(&mut transaction, row::bind_keys(row::query(statement), ids.iter().copied())).await?;
            }
        }
        if !results.is_empty() {
            let rows: Vec<_> = results.iter().map(cells).collect();
            run(&mut transaction, row::bind_some_columns(row::query(&sql.update), &row::ENTRY, row::changing(), &rows))
                .await?;
        }
        transaction.commit().await.map_err(translate)?;
        Ok(pruned)
    }
}

async fn expired(
    connection: &mut PgConnection,
    sql: &SqlStr,
    kind: &KindName,
    before: Option<Timestamp>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let Some(before) = before.filter(|_| limit > 0) else {
        return Ok(Vec::new());
    };
    let query = row::query(sql).bind(kind.as_str()).bind(before.as_micros()).bind(count(limit));
    query.fetch_all(connection).await.map_err(translate)?.iter().map(row::entry).collect()
}
