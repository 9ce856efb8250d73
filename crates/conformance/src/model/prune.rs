//! Retention.

use onefold_core::Timestamp;
use onefold_core::error::Result;
use onefold_core::ledger::{Digest, Entry, Status, StoredResult};
use onefold_core::operation::KindName;
use onefold_core::ports::{PruneRequest, Pruned};

use super::{Data, is_of};

pub(super) fn prune(data: &mut Data, request: &PruneRequest, now: Timestamp) -> Result<Pruned> {
    let (mut ids, mut results) = (Vec::new(), Vec::new());
    for (kind, retention) in &request.rules {
        let old = |entry: &Entry, kept: Option<std::time::Duration>| {
            kept.is_some_and(|kept| settled(entry, kind) && entry.completed_at.is_some_and(|at| at.plus(kept) <= now))
        };
        let mut left = request.limit.saturating_sub(ids.len() + results.len());
        let mut expired = data.sorted(|entry| old(entry, retention.id_for));
        expired.truncate(left);
        left -= expired.len();
        ids.extend(expired);
        let held = |entry: &Entry| matches!(entry.result, Some(StoredResult::Kept { .. }));
        let mut dropped =
            data.sorted(|entry| old(entry, retention.result_for) && !old(entry, retention.id_for) && held(entry));
        dropped.truncate(left);
        results.extend(dropped);
    }
    let more = ids.len() + results.len() >= request.limit;
    let pruned = Pruned { operations: ids.len(), results: results.len(), more };
    if request.dry_run {
        return Ok(pruned);
    }
    if let (Some(archive), false) = (&request.archive, ids.is_empty()) {
        archive.keep(&ids)?;
    }
    for entry in &ids {
        forget(data, entry);
    }
    for entry in &results {
        drop_result(data, entry, now);
    }
    Ok(pruned)
}

fn settled(entry: &Entry, kind: &KindName) -> bool {
    entry.key.kind == *kind
        && matches!(entry.status, Status::Completed | Status::FailedFinal)
        && entry.incident.is_none()
}

fn forget(data: &mut Data, entry: &Entry) {
    data.entries.remove(&entry.key);
    data.attempts.retain(|(key, _), _| *key != entry.key);
    data.notes.retain(|(key, _)| *key != entry.key);
    data.incidents.retain(|_, incident| !is_of(incident, &entry.key));
}

fn drop_result(data: &mut Data, entry: &Entry, now: Timestamp) {
    let Some((_, stored)) = data.entries.get_mut(&entry.key) else {
        return;
    };
    if let Some(StoredResult::Kept { content_type, bytes }) = &entry.result {
        let digest = Digest::of(bytes);
        let reference = entry.evidence_ref.clone();
        let content_type = Some(content_type.clone());
        stored.result = Some(StoredResult::Digest { content_type, bytes: bytes.len() as u64, digest, reference });
        stored.updated_at = now;
    }
}
