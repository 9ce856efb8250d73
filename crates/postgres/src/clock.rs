//! The store's time: the server's, read where a decision is made.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onefold_core::clock::{ClockHistory, ClockLook, ClockWatch, Confirmation};
use onefold_core::port::Clock;
use onefold_core::{Result, Timestamp};
use sqlx::{PgConnection, SqlStr};

use crate::Postgres;
use crate::error::translate;
use crate::ledger::row;
use crate::ledger::transition::run;
use crate::sql::Sql;

/// Whose time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Time {
    /// The database server's: processes need not agree on the time of day.
    #[default]
    Server,
    /// The process' own clock, for tests that move it.
    Clock,
}

/// What is known of the store's time here.
pub(crate) struct StoreClock {
    clock: Arc<dyn Clock>,
    time: Time,
    /// The last time that was heard or given, and what the clocks that never go back showed then.
    last: Mutex<(Timestamp, Duration)>,
    /// What this process has seen of the store's time, for what is deleted by it.
    watch: Mutex<ClockWatch>,
}

impl StoreClock {
    pub(crate) fn new(clock: Arc<dyn Clock>, time: Time, now: Timestamp, history: ClockHistory) -> Self {
        let steady = clock.boot();
        let watch = Mutex::new(ClockWatch::begin(history, now, steady));
        Self { clock, time, last: Mutex::new((now, steady)), watch }
    }

    /// Looks at the time, for what is deleted by it; `heard` is the server's.
    pub(crate) fn look(&self, history: ClockHistory, heard: Timestamp) -> ClockLook {
        let now = match self.time {
            Time::Server => heard,
            Time::Clock => self.clock.now(),
        };
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).look(history, now, self.clock.boot())
    }

    /// Called after the commit that stored what a look found.
    pub(crate) fn looked(&self, look: &ClockLook) {
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = look.watch;
    }

    /// The time that a statement is given; nothing where it reads the server's.
    pub(crate) fn given(&self) -> Option<i64> {
        match self.time {
            Time::Server => None,
            Time::Clock => Some(self.now().as_micros()),
        }
    }

    /// Remembers the time that the server said.
    pub(crate) fn heard(&self, now: Timestamp) {
        if self.time == Time::Server {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = (now, self.clock.boot());
        }
    }

    /// The time by what was heard last; for what no lease depends on.
    pub(crate) fn now(&self) -> Timestamp {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let boot = self.clock.boot();
        let gone_on = last.0.plus(boot.saturating_sub(last.1));
        match self.time {
            Time::Server => gone_on,
            Time::Clock => {
                *last = (self.clock.now().max(gone_on), boot);
                last.0
            }
        }
    }

    /// Waits by the injected clock.
    pub(crate) async fn sleep(&self, wait: Duration) {
        self.clock.sleep(wait).await;
    }

    /// Time for measuring waits.
    pub(crate) fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}

impl Postgres {
    /// Looks at the store's time, one process at a time, and says which time may delete.
    pub(crate) async fn look_at_clock(&self) -> Result<Confirmation> {
        let sql = &self.inner.sql;
        let mut transaction = self.inner.connected.begin().await?;
        let history = read_history(&mut transaction, &sql.lock_clock_history).await?;
        let found = row::query(&sql.clock).fetch_one(&mut *transaction).await.map_err(translate)?;
        let look = self.inner.clock.look(history, Timestamp::from_micros(row::only(&found)?));
        write_history(&mut transaction, sql, look.history).await?;
        transaction.commit().await.map_err(translate)?;
        self.inner.clock.looked(&look);
        Ok(look.confirmation)
    }
}

/// What the schema remembers of its time.
pub(crate) async fn read_history(connection: &mut PgConnection, sql: &SqlStr) -> Result<ClockHistory> {
    let found = row::query(sql).fetch_one(connection).await.map_err(translate)?;
    let candidate: Option<i64> = row::get(&found, "candidate")?;
    Ok(ClockHistory { confirmed: row::time(&found, "confirmed")?, candidate: candidate.map(Timestamp::from_micros) })
}

/// Remembers it.
pub(crate) async fn write_history(connection: &mut PgConnection, sql: &Sql, history: ClockHistory) -> Result<()> {
    let candidate = history.candidate.map(Timestamp::as_micros);
    let writing = row::query(&sql.confirm_time).bind(history.confirmed.as_micros()).bind(candidate);
    run(connection, writing).await
}
