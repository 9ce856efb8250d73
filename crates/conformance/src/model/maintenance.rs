//! What time asks for.

use onefold_core::Timestamp;
use onefold_core::clock::Confirmation;
use onefold_core::error::Result;
use onefold_core::ledger::{self, Entry, OVERDUE_FOR, ReconcileRequest, Reconciled, Status, Sweep, SweepReason};
use onefold_core::operation::KindName;
use onefold_core::port::{
    BoxFuture, DueQuestions, LedgerMaintenance, PruneRequest, Pruned, SweepRequest, SweepScope, Swept,
};
use onefold_core::retry::Jitter;

use super::{Data, Model, prune};

impl LedgerMaintenance for Model {
    fn sweep(&self, request: SweepRequest) -> BoxFuture<'_, Result<Swept>> {
        Box::pin(async move {
            let mut data = self.data();
            let now = self.now(&mut data);
            Ok(sweep(&mut data, &request, now))
        })
    }

    fn due(&self, kinds: Vec<KindName>, limit: usize) -> BoxFuture<'_, Result<DueQuestions>> {
        Box::pin(async move {
            let mut data = self.data();
            let now = self.now(&mut data);
            let asked = |entry: &Entry| {
                entry.status == Status::Unknown
                    && entry.next_ask_at.is_some_and(|at| at <= now)
                    && kinds.contains(&entry.key.kind)
            };
            let mut entries = data.sorted(asked);
            entries.sort_by_key(|entry| entry.next_ask_at);
            entries.truncate(limit);
            Ok(DueQuestions { now, entries })
        })
    }

    fn reconcile(&self, answers: Vec<ReconcileRequest>) -> BoxFuture<'_, Result<Vec<Reconciled>>> {
        Box::pin(async move {
            let mut data = self.data();
            let now = self.now(&mut data);
            let mut reconciled = Vec::new();
            for answer in &answers {
                let decided = ledger::reconcile(data.entry(&answer.key), answer, now);
                if let Some(transition) = decided.transition {
                    data.carry_out(*transition);
                }
                reconciled.push(decided.answer);
            }
            Ok(reconciled)
        })
    }

    fn confirm_time(&self) -> BoxFuture<'_, Result<Confirmation>> {
        Box::pin(async move { Ok(self.look_at_clock()) })
    }

    fn prune(&self, request: PruneRequest) -> BoxFuture<'_, Result<Pruned>> {
        Box::pin(async move {
            let found = prune::find(&self.data(), &request);
            if request.dry_run {
                return Ok(found.counted());
            }
            if let Some(archive) = request.archive.clone() {
                let deletion = found.deletion.clone();
                let kept = tokio::task::spawn_blocking(move || archive.keep(&deletion)).await;
                kept.expect("the archive does not panic")?;
            }
            let mut data = self.data();
            let now = self.now(&mut data);
            Ok(prune::delete(&mut data, &found, now))
        })
    }
}

fn sweep(data: &mut Data, request: &SweepRequest, now: Timestamp) -> Swept {
    let (reason, mut found) = match &request.scope {
        SweepScope::Overdue => (SweepReason::Expired, data.sorted(|entry| overdue(entry, now))),
        SweepScope::DeadHolder(name) => (
            SweepReason::HolderDead,
            data.sorted(|entry| entry.status == Status::Started && entry.installation.as_ref() == Some(name)),
        ),
    };
    let seed = Jitter(request.seed);
    let sweep = |entry: &Entry| {
        let terms = request.kinds.get(&entry.key.kind).map(|terms| &**terms);
        ledger::sweep(entry, &Sweep { reason, terms, clock_slack: request.clock_slack, jitter: seed }, now)
    };
    // A lease within its slack needs no work, so it does not take the place of another.
    found.retain(|entry| sweep(entry).is_some());
    let mut swept = Swept { more: found.len() >= request.limit && request.limit > 0, ..Swept::default() };
    found.truncate(request.limit);
    for entry in &found {
        if let Some(transition) = sweep(entry) {
            swept.count(&data.carry_out(transition));
        }
    }
    swept
}

fn overdue(entry: &Entry, now: Timestamp) -> bool {
    let passed = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
    (entry.status == Status::Started && entry.lease_until <= now)
        || passed(entry.escalate_at)
        || passed(entry.next_ask_at.map(|at| at.plus(OVERDUE_FOR)))
}

impl Data {
    /// Entries in the order they came.
    pub(super) fn sorted(&self, wanted: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        let mut found: Vec<_> = self.entries.values().filter(|(_, entry)| wanted(entry)).collect();
        found.sort_by_key(|(seq, _)| *seq);
        found.into_iter().map(|(_, entry)| entry.clone()).collect()
    }
}
