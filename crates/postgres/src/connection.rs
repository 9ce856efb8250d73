//! Connections, transactions, and trying again within bounds.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use onefold_core::error::{
    DATABASE_BUSY, DATABASE_READ_ONLY, DATABASE_UNAVAILABLE, DB_DEADLOCK_RETRYABLE, DB_SERIALIZATION_RETRYABLE,
    ErrorClass,
};
use onefold_core::{Error, Result};
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, PgPool};

use crate::Postgres;
use crate::error::translate;
use crate::ledger::lost_commit::unknown_commit;
use crate::ledger::row::Query;

/// Statements must not depend on what the planner believes of a table that was never analysed: one that it believes to be
/// dear would be compiled first, which takes a hundred times as long as a poll that finds nothing. Waits are bounded, and
/// a process that stops half-way does not keep its rows from everybody else.
const TUNED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; \
     SET LOCAL enable_mergejoin = off; SET LOCAL jit = off; SET LOCAL lock_timeout = '5s'; \
     SET LOCAL idle_in_transaction_session_timeout = '15s'";

/// The same for what must be on the disk before anything is published, whatever the database is set to: the flush covers
/// everything that was committed before, also what its writer did not wait for.
const DURABLE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL enable_seqscan = off; \
     SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL jit = off; \
     SET LOCAL lock_timeout = '5s'; SET LOCAL idle_in_transaction_session_timeout = '15s'; \
     SET LOCAL synchronous_commit = on";

/// One statement.
const PLAIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '15s'";

/// Several statements on one picture of the data.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; \
     SET LOCAL idle_in_transaction_session_timeout = '15s'";

/// The connections.
pub(crate) struct Connections {
    /// Of the ledger's own.
    own: CountedPool,
    /// Of the user's transactions; the same one unless the user brought a pool.
    users: CountedPool,
    /// Whether every session so far was begun by the connection that uses it.
    named: Arc<AtomicBool>,
    /// Commits of this process that may have changed something.
    pub(crate) commits: Commits,
}

/// Counts commits, each after it is durable.
#[derive(Clone, Default)]
pub(crate) struct Commits(Arc<AtomicU64>);

impl Commits {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn counted(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

impl Connections {
    pub(crate) fn new(own: PgPool, users: Option<PgPool>, named: Arc<AtomicBool>) -> Self {
        let own = CountedPool::new(own);
        let users = users.map_or_else(|| own.clone(), CountedPool::new);
        Self { own, users, named, commits: Commits::default() }
    }

    pub(crate) async fn close(&self) {
        self.own.pool.close().await;
    }

    /// Whether a statement may have a name: only where the next one surely runs in the same session.
    pub(crate) fn named(&self) -> bool {
        self.named.load(Ordering::Relaxed)
    }

    /// A transaction whose statements find their rows through indexes.
    pub(crate) async fn begin(&self) -> Result<Transaction> {
        self.begin_with(TUNED).await
    }

    /// The same, durable with its commit.
    pub(crate) async fn begin_durable(&self) -> Result<Transaction> {
        self.begin_with(DURABLE).await
    }

    /// A transaction that only reads, all of it at one time.
    pub(crate) async fn snapshot(&self) -> Result<Transaction> {
        self.begin_with(SNAPSHOT).await
    }

    async fn begin_with(&self, sql: &'static str) -> Result<Transaction> {
        Transaction::begin(self.take().await?, sql, self.commits.clone()).await
    }

    /// The rows of a statement that is a commit of its own.
    ///
    /// The driver parses a statement and runs it in two messages. Between them a lent session may be another client's,
    /// and what would be run is that client's statement: there it stays ours only inside a transaction.
    pub(crate) async fn rows(&self, query: Query) -> Result<Vec<PgRow>> {
        self.rows_on(self.take().await?, query).await
    }

    /// The same for what is asked once and not tried again: on a connection that has just answered. Others that ended
    /// meanwhile are closed.
    pub(crate) async fn rows_once(&self, query: Query) -> Result<Vec<PgRow>> {
        self.rows_on(self.take_answering().await?, query).await
    }

    /// The same for a statement that must find its rows through an index.
    pub(crate) async fn tuned_rows_once(&self, query: Query) -> Result<Vec<PgRow>> {
        let mut transaction = Transaction::begin(self.take_answering().await?, TUNED, self.commits.clone()).await?;
        let rows = query.fetch_all(&mut *transaction).await.map_err(translate)?;
        transaction.rollback().await.map_err(translate)?;
        Ok(rows)
    }

    async fn take_answering(&self) -> Result<PooledConnection> {
        for _ in 0..self.own.pool.options().get_max_connections() {
            let mut used = self.take().await?;
            if used.connection.ping().await.is_ok() {
                return Ok(used);
            }
        }
        self.take().await
    }

    async fn rows_on(&self, mut used: PooledConnection, query: Query) -> Result<Vec<PgRow>> {
        if !self.named() {
            let mut transaction = Transaction::begin(used, PLAIN, self.commits.clone()).await?;
            let rows = query.persistent(false).fetch_all(&mut *transaction).await.map_err(translate)?;
            transaction.end("COMMIT").await.map_err(translate)?;
            return Ok(rows);
        }
        let rows = query.fetch_all(&mut *used.connection).await;
        // Refused or not, the server has answered. One that does not take writes is not asked again: after a failover
        // the next connection may reach another.
        used.answered = rows.as_ref().map_or_else(is_answer, |_| true);
        rows.map_err(translate)
    }

    /// A transaction for the user, as the database begins it.
    pub(crate) async fn begin_users(&self) -> Result<(sqlx::Transaction<'static, sqlx::Postgres>, InUse)> {
        let transaction = self.users.pool.begin().await.map_err(|cause| self.users.not_got(cause))?;
        Ok((transaction, InUse::new(&self.users.in_use)))
    }

    async fn take(&self) -> Result<PooledConnection> {
        let connection = self.own.pool.acquire().await.map_err(|cause| self.own.not_got(cause))?;
        Ok(PooledConnection { connection, answered: false, _in_use: InUse::new(&self.own.in_use) })
    }
}

/// A pool, and how many of its connections are in somebody's hands.
#[derive(Clone)]
struct CountedPool {
    pool: PgPool,
    /// Where all are in use, others wait for these, and else for the server.
    in_use: Arc<AtomicU32>,
}

impl CountedPool {
    fn new(pool: PgPool) -> Self {
        Self { pool, in_use: Arc::default() }
    }

    /// The pool waits as long for a server that is down as for a connection that others use.
    fn not_got(&self, cause: sqlx::Error) -> Error {
        let some_left = self.in_use.load(Ordering::Relaxed) < self.pool.options().get_max_connections();
        if matches!(cause, sqlx::Error::PoolTimedOut) && some_left {
            return Error::new(DATABASE_UNAVAILABLE, "no connection could be made in time").caused_by(cause);
        }
        translate(cause)
    }
}

/// Whether a failed statement was refused by a server that others may ask.
fn is_answer(cause: &sqlx::Error) -> bool {
    cause.as_database_error().is_some_and(|said| said.code().as_deref() != Some("25006"))
}

/// A connection in use.
///
/// One that is given up before the server has answered is closed, not handed on: it may have a transaction open, in
/// which what others do later would be lost, or its other end may be gone, and then it would fill a slot of the pool
/// for as long as the system waits.
struct PooledConnection {
    connection: PoolConnection<sqlx::Postgres>,
    answered: bool,
    _in_use: InUse,
}

/// Counts a connection for as long as somebody has it.
pub(crate) struct InUse(Arc<AtomicU32>);

impl InUse {
    fn new(count: &Arc<AtomicU32>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        if !self.answered {
            self.connection.close_on_drop();
        }
    }
}

/// A transaction of our own. Dropped before its end, it ends with its connection.
pub(crate) struct Transaction {
    used: PooledConnection,
    commits: Commits,
}

impl Transaction {
    async fn begin(mut used: PooledConnection, sql: &'static str, commits: Commits) -> Result<Self> {
        sqlx::raw_sql(sql).execute(&mut *used.connection).await.map_err(translate)?;
        Ok(Self { used, commits })
    }

    pub(crate) async fn commit(self) -> sqlx::Result<()> {
        let commits = self.commits.clone();
        self.end("COMMIT").await?;
        commits.count();
        Ok(())
    }

    pub(crate) async fn rollback(self) -> sqlx::Result<()> {
        self.end("ROLLBACK").await
    }

    pub(crate) async fn end(mut self, sql: &'static str) -> sqlx::Result<()> {
        sqlx::raw_sql(sql).execute(&mut *self.used.connection).await?;
        self.used.answered = true;
        Ok(())
    }
}

impl Deref for Transaction {
    type Target = PgConnection;
    fn deref(&self) -> &PgConnection {
        &self.used.connection
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.used.connection
    }
}

/// Tries that may be repeated.
pub(crate) struct RetryLoop<'a> {
    store: &'a Postgres,
    began: Duration,
    number: u32,
    /// Whether a lost answer to a commit may be followed by the same commit again.
    repeatable: bool,
    committing: bool,
}

impl Postgres {
    /// For what attempt ids make safe: whatever is lost is asked for again.
    pub(crate) fn tries(&self) -> RetryLoop<'_> {
        RetryLoop { store: self, began: self.inner.clock.monotonic(), number: 1, repeatable: true, committing: false }
    }

    /// For what must not be done twice: tried again only while nothing can have been committed.
    pub(crate) fn tries_until_commit(&self) -> RetryLoop<'_> {
        RetryLoop { repeatable: false, ..self.tries() }
    }

    /// Carries a try out, for as long as the database may take to answer.
    pub(crate) async fn answered<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let wait = self.inner.options.answer_wait;
        tokio::select! {
            done = work => done,
            () = self.inner.clock.sleep(wait) => {
                Err(Error::new(DATABASE_UNAVAILABLE, format!("the database did not answer within {} s", wait.as_secs())))
            }
        }
    }
}

impl RetryLoop<'_> {
    /// Called right before a commit is sent.
    pub(crate) fn committing(&mut self) {
        self.committing = true;
    }

    /// Whether a commit was sent that may have taken hold, and must not be sent again.
    fn lost_commit(&self, error: &Error) -> bool {
        let unanswered = is_passing(error) && error.code().descriptor().class != ErrorClass::Contention;
        self.committing && !self.repeatable && unanswered
    }

    /// The error that the caller is told.
    pub(crate) fn told(&self, error: Error) -> Error {
        if self.lost_commit(&error) { unknown_commit(error) } else { error }
    }

    /// Whether to try again after this failure; waits before it says yes.
    pub(crate) async fn again(&mut self, error: &Error) -> bool {
        if !is_passing(error) || self.lost_commit(error) {
            return false;
        }
        let clock = &self.store.inner.clock;
        // Once in any case: an answer that did not come in time is asked for on another connection.
        let over = clock.monotonic().saturating_sub(self.began) >= self.store.inner.options.try_for;
        if self.number > 1 && over {
            return false;
        }
        metrics::counter!("onefold_store_retries_total", "store" => "postgres", "code" => error.code().as_str())
            .increment(1);
        if self.number > 1 {
            let [draw, ..] = self.store.inner.options.random.bytes();
            let wait = Duration::from_millis(20).saturating_mul(1 << self.number.min(5));
            clock.sleep(wait + Duration::from_millis(u64::from(draw) / 4)).await;
        }
        self.number += 1;
        self.committing = false;
        true
    }
}

/// Whether the same may work soon: contention, a lost connection, a server that starts or is being replaced.
fn is_passing(error: &Error) -> bool {
    [DB_DEADLOCK_RETRYABLE, DB_SERIALIZATION_RETRYABLE, DATABASE_UNAVAILABLE, DATABASE_READ_ONLY, DATABASE_BUSY]
        .contains(&error.code())
}
