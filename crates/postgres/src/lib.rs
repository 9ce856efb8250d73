//! The store for many machines: PostgreSQL, batches of rows, no row locked that does not change.
//!
//! What was acknowledged is as durable as the server's commit (`synchronous_commit`, `fsync`). Several processes share
//! a schema; the user's own tables may live beside it, and [`Postgres::begin`] gives a transaction in which both are
//! written together. Works through `PgBouncer` in transaction mode: no statement has a name there, and no session holds
//! anything.
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `open` | connects: limits, migrations, keys |
//! | `address` | what it is opened on: a pool, or a URL |
//! | `position` | how far the ledger has come, and whether the database still is that ledger |
//! | `backup` | a copy of the ledger, made and restored |
//! | `migrate` | which migrations a schema has, and the missing ones |
//! | `connection` | connections, transactions, and trying again within bounds |
//! | `session` | whether statements may have names |
//! | `ledger/write` | claim, record, renew, release: fresh operations, grants and the rest |
//! | `ledger/fast_path` | the one statement that most steps need |
//! | `ledger/maintenance` | sweep, reconcile |
//! | `ledger/prune` | retention and archive |
//! | `ledger/read` | find, list, timeline, incidents |
//! | `registry` | declarations of kinds, API tokens |
//! | `announcements` | who was told of which incident |
//! | `incidents` | incidents that are not about an operation |
//! | `ledger/once`, `transaction` | the user's own transaction |
//! | `ledger/lost_commit` | a commit whose answer was lost |
//! | `ledger/transition` | rows under lock, and carrying transitions out |
//! | `ledger/row` | columns and entries |
//! | `outbox/staging` | events in the user's own transaction |
//! | `outbox/relay` | what a relay's loop asks for |
//! | `outbox/lanes` | declarations, and who serves which lanes |
//! | `outbox/poll` | the windows beyond the cursors of many lanes, in one statement |
//! | `outbox/settle` | moving cursors and settling pages, under the fence |
//! | `outbox/asides` | events that were set aside, and what people decide about them |
//! | `outbox/operate`, `outbox/prune` | what people ask of the outbox, and retention |
//! | `outbox/row` | rows of events, cursors and events that were set aside |
//! | `clock` | the server's time |
//! | `error` | SQLSTATEs and the registry |

mod address;
mod announcements;
mod backup;
mod clock;
mod connection;
mod error;
mod incidents;
mod installation_lock;
mod ledger;
mod migrate;
mod open;
mod outbox;
mod position;
mod registry;
mod session;
mod sql;
mod transaction;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};

use onefold_core::fingerprint::Keyring;
use onefold_core::ledger::GrantCache;
use onefold_core::port::Faults;

pub use clock::Time;
pub use error::fault;
pub use migrate::PostgresMigration;
pub use open::{PostgresOptions, Statements};
pub use transaction::PostgresTx;

use clock::StoreClock;
use connection::Connections;
use ledger::prune::PrunePlaces;
use position::PositionTracker;
use sql::Sql;

/// The PostgreSQL store. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Postgres {
    inner: Arc<Inner>,
}

struct Inner {
    connected: Connections,
    sql: Sql,
    clock: StoreClock,
    /// How far the ledger has come.
    track: PositionTracker,
    granted: Mutex<GrantCache>,
    prune_places: PrunePlaces,
    /// Where the next slice of events that retention looks at begins.
    prune_events_from: AtomicI64,
    faults: Arc<dyn Faults>,
    keyring: Arc<Keyring>,
    options: PostgresOptions,
    /// Host, port and database, for people; never a password.
    address: String,
}

impl Postgres {
    /// Where it is, without its credentials.
    pub fn address(&self) -> &str {
        &self.inner.address
    }

    /// Whether its statements have names: not where a pooler lends sessions out.
    pub fn names_statements(&self) -> bool {
        self.inner.connected.named()
    }

    /// Runs to its end even if nobody waits any more: a statement that is cut short would hold its connection back.
    async fn detached<T: Send + 'static>(
        work: impl Future<Output = onefold_core::Result<T>> + Send + 'static,
    ) -> onefold_core::Result<T> {
        match tokio::spawn(work).await {
            Ok(done) => done,
            Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
            Err(cause) => Err(onefold_core::Error::new(
                onefold_core::error::DATABASE_UNAVAILABLE,
                "the runtime stopped while the database was asked",
            )
            .caused_by(cause)),
        }
    }
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").field("address", &self.inner.address).finish_non_exhaustive()
    }
}
