//! Staging in the user's own transaction.

use onefold_core::error::EVENT_ID_REUSED;
use onefold_core::event::NewEvent;
use onefold_core::port::{BoxFuture, StageOrder, Staged, StagedBy, Staging};
use onefold_core::{Error, Result};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::row;
use crate::error::translate_sqlx;
use crate::ledger::once::bind;
use crate::{Sqlite, sql};

impl Staging for Sqlite {
    fn stage<'a>(
        &'a self,
        connection: &'a mut SqliteConnection,
        events: &'a [NewEvent],
        // One file has one writer at a time: the transaction itself keeps writers of an aggregate apart.
        _order: StageOrder,
    ) -> BoxFuture<'a, Result<Vec<Staged>>> {
        Box::pin(async move {
            self.inner.track.check()?;
            let mut staged = Vec::with_capacity(events.len());
            for event in events {
                staged.push(self.stage_one(connection, event).await?);
            }
            Ok(staged)
        })
    }
}

impl Sqlite {
    async fn stage_one(&self, connection: &mut SqliteConnection, event: &NewEvent) -> Result<Staged> {
        let insert = bind(sqlx::query(sql::STAGE.as_str()), row::event_cells(event, self.inner.clock.now())?);
        let written = insert.fetch_optional(&mut *connection).await.map_err(translate_sqlx)?;
        if let Some(found) = written {
            let seq = found.try_get("seq").map_err(translate_sqlx)?;
            return Ok(Staged { id: event.id, seq, wrote: StagedBy::ThisTransaction });
        }
        let find = bind(sqlx::query(sql::FIND_EVENT.as_str()), [row::blob(event.id.as_bytes())]);
        let found = find.fetch_one(&mut *connection).await.map_err(translate_sqlx)?;
        if !is_same(&found, event).map_err(translate_sqlx)? {
            return Err(Error::new(
                EVENT_ID_REUSED,
                format!("event {} is staged already, and is another one", event.id),
            ));
        }
        Ok(Staged { id: event.id, seq: found.try_get("seq").map_err(translate_sqlx)?, wrote: StagedBy::Earlier })
    }
}

/// Whether a staged row is this event: what consumers see of it.
fn is_same(found: &SqliteRow, event: &NewEvent) -> sqlx::Result<bool> {
    Ok(found.try_get::<&[u8], _>("payload")? == &event.payload[..]
        && found.try_get::<&str, _>("event_type")? == event.event_type.as_str()
        && found.try_get::<&str, _>("tenant")? == event.aggregate.tenant.as_str()
        && found.try_get::<&str, _>("aggregate_type")? == event.aggregate.aggregate_type.as_str()
        && found.try_get::<&str, _>("aggregate_id")? == &*event.aggregate.id
        && found.try_get::<u32, _>("schema_version")? == event.schema_version
        && found.try_get::<&str, _>("content_type")? == &*event.content_type)
}
