//! Events that were set aside: whose turn it is, and what a person decided.

use std::sync::Arc;

use onefold_core::error::{EVENT_MOVED_ON, EVENT_NOT_FOUND};
use onefold_core::event::{EventId, StoredEvent};
use onefold_core::outbox::{AsideEvent, AsideStatus, AsideVerb, RelayName};
use onefold_core::port::{AsideDecision, AsideWithEvent};
use onefold_core::{Error, Result, Timestamp};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use super::row;
use crate::Postgres;
use crate::error::translate;
use crate::incidents;
use crate::ledger::maintenance::count;
use crate::ledger::row::query;
use crate::ledger::transition::run;

impl Postgres {
    /// Those whose turn it is, each followed by what waits behind it.
    pub(super) async fn due_asides(
        &self,
        relay: &RelayName,
        lanes: &[u16],
        limit: usize,
    ) -> Result<Vec<AsideWithEvent>> {
        let mut transaction = self.inner.connected.begin().await?;
        let now = self.time_on(&mut transaction).await?;
        let lanes: Vec<i16> = lanes.iter().copied().map(row::bound).collect();
        let due = query(&self.inner.sql.asides_due).bind(relay.to_string()).bind(lanes);
        let due = due.bind(now.as_micros()).bind(count(limit));
        let rows = due.fetch_all(&mut *transaction).await.map_err(translate)?;
        transaction.commit().await.map_err(translate)?;
        rows.iter().map(due_event).collect()
    }

    /// An event by its id.
    pub(super) async fn find_event(&self, connection: &mut PgConnection, id: EventId) -> Result<Option<StoredEvent>> {
        let find = query(&self.inner.sql.find_event).bind(id.to_string());
        find.fetch_optional(connection).await.map_err(translate)?.as_ref().map(row::event).transpose()
    }

    /// Writes what a person decided; what the event is then, relay by relay.
    pub(super) async fn decide_aside(&self, decision: &AsideDecision) -> Result<Vec<AsideEvent>> {
        let mut transaction = self.inner.connected.begin().await?;
        let lock = query(&self.inner.sql.lock_asides).bind(decision.id.to_string());
        let lock = lock.bind(decision.relay.as_ref().map(RelayName::to_string));
        let rows = lock.fetch_all(&mut *transaction).await.map_err(translate)?;
        let asked = rows.iter().map(row::aside).collect::<Result<Vec<_>>>()?;
        // Read behind the locks: a relay that was sending it meanwhile has moved it on.
        let now = self.time_on(&mut transaction).await?;
        let open: Vec<AsideEvent> = asked.iter().filter(|aside| !aside.status.ended()).cloned().collect();
        if open.is_empty() {
            let known = self.find_event(&mut transaction, decision.id).await?;
            return Err(nothing_to_decide(decision, known.as_ref(), asked.into_iter().next(), now));
        }
        let mut decided = Vec::new();
        for aside in open {
            let parked = aside.status == AsideStatus::Parked;
            let aside = aside.decided(&decision.verb, now)?;
            self.write_decision(&mut transaction, decision, &aside, now).await?;
            if parked {
                let closed = aside.incident_closed(&decision.who, now);
                incidents::apply(&mut transaction, &self.inner.sql, closed).await?;
            }
            decided.push(aside);
        }
        transaction.commit().await.map_err(translate)?;
        Ok(decided)
    }

    async fn write_decision(
        &self,
        connection: &mut PgConnection,
        decision: &AsideDecision,
        aside: &AsideEvent,
        now: Timestamp,
    ) -> Result<()> {
        let edit = aside.edit.as_ref();
        let update = query(&self.inner.sql.decide_aside)
            .bind(aside.relay.to_string())
            .bind(aside.id.to_string())
            .bind(aside.status.as_str())
            .bind(i64::from(aside.attempts))
            .bind(aside.next_attempt_at.as_micros())
            .bind(edit.map(|edit| edit.payload.to_vec()))
            .bind(edit.map(|edit| edit.content_type.to_string()))
            .bind(edit.map(|edit| edit.old_digest.to_vec()))
            .bind(now.as_micros());
        run(connection, update).await?;
        let (verb, old_digest) = match &decision.verb {
            AsideVerb::Release => ("release", None),
            AsideVerb::Skip => ("skip", None),
            AsideVerb::Edit(edit) => ("edit", Some(edit.old_digest.to_vec())),
        };
        let audit = query(&self.inner.sql.add_audit)
            .bind(now.as_micros())
            .bind(aside.relay.to_string())
            .bind(Some(aside.id.to_string()))
            .bind(verb)
            .bind(decision.who.to_string())
            .bind(decision.why.to_string())
            .bind(old_digest);
        run(connection, audit).await
    }
}

/// What is due, as it is sent: with the payload that a person put in place of the staged one.
fn due_event(found: &PgRow) -> Result<(AsideEvent, Arc<StoredEvent>)> {
    let aside = row::aside(found)?;
    let mut stored = row::event(found)?;
    if let Some(edit) = &aside.edit {
        stored.event.payload = edit.payload.clone();
        stored.event.content_type = Arc::clone(&edit.content_type);
    }
    Ok((aside, Arc::new(stored)))
}

/// One that ended says so itself; one that was never set aside has nothing to decide.
fn nothing_to_decide(
    decision: &AsideDecision,
    known: Option<&StoredEvent>,
    ended: Option<AsideEvent>,
    now: Timestamp,
) -> Error {
    match (known, ended.map(|aside| aside.decided(&decision.verb, now))) {
        (None, _) => Error::new(EVENT_NOT_FOUND, format!("there is no event {}", decision.id)),
        (Some(_), Some(Err(ended))) => ended,
        (Some(_), Some(Ok(_)) | None) => Error::new(EVENT_MOVED_ON, format!("event {} is not set aside", decision.id)),
    }
}
