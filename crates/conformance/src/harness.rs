//! What a store crate brings so that the suite can run on it.

use std::future::Future;
use std::sync::Arc;

use onefold_core::port::{Clock, Random, Registry, Store};

/// A place where a store keeps its data, such as a file or a schema. Dropped, it leaves nothing behind.
pub trait Harness: Sized + Send + Sync + 'static {
    /// The store under test.
    type Store: Store + Registry;

    /// A store that was never used.
    fn fresh() -> impl Future<Output = Self> + Send;

    /// Opens the store that lives here. Opened again, it finds what it left.
    fn open(&self, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> impl Future<Output = Self::Store> + Send;
}
