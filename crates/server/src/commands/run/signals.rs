//! The signals that end a run: heard from its start to its end, never lost in silence.

use onefold_core::error::UNEXPECTED;
use onefold_core::{Error, Result};
use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind, signal};

/// SIGTERM, SIGINT, SIGHUP and SIGQUIT.
pub(super) struct Signals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
    hangup: unix::Signal,
    quit: unix::Signal,
}

impl Signals {
    /// From now on none of them ends the process by itself.
    pub(super) fn listen() -> Result<Self> {
        let on =
            |kind| signal(kind).map_err(|cause| Error::new(UNEXPECTED, "signals cannot be received").caused_by(cause));
        Ok(Self {
            terminate: on(SignalKind::terminate())?,
            interrupt: on(SignalKind::interrupt())?,
            hangup: on(SignalKind::hangup())?,
            quit: on(SignalKind::quit())?,
        })
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = self.terminate.recv() => Signal::TERM,
            Some(()) = self.interrupt.recv() => Signal::INT,
            Some(()) = self.hangup.recv() => Signal::HUP,
            Some(()) = self.quit.recv() => Signal::QUIT,
            else => std::future::pending().await,
        }
    }

    /// One that has come already.
    pub(super) async fn pending(&mut self) -> Option<Signal> {
        tokio::select! {
            biased;
            signal = self.next() => Some(signal),
            () = std::future::ready(()) => None,
        }
    }
}
