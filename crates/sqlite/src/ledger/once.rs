//! An operation in the user's own transaction: check, execute, record in one commit.

use std::time::Duration;

use onefold_core::error::{DATABASE_BUSY, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::ledger::{Completion, Entry, OnceDecision, OnceRequest, once, performed};
use onefold_core::operation::OperationKey;
use onefold_core::port::{BoxFuture, OnceEntry, Transact};
use onefold_core::row::{Cell, key_cells, operation};
use onefold_core::{Error, Result, Timestamp};
use sqlx::Sqlite as Driver;
use sqlx::sqlite::{SqliteArguments, SqliteConnection};

use crate::error::translate_sqlx;
use crate::ledger::row;
use crate::{Sqlite, sql};

/// How often a transaction that waits for the write lock looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Transact for Sqlite {
    type Connection = SqliteConnection;

    fn enter<'a>(
        &'a self,
        connection: &'a mut SqliteConnection,
        request: &'a OnceRequest,
        wait: Duration,
    ) -> BoxFuture<'a, Result<OnceEntry>> {
        Box::pin(async move {
            self.inner.track.check()?;
            if !self.take_write_lock(connection, wait).await? {
                return Ok(OnceEntry::InFlight { retry_after: LOOK_AGAIN });
            }
            let entry = find(connection, &request.key).await?;
            self.inner.log.durable().await?;
            let answer = once(entry.as_ref(), request)?;
            if answer == OnceDecision::Perform {
                run(connection, "SAVEPOINT onefold_once", []).await?;
            }
            Ok(OnceEntry::Once(answer))
        })
    }

    fn leave<'a>(
        &'a self,
        connection: &'a mut SqliteConnection,
        request: &'a OnceRequest,
        done: Option<Completion>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let Some(completion) = done else {
                run(connection, "ROLLBACK TO onefold_once", []).await?;
                return run(connection, "RELEASE onefold_once", []).await;
            };
            let entry = performed(request, completion, self.inner.clock.now())?;
            record(connection, &entry).await
        })
    }
}

impl Sqlite {
    /// Makes sure that nobody else can write before this transaction ends; false when the wait is over.
    ///
    /// A transaction that was begun deferred and has read before gets `RUN_AGAIN`.
    async fn take_write_lock(&self, connection: &mut SqliteConnection, wait: Duration) -> Result<bool> {
        let give_up = self.inner.clock.monotonic().saturating_add(wait);
        loop {
            let now: Timestamp = self.inner.clock.now();
            match run(connection, &sql::RAISE_CLOCK, [Cell::Int(now.as_micros())]).await {
                Ok(()) => return Ok(true),
                Err(error) if error.code() == DATABASE_BUSY => {
                    if self.inner.clock.monotonic() >= give_up {
                        return Ok(false);
                    }
                    self.inner.clock.sleep(LOOK_AGAIN).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Records what was performed, if the transaction that it was performed in is still there.
///
/// SQLite takes a transaction back by itself when the disk is full or fails. Work that looks away from that would
/// have its record written on its own, so the record waits in a savepoint until that of the work is found.
async fn record(connection: &mut SqliteConnection, entry: &Entry) -> Result<()> {
    run(connection, "SAVEPOINT onefold_record", []).await?;
    if let Err(error) = run(connection, &sql::INSERT, operation::cells(entry)).await {
        // Without its record the work must not be committed either.
        let _ = run(connection, "ROLLBACK TO onefold_once", []).await;
        let _ = run(connection, "RELEASE onefold_once", []).await;
        return Err(error);
    }
    let Err(cause) = run(connection, "RELEASE onefold_once", []).await else { return Ok(()) };
    run(connection, "ROLLBACK TO onefold_record", []).await?;
    run(connection, "RELEASE onefold_record", []).await?;
    Err(Error::new(PROGRAMMING_INVARIANT_VIOLATED, "the transaction ended during the work, which did not say so")
        .hint("let the work pass on the errors of its statements")
        .caused_by(cause))
}

async fn find(connection: &mut SqliteConnection, key: &OperationKey) -> Result<Option<Entry>> {
    let query = bind(sqlx::query(sql::FIND.as_str()), key_cells(key));
    let found = query.fetch_optional(connection).await.map_err(translate_sqlx)?;
    found.as_ref().map(row::entry).transpose()
}

async fn run<'a>(
    connection: &mut SqliteConnection,
    sql: &'static str,
    cells: impl IntoIterator<Item = Cell<'a>>,
) -> Result<()> {
    bind(sqlx::query(sql), cells).execute(connection).await.map(drop).map_err(translate_sqlx)
}

pub(crate) type Query = sqlx::query::Query<'static, Driver, SqliteArguments>;

pub(crate) fn bind<'a>(query: Query, cells: impl IntoIterator<Item = Cell<'a>>) -> Query {
    cells.into_iter().fold(query, |query, cell| match cell {
        Cell::Null => query.bind(None::<i64>),
        Cell::Int(value) => query.bind(value),
        Cell::Text(text) => query.bind(text.into_owned()),
        Cell::Blob(bytes) => query.bind(bytes.to_vec()),
    })
}
