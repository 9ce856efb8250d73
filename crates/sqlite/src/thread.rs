//! A connection on a thread of its own: calls go in by a channel, answers come out by a oneshot.

use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use onefold_core::error::DATABASE_UNAVAILABLE;
use onefold_core::{Error, Result};
use rusqlite::Connection;
use tokio::sync::oneshot;

type Call = Box<dyn FnOnce(&mut Connection) + Send>;

/// A connection that lives on its own thread. Dropping it ends the thread and closes the file.
pub(crate) struct Connected {
    calls: Option<Sender<Call>>,
    thread: Option<JoinHandle<()>>,
}

impl Connected {
    pub(crate) fn start(name: &str, mut connection: Connection) -> Result<Self> {
        let (calls, waiting) = channel::<Call>();
        let run = move || {
            while let Ok(call) = waiting.recv() {
                call(&mut connection);
            }
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)
            .map_err(|cause| Error::new(DATABASE_UNAVAILABLE, "no thread for the database").caused_by(cause))?;
        Ok(Self { calls: Some(calls), thread: Some(thread) })
    }

    /// Runs `call` on the connection's thread. It runs to its end even if nobody waits any more.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let run: Call = Box::new(move |connection| {
            // Nobody waiting is no failure: the commit stands.
            let _ = answer.send(call(connection));
        });
        let gone = || Error::new(DATABASE_UNAVAILABLE, "the database's thread has ended");
        self.calls.as_ref().ok_or_else(gone)?.send(run).map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        drop(self.calls.take());
        // The last handle may be dropped on the thread itself, which cannot wait for its own end.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}
