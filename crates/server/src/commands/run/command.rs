//! The command itself: its own process group, its output passed on and kept, its deadline kept.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::kept::{CommandOutput, Stream};
use super::signals::Signals;

/// How long a command may take to end after it was asked to.
const KILL_AFTER: Duration = Duration::from_secs(10);
/// How long output is waited for that a grandchild still holds open.
const OUTPUT_AFTER_END: Duration = Duration::from_secs(2);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandExit {
    /// By itself.
    Code(u8),
    /// By a signal.
    Killed(i32),
    /// At its deadline, by us.
    DeadlinePassed,
}

/// A command that has ended.
pub(super) struct FinishedCommand {
    pub(super) ended: CommandExit,
    pub(super) kept: CommandOutput,
    /// Whether all of its output reached our own streams. A reader that went away is not an error.
    pub(super) passed_on: io::Result<()>,
}

/// A command that runs.
pub(super) struct RunningCommand {
    child: Child,
    group: Option<Pid>,
    stdout: StreamCopy,
    stderr: StreamCopy,
}

/// A stream that is being passed on, and what is kept of it so far.
struct StreamCopy {
    kept: Arc<Mutex<Stream>>,
    reader: JoinHandle<io::Result<()>>,
    /// Told when the command has ended.
    over: watch::Sender<bool>,
}

impl RunningCommand {
    /// Starts it. An error means that nothing ran.
    pub(super) fn start(command: &[OsString], variables: &[(&'static str, String)]) -> io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut child = Command::new(program)
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .stdin(standard_input())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Ok(Self {
            child,
            group,
            stdout: StreamCopy::start(stdout, Out::Stdout),
            stderr: StreamCopy::start(stderr, Out::Stderr),
        })
    }

    /// Waits for its end, at the latest until the deadline; signals to us are passed on.
    pub(super) async fn until(mut self, deadline: Instant, signals: &mut Signals) -> FinishedCommand {
        let (status, forced) = self.wait(deadline, signals).await;
        let ended = match (status, forced) {
            (Ok(status), false) => ended(status),
            (Ok(_) | Err(_), _) => CommandExit::DeadlinePassed,
        };
        let ((stdout, to_stdout), (stderr, to_stderr)) = (self.stdout.end().await, self.stderr.end().await);
        FinishedCommand { ended, kept: CommandOutput { code: 0, stdout, stderr }, passed_on: to_stdout.and(to_stderr) }
    }

    async fn wait(&mut self, deadline: Instant, signals: &mut Signals) -> (io::Result<ExitStatus>, bool) {
        loop {
            tokio::select! {
                status = self.child.wait() => return (status, false),
                () = tokio::time::sleep_until(deadline.into()) => return (self.end().await, true),
                signal = signals.next() => self.signal(signal),
            }
        }
    }

    /// Asks it to end, then ends it.
    async fn end(&mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::TERM);
        if let Ok(status) = tokio::time::timeout(KILL_AFTER, self.child.wait()).await {
            return status;
        }
        self.signal(Signal::KILL);
        self.child.wait().await
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // A group that is gone needs no signal.
            let _ = kill_process_group(group, signal);
        }
    }
}

/// A terminal belongs to our own process group: a command in another one would be stopped for reading it.
fn standard_input() -> Stdio {
    use std::io::IsTerminal as _;
    if io::stdin().is_terminal() { Stdio::null() } else { Stdio::inherit() }
}

fn ended(status: ExitStatus) -> CommandExit {
    match (status.code(), status.signal()) {
        (Some(code), _) => CommandExit::Code(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, Some(signal)) => CommandExit::Killed(signal),
        (None, None) => CommandExit::Killed(0),
    }
}

#[derive(Clone, Copy)]
enum Out {
    Stdout,
    Stderr,
}

impl StreamCopy {
    fn start(from: Option<impl AsyncRead + Unpin + Send + 'static>, to: Out) -> Self {
        let kept = Arc::new(Mutex::new(Stream::default()));
        let (over, ended) = watch::channel(false);
        Self { reader: tokio::spawn(pass_on(from, to, Arc::clone(&kept), ended)), kept, over }
    }

    /// What came until the command ended, and whether it could be passed on. A grandchild that holds the stream open is
    /// not waited for.
    async fn end(self) -> (Stream, io::Result<()>) {
        let _ = self.over.send(true);
        let passed_on = self.reader.await.unwrap_or_else(|cause| Err(io::Error::other(cause)));
        (std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner)), passed_on)
    }
}

/// Passes output on as it comes, and keeps it. The command goes on although its output cannot be passed on.
async fn pass_on(
    from: Option<impl AsyncRead + Unpin>,
    to: Out,
    kept: Arc<Mutex<Stream>>,
    mut ended: watch::Receiver<bool>,
) -> io::Result<()> {
    let Some(mut from) = from else { return Ok(()) };
    let mut buffer = vec![0; 16 * 1024];
    let mut passed_on = Ok(());
    loop {
        let read = tokio::select! {
            biased;
            read = from.read(&mut buffer) => read,
            () = silence_after(&mut ended) => return passed_on,
        };
        match read {
            Ok(0) | Err(_) => return passed_on,
            Ok(count) => {
                let bytes = &buffer[..count];
                kept.lock().unwrap_or_else(PoisonError::into_inner).keep(bytes);
                let written = match to {
                    Out::Stdout => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
                    Out::Stderr => io::stderr().write_all(bytes),
                };
                // Our reader has seen enough; that is theirs to decide.
                let seen_enough = matches!(&written, Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe);
                let written = if seen_enough { Ok(()) } else { written };
                passed_on = passed_on.and(written);
            }
        }
    }
}

/// Returns when nothing came for a while after the command had ended.
async fn silence_after(ended: &mut watch::Receiver<bool>) {
    if ended.wait_for(|over| *over).await.is_ok() {
        tokio::time::sleep(OUTPUT_AFTER_END).await;
    }
}
