//! What people ask of the outbox.

use std::sync::Arc;

use onefold_core::event::EventId;
use onefold_core::incident::IncidentChange;
use onefold_core::outbox::{AsideEvent, Begin, RelayName};
use onefold_core::port::{
    AsideDecision, AsideFilter, BoxFuture, EventWithAsides, OutboxOperate, RecentPublications, RelayState, RelayVerb,
    SubjectChange,
};
use onefold_core::{Result, Timestamp};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use super::lanes::not_found;
use super::row;
use crate::Postgres;
use crate::error::translate;
use crate::incidents;
use crate::ledger::maintenance::count;
use crate::ledger::row::{get, query, time};
use crate::ledger::transition::run;

impl OutboxOperate for Postgres {
    fn relays(&self) -> BoxFuture<'_, Result<(Timestamp, Vec<RelayState>)>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.repeated(|| store.list_relays()).await }))
    }

    fn event(&self, id: EventId) -> BoxFuture<'_, Result<Option<EventWithAsides>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.repeated(|| store.show_event(id)).await }))
    }

    fn asides(&self, filter: AsideFilter, limit: usize) -> BoxFuture<'_, Result<Vec<AsideEvent>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let open = query(&store.inner.sql.open_asides).bind(filter.relay.map(|relay| relay.to_string()));
            let open = open.bind(filter.tenant.map(|tenant| tenant.to_string()));
            store.rows(open.bind(count(limit))).await?.iter().map(row::aside).collect()
        }))
    }

    fn published(&self, id: EventId, relay: Option<RelayName>) -> BoxFuture<'_, Result<bool>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let left = query(&store.inner.sql.unpublished).bind(id.to_string());
            Ok(store.rows(left.bind(relay.map(|relay| relay.to_string()))).await?.is_empty())
        }))
    }

    fn decide(&self, decision: AsideDecision) -> BoxFuture<'_, Result<Vec<AsideEvent>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.answered(store.decide_aside(&decision)).await }))
    }

    fn start(&self, verb: RelayVerb) -> BoxFuture<'_, Result<usize>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.answered(store.start_relay(&verb)).await }))
    }

    fn retire(&self, verb: RelayVerb) -> BoxFuture<'_, Result<()>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.answered(store.retire_relay(&verb)).await }))
    }

    fn rebase(&self, verb: RelayVerb, begin: Begin) -> BoxFuture<'_, Result<()>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.answered(store.rebase(&verb, begin)).await }))
    }

    fn prune_events(&self, before: Timestamp, limit: usize) -> BoxFuture<'_, Result<usize>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.prune_outbox(before, limit).await }))
    }
}

impl Postgres {
    async fn list_relays(&self) -> Result<(Timestamp, Vec<RelayState>)> {
        let mut transaction = self.inner.connected.begin().await?;
        let now = self.time_on(&mut transaction).await?;
        let since = now.minus(RecentPublications::LOOK_BACK).as_micros();
        let listing = query(&self.inner.sql.list_relays).bind(since);
        let rows = listing.fetch_all(&mut *transaction).await.map_err(translate)?;
        transaction.rollback().await.map_err(translate)?;
        Ok((now, rows.iter().map(relay_state).collect::<Result<_>>()?))
    }

    async fn show_event(&self, id: EventId) -> Result<Option<EventWithAsides>> {
        let mut transaction = self.inner.connected.begin().await?;
        let event = self.find_event(&mut transaction, id).await?;
        let asides = query(&self.inner.sql.asides_of).bind(id.to_string());
        let rows = asides.fetch_all(&mut *transaction).await.map_err(translate)?;
        transaction.rollback().await.map_err(translate)?;
        let asides = rows.iter().map(row::aside).collect::<Result<Vec<_>>>()?;
        Ok(event.map(|event| (event, asides)))
    }

    async fn start_relay(&self, verb: &RelayVerb) -> Result<usize> {
        let mut transaction = self.inner.connected.begin().await?;
        let now = self.begin_verb(&mut transaction, verb).await?;
        let start = query(&self.inner.sql.start_lanes).bind(verb.relay.to_string());
        let started = start.execute(&mut *transaction).await.map_err(translate)?.rows_affected();
        let closed = SubjectChange::of_relay(&verb.relay, IncidentChange::close_by_operator(&verb.who, now));
        incidents::apply(&mut transaction, &self.inner.sql, closed).await?;
        self.audit_verb(&mut transaction, "start", verb, now).await?;
        transaction.commit().await.map_err(translate)?;
        Ok(usize::try_from(started).unwrap_or(usize::MAX))
    }

    async fn retire_relay(&self, verb: &RelayVerb) -> Result<()> {
        let mut transaction = self.inner.connected.begin().await?;
        let now = self.begin_verb(&mut transaction, verb).await?;
        let retire = query(&self.inner.sql.retire_relay).bind(verb.relay.to_string()).bind(now.as_micros());
        run(&mut transaction, retire).await?;
        self.audit_verb(&mut transaction, "retire", verb, now).await?;
        transaction.commit().await.map_err(translate)
    }

    async fn rebase(&self, verb: &RelayVerb, begin: Begin) -> Result<()> {
        let mut transaction = self.inner.connected.begin().await?;
        let now = self.begin_verb(&mut transaction, verb).await?;
        self.rebase_relay(&mut transaction, &verb.relay, begin).await?;
        self.audit_verb(&mut transaction, "rebase", verb, now).await?;
        transaction.commit().await.map_err(translate)
    }

    /// The store's time; refused where there is no such relay.
    async fn begin_verb(&self, connection: &mut PgConnection, verb: &RelayVerb) -> Result<Timestamp> {
        self.stored_relay(connection, &verb.relay).await?.ok_or_else(|| not_found(&verb.relay))?;
        self.time_on(connection).await
    }

    async fn audit_verb(
        &self,
        connection: &mut PgConnection,
        name: &'static str,
        verb: &RelayVerb,
        now: Timestamp,
    ) -> Result<()> {
        let audit = query(&self.inner.sql.add_audit)
            .bind(now.as_micros())
            .bind(verb.relay.to_string())
            .bind(None::<String>)
            .bind(name)
            .bind(verb.who.to_string())
            .bind(verb.why.to_string())
            .bind(None::<Vec<u8>>);
        run(connection, audit).await
    }
}

fn relay_state(found: &PgRow) -> Result<RelayState> {
    Ok(RelayState {
        name: RelayName::parse(get(found, "name")?)?,
        events: row::read_json("events", get(found, "events")?)?,
        target: get(found, "target")?,
        declared_by: Arc::from(get::<&str>(found, "declared_by")?),
        declared_at: time(found, "declared_at")?,
        retired_at: get::<Option<i64>>(found, "retired_at")?.map(Timestamp::from_micros),
        waiting: row::number("waiting", get(found, "waiting")?)?,
        oldest: get::<Option<i64>>(found, "oldest")?.map(Timestamp::from_micros),
        parked: row::number("parked", get(found, "parked")?)?,
        set_aside: row::number("set_aside", get(found, "set_aside")?)?,
        stopped: row::code(found, "stopped_code")?,
        recent: RecentPublications {
            passed: row::number("passed", get(found, "passed")?)?,
            on_time: row::number("on_time", get(found, "on_time")?)?,
        },
    })
}
