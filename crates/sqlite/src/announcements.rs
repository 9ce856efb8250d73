//! Who was told of which incident.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED;
use onefold_core::incident::Incident;
use onefold_core::port::{Announcement, AnnouncementQueue, BoxFuture, IncidentEvent, Sink};
use onefold_core::row::Cell;
use onefold_core::{Error, Result};

use crate::ledger::maintenance::count;
use crate::ledger::row;
use crate::ledger::transition::{execute, in_transaction, query};
use crate::{Sqlite, sql};

impl AnnouncementQueue for Sqlite {
    fn take_turn(&self, sink: Sink, holder: Arc<str>, hold_for: Duration) -> BoxFuture<'_, Result<bool>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| {
                let until = now.plus(hold_for);
                let cells = [name(sink), text(&holder), Cell::Int(until.as_micros()), Cell::Int(now.as_micros())];
                Ok(execute(connection, &sql::TAKE_TURN, cells)? > 0)
            })
        }))
    }

    fn untold(&self, sink: Sink, limit: usize) -> BoxFuture<'_, Result<Vec<(IncidentEvent, Incident)>>> {
        Box::pin(self.inner.reader.call(move |connection| {
            query(connection, &sql::UNTOLD, [name(sink), count(limit)], |found| {
                Ok((event(&row::get::<String>(found, "event")?)?, row::incident(found)?))
            })
        }))
    }

    fn queue(&self, sink: Sink, announcement: Announcement) -> BoxFuture<'_, Result<()>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, now| {
                for incident in &announcement.incidents {
                    let cells = [
                        name(sink),
                        text(incident.id.as_str()),
                        text(announcement.event.as_str()),
                        text(&announcement.id),
                        Cell::Int(now.as_micros()),
                    ];
                    execute(connection, &sql::QUEUE, cells)?;
                }
                Ok(())
            })
        }))
    }

    fn queued(&self, sink: Sink, limit: usize) -> BoxFuture<'_, Result<Vec<Announcement>>> {
        Box::pin(self.inner.reader.call(move |connection| {
            let rows = query(connection, &sql::QUEUED, [name(sink), count(limit)], |found| {
                let id: String = row::get(found, "announcement")?;
                Ok((id, event(&row::get::<String>(found, "event")?)?, row::incident(found)?))
            })?;
            Ok(Announcement::gathered(rows))
        }))
    }

    fn delivered(&self, sink: Sink, id: Arc<str>) -> BoxFuture<'_, Result<()>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, _| {
                execute(connection, &sql::DELIVERED, [name(sink), text(&id)])?;
                execute(connection, &sql::FORGET_CLOSED, [name(sink), text(&id)]).map(drop)
            })
        }))
    }
}

fn name(sink: Sink) -> Cell<'static> {
    Cell::Text(sink.as_str().into())
}

fn text(value: &str) -> Cell<'static> {
    Cell::Text(value.to_owned().into())
}

fn event(text: &str) -> Result<IncidentEvent> {
    IncidentEvent::parse(text)
        .ok_or_else(|| Error::new(PROGRAMMING_INVARIANT_VIOLATED, format!("{text:?} is not an incident's event")))
}
