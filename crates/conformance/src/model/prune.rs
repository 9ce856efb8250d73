//! Retention.

use onefold_core::Timestamp;
use onefold_core::archive::{Deletion, History};
use onefold_core::ledger::{Digest, Entry, Status, StoredResult};
use onefold_core::operation::{KindName, OperationKey};
use onefold_core::port::{PruneRequest, Pruned};

use super::{Data, is_of};

/// What may be deleted.
pub(super) struct PruneFindings {
    pub(super) deletion: Deletion,
    more: bool,
}

impl PruneFindings {
    pub(super) fn counted(&self) -> Pruned {
        let Deletion { operations, results } = &self.deletion;
        Pruned { operations: operations.len(), results: results.len(), more: self.more }
    }
}

pub(super) fn find(data: &Data, request: &PruneRequest) -> PruneFindings {
    let now = request.by.at();
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
    let operations = ids.iter().map(|entry| history(data, entry)).collect();
    PruneFindings { deletion: Deletion { operations, results }, more }
}

/// Deletes what is still as it was found.
pub(super) fn delete(data: &mut Data, found: &PruneFindings, now: Timestamp) -> Pruned {
    let mut pruned = Pruned { more: found.more, ..Pruned::default() };
    for kept in &found.deletion.operations {
        if data.entry(&kept.entry.key) == Some(&kept.entry) && history(data, &kept.entry) == *kept {
            forget(data, &kept.entry);
            pruned.operations += 1;
        }
    }
    for entry in &found.deletion.results {
        if data.entry(&entry.key) == Some(entry) {
            drop_result(data, entry, now);
            pruned.results += 1;
        }
    }
    pruned
}

fn settled(entry: &Entry, kind: &KindName) -> bool {
    entry.key.kind == *kind
        && matches!(entry.status, Status::Completed | Status::FailedFinal)
        && entry.incident.is_none()
}

fn history(data: &Data, entry: &Entry) -> History {
    let of_it = |key: &OperationKey| *key == entry.key;
    let attempts = data.attempts.iter().filter(|((key, _), _)| of_it(key));
    let notes = data.notes.iter().filter(|(key, _)| of_it(key));
    History {
        entry: entry.clone(),
        attempts: attempts.map(|(_, attempt)| attempt.clone()).collect(),
        notes: notes.map(|(_, note)| note.clone()).collect(),
        incidents: data.incidents.values().filter(|incident| is_of(incident, &entry.key)).cloned().collect(),
    }
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
