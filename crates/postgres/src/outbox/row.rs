//! Rows of events, cursors and events that were set aside.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use onefold_core::error::{CodeName, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::event::{Aggregate, AggregateType, EventId, EventType, HeaderName, NewEvent, StoredEvent};
use onefold_core::operation::Tenant;
use onefold_core::outbox::{
    AsideEvent, AsideStatus, Horizon, LaneCursor, LaneHealth, PayloadEdit, RelayName, Snapshot,
};
use onefold_core::{Error, Result};
use sqlx::postgres::PgRow;

use crate::ledger::row::{get, time};

/// The event of a row.
pub(super) fn event(row: &PgRow) -> Result<StoredEvent> {
    let headers: BTreeMap<HeaderName, String> = read_json("headers", get(row, "headers")?)?;
    Ok(StoredEvent {
        seq: get(row, "seq")?,
        created_at: time(row, "created_at")?,
        event: NewEvent {
            id: EventId::parse(get(row, "id")?)?,
            aggregate: aggregate(row)?,
            event_type: EventType::parse(get(row, "event_type")?)?,
            schema_version: number("schema_version", i64::from(get::<i32>(row, "schema_version")?))?,
            payload: Bytes::from(get::<Vec<u8>>(row, "payload")?),
            content_type: Arc::from(get::<&str>(row, "content_type")?),
            headers,
            correlation_id: get::<Option<&str>>(row, "correlation_id")?.map(Arc::from),
        },
    })
}

/// What a row is about.
pub(super) fn aggregate(row: &PgRow) -> Result<Aggregate> {
    Ok(Aggregate {
        tenant: Tenant::parse(get(row, "tenant")?)?,
        aggregate_type: AggregateType::parse(get(row, "aggregate_type")?)?,
        id: Arc::from(get::<&str>(row, "aggregate_id")?),
    })
}

/// The cursor of a row.
pub(super) fn cursor(row: &PgRow) -> Result<LaneCursor> {
    let horizon = |text: &str| Snapshot::parse(text).map(Horizon::Snapshot);
    Ok(LaneCursor {
        lane: lane(row)?,
        fence: number("fence", get(row, "fence")?)?,
        since: horizon(get(row, "since")?)?,
        until: get::<Option<&str>>(row, "until")?.map(horizon).transpose()?,
        pos: get(row, "pos")?,
        health: LaneHealth {
            judged: number("judged", get(row, "judged")?)?,
            refused: read_json("refused", get(row, "refused")?)?,
        },
        stopped: code(row, "stopped_code")?,
    })
}

/// The event that is set aside in a row.
pub(super) fn aside(row: &PgRow) -> Result<AsideEvent> {
    let status = AsideStatus::parse(get(row, "status")?).ok_or_else(|| unreadable("status"))?;
    Ok(AsideEvent {
        relay: RelayName::parse(get(row, "relay")?)?,
        id: EventId::parse(get(row, "event_id")?)?,
        seq: get(row, "seq")?,
        lane: lane(row)?,
        aggregate: aggregate(row)?,
        status,
        attempts: number("attempts", get(row, "attempts")?)?,
        next_attempt_at: time(row, "next_attempt_at")?,
        tried_until: time(row, "tried_until")?,
        code: code(row, "error_code")?,
        reason: get(row, "reason")?,
        edit: edit(row)?,
    })
}

fn edit(row: &PgRow) -> Result<Option<PayloadEdit>> {
    let Some(payload) = get::<Option<Vec<u8>>>(row, "edited_payload")? else { return Ok(None) };
    let old_digest: &[u8] = get(row, "old_digest")?;
    Ok(Some(PayloadEdit {
        payload: Bytes::from(payload),
        content_type: Arc::from(get::<&str>(row, "edited_content_type")?),
        old_digest: old_digest.try_into().map_err(|_| unreadable("old_digest"))?,
    }))
}

/// The lane of a row.
pub(super) fn lane(row: &PgRow) -> Result<u16> {
    number("lane", i64::from(get::<i16>(row, "lane")?))
}

/// A lane as the driver binds it.
pub(super) fn bound(lane: u16) -> i16 {
    i16::try_from(lane).unwrap_or(i16::MAX)
}

/// A fence or a count as the driver binds it.
pub(super) fn bound_number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A horizon as the server reads it.
pub(super) fn snapshot_text(horizon: &Horizon) -> Result<String> {
    match horizon {
        Horizon::Snapshot(snapshot) => Ok(snapshot.to_string()),
        Horizon::Seq(_) => Err(Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a cursor of another store came here")),
    }
}

/// The code in this column.
pub(super) fn code(row: &PgRow, column: &'static str) -> Result<Option<CodeName>> {
    let name: Option<&str> = get(row, column)?;
    name.map(|name| CodeName::parse(name).map_err(|_| unreadable(column))).transpose()
}

/// A stored number, in the range that it has here.
pub(super) fn number<T: TryFrom<i64>>(column: &'static str, stored: i64) -> Result<T> {
    T::try_from(stored).map_err(|_| unreadable(column))
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
