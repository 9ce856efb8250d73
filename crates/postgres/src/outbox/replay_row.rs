//! Rows of replays.

use std::sync::Arc;

use onefold_core::event::{AggregateType, EventType, ReplayId};
use onefold_core::operation::Tenant;
use onefold_core::outbox::{EventReplay, RelayName, ReplayFilter, ReplaySpec, ReplayState};
use onefold_core::{Result, Timestamp};
use sqlx::postgres::PgRow;

use super::row;
use crate::ledger::row::{Query, get, time};

/// A replay, bound to its statement.
pub(super) fn bound(query: Query, replay: &EventReplay) -> Result<Query> {
    let query = query.bind(replay.id.to_string()).bind(replay.spec.relay.to_string());
    Ok(narrowing(query, &replay.spec.filter)
        .bind(row::bound_number(replay.spec.events_max))
        .bind(i64::from(replay.spec.rate))
        .bind(replay.who.to_string())
        .bind(replay.why.to_string())
        .bind(replay.requested_at.as_micros())
        .bind(replay.state.as_str())
        .bind(replay.pos)
        .bind(replay.last)
        .bind(row::bound_number(replay.published))
        .bind(row::bound_number(replay.refused))
        .bind(row::json(&replay.refusals)?)
        .bind(replay.ended_at.map(Timestamp::as_micros))
        .bind(row::bound_number(replay.fence)))
}

/// What a replay sends, between two places, bound to its statement.
pub(super) fn bound_filter(query: Query, spec: &ReplaySpec, (after, until): (i64, i64)) -> Query {
    narrowing(query.bind(spec.relay.to_string()).bind(after).bind(until), &spec.filter)
}

fn narrowing(query: Query, filter: &ReplayFilter) -> Query {
    let aggregate = filter.aggregate.as_ref();
    query
        .bind(filter.tenant.to_string())
        .bind(filter.event_type.as_ref().map(ToString::to_string))
        .bind(filter.from.map(Timestamp::as_micros))
        .bind(filter.to.map(Timestamp::as_micros))
        .bind(aggregate.map(|(sort, _)| sort.to_string()))
        .bind(aggregate.map(|(_, id)| id.to_string()))
}

/// What a page changed, bound to its statement.
pub(super) fn bound_settled(query: Query, replay: &EventReplay, lease_until: Timestamp) -> Result<Query> {
    Ok(query
        .bind(replay.id.to_string())
        .bind(row::bound_number(replay.fence))
        .bind(replay.state.as_str())
        .bind(replay.pos)
        .bind(row::bound_number(replay.published))
        .bind(row::bound_number(replay.refused))
        .bind(row::json(&replay.refusals)?)
        .bind(replay.ended_at.map(Timestamp::as_micros))
        .bind(lease_until.as_micros()))
}

/// The replay of a row.
pub(super) fn replay(found: &PgRow) -> Result<EventReplay> {
    let opt = |column: &'static str| get::<Option<&str>>(found, column);
    let at = |column: &'static str| get::<Option<i64>>(found, column).map(|at| at.map(Timestamp::from_micros));
    let counted = |column: &'static str| row::number::<u64>(column, get(found, column)?);
    let aggregate_type = opt("aggregate_type")?.map(AggregateType::parse).transpose()?;
    let filter = ReplayFilter {
        tenant: Tenant::parse(get(found, "tenant")?)?,
        event_type: opt("event_type")?.map(EventType::parse).transpose()?,
        from: at("staged_from")?,
        to: at("staged_to")?,
        aggregate: aggregate_type.zip(opt("aggregate_id")?.map(Arc::from)),
    };
    Ok(EventReplay {
        id: ReplayId::parse(get(found, "id")?)?,
        spec: ReplaySpec {
            relay: RelayName::parse(get(found, "relay")?)?,
            filter,
            events_max: counted("events_max")?,
            rate: row::number("rate", get(found, "rate")?)?,
        },
        who: Arc::from(get::<&str>(found, "who")?),
        why: Arc::from(get::<&str>(found, "why")?),
        requested_at: time(found, "requested_at")?,
        state: ReplayState::parse(get(found, "state")?).ok_or_else(|| row::unreadable("state"))?,
        pos: get(found, "pos")?,
        last: get(found, "last")?,
        published: counted("published")?,
        refused: counted("refused")?,
        refusals: row::read_json("refusals", get(found, "refusals")?)?,
        ended_at: at("ended_at")?,
        fence: counted("fence")?,
    })
}
