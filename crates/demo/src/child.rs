//! One life of a child process: it hears lines, says lines, and is killed for real.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;

/// Lines on their way to a child at most.
const LINES_MAX: usize = 256;

/// What is heard of a child.
#[derive(Debug)]
pub(super) enum ChildEvent {
    Line(String),
    /// It has ended, and everything it said was heard before.
    Ended(ChildExit),
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChildExit {
    Killed,
    /// On its own, which is right only after its input was closed.
    Alone,
}

/// A living child. Dropped, its input closes and it ends on its own.
pub(super) struct ChildProcess {
    lines: mpsc::Sender<String>,
    kill: mpsc::Sender<()>,
}

impl ChildProcess {
    /// Starts this program again with other arguments; complaints go to the log.
    pub(super) fn start(
        args: &[OsString],
        variable: Option<(&str, &str)>,
        log: &Path,
        hear: impl Fn(ChildEvent) + Send + Sync + 'static,
    ) -> io::Result<(Self, tokio::task::JoinHandle<()>)> {
        let log = File::options().create(true).append(true).open(log)?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(args)
            .envs(variable)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a child without pipes"));
        };
        let (lines, to_say) = mpsc::channel(LINES_MAX);
        let (kill, killed) = mpsc::channel(1);
        let living = tokio::spawn(live(child, (input, output), to_say, killed, hear));
        Ok((Self { lines, kill }, living))
    }

    /// Says a line. A child that died meanwhile does not hear it, and is heard to have ended.
    pub(super) async fn say(&self, line: String) {
        let _ = self.lines.send(line).await;
    }

    /// Kills it, as `kill -9` does.
    pub(super) fn kill(&self) {
        let _ = self.kill.try_send(());
    }
}

async fn live(
    mut child: Child,
    (input, output): (ChildStdin, ChildStdout),
    mut to_say: mpsc::Receiver<String>,
    mut kill: mpsc::Receiver<()>,
    hear: impl Fn(ChildEvent) + Send + Sync + 'static,
) {
    let mut said = BufReader::new(output).lines();
    let mut input = Some(input);
    loop {
        tokio::select! {
            line = said.next_line() => match line {
                Ok(Some(line)) => hear(ChildEvent::Line(line)),
                Ok(None) | Err(_) => break,
            },
            line = to_say.recv(), if input.is_some() => match (line, &mut input) {
                (Some(line), Some(input)) => {
                    let _ = input.write_all(format!("{line}\n").as_bytes()).await;
                }
                _ => input = None,
            },
            Some(()) = kill.recv() => {
                let _ = child.start_kill();
            }
        }
    }
    let signal = child.wait().await.ok().and_then(|status| status.signal());
    hear(ChildEvent::Ended(if signal == Some(9) { ChildExit::Killed } else { ChildExit::Alone }));
}
