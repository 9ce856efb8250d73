//! Makes a commit durable while the next one is being written.
//!
//! A large batch is committed without waiting for the disk. A thread syncs the write-ahead log behind it, and nobody
//! hears of the batch before a sync has ended that began after its commit. The log is believed up to its first damaged
//! frame, so a sync covers every commit before it.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use onefold_core::error::{DATABASE_UNAVAILABLE, UNEXPECTED};
use onefold_core::port::{FaultPoint, Faults};
use onefold_core::{Error, Result};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::translate;
use crate::position::{data_version, wal_path};

/// The log of one open file.
pub(crate) struct LogSync {
    shared: Arc<Shared>,
    /// Changes when other connections commit: what they wrote may not be durable when it is read here.
    data_version: AtomicI64,
}

struct Shared {
    sync: Box<SyncFile>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

/// Brings what was written to the disk.
type SyncFile = dyn Fn() -> io::Result<()> + Send + Sync;

/// How far the log has come, in commits that were not synced when they were made.
#[derive(Default)]
struct Progress {
    committed: u64,
    synced: u64,
    waiting: Vec<(u64, oneshot::Sender<Result<()>>)>,
    /// Set once a sync has failed: what the disk holds then is not known.
    failed: Option<Error>,
    closed: bool,
}

/// A connection whose commits do not wait for the disk. The next user of the connection relies on commits that do.
struct UnsyncedCommits<'c> {
    connection: &'c Connection,
    shared: &'c Shared,
}

impl<'c> UnsyncedCommits<'c> {
    fn begin(connection: &'c Connection, shared: &'c Shared) -> Result<Self> {
        let unsynced = Self { connection, shared };
        unsynced.set("NORMAL")?;
        Ok(unsynced)
    }

    fn set(&self, level: &str) -> Result<()> {
        self.connection.pragma_update(None, "synchronous", level).map_err(translate)
    }
}

impl Drop for UnsyncedCommits<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.set("FULL") {
            self.shared.fail(&error);
        }
    }
}

impl LogSync {
    /// The log beside this file, which a connection must have open.
    pub(crate) fn open(resolved: &Path, writer: &Connection, faults: Arc<dyn Faults>) -> Result<Self> {
        let path = wal_path(resolved);
        let log = std::fs::File::open(&path).map_err(|cause| {
            Error::new(DATABASE_UNAVAILABLE, format!("{}: {cause}", path.display())).caused_by(cause)
        })?;
        let sync = move || {
            faults.reach(FaultPoint::BEFORE_LOG_SYNC);
            log.sync_data()
        };
        Self::start(Box::new(sync), data_version(writer)?)
    }

    fn start(sync: Box<SyncFile>, data_version: i64) -> Result<Self> {
        let shared = Arc::new(Shared { sync, progress: Mutex::default(), changed: Condvar::new() });
        let syncing = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("onefold-log".to_owned())
            .spawn(move || syncing.serve())
            .map_err(|cause| Error::new(UNEXPECTED, "the system cannot start a thread").caused_by(cause))?;
        Ok(Self { shared, data_version: AtomicI64::new(data_version) })
    }

    /// Refuses once a sync has failed.
    pub(crate) fn check(&self) -> Result<()> {
        self.shared.locked().failed.as_ref().map_or(Ok(()), |error| Err(error.share()))
    }

    /// Whether every commit is durable, as far as this process knows.
    pub(crate) fn is_synced(&self) -> bool {
        let (committed, synced) = self.shared.position();
        synced == committed
    }

    /// Runs `work`, whose commit does not wait for the disk.
    pub(crate) fn without_waiting<T>(&self, connection: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _unsynced = UnsyncedCommits::begin(connection, &self.shared)?;
        work()
    }

    /// Whether other connections have committed since the last call: their process may not have synced it yet.
    pub(crate) fn others_wrote(&self, connection: &Connection) -> Result<bool> {
        let present = data_version(connection)?;
        Ok(self.data_version.swap(present, Ordering::Relaxed) != present)
    }

    /// There is something in the log that is not synced.
    pub(crate) fn committed(&self) {
        self.shared.locked().committed += 1;
        self.shared.changed.notify_one();
    }

    /// Makes everything that was committed before this call durable, on this thread.
    pub(crate) fn sync_here(&self) -> Result<()> {
        self.check()?;
        let (committed, synced) = self.shared.position();
        if synced == committed { Ok(()) } else { self.shared.sync_to(committed) }
    }

    /// Ends once everything that was committed before this call is durable.
    pub(crate) fn durable(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let waiting = self.shared.wait();
        async move {
            match waiting? {
                None => Ok(()),
                Some(synced) => synced.await.unwrap_or_else(|_| Err(closed())),
            }
        }
    }
}

impl Drop for LogSync {
    fn drop(&mut self) {
        self.shared.locked().closed = true;
        self.shared.changed.notify_one();
    }
}

impl Shared {
    fn locked(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last commit, and the last that was synced.
    fn position(&self) -> (u64, u64) {
        let progress = self.locked();
        (progress.committed, progress.synced)
    }

    /// Nothing where everything is durable.
    fn wait(&self) -> Result<Option<oneshot::Receiver<Result<()>>>> {
        let mut progress = self.locked();
        if let Some(error) = &progress.failed {
            return Err(error.share());
        }
        if progress.synced == progress.committed {
            return Ok(None);
        }
        let (synced, waiting) = oneshot::channel();
        let committed = progress.committed;
        progress.waiting.push((committed, synced));
        Ok(Some(waiting))
    }

    /// Syncs as long as something was committed since the last time. Ends when the file is closed, or a sync failed.
    fn serve(&self) {
        while let Some(committed) = self.next() {
            if self.sync_to(committed).is_err() {
                return;
            }
        }
    }

    /// Syncs, and tells those who wait for this commit or an earlier one.
    fn sync_to(&self, committed: u64) -> Result<()> {
        let ended = (self.sync)().map_err(failed);
        let mut progress = self.locked();
        let answered: Vec<_> = match &ended {
            Ok(()) => {
                progress.synced = progress.synced.max(committed);
                progress.waiting.extract_if(.., |(commit, _)| *commit <= committed).collect()
            }
            Err(error) => {
                drop(progress);
                self.fail(error);
                return ended;
            }
        };
        drop(progress);
        for (_, waiting) in answered {
            // A caller that no longer waits does not need to hear it.
            let _ = waiting.send(Ok(()));
        }
        ended
    }

    /// From now on nothing is called durable.
    fn fail(&self, error: &Error) {
        let (error_code, detail) = (error.code(), error.detail());
        tracing::error!(%error_code, detail, "nothing more is granted on this database");
        let mut progress = self.locked();
        progress.failed = Some(error.share());
        for (_, waiting) in progress.waiting.drain(..) {
            let _ = waiting.send(Err(error.share()));
        }
    }

    /// The last commit, once there is one that is not synced; nothing once the file is closed.
    fn next(&self) -> Option<u64> {
        let mut progress = self.locked();
        while progress.synced == progress.committed {
            if progress.closed {
                return None;
            }
            progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        Some(progress.committed)
    }
}

fn closed() -> Error {
    Error::new(DATABASE_UNAVAILABLE, "the file was closed before its log was synced")
}

fn failed(cause: io::Error) -> Error {
    Error::new(DATABASE_UNAVAILABLE, format!("the disk failed to sync the write-ahead log: {cause}"))
        .hint("what it holds is not known; look after the disk, then start this process again")
        .caused_by(cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// A log whose syncs end when the test says so, and as it says.
    fn controlled() -> (LogSync, mpsc::Sender<io::Result<()>>, mpsc::Receiver<()>) {
        let (end, ended) = mpsc::channel::<io::Result<()>>();
        let (started, begun) = mpsc::channel();
        let ended = Mutex::new(ended);
        let sync = move || {
            let _ = started.send(());
            ended.lock().unwrap().recv().unwrap_or(Ok(()))
        };
        (LogSync::start(Box::new(sync), 0).unwrap(), end, begun)
    }

    async fn is_waiting(waiting: &mut (impl Future<Output = Result<()>> + Unpin)) -> bool {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut *waiting).poll(context).is_pending())
        })
        .await
    }

    #[tokio::test]
    async fn a_sync_covers_what_was_committed_before_it_began_and_nothing_later() {
        let (log, end, begun) = controlled();
        log.committed();
        begun.recv().unwrap();
        let first = log.durable();
        log.committed();
        let mut second = Box::pin(log.durable());
        assert!(is_waiting(&mut second).await && !log.is_synced());
        end.send(Ok(())).unwrap();
        first.await.unwrap();
        begun.recv().unwrap();
        assert!(is_waiting(&mut second).await, "its commit came after that sync had begun");
        end.send(Ok(())).unwrap();
        second.await.unwrap();
        assert!(log.is_synced());
        log.durable().await.unwrap();
    }

    #[tokio::test]
    async fn after_a_failed_sync_nothing_is_called_durable_again() {
        let (log, end, begun) = controlled();
        log.committed();
        begun.recv().unwrap();
        let waiting = log.durable();
        end.send(Err(io::Error::other("the disk is gone"))).unwrap();
        assert_eq!(waiting.await.unwrap_err().code(), DATABASE_UNAVAILABLE);
        assert_eq!(log.durable().await.unwrap_err().code(), DATABASE_UNAVAILABLE);
        assert_eq!(log.check().unwrap_err().code(), DATABASE_UNAVAILABLE);
    }

    #[tokio::test]
    async fn what_was_committed_is_synced_although_the_file_is_closed_meanwhile() {
        let (log, end, begun) = controlled();
        log.committed();
        begun.recv().unwrap();
        log.committed();
        let waiting = log.durable();
        drop(log);
        end.send(Ok(())).unwrap();
        end.send(Ok(())).unwrap();
        waiting.await.unwrap();
    }
}
