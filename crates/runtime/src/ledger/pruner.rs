//! Applies retention in small slices; the archive is written first.

use std::sync::Arc;

use onefold_core::Result;
use onefold_core::clock::{Confirmation, ConfirmedTime};
use onefold_core::effect::Retention;
use onefold_core::error::CLOCK_NOT_CONFIRMED;
use onefold_core::operation::KindName;
use onefold_core::port::{Archive, PruneRequest, Pruned, Store};
use tokio::task::JoinHandle;

use crate::every::every;
use crate::ledger::archive::FileArchive;
use crate::ledger::handle::Ledger;
use crate::meter;

/// Rows one commit of the pruner touches at most.
const SLICE: usize = 500;

/// Rows a dry run counts at most.
const DRY_RUN_MAX: usize = 10_000;

pub(crate) fn start<S: Store>(ledger: &Ledger<S>) -> JoinHandle<()> {
    every(ledger, ledger.inner.settings.prune_every, |ledger| {
        Box::pin(async move {
            match ledger.prune().await {
                Ok(pruned) if pruned == Pruned::default() => {}
                Ok(pruned) => tracing::info!(operations = pruned.operations, results = pruned.results, "pruned"),
                // Said where it was noticed.
                Err(error) if error.code() == CLOCK_NOT_CONFIRMED => {}
                Err(error) => {
                    meter::store_error("prune", &error);
                    tracing::warn!(error_code = %error.code(), constraint = error.constraint(), "prune failed; it is tried again");
                }
            }
        })
    })
}

impl<S: Store> Ledger<S> {
    /// Applies every kind's retention now. A duplicate of a forgotten operation **is performed**.
    ///
    /// Refused with `CLOCK_NOT_CONFIRMED` while the time of day is far ahead of what was confirmed.
    pub async fn prune(&self) -> Result<Pruned> {
        let archive = self.inner.settings.archive.as_ref().map(|folder| FileArchive::new(folder)).transpose()?;
        self.prune_into(archive.map(|archive| Arc::new(archive) as Arc<dyn Archive>)).await
    }

    /// What [`Ledger::prune`] would delete now, up to a slice of it.
    pub async fn prune_dry_run(&self) -> Result<Pruned> {
        let by = self.confirmed_time().await?;
        let request = PruneRequest { by, rules: self.retentions(), limit: DRY_RUN_MAX, archive: None, dry_run: true };
        self.inner.store.prune(request).await
    }

    /// The time that may delete. A clock that jumped ahead deletes nothing until that is confirmed.
    async fn confirmed_time(&self) -> Result<ConfirmedTime> {
        match self.inner.store.confirm_time().await? {
            Confirmation::Confirmed(by) => Ok(by),
            Confirmation::Earlier(by, jump) => {
                tracing::warn!(
                    confirmed = %jump.confirmed,
                    shown = %jump.shown,
                    "pruned by the time of an earlier start, because the present one is not confirmed yet"
                );
                Ok(by)
            }
            Confirmation::Waiting(jump) => {
                meter::clock_jumped();
                tracing::error!(
                    error_code = %CLOCK_NOT_CONFIRMED,
                    confirmed = %jump.confirmed,
                    shown = %jump.shown,
                    "the clock jumped ahead; nothing is pruned until it is confirmed"
                );
                Err(jump.error())
            }
        }
    }

    fn retentions(&self) -> Vec<(KindName, Retention)> {
        self.kinds()
            .values()
            .filter(|terms| terms.retention.id_for.is_some() || terms.retention.result_for.is_some())
            .map(|terms| (terms.kind.clone(), terms.retention))
            .collect()
    }

    /// Applies every kind's retention now, into this archive.
    pub async fn prune_into(&self, archive: Option<Arc<dyn Archive>>) -> Result<Pruned> {
        let rules = self.retentions();
        if rules.is_empty() {
            // Looked at all the same: time is confirmed by looks.
            return self.inner.store.confirm_time().await.map(|_| Pruned::default());
        }
        let by = self.confirmed_time().await?;
        let mut total = Pruned::default();
        loop {
            let request =
                PruneRequest { by, rules: rules.clone(), limit: SLICE, archive: archive.clone(), dry_run: false };
            let slice = self.inner.store.prune(request).await?;
            total.operations += slice.operations;
            total.results += slice.results;
            if !slice.more || slice.operations + slice.results == 0 {
                return Ok(total);
            }
            // Claims go first: between two slices the writer is free.
            tokio::task::yield_now().await;
        }
    }
}
