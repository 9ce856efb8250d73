//! One incident for a dependency that no call gets through to.

use std::collections::{HashMap, HashSet};

use onefold_core::Result;
use onefold_core::incident::{IncidentChange, OutageDecision, OutageState, Subject, SubjectSort, decide_outage};
use onefold_core::operation::{KindName, Tenant};
use onefold_core::port::{IncidentFilter, Page, Store, SubjectChange};
use onefold_core::time::Timestamp;
use tokio::task::JoinHandle;

use crate::every::every;
use crate::ledger::handle::Ledger;
use crate::meter;

pub(crate) fn start<S: Store>(ledger: &Ledger<S>) -> JoinHandle<()> {
    every(ledger, ledger.inner.settings.announce_every, |ledger| {
        Box::pin(async move {
            ledger.inner.remote_permits.expire(ledger.inner.settings.clock.boot());
            if let Err(error) = ledger.watch_dependencies().await {
                meter::store_error("watch", &error);
                tracing::warn!(error_code = %error.code(), "outages not reported; they are looked for again");
            }
        })
    })
}

impl<S: Store> Ledger<S> {
    /// Opens and closes the incidents of dependencies, as the loop does on its own; answers how many changed.
    pub async fn watch_dependencies(&self) -> Result<usize> {
        let declared = self.inner.dependencies.all();
        if declared.is_empty() {
            return Ok(0);
        }
        let open = self.reported().await?;
        // In this order, so that a pause between the two makes an incident older and hides no success after it.
        let boot = self.inner.settings.clock.boot();
        let now = self.now();
        let mut changes = Vec::new();
        for (name, dependency) in declared {
            let reported_at = open.get(&name).map(|seen| boot.saturating_sub(now.since(*seen)));
            let state = if reported_at.is_some() { OutageState::Reported } else { OutageState::Unreported };
            let (history, unavailable_for) = dependency.look(reported_at);
            let change = match decide_outage(state, history, unavailable_for) {
                OutageDecision::Stays => continue,
                OutageDecision::Opens(failing_for) => {
                    IncidentChange::of_dependency(&name, &self.inner.worker, failing_for, now)
                }
                OutageDecision::Closes => IncidentChange::close_by_evidence(now),
            };
            changes.push(SubjectChange { tenant: Tenant::default(), subject: Subject::dependency(name), change });
        }
        let count = changes.len();
        if count > 0 {
            self.inner.store.change_incidents(changes).await?;
        }
        Ok(count)
    }

    /// Closes the incidents of dependencies that are not declared here: no call of this process would ever close them.
    /// For a server whose configuration says what there is; answers how many were closed.
    pub async fn close_undeclared_outages(&self) -> Result<usize> {
        let declared: HashSet<KindName> = self.inner.dependencies.all().into_iter().map(|(name, _)| name).collect();
        let now = self.now();
        let undeclared = self.reported().await?.into_keys().filter(|name| !declared.contains(name));
        let closed = |name| SubjectChange {
            tenant: Tenant::default(),
            subject: Subject::dependency(name),
            change: IncidentChange::close_by_evidence(now),
        };
        let changes: Vec<SubjectChange> = undeclared.map(closed).collect();
        let count = changes.len();
        if count > 0 {
            self.inner.store.change_incidents(changes).await?;
        }
        Ok(count)
    }

    /// The dependencies with an open incident and when it was last raised, whichever process did it.
    async fn reported(&self) -> Result<HashMap<KindName, Timestamp>> {
        let filter =
            IncidentFilter { open_only: true, subject: Some(SubjectSort::Dependency), ..IncidentFilter::default() };
        let open = self.inner.store.incidents(filter, Page { after: None, limit: Page::LIMIT_MAX }).await?;
        Ok(open.items.into_iter().map(|incident| (incident.subject.kind, incident.last_seen)).collect())
    }
}
