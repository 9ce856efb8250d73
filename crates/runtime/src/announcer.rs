//! Announces incidents: a line in the log when one is opened and when it is closed, and what other sinks need.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::Result;
use onefold_core::incident::{GroupKey, Incident, SubjectSort, by_cause};
use onefold_core::ledger::SideEffect;
use onefold_core::port::{Announcement, IncidentEvent, Sink, Store};
use tokio::task::JoinHandle;

use crate::every::every;
use crate::ledger::handle::Ledger;
use crate::meter;

/// Incidents that are looked at in one go.
const SLICE: usize = 1_000;
/// How long one process has the turn; another takes it when this one is gone.
const TURN_FOR: Duration = Duration::from_secs(30);
/// Lines of one announcement; a crash that leaves a thousand incidents behind does not write a thousand lines.
const LINES_MAX: usize = 10;

pub(crate) fn start<S: Store>(ledger: &Ledger<S>) -> JoinHandle<()> {
    every(ledger, ledger.inner.settings.announce_every, |ledger| {
        Box::pin(async move {
            if let Err(error) = ledger.log_incidents().await {
                meter::store_error("announce", &error);
                tracing::warn!(error_code = %error.code(), "incidents not announced; they are tried again");
            }
        })
    })
}

impl<S: Store> Ledger<S> {
    /// Queues what a sink has not been told, by cause, if it is this process's turn; `may` says which causes now.
    pub async fn queue_news(
        &self,
        sink: Sink,
        mut may: impl FnMut(IncidentEvent, &GroupKey) -> bool + Send,
    ) -> Result<()> {
        let store = self.store();
        // Looking costs nothing; the turn is written, so it is taken only when there is something to tell.
        if store.untold(sink, 1).await?.is_empty() || !self.take_turn(sink).await? {
            return Ok(());
        }
        for (event, cause, incidents) in by_cause(store.untold(sink, SLICE).await?) {
            if may(event, &cause) {
                let random = u128::from_be_bytes(self.inner.settings.random.bytes());
                let id = Arc::from(format!("msg_{random:032x}"));
                store.queue(sink, Announcement { id, event, incidents }).await?;
            }
        }
        Ok(())
    }

    /// Whether this process announces to a sink now.
    pub async fn take_turn(&self, sink: Sink) -> Result<bool> {
        self.store().take_turn(sink, Arc::clone(&self.inner.worker), TURN_FOR).await
    }

    /// Logs every incident that was opened or closed, as the loop does on its own.
    pub async fn log_incidents(&self) -> Result<()> {
        self.queue_news(Sink::Log, |_, _| true).await?;
        let queued = self.store().queued(Sink::Log, SLICE).await?;
        if queued.is_empty() || !self.take_turn(Sink::Log).await? {
            return Ok(());
        }
        for announcement in queued {
            log(&announcement);
            self.store().delivered(Sink::Log, announcement.id).await?;
        }
        Ok(())
    }
}

fn log(announcement: &Announcement) {
    let more = announcement.incidents.len().saturating_sub(LINES_MAX);
    for incident in announcement.incidents.iter().take(LINES_MAX) {
        match announcement.event {
            IncidentEvent::Opened => opened(incident),
            IncidentEvent::Closed => closed(incident),
        }
    }
    if let (Some(head), 1..) = (announcement.incidents.first(), more) {
        tracing::warn!(group = %head.group, event = announcement.event.as_str(), more, "more incidents of this cause");
    }
}

fn opened(incident: &Incident) {
    tracing::error!(
        incident = %incident.id,
        error_code = incident.error_code.as_str(),
        category = incident.category.as_str(),
        subject = incident.subject.sort.as_str(),
        kind = incident.subject.kind.as_str(),
        operation_id = operation_id(incident),
        business_key = incident.business_key.as_deref(),
        process_instance_key = incident.process_instance_key.as_deref(),
        element_id = incident.element_id.as_deref(),
        attempt = incident.attempts,
        effect = incident.side_effect_status.map(SideEffect::as_str),
        dependency = incident.dependency.as_deref(),
        runbook = &*incident.runbook,
        group = %incident.group,
        "incident opened"
    );
}

fn operation_id(incident: &Incident) -> Option<&str> {
    (incident.subject.sort == SubjectSort::Operation).then_some(&*incident.subject.id)
}

fn closed(incident: &Incident) {
    // A person's name is in the timeline, not in the log.
    let by = if incident.closed_by.as_deref() == Some("evidence") { "evidence" } else { "person" };
    tracing::info!(
        incident = %incident.id,
        error_code = incident.error_code.as_str(),
        subject = incident.subject.sort.as_str(),
        kind = incident.subject.kind.as_str(),
        operation_id = operation_id(incident),
        closed_by = by,
        group = %incident.group,
        "incident closed"
    );
}
