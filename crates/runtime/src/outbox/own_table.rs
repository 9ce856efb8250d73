//! A relay on a team's own table: take rows, publish them outside any transaction, mark them.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::Result;
use onefold_core::error::{RELAY_TABLE_INVALID, TARGET_UNAVAILABLE};
use onefold_core::event::StoredEvent;
use onefold_core::incident::IncidentChange;
use onefold_core::operation::Tenant;
use onefold_core::outbox::{OwnTable, RowMark, TargetUnavailable};
use onefold_core::port::{CheckedTable, Delivery, FaultPoint, Publication, RefusedRetry, SubjectChange, TakenRows};
use onefold_core::retry::Jitter;

use super::outage::TargetWatch;
use super::relay::{IDLE_FIRST, IDLE_MAX, LANELESS, RunningRelay, for_a_person};
use crate::meter;

/// What a turn came to.
enum TableTurn {
    /// There was work; there may be more.
    Worked,
    /// Nothing was due.
    Idle,
    /// The target takes nothing; wait so long.
    Unavailable(Duration),
}

impl RunningRelay {
    /// Publishes rows of this table until `stopped` is ready.
    pub(crate) async fn run_on_table(
        &self,
        table: OwnTable,
        mut stopped: Pin<&mut (impl Future<Output = ()> + Send)>,
    ) -> Result<()> {
        let mut target = TargetWatch::new();
        let checked = tokio::select! {
            () = &mut stopped => return Ok(()),
            checked = self.table_ready(table, &mut target) => checked?,
        };
        // A writer's fence is a lane's; here each loop is a writer of its own.
        let [a, b, ..] = self.context.random.bytes();
        let lane = u16::from_be_bytes([a, b]) | 0x8000;
        let mut idle = IDLE_FIRST;
        let ended = loop {
            let wait = match self.table_turn(&checked, lane, &mut target).await {
                Ok(TableTurn::Worked) => {
                    idle = IDLE_FIRST;
                    Duration::ZERO
                }
                Ok(TableTurn::Idle) => {
                    idle = (idle * 2).min(IDLE_MAX);
                    idle / 2
                }
                Ok(TableTurn::Unavailable(wait)) => wait,
                Err(error) if for_a_person(&error) => break Err(error),
                Err(error) => {
                    tracing::warn!(relay = %self.spec.name, error_code = %error.code(), detail = error.detail(), "a relay could not go on; it tries again");
                    LANELESS
                }
            };
            tokio::select! {
                biased;
                () = &mut stopped => break Ok(()),
                () = self.context.clock.sleep(wait) => {}
            }
        };
        self.publisher.leave(lane).await;
        ended
    }

    /// Checks the table and the target; waits for a database and a target that are away.
    async fn table_ready(&self, table: OwnTable, target: &mut TargetWatch) -> Result<CheckedTable> {
        let checked = loop {
            match self.context.store.check_table(table.clone()).await {
                Ok(checked) => break checked,
                Err(error) if for_a_person(&error) => return Err(error),
                Err(error) => {
                    tracing::warn!(relay = %self.spec.name, error_code = %error.code(), detail = error.detail(), "a relay's table could not be checked; it tries again");
                    self.context.clock.sleep(LANELESS).await;
                }
            }
        };
        tracing::warn!(relay = %self.spec.name, table = table.quoted(), "a table of one's own has no order across processes, nor behind a row that is refused");
        self.target_ready(target).await;
        Ok(checked)
    }

    async fn table_turn(&self, checked: &CheckedTable, lane: u16, target: &mut TargetWatch) -> Result<TableTurn> {
        let store = &self.context.store;
        let (events, lease_for) = (self.spec.events.clone(), self.spec.lease_for);
        let taken = store.take_rows(checked.clone(), events, lease_for, self.spec.page_max).await?;
        if taken.rows.is_empty() {
            return Ok(TableTurn::Idle);
        }
        let said = self.send_rows(&taken, lane).await;
        let unavailable = said.iter().find_map(unavailable).or_else(|| unanswered(&said));
        let published = said.iter().filter(|said| matches!(said, Publication::Published { .. })).count();
        let (marks, incidents) = self.judge_rows(checked, &taken, &said);
        self.context.faults.reach(FaultPoint::AFTER_LAST_ACKNOWLEDGEMENT);
        store.mark_rows(checked.clone(), taken.lease_until, marks, incidents).await?;
        meter::published(&self.spec.name, published);
        let now = self.context.clock.now();
        if published > 0 {
            target.succeeded(&**store, &self.spec, now).await;
        }
        let Some(said) = unavailable else { return Ok(TableTurn::Worked) };
        meter::publish_failed(&self.spec.name, said.code, "yes");
        let seen = (&*self.context.clock, &*self.context.worker, now);
        Ok(TableTurn::Unavailable(target.failed(&**store, &self.spec, &said, seen).await))
    }

    /// What is said of each row: by its target, or here where it can never be sent.
    async fn send_rows(&self, taken: &TakenRows, lane: u16) -> Vec<Publication> {
        let known: Vec<Option<Publication>> = taken
            .rows
            .iter()
            .map(|row| match &row.event {
                Ok(stored) => self.judge.refusal(stored),
                Err(reason) => Some(unreadable(reason)),
            })
            .collect();
        let sent: Vec<&Arc<StoredEvent>> = taken
            .rows
            .iter()
            .zip(&known)
            .filter(|(_, known)| known.is_none())
            .filter_map(|(row, _)| row.event.as_ref().ok())
            .collect();
        let mut answers = HashMap::new();
        if !sent.is_empty() {
            let events = sent.iter().map(|stored| self.judge.outgoing(stored, None)).collect();
            let delivery = Delivery { lane, fence: 0, events, within: self.spec.delivery_within };
            let started = self.context.clock.monotonic();
            let said = self.publisher.publish(vec![delivery]).await.pop().unwrap_or_default();
            meter::page_sent(&self.spec.name, self.context.clock.monotonic().saturating_sub(started));
            answers.extend(sent.iter().map(|stored| stored.event.id).zip(said));
        }
        let said = |(row, known): (&onefold_core::port::TakenRow, Option<Publication>)| {
            known.or_else(|| answers.get(&row.id).cloned()).unwrap_or(Publication::NotSent)
        };
        taken.rows.iter().zip(known).map(said).collect()
    }

    /// The marks of rows, and the incidents of those that are parked or came through after all.
    fn judge_rows(
        &self,
        checked: &CheckedTable,
        taken: &TakenRows,
        said: &[Publication],
    ) -> (Vec<(Arc<str>, RowMark)>, Vec<SubjectChange>) {
        let [a, b, c, d, ..] = self.context.random.bytes();
        let jitter = Jitter(u32::from_be_bytes([a, b, c, d]));
        let table = checked.table.quoted();
        let (mut marks, mut incidents) = (Vec::new(), Vec::new());
        for (row, said) in taken.rows.iter().zip(said) {
            let mark = RowMark::of(said, row.attempts, &self.spec.retry, taken.now, jitter);
            let tenant =
                row.event.as_ref().map_or_else(|_| Tenant::default(), |stored| stored.event.aggregate.tenant.clone());
            match &mark {
                RowMark::Parked { code, reason } => {
                    meter::publish_failed(&self.spec.name, *code, "no");
                    let about = (&tenant, row.id, table.as_str());
                    let seen = (&*self.context.worker, taken.now);
                    let attempts = row.attempts.saturating_add(1);
                    incidents.push(IncidentChange::of_parked_row(&self.spec, about, (*code, reason), attempts, seen));
                }
                RowMark::Published if row.attempts > 0 => {
                    incidents.push(IncidentChange::of_published_row(&self.spec, &tenant, row.id, taken.now));
                }
                RowMark::Published | RowMark::Again { .. } | RowMark::PutBack => {}
            }
            marks.push((Arc::clone(&row.key), mark));
        }
        (marks, incidents)
    }
}

fn unavailable(said: &Publication) -> Option<TargetUnavailable> {
    let Publication::Unavailable { code, reason, after } = said else { return None };
    Some(TargetUnavailable { code: *code, reason: reason.clone(), after: *after })
}

/// Where nothing was said of any row: the publisher gave up.
fn unanswered(said: &[Publication]) -> Option<TargetUnavailable> {
    let reason = "the publisher gave no answer".to_owned();
    let silent = said.iter().all(|said| *said == Publication::NotSent);
    silent.then_some(TargetUnavailable { code: TARGET_UNAVAILABLE, reason, after: None })
}

fn unreadable(reason: &str) -> Publication {
    let reason = format!("the row cannot be read as an event: {reason}");
    Publication::Refused { code: RELAY_TABLE_INVALID, reason, retry: RefusedRetry::Never }
}
