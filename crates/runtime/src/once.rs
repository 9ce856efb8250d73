//! Inside the user's own transaction.

use onefold_core::effect::Local;
use onefold_core::error::Error;
use onefold_core::ledger::{self, Completion};
use onefold_core::ports::{Entered, Transact};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::kind::encode;
use crate::operation::Operation;
use crate::perform::decode;

/// What became of an operation in a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Once<T> {
    /// It was performed here; it takes hold when the transaction commits.
    Performed(T),
    /// It was performed before.
    Replayed(T),
    /// Another transaction is at it.
    InFlight {
        /// When trying again makes sense.
        retry_after: std::time::Duration,
    },
    /// This id was used for another request.
    Conflict,
}

impl<S: Transact> Operation<S, Local> {
    /// Runs `work` in your transaction, once: check, execute and record are one commit.
    ///
    /// `work` runs in a savepoint, so an error that is swallowed leaves neither its changes nor
    /// "performed" behind. There is no lease: a crash, or dropping the transaction, leaves nothing.
    /// Assumes that the transaction is not committed when this call was cut short half-way.
    pub async fn once_in<R, T, E>(
        self,
        connection: &mut S::Connection,
        request: &R,
        work: impl AsyncFnOnce(&mut S::Connection) -> Result<T, E>,
    ) -> Result<Once<T>, E>
    where
        R: Serialize,
        T: Serialize + DeserializeOwned,
        E: From<Error>,
    {
        let ledger = &self.kind.ledger;
        let store = &*ledger.inner.store;
        let request = self.request(request, ledger.caller_holder(), ledger.attempt_id())?;
        match store.enter(connection, &request, self.wait).await? {
            Entered::InFlight { retry_after } => Ok(Once::InFlight { retry_after }),
            Entered::Once(ledger::Once::Conflict) => Ok(Once::Conflict),
            Entered::Once(ledger::Once::Replay(replay)) => {
                let result = replay.result.as_ref().ok_or_else(|| {
                    Error::new(onefold_core::error::RESULT_NOT_KEPT, "the operation completed without a result")
                })?;
                Ok(Once::Replayed(decode(result)?))
            }
            Entered::Once(ledger::Once::Perform) => {
                let done = work(connection).await.and_then(|value| Ok((encode(&value)?, value)));
                match done {
                    Ok((result, value)) => {
                        store.leave(connection, &request, Some(Completion { result, evidence: None })).await?;
                        Ok(Once::Performed(value))
                    }
                    Err(error) => {
                        // Where the store took the transaction back by itself there is nothing to leave, and the cause
                        // is what the work says.
                        let _ = store.leave(connection, &request, None).await;
                        Err(error)
                    }
                }
            }
        }
    }
}
