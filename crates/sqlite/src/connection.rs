//! A connection that is used by one thread at a time.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use onefold_core::error::DATABASE_UNAVAILABLE;
use onefold_core::{Error, Result};
use rusqlite::Connection;

use crate::log_sync::LogSync;

/// A connection behind a mutex. The file is closed when the last user of it is gone.
#[derive(Clone)]
pub(crate) struct SharedConnection {
    connection: Arc<Mutex<Connection>>,
    log: Arc<LogSync>,
}

impl SharedConnection {
    pub(crate) fn new(connection: Connection, log: Arc<LogSync>) -> Self {
        Self { connection: Arc::new(Mutex::new(connection)), log }
    }

    /// Runs `call` right here, blocking the thread until it is done.
    pub(crate) fn call_here<T>(&self, call: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        // What a call that panicked left open is rolled back before the next transaction begins.
        call(&mut self.connection.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same, unless somebody else is using the connection.
    pub(crate) fn try_call_here<T>(&self, call: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        match self.connection.try_lock() {
            Ok(mut connection) => Some(call(&mut connection)),
            Err(TryLockError::Poisoned(poisoned)) => Some(call(&mut poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Runs `call` on a thread that may block. It runs to its end even if nobody waits any more. What it has seen is
    /// durable before it is told.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let connected = self.clone();
        let cut_short = |cause| Error::new(DATABASE_UNAVAILABLE, "the call was cut short").caused_by(cause);
        let called = tokio::task::spawn_blocking(move || connected.call_here(call)).await.map_err(cut_short)?;
        self.log.durable().await?;
        called
    }
}
