//! Moving cursors and settling pages, under the fence.

use std::collections::HashSet;

use onefold_core::Result;
use onefold_core::Timestamp;
use onefold_core::error::{Code, CodeName};
use onefold_core::outbox::{AsideEvent, CursorStep, LaneCursor, PageSettlement, RelayName, WindowEnd};
use onefold_core::port::{FaultPoint, SubjectChange};
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
    /// Moves cursors to where their steps lead; the lanes that moved. The same again changes nothing.
    pub(super) async fn move_lanes(&self, relay: &RelayName, steps: &[(LaneCursor, CursorStep)]) -> Result<Vec<u16>> {
        let after: Vec<LaneCursor> = steps.iter().map(|(cursor, step)| cursor.clone().after(step)).collect();
        let lanes: Vec<i16> = after.iter().map(|cursor| row::bound(cursor.lane)).collect();
        let fences: Vec<i64> = after.iter().map(|cursor| row::bound_number(cursor.fence)).collect();
        let since = after.iter().map(|cursor| row::snapshot_text(&cursor.since)).collect::<Result<Vec<_>>>()?;
        let until = after.iter().map(|cursor| cursor.until.as_ref().map(row::snapshot_text).transpose());
        let until = until.collect::<Result<Vec<_>>>()?;
        let pos: Vec<i64> = after.iter().map(|cursor| cursor.pos).collect();
        let moving = query(&self.inner.sql.move_cursors).bind(relay.to_string()).bind(lanes).bind(fences);
        let moving = moving.bind(since).bind(until).bind(pos);
        let mut transaction = self.inner.connected.begin_durable().await?;
        let moved = moving.fetch_all(&mut *transaction).await.map_err(translate)?;
        self.inner.faults.reach(FaultPoint::BEFORE_WINDOW_COMMIT);
        transaction.commit().await.map_err(translate)?;
        self.inner.faults.reach(FaultPoint::AFTER_WINDOW_COMMIT);
        in_order(after.iter().map(|cursor| cursor.lane), &moved)
    }

    /// Writes what pages changed, all in one commit; the lanes that moved. The same again changes nothing.
    pub(super) async fn settle_pages(
        &self,
        relay: &RelayName,
        pages: &[PageSettlement],
        incidents: &[SubjectChange],
    ) -> Result<Vec<u16>> {
        let (before, after) = FaultPoint::around_settlement(pages);
        let mut transaction = self.inner.connected.begin_durable().await?;
        let now = self.time_on(&mut transaction).await?;
        let moved = self.settle_lanes(&mut transaction, relay, pages, now).await?;
        let (settled, lost): (Vec<_>, Vec<_>) = pages.iter().partition(|page| moved.contains(&page.lane));
        let asides: Vec<&AsideEvent> = settled.iter().flat_map(|page| &page.asides).collect();
        self.put_asides(&mut transaction, relay, &asides, now).await?;
        for change in incidents.iter().filter(|change| !moved.is_empty() && !is_about(change, &lost)) {
            incidents::apply(&mut transaction, &self.inner.sql, change.clone()).await?;
        }
        self.inner.faults.reach(before);
        transaction.commit().await.map_err(translate)?;
        self.inner.faults.reach(after);
        Ok(moved)
    }

    async fn settle_lanes(
        &self,
        connection: &mut PgConnection,
        relay: &RelayName,
        pages: &[PageSettlement],
        now: Timestamp,
    ) -> Result<Vec<u16>> {
        let refused = pages.iter().map(|page| row::json(&page.health.refused)).collect::<Result<Vec<_>>>()?;
        let settling = query(&self.inner.sql.settle_lanes)
            .bind(relay.to_string())
            .bind(pages.iter().map(|page| row::bound(page.lane)).collect::<Vec<_>>())
            .bind(pages.iter().map(|page| row::bound_number(page.fence)).collect::<Vec<_>>())
            .bind(pages.iter().map(|page| page.pos).collect::<Vec<_>>())
            .bind(pages.iter().map(|page| page.window == WindowEnd::Reached).collect::<Vec<_>>())
            .bind(pages.iter().map(|page| row::bound_number(page.health.judged)).collect::<Vec<_>>())
            .bind(refused)
            .bind(pages.iter().map(|page| page.stopped.map(Code::as_str)).collect::<Vec<_>>())
            .bind(now.as_micros())
            .bind(pages.iter().map(|page| count(page.passed)).collect::<Vec<_>>())
            .bind(pages.iter().map(|page| count(page.on_time)).collect::<Vec<_>>());
        let settled = settling.fetch_all(connection).await.map_err(translate)?;
        in_order(pages.iter().map(|page| page.lane), &settled)
    }

    async fn put_asides(
        &self,
        connection: &mut PgConnection,
        relay: &RelayName,
        asides: &[&AsideEvent],
        now: Timestamp,
    ) -> Result<()> {
        // One statement writes a row once: of an event that comes twice, the last state counts.
        let mut known = HashSet::new();
        let asides: Vec<&AsideEvent> = asides.iter().rev().filter(|aside| known.insert(aside.id)).copied().collect();
        if asides.is_empty() {
            return Ok(());
        }
        let texts = |text: fn(&AsideEvent) -> String| asides.iter().map(|aside| text(aside)).collect::<Vec<_>>();
        let numbers = |number: fn(&AsideEvent) -> i64| asides.iter().map(|aside| number(aside)).collect::<Vec<_>>();
        let codes = asides.iter().map(|aside| aside.code.as_ref().map(CodeName::as_str).map(str::to_owned));
        let putting = query(&self.inner.sql.put_asides)
            .bind(relay.to_string())
            .bind(now.as_micros())
            .bind(texts(|aside| aside.id.to_string()))
            .bind(numbers(|aside| aside.seq))
            .bind(asides.iter().map(|aside| row::bound(aside.lane)).collect::<Vec<_>>())
            .bind(texts(|aside| aside.aggregate.tenant.to_string()))
            .bind(texts(|aside| aside.aggregate.aggregate_type.to_string()))
            .bind(texts(|aside| aside.aggregate.id.to_string()))
            .bind(texts(|aside| aside.status.to_string()))
            .bind(numbers(|aside| i64::from(aside.attempts)))
            .bind(numbers(|aside| aside.next_attempt_at.as_micros()))
            .bind(numbers(|aside| aside.tried_until.as_micros()))
            .bind(codes.collect::<Vec<_>>())
            .bind(asides.iter().map(|aside| aside.reason.clone()).collect::<Vec<_>>());
        run(connection, putting).await
    }
}

/// The lanes of these rows, in the order in which they were asked for.
fn in_order(asked: impl Iterator<Item = u16>, rows: &[PgRow]) -> Result<Vec<u16>> {
    let moved = rows.iter().map(row::lane).collect::<Result<HashSet<_>>>()?;
    Ok(asked.filter(|lane| moved.contains(lane)).collect())
}

/// Whether an incident is about an event of a lane that another process holds: that one tells of it, if it must.
fn is_about(change: &SubjectChange, lost: &[&PageSettlement]) -> bool {
    let mut asides = lost.iter().flat_map(|page| &page.asides);
    asides.any(|aside| change.subject.id.contains(&aside.id.to_string()))
}
