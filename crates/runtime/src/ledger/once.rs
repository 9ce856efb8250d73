//! Inside the user's own transaction.

use std::time::Duration;

use onefold_core::effect::Local;
use onefold_core::error::Error;
use onefold_core::ledger::{self, ClaimRequest, Completion, Replay};
use onefold_core::port::{OnceEntry, Transact};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ledger::claim_request::ClaimInput;
use crate::ledger::handle::{KindHandle, Ledger};
use crate::ledger::kind::encode;
use crate::ledger::operation::Operation;
use crate::ledger::perform::decode;
use crate::meter;

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
        retry_after: Duration,
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
        let request = self.request(request, ledger.caller_holder(), ledger.attempt_id())?;
        let completed = async |connection: &mut S::Connection| -> Result<(Completion, T), E> {
            let value = work(connection).await?;
            Ok((Completion { result: encode(&value)?, evidence: None }, value))
        };
        match within(ledger, connection, &request, self.wait, completed).await? {
            TransactionOutcome::Performed(value) => Ok(Once::Performed(value)),
            TransactionOutcome::InFlight { retry_after } => Ok(Once::InFlight { retry_after }),
            TransactionOutcome::Conflict => Ok(Once::Conflict),
            TransactionOutcome::Replay(replay) => {
                let result = replay.result.as_ref().ok_or_else(|| {
                    Error::new(onefold_core::error::RESULT_NOT_KEPT, "the operation completed without a result")
                })?;
                Ok(Once::Replayed(decode(result)?))
            }
        }
    }
}

/// What became of an operation in a transaction, before anyone read its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionOutcome<T> {
    /// It was performed here; it takes hold when the transaction commits.
    Performed(T),
    /// It was performed before.
    Replay(Replay),
    /// Another transaction is at it.
    InFlight {
        /// When trying again makes sense.
        retry_after: Duration,
    },
    /// This id was used for another request.
    Conflict,
}

impl<S: Transact> KindHandle<S, Local> {
    /// The rule of [`Operation::once_in`] for a request whose fingerprint and stored result are the caller's to make.
    pub async fn once_within<T, E: From<Error>>(
        &self,
        connection: &mut S::Connection,
        input: ClaimInput,
        wait: Duration,
        work: impl AsyncFnOnce(&mut S::Connection) -> Result<(Completion, T), E>,
    ) -> Result<TransactionOutcome<T>, E> {
        let ledger = &self.ledger;
        let request = ledger.claim_request(&self.terms, input, ledger.caller_holder(), ledger.attempt_id())?;
        within(ledger, connection, &request, wait, work).await
    }
}

async fn within<S: Transact, T, E: From<Error>>(
    ledger: &Ledger<S>,
    connection: &mut S::Connection,
    request: &ClaimRequest,
    wait: Duration,
    work: impl AsyncFnOnce(&mut S::Connection) -> Result<(Completion, T), E>,
) -> Result<TransactionOutcome<T>, E> {
    ledger.start_soon();
    let (store, clock) = (&*ledger.inner.store, &ledger.inner.settings.clock);
    let (kind, source) = (&request.key.kind, request.origin.source);
    let failed = |error: &Error| meter::store_error("once", error);
    let entered = store.enter(connection, request, wait).await.inspect_err(failed)?;
    meter::entered(kind, source, &entered);
    match entered {
        OnceEntry::InFlight { retry_after } => Ok(TransactionOutcome::InFlight { retry_after }),
        OnceEntry::Once(ledger::OnceDecision::Conflict) => Ok(TransactionOutcome::Conflict),
        OnceEntry::Once(ledger::OnceDecision::Replay(replay)) => Ok(TransactionOutcome::Replay(replay)),
        OnceEntry::Once(ledger::OnceDecision::Perform) => {
            let began = clock.monotonic();
            match work(connection).await {
                Ok((completion, value)) => {
                    store.leave(connection, request, Some(completion)).await.inspect_err(failed)?;
                    meter::processed(source, kind, clock.monotonic().saturating_sub(began));
                    Ok(TransactionOutcome::Performed(value))
                }
                Err(error) => {
                    // Where the store took the transaction back by itself there is nothing to leave, and the cause
                    // is what the work says.
                    let _ = store.leave(connection, request, None).await;
                    Err(error)
                }
            }
        }
    }
}
