//! An operation in the user's own transaction: check, execute, record in one commit.

use std::time::Duration;

use onefold_core::error::{DB_SERIALIZATION_RETRYABLE, RUN_AGAIN};
use onefold_core::ledger::{Completion, OnceDecision, OnceRequest, once, performed};
use onefold_core::operation::OperationKey;
use onefold_core::persistence::Fault;
use onefold_core::port::{BoxFuture, OnceEntry, Transact};
use onefold_core::row::operation;
use onefold_core::{Error, Result};
use sqlx::PgConnection;

use crate::Postgres;
use crate::error::{fault, translate};
use crate::ledger::row::{self, Query};
use crate::ledger::transition::run;

/// How often a transaction that waits for an operation looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Transact for Postgres {
    type Connection = PgConnection;

    fn enter<'a>(
        &'a self,
        connection: &'a mut PgConnection,
        request: &'a OnceRequest,
        wait: Duration,
    ) -> BoxFuture<'a, Result<OnceEntry>> {
        Box::pin(async move {
            self.inner.track.check()?;
            if !self.take_operation(connection, &request.key, wait).await.map_err(run_again)? {
                return Ok(OnceEntry::InFlight { retry_after: LOOK_AGAIN });
            }
            let key = std::slice::from_ref(&request.key);
            let (entries, _) = self.read(connection, key).await.map_err(run_again)?;
            let answer = once(entries.get(&request.key), request)?;
            if answer == OnceDecision::Perform {
                run(connection, statement("SAVEPOINT onefold_once")).await?;
            }
            Ok(OnceEntry::Once(answer))
        })
    }

    fn leave<'a>(
        &'a self,
        connection: &'a mut PgConnection,
        request: &'a OnceRequest,
        done: Option<Completion>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let Some(completion) = done else {
                return undo(connection).await;
            };
            let entry = performed(request, completion, self.inner.clock.now())?;
            let insert = row::bind(row::query(&self.inner.sql.insert), &operation::ALL, &operation::cells(&entry));
            let recorded = match insert.execute(&mut *connection).await {
                Ok(_) => run(connection, statement("RELEASE SAVEPOINT onefold_once")).await,
                Err(cause) => Err(refused(cause)),
            };
            if recorded.is_err() {
                // Without its record the work must not be committed either; where the savepoint is gone, the
                // transaction that it was in is gone too.
                let _ = undo(connection).await;
            }
            recorded
        })
    }
}

impl Postgres {
    /// Takes the operation until the transaction ends; false when another one still has it after the wait.
    pub(crate) async fn take_operation(
        &self,
        connection: &mut PgConnection,
        key: &OperationKey,
        wait: Duration,
    ) -> Result<bool> {
        let clock = &self.inner.clock;
        let give_up = clock.monotonic().saturating_add(wait);
        loop {
            let query = row::query(&self.inner.sql.try_lock);
            let query = query.bind(key.tenant.as_str()).bind(key.kind.as_str()).bind(key.id.as_str());
            let found = query.fetch_one(&mut *connection).await.map_err(translate)?;
            if row::only(&found)? {
                return Ok(true);
            }
            if clock.monotonic() >= give_up {
                return Ok(false);
            }
            clock.sleep(LOOK_AGAIN).await;
        }
    }
}

fn statement(sql: &'static str) -> Query {
    sqlx::query(sql).persistent(false)
}

async fn undo(connection: &mut PgConnection) -> Result<()> {
    run(connection, statement("ROLLBACK TO SAVEPOINT onefold_once")).await?;
    run(connection, statement("RELEASE SAVEPOINT onefold_once")).await
}

/// A record that PostgreSQL refused. A duplicate that this transaction's snapshot cannot see is not an answer to give: the
/// whole transaction runs again and finds it.
fn refused(cause: sqlx::Error) -> Error {
    let unseen = matches!(fault(&cause), Fault::UniqueViolation { .. });
    let error = translate(cause);
    if unseen { again(error) } else { run_again(error) }
}

/// A transaction that could not be put into an order with others runs again as a whole.
fn run_again(error: Error) -> Error {
    if error.code() == DB_SERIALIZATION_RETRYABLE { again(error) } else { error }
}

fn again(cause: Error) -> Error {
    Error::new(RUN_AGAIN, "the operation was performed by a transaction that this one cannot see")
        .hint("roll back and run the whole transaction again, or begin it with READ COMMITTED")
        .caused_by(cause)
}
