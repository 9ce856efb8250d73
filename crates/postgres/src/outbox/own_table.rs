//! A team's own table: its columns are checked, its rows are taken, put off and marked. Every name is quoted.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use onefold_core::error::RELAY_TABLE_INVALID;
use onefold_core::event::{Aggregate, AggregateType, EventId, EventType, NewEvent, StoredEvent};
use onefold_core::operation::Tenant;
use onefold_core::outbox::{EventPatterns, OwnTable, RowMark, SqlName};
use onefold_core::port::{
    BoxFuture, CheckedTable, OwnTableStore, PayloadColumn, RowCounts, SubjectChange, TakenRow, TakenRows,
};
use onefold_core::{Error, Result, Timestamp};
use sqlx::SqlStr;
use sqlx::postgres::PgRow;

use super::row;
use crate::Postgres;
use crate::error::translate;
use crate::incidents;
use crate::ledger::maintenance::count;
use crate::ledger::row::{get, query};
use crate::sql::named;

/// A column as the database has it.
struct FoundColumn {
    name: String,
    holds: String,
    unique_alone: bool,
}

impl OwnTableStore for Postgres {
    fn check_table(&self, table: OwnTable) -> BoxFuture<'_, Result<CheckedTable>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let asked = query(&store.inner.sql.own_table_columns).bind(table.quoted());
            let rows = store.rows(asked).await?;
            let found = rows.iter().map(found_column).collect::<Result<Vec<_>>>()?;
            checked(table, &found)
        }))
    }

    fn take_rows(
        &self,
        table: CheckedTable,
        events: EventPatterns,
        lease_for: Duration,
        limit: usize,
    ) -> BoxFuture<'_, Result<TakenRows>> {
        let store = self.clone();
        Box::pin(Self::detached(
            async move { store.answered(store.take_own_rows(&table, &events, lease_for, limit)).await },
        ))
    }

    fn mark_rows(
        &self,
        table: CheckedTable,
        lease_until: Timestamp,
        marks: Vec<(Arc<str>, RowMark)>,
        incidents: Vec<SubjectChange>,
    ) -> BoxFuture<'_, Result<()>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            store.repeated(|| store.mark_own_rows(&table, lease_until, &marks, &incidents)).await
        }))
    }

    fn count_rows(&self, table: CheckedTable, events: EventPatterns) -> BoxFuture<'_, Result<RowCounts>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let counting = statement(&store.inner.sql.count_own_rows, &table);
            let rows = store.rows(query(&counting).bind(row::json(&events)?)).await?;
            rows.first().map_or_else(|| Err(unfit("its rows were not counted".to_owned())), row_counts)
        }))
    }
}

impl Postgres {
    async fn take_own_rows(
        &self,
        checked: &CheckedTable,
        events: &EventPatterns,
        lease_for: Duration,
        limit: usize,
    ) -> Result<TakenRows> {
        let mut transaction = self.inner.connected.begin().await?;
        let now = self.time_on(&mut transaction).await?;
        let lease_until = now.plus(lease_for);
        let take = query(&statement(&self.inner.sql.take_own_rows, checked))
            .bind(now.as_micros())
            .bind(lease_until.as_micros())
            .bind(row::json(events)?)
            .bind(count(limit));
        let rows = take.fetch_all(&mut *transaction).await.map_err(translate)?;
        transaction.commit().await.map_err(translate)?;
        let name = checked.table.quoted();
        let rows = rows.iter().map(|found| taken(&name, found)).collect::<Result<Vec<_>>>()?;
        Ok(TakenRows { rows, now, lease_until })
    }

    async fn mark_own_rows(
        &self,
        checked: &CheckedTable,
        lease_until: Timestamp,
        marks: &[(Arc<str>, RowMark)],
        incidents: &[SubjectChange],
    ) -> Result<()> {
        let mut transaction = self.inner.connected.begin_durable().await?;
        let now = self.time_on(&mut transaction).await?;
        let said = |mark: &RowMark| match mark {
            RowMark::Again { code, reason, .. } | RowMark::Parked { code, reason } => Some(format!("{code}: {reason}")),
            RowMark::Published | RowMark::PutBack => None,
        };
        let at = |mark: &RowMark| match mark {
            RowMark::Again { at, .. } => at.as_micros(),
            RowMark::Published | RowMark::Parked { .. } | RowMark::PutBack => 0,
        };
        let marking = query(&statement(&self.inner.sql.mark_own_rows, checked))
            .bind(now.as_micros())
            .bind(lease_until.as_micros())
            .bind(marks.iter().map(|(key, _)| key.to_string()).collect::<Vec<_>>())
            .bind(marks.iter().map(|(_, mark)| mark_name(mark)).collect::<Vec<_>>())
            .bind(marks.iter().map(|(_, mark)| at(mark)).collect::<Vec<_>>())
            .bind(marks.iter().map(|(_, mark)| said(mark)).collect::<Vec<_>>());
        marking.execute(&mut *transaction).await.map_err(translate)?;
        for change in incidents {
            incidents::apply(&mut transaction, &self.inner.sql, change.clone()).await?;
        }
        transaction.commit().await.map_err(translate)
    }
}

/// A statement on this table.
fn statement(template: &SqlStr, checked: &CheckedTable) -> SqlStr {
    let columns = &checked.table.columns;
    let column = |name: &SqlName| name.quoted();
    let or = |name: &Option<SqlName>, cast: &str, absent: &str| {
        name.as_ref().map_or_else(|| absent.to_owned(), |name| format!("t.{}::{cast}", name.quoted()))
    };
    let payload = columns.payload.quoted();
    let payload = match checked.payload {
        PayloadColumn::Bytes => format!("t.{payload}"),
        PayloadColumn::Text => format!("convert_to(t.{payload}::text, 'UTF8')"),
    };
    let error = columns.error.as_ref();
    let error = error.map(|name| format!(",\n    {0} = coalesce(m.error, t.{0})", name.quoted())).unwrap_or_default();
    let places: [(&str, String); 17] = [
        ("table", checked.table.quoted()),
        ("id", column(&columns.id)),
        ("id_type", checked.id_type.clone()),
        ("aggregate_type", column(&columns.aggregate_type)),
        ("aggregate_id", column(&columns.aggregate_id)),
        ("type", column(&columns.event_type)),
        ("payload", payload),
        ("created_at", column(&columns.created_at)),
        ("published_at", column(&columns.published_at)),
        ("next_attempt_at", column(&columns.next_attempt_at)),
        ("attempts", column(&columns.attempts)),
        ("tenant", or(&columns.tenant, "text", "'default'::text")),
        ("schema_version", or(&columns.schema_version, "bigint", "1::bigint")),
        ("content_type", or(&columns.content_type, "text", "'application/json'::text")),
        ("headers", or(&columns.headers, "text", "'{}'::text")),
        ("correlation_id", or(&columns.correlation_id, "text", "NULL::text")),
        ("error", error),
    ];
    named(template, &places)
}

fn mark_name(mark: &RowMark) -> &'static str {
    match mark {
        RowMark::Published => "published",
        RowMark::Again { .. } => "again",
        RowMark::Parked { .. } => "parked",
        RowMark::PutBack => "put back",
    }
}

fn found_column(found: &PgRow) -> Result<FoundColumn> {
    Ok(FoundColumn { name: get(found, "name")?, holds: get(found, "type")?, unique_alone: get(found, "unique_alone")? })
}

const TIME: &[&str] = &["timestamp with time zone"];
const NUMBER: &[&str] = &["smallint", "integer", "bigint"];
const TEXT: &[&str] = &["text", "character varying", "character"];
const PAYLOAD: &[&str] = &["bytea", "text", "character varying", "json", "jsonb"];
const HEADERS: &[&str] = &["text", "character varying", "json", "jsonb"];
const ANY: &[&str] = &[];

/// The table, where it has every column that is named, each of a type that can be read or written.
fn checked(table: OwnTable, found: &[FoundColumn]) -> Result<CheckedTable> {
    let name = table.quoted();
    if found.is_empty() {
        return Err(unfit(format!("there is no table {name}"))
            .hint("create it, or name it with its schema: table = \"app.outbox\"; names are taken letter by letter"));
    }
    let columns = &table.columns;
    let needed: [(&str, Option<&SqlName>, &[&str]); 15] = [
        ("id", Some(&columns.id), ANY),
        ("aggregate_type", Some(&columns.aggregate_type), ANY),
        ("aggregate_id", Some(&columns.aggregate_id), ANY),
        ("type", Some(&columns.event_type), ANY),
        ("payload", Some(&columns.payload), PAYLOAD),
        ("created_at", Some(&columns.created_at), TIME),
        ("published_at", Some(&columns.published_at), TIME),
        ("next_attempt_at", Some(&columns.next_attempt_at), TIME),
        ("attempts", Some(&columns.attempts), NUMBER),
        ("tenant", columns.tenant.as_ref(), ANY),
        ("schema_version", columns.schema_version.as_ref(), NUMBER),
        ("content_type", columns.content_type.as_ref(), ANY),
        ("headers", columns.headers.as_ref(), HEADERS),
        ("correlation_id", columns.correlation_id.as_ref(), ANY),
        ("error", columns.error.as_ref(), TEXT),
    ];
    for (key, column, holds) in needed {
        let Some(column) = column else { continue };
        let known = found.iter().find(|found| found.name == column.as_str()).ok_or_else(|| {
            unfit(format!("table {name} has no column {}", column.quoted())).hint(format!(
                "add it, or say what it is called: columns = {{ {key} = \"NAME\" }}; names are taken letter by letter"
            ))
        })?;
        if !holds.is_empty() && !holds.contains(&known.holds.as_str()) {
            let what = format!("column {} of table {name} is {}", column.quoted(), known.holds);
            return Err(unfit(what).hint(format!("{key} is one of: {}", holds.join(", "))));
        }
    }
    let of = |column: &SqlName| found.iter().find(|found| found.name == column.as_str());
    let id = of(&columns.id).filter(|id| id.unique_alone).ok_or_else(|| {
        unfit(format!("column {} of table {name} is not unique", columns.id.quoted()))
            .hint("make it the primary key, or give it a unique index: a row is marked by it")
    })?;
    let bytes = of(&columns.payload).is_some_and(|payload| payload.holds == "bytea");
    let payload = if bytes { PayloadColumn::Bytes } else { PayloadColumn::Text };
    Ok(CheckedTable { id_type: id.holds.clone(), table, payload })
}

fn unfit(what: String) -> Error {
    Error::new(RELAY_TABLE_INVALID, what)
}

fn row_counts(found: &PgRow) -> Result<RowCounts> {
    Ok(RowCounts {
        waiting: row::number("waiting", get(found, "waiting")?)?,
        oldest: get::<Option<i64>>(found, "oldest")?.map(Timestamp::from_micros),
        parked: row::number("parked", get(found, "parked")?)?,
        refused: row::number("refused", get(found, "refused")?)?,
    })
}

/// The row as an event, or why it cannot be one.
fn taken(table: &str, found: &PgRow) -> Result<TakenRow> {
    let key: &str = get(found, "id")?;
    let id = EventId::of_row(table, key);
    let attempts = u32::try_from(get::<i64>(found, "attempts")?).unwrap_or(u32::MAX);
    let event = event(id, found).map(Arc::new).map_err(|error| error.detail().to_owned());
    Ok(TakenRow { key: Arc::from(key), id, event, attempts })
}

fn event(id: EventId, found: &PgRow) -> Result<StoredEvent> {
    let text = |column: &'static str| -> Result<&str> {
        get::<Option<&str>>(found, column)?.ok_or_else(|| unfit(format!("{column} of the row is null")))
    };
    let created_at: Option<i64> = get(found, "created_at")?;
    let created_at = created_at.ok_or_else(|| unfit("created_at of the row is null".to_owned()))?;
    let payload: Option<Vec<u8>> = get(found, "payload")?;
    let payload = payload.ok_or_else(|| unfit("payload of the row is null".to_owned()))?;
    let version: Option<i64> = get(found, "schema_version")?;
    Ok(StoredEvent {
        // There is no number: time is the nearest thing to it.
        seq: created_at,
        created_at: Timestamp::from_micros(created_at),
        event: NewEvent {
            id,
            aggregate: Aggregate {
                tenant: Tenant::parse(text("tenant")?)?,
                aggregate_type: AggregateType::parse(text("aggregate_type")?)?,
                id: Arc::from(text("aggregate_id")?),
            },
            event_type: EventType::parse(text("event_type")?)?,
            schema_version: row::number("schema_version", version.unwrap_or(1))?,
            payload: Bytes::from(payload),
            content_type: Arc::from(text("content_type")?),
            headers: row::read_json("headers", get::<Option<&str>>(found, "headers")?.unwrap_or("{}"))?,
            correlation_id: get::<Option<&str>>(found, "correlation_id")?.map(Arc::from),
        },
    })
}
