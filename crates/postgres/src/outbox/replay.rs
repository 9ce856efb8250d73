//! What is sent again: who asked for it, which process sends it, and how far that is.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::error::{LIMIT_EXCEEDED, REPLAY_NOT_FOUND};
use onefold_core::event::StoredEvent;
use onefold_core::outbox::{EventReplay, RelayName, ReplayRequest, ReplaySpec, ReplayedPage};
use onefold_core::port::{BoxFuture, ReplayCancel, ReplayListFilter, ReplayOperate, ReplayPage, ReplayStore};
use onefold_core::{Error, Result, Timestamp};
use sqlx::PgConnection;

use super::lanes::not_found;
use super::replay_row::{bound, bound_filter, bound_settled, replay};
use super::row;
use crate::Postgres;
use crate::error::translate;
use crate::ledger::maintenance::count;
use crate::ledger::row::{get, only, query};
use crate::ledger::transition::run;

impl ReplayStore for Postgres {
    fn hold_replay(
        &self,
        relay: RelayName,
        holder: Arc<str>,
        lease_for: Duration,
    ) -> BoxFuture<'_, Result<Option<EventReplay>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.repeated(|| store.take_replay(&relay, &holder, lease_for)).await }))
    }

    fn replay_page(&self, replay: EventReplay, limit: usize) -> BoxFuture<'_, Result<ReplayPage>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.repeated(|| store.read_replay(&replay, limit)).await }))
    }

    fn settle_replay(
        &self,
        replay: EventReplay,
        page: ReplayedPage,
        lease_for: Duration,
    ) -> BoxFuture<'_, Result<Option<EventReplay>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.repeated(|| store.write_replay(&replay, &page, lease_for)).await }))
    }
}

impl ReplayOperate for Postgres {
    fn count_replay(&self, spec: ReplaySpec, limit: u64) -> BoxFuture<'_, Result<u64>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.count_matching(&spec, limit).await }))
    }

    fn request_replay(&self, request: ReplayRequest) -> BoxFuture<'_, Result<EventReplay>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.answered(store.ask_replay(request)).await }))
    }

    fn replays(&self, filter: ReplayListFilter, limit: usize) -> BoxFuture<'_, Result<Vec<EventReplay>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let list = query(&store.inner.sql.list_replays)
                .bind(filter.tenant.map(|tenant| tenant.to_string()))
                .bind(filter.relay.map(|relay| relay.to_string()))
                .bind(filter.id.map(|id| id.to_string()));
            store.rows(list.bind(count(limit))).await?.iter().map(replay).collect()
        }))
    }

    fn cancel_replay(&self, cancel: ReplayCancel) -> BoxFuture<'_, Result<EventReplay>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.answered(store.end_replay(&cancel)).await }))
    }
}

impl Postgres {
    async fn take_replay(&self, relay: &RelayName, holder: &str, lease_for: Duration) -> Result<Option<EventReplay>> {
        let mut transaction = self.inner.connected.begin().await?;
        let now = self.time_on(&mut transaction).await?;
        let take = query(&self.inner.sql.hold_replay)
            .bind(relay.to_string())
            .bind(holder.to_owned())
            .bind(now.plus(lease_for).as_micros())
            .bind(now.as_micros());
        let taken = take.fetch_optional(&mut *transaction).await.map_err(translate)?;
        transaction.commit().await.map_err(translate)?;
        taken.as_ref().map(replay).transpose()
    }

    async fn read_replay(&self, replay: &EventReplay, limit: usize) -> Result<ReplayPage> {
        let (_, until) = replay.places();
        let mut transaction = self.inner.connected.begin().await?;
        let read = bound_filter(query(&self.inner.sql.replay_events), &replay.spec, replay.places());
        let rows = read.bind(count(limit)).fetch_all(&mut *transaction).await.map_err(translate)?;
        transaction.rollback().await.map_err(translate)?;
        let read = |found| row::event(found).map(Arc::new);
        let events = rows.iter().map(read).collect::<Result<Vec<Arc<StoredEvent>>>>()?;
        let looked_to = match events.last() {
            Some(last) if events.len() >= limit => last.seq,
            Some(_) | None => until,
        };
        Ok(ReplayPage { events, looked_to })
    }

    /// Durable, whatever the database is set to: a page that was settled is not sent again.
    async fn write_replay(
        &self,
        before: &EventReplay,
        page: &ReplayedPage,
        lease_for: Duration,
    ) -> Result<Option<EventReplay>> {
        let mut transaction = self.inner.connected.begin_durable().await?;
        let now = self.time_on(&mut transaction).await?;
        let after = before.clone().after(page.clone(), now);
        let settle = bound_settled(query(&self.inner.sql.settle_replay), &after, now.plus(lease_for))?;
        let settled = settle.execute(&mut *transaction).await.map_err(translate)?.rows_affected();
        transaction.commit().await.map_err(translate)?;
        Ok((settled > 0).then_some(after))
    }

    /// Counts a part of the table at a time: no statement runs for long.
    async fn count_matching(&self, spec: &ReplaySpec, limit: u64) -> Result<u64> {
        let (mut after, last) = self.answered(self.replay_span(spec)).await?;
        let mut events = 0;
        while after < last && events < limit {
            let until = last.min(after.saturating_add(EventReplay::PLACES_MAX));
            let counting = bound_filter(query(&self.inner.sql.count_replay), spec, (after, until));
            let found = self.rows(counting).await?;
            let counted: i64 = found.first().map(only).transpose()?.unwrap_or(0);
            events += row::number::<u64>("events", counted)?;
            after = until;
        }
        Ok(events.min(limit))
    }

    async fn replay_span(&self, spec: &ReplaySpec) -> Result<(i64, i64)> {
        let mut transaction = self.inner.connected.begin().await?;
        let span = self.span_for(&mut transaction, &spec.relay).await?;
        transaction.rollback().await.map_err(translate)?;
        Ok(span)
    }

    /// The place before the first event, and the last place; refused where nobody can serve the relay.
    async fn span_for(&self, connection: &mut PgConnection, relay: &RelayName) -> Result<(i64, i64)> {
        let known = self.stored_relay(connection, relay).await?.ok_or_else(|| not_found(relay))?;
        if known.retired {
            return Err(not_found(relay).hint("it was retired: declare it again"));
        }
        let found = query(&self.inner.sql.event_span).fetch_one(connection).await.map_err(translate)?;
        Ok((get(&found, "before")?, get(&found, "last")?))
    }

    async fn ask_replay(&self, request: ReplayRequest) -> Result<EventReplay> {
        let relay = request.spec.relay.clone();
        let mut transaction = self.inner.connected.begin().await?;
        let span = self.span_for(&mut transaction, &relay).await?;
        let counted = query(&self.inner.sql.count_replays).bind(relay.to_string());
        let counted = counted.fetch_one(&mut *transaction).await.map_err(translate)?;
        let waiting: i64 = only(&counted)?;
        if waiting >= count(ReplaySpec::UNFINISHED_MAX) {
            return Err(Error::new(LIMIT_EXCEEDED, format!("relay {relay} has {waiting} unfinished replays"))
                .hint("wait for them, or cancel some: onefold outbox replays"));
        }
        let now = self.time_on(&mut transaction).await?;
        let asked = EventReplay::asked(request, span, now);
        run(&mut transaction, bound(query(&self.inner.sql.add_replay), &asked)?).await?;
        self.audit_replay(&mut transaction, &asked, ("replay", &asked.who, &asked.why), now).await?;
        transaction.commit().await.map_err(translate)?;
        Ok(asked)
    }

    async fn end_replay(&self, cancel: &ReplayCancel) -> Result<EventReplay> {
        let mut transaction = self.inner.connected.begin().await?;
        let find = query(&self.inner.sql.find_replay).bind(cancel.id.to_string()).bind(cancel.tenant.to_string());
        let found = find.fetch_optional(&mut *transaction).await.map_err(translate)?;
        let found = found.as_ref().map(replay).transpose()?;
        let now = self.time_on(&mut transaction).await?;
        let missing = || Error::new(REPLAY_NOT_FOUND, format!("there is no replay {}", cancel.id));
        let ended = found.ok_or_else(missing)?.cancelled(now)?;
        let end = query(&self.inner.sql.cancel_replay)
            .bind(ended.id.to_string())
            .bind(ended.state.as_str())
            .bind(now.as_micros())
            .bind(row::bound_number(ended.fence));
        run(&mut transaction, end).await?;
        self.audit_replay(&mut transaction, &ended, ("cancel-replay", &cancel.who, &cancel.why), now).await?;
        transaction.commit().await.map_err(translate)?;
        Ok(ended)
    }

    async fn audit_replay(
        &self,
        connection: &mut PgConnection,
        replay: &EventReplay,
        (verb, who, why): (&'static str, &str, &str),
        now: Timestamp,
    ) -> Result<()> {
        let audit = query(&self.inner.sql.audit_replay)
            .bind(now.as_micros())
            .bind(replay.spec.relay.to_string())
            .bind(replay.id.to_string())
            .bind(verb)
            .bind(who.to_owned())
            .bind(why.to_owned());
        run(connection, audit).await
    }
}
