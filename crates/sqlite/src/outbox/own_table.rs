//! A table of one's own is read on PostgreSQL only.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::error::RELAY_TABLE_INVALID;
use onefold_core::outbox::{EventPatterns, OwnTable, RowMark};
use onefold_core::port::{BoxFuture, CheckedTable, OwnTableStore, RowCounts, SubjectChange, TakenRows};
use onefold_core::{Error, Result, Timestamp};

use crate::Sqlite;

impl OwnTableStore for Sqlite {
    fn check_table(&self, table: OwnTable) -> BoxFuture<'_, Result<CheckedTable>> {
        Box::pin(std::future::ready(Err(refused(&table))))
    }

    fn take_rows(
        &self,
        table: CheckedTable,
        _events: EventPatterns,
        _lease_for: Duration,
        _limit: usize,
    ) -> BoxFuture<'_, Result<TakenRows>> {
        Box::pin(std::future::ready(Err(refused(&table.table))))
    }

    fn mark_rows(
        &self,
        table: CheckedTable,
        _lease_until: Timestamp,
        _marks: Vec<(Arc<str>, RowMark)>,
        _incidents: Vec<SubjectChange>,
    ) -> BoxFuture<'_, Result<()>> {
        Box::pin(std::future::ready(Err(refused(&table.table))))
    }

    fn count_rows(&self, table: CheckedTable, _events: EventPatterns) -> BoxFuture<'_, Result<RowCounts>> {
        Box::pin(std::future::ready(Err(refused(&table.table))))
    }
}

fn refused(table: &OwnTable) -> Error {
    Error::new(RELAY_TABLE_INVALID, format!("table {} cannot be relayed from SQLite", table.quoted()))
        .hint("a table of one's own needs PostgreSQL; here, stage events in the outbox: outbox.stage(&mut tx, &event)")
}
