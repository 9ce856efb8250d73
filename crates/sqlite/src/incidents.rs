//! Incidents that are not about an operation.

use std::sync::Arc;

use onefold_core::Result;
use onefold_core::port::{BoxFuture, IncidentWrite, SubjectChange};
use rusqlite::Connection;

use crate::Sqlite;
use crate::ledger::transition::{find_open_incident, in_transaction, write_incident};

impl IncidentWrite for Sqlite {
    fn change_incidents(&self, changes: Vec<SubjectChange>) -> BoxFuture<'_, Result<()>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, _| {
                changes.into_iter().try_for_each(|change| apply(connection, change))
            })
        }))
    }
}

/// Writes what a change makes of the open incident of its subject, within the caller's transaction.
pub(crate) fn apply(connection: &Connection, SubjectChange { tenant, subject, change }: SubjectChange) -> Result<()> {
    let open = find_open_incident(connection, &tenant, &subject)?;
    change.apply(open).map_or(Ok(()), |incident| write_incident(connection, &incident))
}
