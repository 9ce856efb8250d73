//! Events in the user's own transaction.

use std::collections::HashMap;

use onefold_core::error::{DB_SERIALIZATION_RETRYABLE, EVENT_ID_REUSED, RUN_AGAIN};
use onefold_core::event::{EventId, NewEvent};
use onefold_core::port::{BoxFuture, StageOrder, Staged, StagedBy, Staging};
use onefold_core::{Error, Result};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use super::row;
use crate::Postgres;
use crate::error::translate;
use crate::ledger::row::{Query, get, query};

impl Staging for Postgres {
    fn stage<'a>(
        &'a self,
        connection: &'a mut PgConnection,
        events: &'a [NewEvent],
        order: StageOrder,
    ) -> BoxFuture<'a, Result<Vec<Staged>>> {
        Box::pin(async move {
            self.inner.track.check()?;
            if events.is_empty() {
                return Ok(Vec::new());
            }
            let columns = EventColumns::of(events)?;
            if order == StageOrder::LockAggregate {
                self.lock_aggregates(connection, &columns).await?;
            }
            let mut staged = self.insert_events(connection, &columns).await?;
            self.add_known(connection, events, &columns, &mut staged).await?;
            let missing = |event: &NewEvent| again(format!("event {} was staged by another transaction", event.id));
            events.iter().map(|event| staged.get(&event.id).copied().ok_or_else(|| missing(event))).collect()
        })
    }
}

impl Postgres {
    /// Two writers of one aggregate take their numbers one after the other.
    async fn lock_aggregates(&self, connection: &mut PgConnection, columns: &EventColumns) -> Result<()> {
        let lock = query(&self.inner.sql.lock_aggregates)
            .bind(columns.tenants.clone())
            .bind(columns.aggregate_types.clone())
            .bind(columns.aggregate_ids.clone());
        lock.execute(connection).await.map(drop).map_err(refused)
    }

    async fn insert_events(
        &self,
        connection: &mut PgConnection,
        columns: &EventColumns,
    ) -> Result<HashMap<EventId, Staged>> {
        let insert = columns.bind(query(&self.inner.sql.stage_events).bind(self.inner.clock.given()));
        let insert = insert.bind(columns.headers.clone()).bind(columns.correlation_ids.clone());
        let rows = insert.fetch_all(connection).await.map_err(refused)?;
        let written = |found: &PgRow| -> Result<(EventId, Staged)> {
            let id = EventId::parse(get(found, "id")?)?;
            Ok((id, Staged { id, seq: get(found, "seq")?, wrote: StagedBy::ThisTransaction }))
        };
        rows.iter().map(written).collect()
    }

    /// Those whose id was there before, or came twice: each must be the same event.
    async fn add_known(
        &self,
        connection: &mut PgConnection,
        events: &[NewEvent],
        columns: &EventColumns,
        staged: &mut HashMap<EventId, Staged>,
    ) -> Result<()> {
        if staged.len() == events.len() {
            return Ok(());
        }
        let find = columns.bind(query(&self.inner.sql.staged_events));
        for found in find.fetch_all(connection).await.map_err(refused)? {
            let id = EventId::parse(get(&found, "id")?)?;
            if !get::<bool>(&found, "same")? {
                return Err(Error::new(EVENT_ID_REUSED, format!("event {id} is staged already, and is another one")));
            }
            let wrote = if get(&found, "wrote_here")? { StagedBy::ThisTransaction } else { StagedBy::Earlier };
            staged.entry(id).or_insert(Staged { id, seq: get(&found, "seq")?, wrote });
        }
        Ok(())
    }
}

/// Events, a column each.
#[derive(Default)]
struct EventColumns {
    ids: Vec<String>,
    tenants: Vec<String>,
    aggregate_types: Vec<String>,
    aggregate_ids: Vec<String>,
    event_types: Vec<String>,
    schema_versions: Vec<i32>,
    payloads: Vec<Vec<u8>>,
    content_types: Vec<String>,
    headers: Vec<String>,
    correlation_ids: Vec<Option<String>>,
}

impl EventColumns {
    fn of(events: &[NewEvent]) -> Result<Self> {
        let mut columns = Self::default();
        for event in events {
            columns.ids.push(event.id.to_string());
            columns.tenants.push(event.aggregate.tenant.to_string());
            columns.aggregate_types.push(event.aggregate.aggregate_type.to_string());
            columns.aggregate_ids.push(event.aggregate.id.to_string());
            columns.event_types.push(event.event_type.to_string());
            columns.schema_versions.push(row::number("schema_version", i64::from(event.schema_version))?);
            columns.payloads.push(event.payload.to_vec());
            columns.content_types.push(event.content_type.to_string());
            columns.headers.push(row::json(&event.headers)?);
            columns.correlation_ids.push(event.correlation_id.as_deref().map(str::to_owned));
        }
        Ok(columns)
    }

    /// What makes an event the one it is.
    fn bind(&self, query: Query) -> Query {
        query
            .bind(self.ids.clone())
            .bind(self.tenants.clone())
            .bind(self.aggregate_types.clone())
            .bind(self.aggregate_ids.clone())
            .bind(self.event_types.clone())
            .bind(self.schema_versions.clone())
            .bind(self.payloads.clone())
            .bind(self.content_types.clone())
    }
}

/// A statement that failed. One that could not be put into an order with others runs again with its transaction.
fn refused(cause: sqlx::Error) -> Error {
    let error = translate(cause);
    if error.code() == DB_SERIALIZATION_RETRYABLE {
        return again("the event was staged by a transaction that this one cannot see").caused_by(error);
    }
    error
}

fn again(detail: impl Into<String>) -> Error {
    Error::new(RUN_AGAIN, detail).hint("roll back and run the whole transaction again, or begin it with READ COMMITTED")
}
