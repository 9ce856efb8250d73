//! The user's own transactions on the ledger's database.

use std::ops::{Deref, DerefMut};

use onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED;
use onefold_core::persistence::rerun_after;
use onefold_core::port::Committed;
use onefold_core::{Error, Result};
use sqlx::{PgConnection, SqlStr};

use crate::Postgres;
use crate::connection::InUse;
use crate::error::{leaves_commit_unknown, translate};

/// A transaction of the user's own. Dropped without [`PostgresTx::commit`], it leaves nothing behind.
pub struct PostgresTx {
    store: Postgres,
    transaction: sqlx::Transaction<'static, sqlx::Postgres>,
    _in_use: InUse,
}

impl PostgresTx {
    /// Commits; the answer comes after the commit is durable.
    ///
    /// Where the answer is lost and an operation was performed in here with `once_in`, the ledger is asked for it on
    /// another connection, and the answer is certain. Else, or where the ledger cannot be asked either, the error is
    /// `COMMIT_UNKNOWN`. A transaction in which a statement failed, and whose error was not passed on, commits nothing
    /// and says so.
    pub async fn commit(mut self) -> Result<Committed<()>> {
        // To COMMIT itself a transaction in which a statement failed answers as if all were well; to this it does not.
        let performed = match performed_in(&mut self.transaction, &self.store.inner.sql.performed).await {
            Ok(performed) => performed,
            Err(cause) => return Err(not_committed(cause)),
        };
        let (store, transaction) = (self.store, self.transaction);
        let lost = match store.answered(async { Ok(transaction.commit().await) }).await {
            Ok(Ok(())) => {
                store.inner.connected.commits.count();
                return Ok(Committed::after_commit(()));
            }
            Ok(Err(cause)) if !leaves_commit_unknown(&cause) => return Err(translate(cause)),
            Ok(Err(cause)) => translate(cause),
            Err(late) => late,
        };
        store.inner.connected.commits.count();
        Box::pin(store.after_lost_commit(performed.as_deref(), lost)).await.map(Committed::after_commit)
    }

    /// Takes everything back.
    pub async fn rollback(self) -> Result<()> {
        self.transaction.rollback().await.map_err(translate)
    }
}

/// What the transaction remembers of an operation that it performed.
async fn performed_in(connection: &mut PgConnection, sql: &SqlStr) -> sqlx::Result<Option<String>> {
    let found = sqlx::raw_sql(sql.clone()).fetch_one(connection).await?;
    sqlx::Row::try_get(&found, 0)
}

fn not_committed(cause: sqlx::Error) -> Error {
    let aborted = cause.as_database_error().and_then(sqlx::error::DatabaseError::code).as_deref() == Some("25P02");
    if !aborted {
        return translate(cause);
    }
    Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a statement of the transaction failed, and its error was not passed on")
        .hint("nothing was committed; let the work pass on the errors of its statements")
        .caused_by(cause)
}

impl Deref for PostgresTx {
    type Target = PgConnection;
    fn deref(&self) -> &PgConnection {
        &self.transaction
    }
}

impl DerefMut for PostgresTx {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }
}

impl Postgres {
    /// Begins a transaction, READ COMMITTED unless the database says otherwise.
    ///
    /// Safe to cut short: the connection never goes back to the pool with a transaction open. Through `PgBouncer` in
    /// transaction mode, run statements with `.persistent(false)`.
    pub async fn begin(&self) -> Result<PostgresTx> {
        let store = self.clone();
        let begun = Self::detached(async move { store.inner.connected.begin_users().await });
        let (transaction, in_use) = Box::pin(self.answered(begun)).await?;
        Ok(PostgresTx { store: self.clone(), transaction, _in_use: in_use })
    }

    /// Runs `work` in a transaction and commits it; contention runs it again, at most three times in all.
    ///
    /// What may only happen after the commit takes the [`Committed`] token. A commit whose answer was lost is never run
    /// again: see [`PostgresTx::commit`].
    pub async fn transaction<T>(&self, work: impl AsyncFn(&mut PgConnection) -> Result<T>) -> Result<Committed<T>> {
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

    async fn run<T>(&self, work: &impl AsyncFn(&mut PgConnection) -> Result<T>) -> Result<Committed<T>> {
        let mut transaction = self.begin().await?;
        let value = work(&mut transaction).await?;
        Ok(transaction.commit().await?.with(value))
    }
}
