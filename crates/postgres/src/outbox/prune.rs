//! Retention of events: small slices, each a commit of its own; what a relay has not passed stays.

use std::sync::atomic::Ordering;

use onefold_core::{Result, Timestamp};

use super::row;
use crate::Postgres;
use crate::error::translate;
use crate::ledger::maintenance::count;
use crate::ledger::row::{get, query};

/// Events that one statement looks at.
const SLICE: i64 = 1_000;

/// What became of a slice.
struct PrunedSlice {
    deleted: usize,
    /// The last event that was looked at; none where there are no more.
    last: Option<i64>,
    /// Events of it that are old enough.
    old: usize,
}

impl Postgres {
    /// Deletes up to so many. What is kept at the beginning is looked at once a pass and not once a slice: a call goes
    /// on where the one before it stopped.
    pub(super) async fn prune_outbox(&self, before: Timestamp, limit: usize) -> Result<usize> {
        let from = &self.inner.prune_events_from;
        let mut deleted = 0;
        while deleted < limit {
            let start = from.load(Ordering::Relaxed);
            let slice = self.answered(self.delete_events(start, limit - deleted, before)).await?;
            deleted += slice.deleted;
            match slice.last {
                // Numbers rise with time, so behind a slice without old events there are none.
                Some(last) if slice.old > 0 => from.store(last, Ordering::Relaxed),
                Some(_) | None => {
                    from.store(0, Ordering::Relaxed);
                    break;
                }
            }
        }
        self.answered(self.delete_pages(before, limit)).await?;
        Ok(deleted)
    }

    async fn delete_events(&self, start: i64, limit: usize, before: Timestamp) -> Result<PrunedSlice> {
        let mut transaction = self.inner.connected.begin().await?;
        let delete = query(&self.inner.sql.delete_events).bind(start).bind(SLICE).bind(before.as_micros());
        let delete = delete.bind(count(limit));
        let found = delete.fetch_one(&mut *transaction).await.map_err(translate)?;
        transaction.commit().await.map_err(translate)?;
        Ok(PrunedSlice {
            deleted: row::number("deleted", get(&found, "deleted")?)?,
            last: get(&found, "last")?,
            old: row::number("old", get(&found, "old")?)?,
        })
    }

    async fn delete_pages(&self, before: Timestamp, limit: usize) -> Result<()> {
        let mut transaction = self.inner.connected.begin().await?;
        let delete = query(&self.inner.sql.delete_pages).bind(before.as_micros()).bind(count(limit));
        delete.execute(&mut *transaction).await.map_err(translate)?;
        transaction.commit().await.map_err(translate)
    }
}
