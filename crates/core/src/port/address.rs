//! What names a database, so that a ledger is opened on it without seeing any store.

use std::sync::Arc;

use super::BoxFuture;
use super::clock::{Clock, Random};
use crate::error::Result;

/// Opens a store on this clock and this source of chance, creating and migrating it as needed.
pub type Opener<S> = Box<dyn FnOnce(Arc<dyn Clock>, Arc<dyn Random>) -> BoxFuture<'static, Result<S>> + Send>;

/// Names a SQLite database: the path of a file, or a pool on one.
///
/// Implemented beside the store that opens it, which is `S`; there is one, so nobody has to name it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name a SQLite database",
    note = "use the path of a file or a `sqlx::SqlitePool`, and switch on onefold's feature `sqlite`"
)]
pub trait SqliteAddress<S> {
    /// How the store is opened there.
    fn opener(self) -> Opener<S>;
}

/// Names a PostgreSQL database: its URL, or a pool on it.
///
/// Implemented beside the store that opens it, which is `S`; there is one, so nobody has to name it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name a PostgreSQL database",
    note = "use a `sqlx::PgPool` or a URL, and switch on onefold's feature `postgres`"
)]
pub trait PostgresAddress<S> {
    /// How the store is opened there.
    fn opener(self) -> Opener<S>;
}
