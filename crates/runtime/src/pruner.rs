//! Applies retention in small slices; the archive is written first.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onefold_core::effect::Retention;
use onefold_core::error::STORE_UNAVAILABLE;
use onefold_core::ledger::{Entry, StoredResult};
use onefold_core::operation::KindName;
use onefold_core::ports::{Archive, PruneRequest, Pruned, Store};
use onefold_core::{Error, Result};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::every::every;
use crate::ledger::Ledger;

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
                Err(error) => tracing::warn!(error_code = %error.code(), "prune failed; it is tried again"),
            }
        })
    })
}

impl<S: Store> Ledger<S> {
    /// Applies every kind's retention now. A duplicate of a forgotten operation **is performed**.
    pub async fn prune(&self) -> Result<Pruned> {
        let archive = self.inner.settings.archive.as_ref().map(|folder| FileArchive::new(folder)).transpose()?;
        self.prune_into(archive.map(|archive| Arc::new(archive) as Arc<dyn Archive>)).await
    }

    /// What [`Ledger::prune`] would delete now, up to a slice of it.
    pub async fn prune_dry_run(&self) -> Result<Pruned> {
        let request = PruneRequest { rules: self.retentions(), limit: DRY_RUN_MAX, archive: None, dry_run: true };
        self.inner.store.prune(request).await
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
            return Ok(Pruned::default());
        }
        let mut total = Pruned::default();
        loop {
            let request = PruneRequest { rules: rules.clone(), limit: SLICE, archive: archive.clone(), dry_run: false };
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

/// An archive of JSON lines in a folder, readable by its owner alone.
pub struct FileArchive {
    path: PathBuf,
}

impl FileArchive {
    /// An archive in this folder, which is made if it is not there.
    pub fn new(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|cause| failed(folder, cause))?;
        Ok(Self { path: folder.join("operations.jsonl") })
    }
}

fn failed(path: &Path, cause: std::io::Error) -> Error {
    Error::new(STORE_UNAVAILABLE, format!("the archive {} cannot be written: {cause}", path.display()))
        .hint("nothing was deleted; give the folder room and write permission")
        .caused_by(cause)
}

impl Archive for FileArchive {
    fn keep(&self, entries: &[Entry]) -> Result<()> {
        let write = || -> std::io::Result<()> {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)?;
            let mut lines = Vec::new();
            for entry in entries {
                writeln!(lines, "{}", line(entry))?;
            }
            file.write_all(&lines)?;
            file.sync_all()
        };
        write().map_err(|cause| failed(&self.path, cause))
    }
}

fn line(entry: &Entry) -> serde_json::Value {
    let (result, digest) = match &entry.result {
        Some(StoredResult::Kept { bytes, .. }) => (Some(String::from_utf8_lossy(bytes).into_owned()), None),
        Some(StoredResult::Digest { digest, .. }) => (None, Some(digest)),
        None => (None, None),
    };
    json!({
        "tenant": entry.key.tenant,
        "kind": entry.key.kind,
        "operationId": entry.key.id,
        "status": entry.status,
        "class": entry.contract.class().as_str(),
        "onUnknown": entry.contract.policy().to_string(),
        "attempts": entry.attempts,
        "fence": entry.fence,
        "worker": entry.worker,
        "businessKey": entry.origin.business_key,
        "correlationId": entry.origin.correlation_id,
        "result": result,
        "resultDigest": digest,
        "evidence": entry.evidence_ref,
        "errorCode": entry.error_code,
        "category": entry.category,
        "sideEffectStatus": entry.side_effect,
        "createdAt": entry.created_at,
        "completedAt": entry.completed_at,
    })
}
