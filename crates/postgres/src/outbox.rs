//! The outbox on a server: many writers, so the order of events is that of windows between snapshots, in 64 lanes.

mod asides;
mod lanes;
mod operate;
mod own_table;
mod poll;
mod prune;
mod relay;
mod replay;
mod replay_row;
mod row;
mod settle;
mod staging;

use onefold_core::Result;
use onefold_core::Timestamp;
use sqlx::PgConnection;

use crate::Postgres;
use crate::error::translate;
use crate::ledger::row as ledger_row;

/// Lanes of a relay; the column `lane` of an event is computed with it.
const LANES: usize = 64;

impl Postgres {
    /// Carries out what may be done twice: after contention or a lost answer it is done again, within bounds.
    async fn repeated<T, F>(&self, work: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let mut tries = self.tries();
        loop {
            match self.answered(work()).await {
                Err(error) if tries.again(&error).await => {}
                ended => return ended,
            }
        }
    }

    /// The store's time, on this connection.
    async fn time_on(&self, connection: &mut PgConnection) -> Result<Timestamp> {
        if let Some(given) = self.inner.clock.given() {
            return Ok(Timestamp::from_micros(given));
        }
        let query = ledger_row::query(&self.inner.sql.clock);
        let found = query.fetch_one(connection).await.map_err(translate)?;
        ledger_row::only(&found).map(Timestamp::from_micros)
    }
}
