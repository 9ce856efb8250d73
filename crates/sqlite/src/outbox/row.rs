//! Rows of events, cursors and events that were set aside.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use onefold_core::error::{CodeName, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::event::{Aggregate, AggregateType, EventId, EventType, HeaderName, NewEvent, StoredEvent};
use onefold_core::operation::Tenant;
use onefold_core::outbox::{AsideEvent, AsideStatus, Horizon, LaneCursor, LaneHealth, PayloadEdit, RelayName};
use onefold_core::row::{Cell, opt_text, text, time};
use onefold_core::{Error, Result, Timestamp};
use rusqlite::Row;

use crate::ledger::row::{get, time as stored_time};

/// The cells of an event to be staged.
pub(super) fn event_cells(event: &NewEvent, now: Timestamp) -> Result<Vec<Cell<'_>>> {
    Ok(vec![
        blob(event.id.as_bytes()),
        text(event.aggregate.tenant.as_str()),
        text(event.aggregate.aggregate_type.as_str()),
        text(&event.aggregate.id),
        text(event.event_type.as_str()),
        Cell::Int(i64::from(event.schema_version)),
        time(now),
        blob(&event.payload),
        text(&event.content_type),
        Cell::Text(Cow::Owned(json(&event.headers)?)),
        opt_text(event.correlation_id.as_ref()),
    ])
}

/// The event of a row.
pub(super) fn event(row: &Row<'_>) -> Result<StoredEvent> {
    let headers: String = get(row, "headers")?;
    let headers: BTreeMap<HeaderName, String> = read_json("headers", &headers)?;
    Ok(StoredEvent {
        seq: get(row, "seq")?,
        created_at: stored_time(row, "created_at")?,
        event: NewEvent {
            id: EventId::from_bytes(get(row, "id")?),
            aggregate: aggregate(row)?,
            event_type: event_type(row)?,
            schema_version: get(row, "schema_version")?,
            payload: Bytes::from(get::<Vec<u8>>(row, "payload")?),
            content_type: Arc::from(get::<String>(row, "content_type")?),
            headers,
            correlation_id: get::<Option<String>>(row, "correlation_id")?.map(Arc::from),
        },
    })
}

/// The type alone: a row that nobody wants is not read further.
pub(super) fn event_type(row: &Row<'_>) -> Result<EventType> {
    EventType::parse(&get::<String>(row, "event_type")?)
}

/// What a row is about.
pub(super) fn aggregate(row: &Row<'_>) -> Result<Aggregate> {
    Ok(Aggregate {
        tenant: Tenant::parse(&get::<String>(row, "tenant")?)?,
        aggregate_type: AggregateType::parse(&get::<String>(row, "aggregate_type")?)?,
        id: Arc::from(get::<String>(row, "aggregate_id")?),
    })
}

/// The cursor of a row.
pub(super) fn cursor(row: &Row<'_>) -> Result<LaneCursor> {
    let health =
        LaneHealth { judged: number(row, "judged")?, refused: read_json("refused", &get::<String>(row, "refused")?)? };
    Ok(LaneCursor {
        lane: get(row, "lane")?,
        fence: number(row, "fence")?,
        since: Horizon::Seq(get(row, "since")?),
        until: get::<Option<i64>>(row, "until")?.map(Horizon::Seq),
        pos: get(row, "pos")?,
        health,
        stopped: code(row, "stopped_code")?,
    })
}

/// The cells of an event that is set aside.
pub(super) fn aside_cells(aside: &AsideEvent) -> Vec<Cell<'_>> {
    let edit = aside.edit.as_ref();
    vec![
        text(aside.relay.as_str()),
        blob(aside.id.as_bytes()),
        Cell::Int(aside.seq),
        Cell::Int(i64::from(aside.lane)),
        text(aside.aggregate.tenant.as_str()),
        text(aside.aggregate.aggregate_type.as_str()),
        text(&aside.aggregate.id),
        text(aside.status.as_str()),
        Cell::Int(i64::from(aside.attempts)),
        time(aside.next_attempt_at),
        time(aside.tried_until),
        opt_text(aside.code.as_ref().map(CodeName::as_str)),
        opt_text(aside.reason.as_ref()),
        edit.map_or(Cell::Null, |edit| blob(&edit.payload)),
        opt_text(edit.map(|edit| &edit.content_type)),
        edit.map_or(Cell::Null, |edit| blob(&edit.old_digest)),
    ]
}

/// The event that is set aside in a row.
pub(super) fn aside(row: &Row<'_>) -> Result<AsideEvent> {
    let status: String = get(row, "status")?;
    let payload: Option<Vec<u8>> = get(row, "payload")?;
    let edit = payload.map(|payload| -> Result<PayloadEdit> {
        Ok(PayloadEdit {
            payload: Bytes::from(payload),
            content_type: Arc::from(get::<String>(row, "content_type")?),
            old_digest: get(row, "old_digest")?,
        })
    });
    Ok(AsideEvent {
        relay: RelayName::parse(&get::<String>(row, "relay")?)?,
        id: EventId::from_bytes(get(row, "event_id")?),
        seq: get(row, "seq")?,
        lane: get(row, "lane")?,
        aggregate: aggregate(row)?,
        status: AsideStatus::parse(&status).ok_or_else(|| unreadable("status"))?,
        attempts: get(row, "attempts")?,
        next_attempt_at: stored_time(row, "next_attempt_at")?,
        tried_until: stored_time(row, "tried_until")?,
        code: code(row, "error_code")?,
        reason: get(row, "reason")?,
        edit: edit.transpose()?,
    })
}

/// The count in this column.
pub(super) fn number(row: &Row<'_>, column: &str) -> Result<u64> {
    Ok(u64::try_from(get::<i64>(row, column)?).unwrap_or(0))
}

/// The code in this column.
pub(super) fn code(row: &Row<'_>, column: &'static str) -> Result<Option<CodeName>> {
    let name: Option<String> = get(row, column)?;
    name.map(|name| CodeName::parse(&name).map_err(|_| unreadable(column))).transpose()
}

/// The cell of bytes.
pub(super) fn blob(bytes: &[u8]) -> Cell<'_> {
    Cell::Blob(Cow::Borrowed(bytes))
}

/// A value as JSON text.
pub(super) fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|cause| Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a value has no JSON").caused_by(cause))
}

/// The value of JSON text in this column.
pub(super) fn read_json<T: serde::de::DeserializeOwned>(column: &'static str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|cause| unreadable(column).caused_by(cause))
}

pub(super) fn unreadable(column: &str) -> Error {
    Error::new(PROGRAMMING_INVARIANT_VIOLATED, format!("column {column} of a stored row cannot be read"))
}
