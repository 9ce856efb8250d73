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
//! | `position` | how far the ledger has come, and whether the database still is that ledger |
//! | `backup` | a copy of the ledger, made and restored |
//! | `migrate` | which migrations a schema has, and the missing ones |
//! | `connected` | connections, transactions, and trying again within bounds |
//! | `session` | whether statements may have names |
//! | `act` | claim, record, renew, release: fresh operations, grants and the rest |
//! | `fresh` | the one statement that most steps need |
//! | `keep` | sweep, reconcile, resolve |
//! | `prune` | retention and archive |
//! | `look` | find, list, timeline, incidents |
//! | `share` | pinned kinds, tokens, who looked |
//! | `tell` | who was told of which incident |
//! | `once`, `transaction` | the user's own transaction |
//! | `lost` | a commit whose answer was lost |
//! | `write` | rows under lock, and carrying transitions out |
//! | `row` | columns and entries |
//! | `clock` | the server's time |
//! | `error` | SQLSTATEs and the registry |

mod act;
mod backup;
mod clock;
mod connected;
mod error;
mod fresh;
mod hold;
mod keep;
mod look;
mod lost;
mod migrate;
mod once;
mod open;
mod position;
mod prune;
mod row;
mod session;
mod share;
mod sql;
mod tell;
mod transaction;
mod write;

use std::sync::{Arc, Mutex};

use onefold_core::fingerprint::Keyring;
use onefold_core::persistence::Granted;
use onefold_core::ports::Faults;

pub use clock::Time;
pub use error::fault;
pub use migrate::Migration;
pub use open::{Options, Statements};
pub use transaction::Tx;

use clock::StoreClock;
use connected::Connected;
use position::Track;
use sql::Sql;

/// The PostgreSQL store. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Postgres {
    inner: Arc<Inner>,
}

struct Inner {
    connected: Connected,
    sql: Sql,
    clock: StoreClock,
    /// How far the ledger has come.
    track: Track,
    granted: Mutex<Granted>,
    faults: Arc<dyn Faults>,
    keyring: Arc<Keyring>,
    options: Options,
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
