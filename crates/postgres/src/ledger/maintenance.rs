//! What time asks for: sweep, reconcile, prune.

use std::collections::HashSet;
use std::time::Duration;

use onefold_core::clock::Confirmation;
use onefold_core::ledger::{self, Entry, OVERDUE_FOR, ReconcileRequest, Reconciled, SweepReason};
use onefold_core::operation::{KindName, OperationKey};
use onefold_core::port::{
    BoxFuture, DueQuestions, LedgerMaintenance, PruneRequest, Pruned, SweepRequest, SweepScope, Swept,
};
use onefold_core::{Result, Timestamp};
use sqlx::PgConnection;

use crate::Postgres;
use crate::connection::RetryLoop;
use crate::error::translate;
use crate::ledger::row;
use crate::ledger::transition::LockedElsewhere;

/// Rows of leases that one look of the sweeper takes: a commit of its own if nothing in them is over.
const LOOK_AT: i64 = 256;

/// A place in the table of leases, in the order in which they end.
#[derive(Debug, Clone, Copy)]
struct LeasePlace {
    due_at: i64,
    id: i64,
}

impl LeasePlace {
    /// Before every lease.
    const START: Self = Self { due_at: i64::MIN, id: i64::MIN };
}

/// What became of a look at leases.
enum SweepProgress {
    /// Nothing was moved; there may be more behind this place.
    LookOn(LeasePlace),
    /// The slice is over.
    Done(Swept),
}

impl LedgerMaintenance for Postgres {
    fn sweep(&self, request: SweepRequest) -> BoxFuture<'_, Result<Swept>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            // What was swept before its answer was lost is found no more.
            let mut tries = store.tries();
            loop {
                match Box::pin(store.sweep_slice(&request)).await {
                    Err(error) if tries.again(&error).await => {}
                    ended => return ended,
                }
            }
        }))
    }

    fn due(&self, kinds: Vec<KindName>, limit: usize) -> BoxFuture<'_, Result<DueQuestions>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let now = store.server_time().await?;
            let names: Vec<&str> = kinds.iter().map(KindName::as_str).collect();
            let query = row::query(&store.inner.sql.due).bind(now.as_micros()).bind(names).bind(count(limit));
            let rows = store.rows(query).await?;
            Ok(DueQuestions { now, entries: rows.iter().map(row::entry).collect::<Result<_>>()? })
        }))
    }

    fn take_due(&self, kinds: Vec<KindName>, limit: usize, hold_for: Duration) -> BoxFuture<'_, Result<DueQuestions>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            Box::pin(store.answered(store.take_questions(&kinds, limit, hold_for))).await
        }))
    }

    fn reconcile(&self, answers: Vec<ReconcileRequest>) -> BoxFuture<'_, Result<Vec<Reconciled>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let mut tries = store.tries_until_commit();
            loop {
                match store.answered(store.reconcile_all(&answers, &mut tries)).await {
                    Err(error) if tries.again(&error).await => {}
                    ended => return ended.map_err(|error| tries.told(error)),
                }
            }
        }))
    }

    fn confirm_time(&self) -> BoxFuture<'_, Result<Confirmation>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.answered(store.look_at_clock()).await }))
    }

    fn prune(&self, request: PruneRequest) -> BoxFuture<'_, Result<Pruned>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.prune_slice(&request).await }))
    }
}

/// A limit as the driver binds it.
pub(crate) fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// These without repetition: an operation that was granted again is in two rows of leases.
fn once_each(mut keys: Vec<OperationKey>) -> Vec<OperationKey> {
    let mut seen = HashSet::new();
    keys.retain(|key| seen.insert(key.clone()));
    keys
}

impl Postgres {
    /// The server's time.
    pub(crate) async fn server_time(&self) -> Result<Timestamp> {
        if let Some(given) = self.inner.clock.given() {
            return Ok(Timestamp::from_micros(given));
        }
        let query = row::query(&self.inner.sql.clock);
        let rows = self.rows(query).await?;
        let now = rows
            .first()
            .map_or_else(|| Ok(self.inner.clock.now()), |found| row::only(found).map(Timestamp::from_micros))?;
        self.inner.clock.heard(now);
        Ok(now)
    }

    /// One slice. Sweepers of several servers find the same operations, and each takes what no other has locked.
    async fn sweep_slice(&self, request: &SweepRequest) -> Result<Swept> {
        let now = self.server_time().await?;
        if let SweepScope::DeadHolder(holder) = &request.scope {
            return self.answered(self.sweep_held(request, holder)).await;
        }
        let mut place = LeasePlace::START;
        loop {
            match self.answered(self.sweep_overdue(request, now, place)).await? {
                SweepProgress::LookOn(next) => place = next,
                SweepProgress::Done(swept) => return Ok(swept),
            }
        }
    }

    async fn sweep_held(&self, request: &SweepRequest, holder: &str) -> Result<Swept> {
        let mut transaction = self.inner.connected.begin().await?;
        let query = row::query(&self.inner.sql.held).bind(holder.to_owned()).bind(count(request.limit));
        let rows = query.fetch_all(&mut *transaction).await.map_err(translate)?;
        let keys = rows.iter().map(row::key).collect::<Result<_>>()?;
        let swept = self.sweep_keys(&mut transaction, request, SweepReason::HolderDead, &once_each(keys)).await?;
        transaction.commit().await.map_err(translate)?;
        // What was found but not moved would only be found again.
        Ok(Swept { more: rows.len() >= request.limit && swept.total() > 0, ..swept })
    }

    /// Looks at the leases behind this place, and sweeps what is over and what else is overdue.
    async fn sweep_overdue(&self, request: &SweepRequest, now: Timestamp, place: LeasePlace) -> Result<SweepProgress> {
        let mut transaction = self.inner.connected.begin().await?;
        let (mut keys, next) = self.expired_leases(&mut transaction, request, now, place).await?;
        if let (true, Some(next)) = (keys.is_empty(), next) {
            transaction.commit().await.map_err(translate)?;
            return Ok(SweepProgress::LookOn(next));
        }
        let expired = keys.len();
        let others = self.overdue(&mut transaction, request, now).await?;
        // Each has half of a slice at least, so that neither keeps the other waiting for ever.
        let room = request.limit.saturating_sub(others.len()).max(request.limit.div_ceil(2));
        let more = expired + others.len() >= request.limit || next.is_some();
        keys.truncate(room);
        keys.extend(others);
        keys.truncate(request.limit);
        let swept = self.sweep_keys(&mut transaction, request, SweepReason::Expired, &keys).await?;
        if expired > 0 && swept.total() > 0 {
            // They are out of the table of leases in the same commit.
            self.expired_leases(&mut transaction, request, now, place).await?;
        }
        transaction.commit().await.map_err(translate)?;
        Ok(match next {
            // Somebody else moves these: what is behind them does not wait.
            Some(next) if swept.total() == 0 => SweepProgress::LookOn(next),
            // What was found but not moved would only be found again.
            Some(_) | None => SweepProgress::Done(Swept { more: more && swept.total() > 0, ..swept }),
        })
    }

    /// Moves these operations as their policies ask, without those that somebody else moves.
    async fn sweep_keys(
        &self,
        connection: &mut PgConnection,
        request: &SweepRequest,
        reason: SweepReason,
        keys: &[OperationKey],
    ) -> Result<Swept> {
        let mut swept = Swept::default();
        if keys.is_empty() {
            return Ok(swept);
        }
        let mut moving = self.lock(connection, keys, LockedElsewhere::LeaveOut).await?;
        for (index, key) in keys.iter().enumerate() {
            let sweep = request.sweep(reason, index, &key.kind);
            if let Some(transition) = moving.entry(key).and_then(|entry| ledger::sweep(entry, &sweep, moving.now)) {
                swept.count(moving.carry_out(transition));
            }
        }
        moving.write(connection, &self.inner.sql).await?;
        Ok(swept)
    }

    /// Operations whose lease is over, and the place behind which other leases may be; takes out of the table of leases
    /// what is not in flight any more.
    async fn expired_leases(
        &self,
        connection: &mut PgConnection,
        request: &SweepRequest,
        now: Timestamp,
        place: LeasePlace,
    ) -> Result<(Vec<OperationKey>, Option<LeasePlace>)> {
        let (kinds, slacks): (Vec<&str>, Vec<i64>) =
            request.kinds.iter().map(|(kind, terms)| (kind.as_str(), micros(terms.clock_slack))).unzip();
        let query = row::query(&self.inner.sql.expired_leases)
            .bind(now.as_micros())
            .bind(place.due_at)
            .bind(place.id)
            .bind(LOOK_AT)
            .bind(count(request.limit))
            .bind(kinds)
            .bind(slacks)
            .bind(micros(request.clock_slack));
        let (mut keys, mut next) = (Vec::new(), None);
        for found in query.fetch_all(connection).await.map_err(translate)? {
            match row::get(&found, "due_at")? {
                Some(due_at) => next = Some(LeasePlace { due_at, id: row::get(&found, "id")? }),
                None => keys.push(row::key(&found)?),
            }
        }
        Ok((once_each(keys), next))
    }

    async fn overdue(
        &self,
        connection: &mut PgConnection,
        request: &SweepRequest,
        now: Timestamp,
    ) -> Result<Vec<OperationKey>> {
        let query = row::query(&self.inner.sql.overdue)
            .bind(now.as_micros())
            .bind(now.minus(OVERDUE_FOR).as_micros())
            .bind(count(request.limit));
        query.fetch_all(connection).await.map_err(translate)?.iter().map(row::key).collect()
    }

    /// Questions that are due, put off for everybody else: the process that takes them may die before they are answered.
    async fn take_questions(&self, kinds: &[KindName], limit: usize, hold_for: Duration) -> Result<DueQuestions> {
        let now = self.server_time().await?;
        let names: Vec<&str> = kinds.iter().map(KindName::as_str).collect();
        let mut transaction = self.inner.connected.begin().await?;
        let query = row::query(&self.inner.sql.take_due).bind(now.as_micros()).bind(names).bind(count(limit));
        let query = query.bind(now.plus(hold_for).as_micros());
        let rows = query.fetch_all(&mut *transaction).await.map_err(translate)?;
        transaction.commit().await.map_err(translate)?;
        // As they were due, and not as they were put off.
        let due = |found| {
            let next_ask_at = Some(row::time(found, row::AFTER_OPERATION)?);
            Ok(Entry { next_ask_at, ..row::entry(found)? })
        };
        Ok(DueQuestions { now, entries: rows.iter().map(due).collect::<Result<_>>()? })
    }

    async fn reconcile_all(&self, answers: &[ReconcileRequest], tries: &mut RetryLoop<'_>) -> Result<Vec<Reconciled>> {
        let mut transaction = self.inner.connected.begin().await?;
        let keys: Vec<_> = answers.iter().map(|answer| answer.key.clone()).collect();
        let mut moving = self.lock(&mut transaction, &keys, LockedElsewhere::Await).await?;
        let mut reconciled = Vec::with_capacity(answers.len());
        for request in answers {
            let decided = ledger::reconcile(moving.entry(&request.key), request, moving.now);
            if let Some(transition) = decided.transition {
                moving.carry_out(*transition);
            }
            reconciled.push(decided.answer);
        }
        moving.write(&mut transaction, &self.inner.sql).await?;
        tries.committing();
        transaction.commit().await.map_err(translate)?;
        Ok(reconciled)
    }
}
