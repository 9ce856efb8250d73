//! The user's own transactions on the ledger's file.

use std::ops::{Deref, DerefMut};

use onefold_core::error::{COMMIT_UNKNOWN, DATABASE_BUSY};
use onefold_core::persistence::rerun_after;
use onefold_core::port::Committed;
use onefold_core::{Error, Result};
use sqlx::SqliteConnection;
use tokio::sync::OwnedSemaphorePermit;

use crate::Sqlite;
use crate::error::{leaves_commit_unknown, translate_sqlx};

/// A write transaction of the user's own. Dropped without [`SqliteTx::commit`], it leaves nothing behind.
pub struct SqliteTx {
    transaction: sqlx::Transaction<'static, sqlx::Sqlite>,
    _turn: OwnedSemaphorePermit,
}

impl SqliteTx {
    /// Commits; the answer comes after the commit is durable.
    ///
    /// A commit that the disk failed to sync is `COMMIT_UNKNOWN`: it was written, and may be found after a crash.
    pub async fn commit(self) -> Result<Committed<()>> {
        self.transaction.commit().await.map(Committed::after_commit).map_err(failed_commit)
    }

    /// Takes everything back.
    pub async fn rollback(self) -> Result<()> {
        self.transaction.rollback().await.map_err(translate_sqlx)
    }
}

fn failed_commit(cause: sqlx::Error) -> Error {
    let unknown = leaves_commit_unknown(&cause);
    let error = translate_sqlx(cause);
    if !unknown {
        return error;
    }
    Error::new(COMMIT_UNKNOWN, "the disk failed to sync a commit; it is unknown whether it took hold").caused_by(error)
}

impl Deref for SqliteTx {
    type Target = SqliteConnection;
    fn deref(&self) -> &SqliteConnection {
        &self.transaction
    }
}

impl DerefMut for SqliteTx {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.transaction
    }
}

impl Sqlite {
    /// Begins a write transaction, with the write lock from the start (`BEGIN IMMEDIATE`).
    ///
    /// Transactions of one process take turns. Keep them short: claims wait behind them.
    pub async fn begin(&self) -> Result<SqliteTx> {
        let gate = std::sync::Arc::clone(&self.inner.gate);
        let busy = || {
            Error::new(DATABASE_BUSY, "another transaction of this process did not end in time")
                .hint("end transactions before beginning others, and keep them short")
        };
        let turn = tokio::select! {
            turn = gate.acquire_owned() => turn.map_err(|_| busy())?,
            () = self.inner.clock.sleep(self.inner.options.begin_wait) => return Err(busy()),
        };
        let transaction = self.inner.pool.begin_with("BEGIN IMMEDIATE").await.map_err(translate_sqlx)?;
        Ok(SqliteTx { transaction, _turn: turn })
    }

    /// Runs `work` in a transaction and commits it; contention runs it again, at most three times in all.
    ///
    /// What may only happen after the commit takes the [`Committed`] token. Where the future must be `Send`, as in a
    /// handler, let `work` own what it needs (`async move`): borrowed captures do not compile there.
    pub async fn transaction<T>(&self, work: impl AsyncFn(&mut SqliteConnection) -> Result<T>) -> Result<Committed<T>> {
        let mut runs = 1;
        loop {
            let ended = self.run(&work).await;
            let [draw, ..] = self.inner.options.random.bytes();
            let Some(wait) = ended.as_ref().err().and_then(|error| rerun_after(error, runs, draw)) else {
                return ended;
            };
            self.inner.clock.sleep(wait).await;
            runs += 1;
        }
    }

    async fn run<T>(&self, work: &impl AsyncFn(&mut SqliteConnection) -> Result<T>) -> Result<Committed<T>> {
        let mut transaction = self.begin().await?;
        let value = work(&mut transaction).await?;
        Ok(transaction.commit().await?.with(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_may_have_been_written_is_told_as_unknown_and_any_other_as_what_it_is() {
        assert_eq!(failed_commit(sqlx::Error::WorkerCrashed).code(), COMMIT_UNKNOWN);
        assert_ne!(failed_commit(sqlx::Error::PoolTimedOut).code(), COMMIT_UNKNOWN);
    }
}
