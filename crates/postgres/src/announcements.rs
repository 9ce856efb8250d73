//! Who was told of which incident.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED;
use onefold_core::incident::Incident;
use onefold_core::port::{Announcement, AnnouncementQueue, BoxFuture, IncidentEvent, Sink};
use onefold_core::{Error, Result};

use crate::Postgres;
use crate::error::translate;
use crate::ledger::row;
use crate::ledger::transition::run;

impl AnnouncementQueue for Postgres {
    fn take_turn(&self, sink: Sink, holder: Arc<str>, hold_for: Duration) -> BoxFuture<'_, Result<bool>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let micros = i64::try_from(hold_for.as_micros()).unwrap_or(i64::MAX);
            let take = row::query(&store.inner.sql.take_turn).bind(sink.as_str()).bind(&*holder).bind(micros);
            Ok(!store.rows(take).await?.is_empty())
        }))
    }

    fn untold(&self, sink: Sink, limit: usize) -> BoxFuture<'_, Result<Vec<(IncidentEvent, Incident)>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let untold = row::query(&store.inner.sql.untold).bind(sink.as_str()).bind(limit_of(limit));
            let rows = store.rows(untold).await?;
            rows.iter().map(|found| Ok((event(row::get(found, "event")?)?, row::incident(found)?))).collect()
        }))
    }

    fn queue(&self, sink: Sink, announcement: Announcement) -> BoxFuture<'_, Result<()>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let ids: Vec<String> = announcement.incidents.iter().map(|incident| incident.id.to_string()).collect();
            let queue = row::query(&store.inner.sql.queue)
                .bind(sink.as_str())
                .bind(ids)
                .bind(announcement.event.as_str())
                .bind(&*announcement.id);
            store.rows(queue).await.map(drop)
        }))
    }

    fn queued(&self, sink: Sink, limit: usize) -> BoxFuture<'_, Result<Vec<Announcement>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let queued = row::query(&store.inner.sql.queued).bind(sink.as_str()).bind(limit_of(limit));
            let rows = store.rows(queued).await?;
            let read = rows.iter().map(|found| {
                let id: &str = row::get(found, "announcement")?;
                Ok((id.to_owned(), event(row::get(found, "event")?)?, row::incident(found)?))
            });
            Ok(Announcement::gathered(read.collect::<Result<Vec<_>>>()?))
        }))
    }

    fn delivered(&self, sink: Sink, id: Arc<str>) -> BoxFuture<'_, Result<()>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let noting = async {
                let sql = &store.inner.sql;
                let mut transaction = store.inner.connected.begin().await?;
                run(&mut transaction, row::query(&sql.delivered).bind(sink.as_str()).bind(&*id)).await?;
                run(&mut transaction, row::query(&sql.forget_closed).bind(sink.as_str()).bind(&*id)).await?;
                transaction.commit().await.map_err(translate)
            };
            store.answered(noting).await
        }))
    }
}

fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn event(text: &str) -> Result<IncidentEvent> {
    IncidentEvent::parse(text)
        .ok_or_else(|| Error::new(PROGRAMMING_INVARIANT_VIOLATED, format!("{text:?} is not an incident's event")))
}
