//! Connections, transactions, and trying again within bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onefold_core::error::{
    Class, DATABASE_BUSY, DATABASE_READ_ONLY, DATABASE_UNAVAILABLE, DB_DEADLOCK_RETRYABLE, DB_SERIALIZATION_RETRYABLE,
};
use onefold_core::{Error, Result};
use sqlx::PgPool;

use crate::Postgres;
use crate::error::translate;

/// A transaction of our own.
pub(crate) type Transaction = sqlx::Transaction<'static, sqlx::Postgres>;

/// Statements must not depend on what the planner believes of a table that nobody analysed; waits are bounded.
const TUNED: &str = "BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; \
     SET LOCAL enable_mergejoin = off; SET LOCAL lock_timeout = '5s'";

/// Several statements on one picture of the data.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";

/// The connections.
pub(crate) struct Connected {
    pub(crate) pool: PgPool,
    /// Whether every session so far was begun by the connection that uses it.
    pub(crate) named: Arc<AtomicBool>,
}

impl Connected {
    /// A transaction whose statements find their rows through indexes.
    ///
    /// In a task that nobody cuts short: a `begin` that is dropped half-way gives its connection back with a
    /// transaction open.
    pub(crate) async fn begin(&self) -> Result<Transaction> {
        let pool = self.pool.clone();
        Postgres::detached(async move { pool.begin_with(TUNED).await.map_err(translate) }).await
    }

    /// Whether a statement may have a name: only where the next one surely runs in the same session.
    pub(crate) fn named(&self) -> bool {
        self.named.load(Ordering::Relaxed)
    }

    /// A transaction that only reads, all of it at one time.
    pub(crate) async fn snapshot(&self) -> Result<Transaction> {
        self.pool.begin_with(SNAPSHOT).await.map_err(translate)
    }
}

/// Tries that may be repeated.
pub(crate) struct Tries<'a> {
    store: &'a Postgres,
    began: Duration,
    number: u32,
    /// Whether a lost answer to a commit may be followed by the same commit again.
    repeatable: bool,
    committing: bool,
}

impl Postgres {
    /// For what attempt ids make safe: whatever is lost is asked for again.
    pub(crate) fn tries(&self) -> Tries<'_> {
        Tries { store: self, began: self.inner.clock.monotonic(), number: 1, repeatable: true, committing: false }
    }

    /// For what must not be done twice: tried again only while nothing can have been committed.
    pub(crate) fn tries_until_commit(&self) -> Tries<'_> {
        Tries { repeatable: false, ..self.tries() }
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

impl Tries<'_> {
    /// Called right before a commit is sent.
    pub(crate) fn committing(&mut self) {
        self.committing = true;
    }

    /// Whether to try again after this failure; waits before it says yes.
    pub(crate) async fn again(&mut self, error: &Error) -> bool {
        let lost_commit = self.committing && error.code().descriptor().class != Class::Contention;
        if !is_passing(error) || (lost_commit && !self.repeatable) {
            return false;
        }
        let clock = &self.store.inner.clock;
        if clock.monotonic().saturating_sub(self.began) >= self.store.inner.options.try_for {
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
