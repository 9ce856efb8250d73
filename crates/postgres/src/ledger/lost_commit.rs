//! A commit whose answer was lost: the ledger is asked for what was performed in it.

use std::time::Duration;

use onefold_core::error::{COMMIT_UNKNOWN, DATABASE_BUSY, DATABASE_UNAVAILABLE};
use onefold_core::ledger::AttemptId;
use onefold_core::operation::{KindName, OperationId, OperationKey, Tenant};
use onefold_core::{Error, Result};

use crate::Postgres;

/// An operation that a transaction performed, as `insert.sql` makes the transaction remember it.
struct PerformedOperation {
    key: OperationKey,
    attempt_id: AttemptId,
}

/// What became of a commit.
enum CommitResult {
    Committed,
    NotCommitted,
}

impl Postgres {
    /// The certain answer to a commit, where it can be had; `COMMIT_UNKNOWN` where not.
    pub(crate) async fn after_lost_commit(&self, performed: Option<&str>, lost: Error) -> Result<()> {
        let fate = match performed.and_then(PerformedOperation::parse) {
            Some(performed) => self.find_fate(&performed).await,
            None => None,
        };
        match fate {
            Some(CommitResult::Committed) => Ok(()),
            Some(CommitResult::NotCommitted) => Err(Error::new(
                DATABASE_UNAVAILABLE,
                "the connection was lost before the commit; nothing was committed",
            )
            .caused_by(lost)),
            None => Err(unknown_commit(lost)),
        }
    }

    async fn find_fate(&self, performed: &PerformedOperation) -> Option<CommitResult> {
        let mut tries = self.tries();
        loop {
            let error = match self.answered(self.look_for(performed)).await {
                Ok(Some(fate)) => return Some(fate),
                Ok(None) => Error::new(DATABASE_BUSY, "the transaction has not ended yet"),
                Err(error) => error,
            };
            if !tries.again(&error).await {
                return None;
            }
        }
    }

    /// A transaction keeps its operation locked until its end: while that lock is held, an absent row proves nothing.
    async fn look_for(&self, performed: &PerformedOperation) -> Result<Option<CommitResult>> {
        let mut transaction = self.inner.connected.begin().await?;
        let ended = self.take_operation(&mut transaction, &performed.key, Duration::ZERO).await?;
        let (entries, _) = self.read(&mut transaction, std::slice::from_ref(&performed.key)).await?;
        // Nothing was written: how this ends changes nothing.
        let _ = transaction.rollback().await;
        let written = entries.get(&performed.key).is_some_and(|entry| entry.attempt_id == performed.attempt_id);
        Ok(match (written, ended) {
            (true, _) => Some(CommitResult::Committed),
            (false, true) => Some(CommitResult::NotCommitted),
            (false, false) => None,
        })
    }
}

/// The error of a commit whose outcome is unknown.
pub(crate) fn unknown_commit(lost: Error) -> Error {
    Error::new(COMMIT_UNKNOWN, "the answer to a commit was lost; it is unknown whether it took hold").caused_by(lost)
}

impl PerformedOperation {
    fn parse(text: &str) -> Option<Self> {
        let [tenant, kind, id, attempt] = text.split('\n').collect::<Vec<_>>().try_into().ok()?;
        let key =
            OperationKey::new(Tenant::parse(tenant).ok()?, KindName::parse(kind).ok()?, OperationId::stored(id).ok()?);
        let attempt_id = AttemptId::from_stored(u128::from_str_radix(attempt, 16).ok()?.to_be_bytes());
        Some(Self { key, attempt_id })
    }
}
