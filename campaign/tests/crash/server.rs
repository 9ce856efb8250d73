//! The server as a process: the real command line, killed and started again on the same database.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use onefold_campaign::http::Connection;

use crate::fixture::PATIENCE;

/// A serving process.
pub(crate) struct Server {
    child: Child,
    /// Kept open: a server that cannot print would be a different one.
    _stdout: BufReader<ChildStdout>,
    pub(crate) address: String,
    token: String,
}

impl Server {
    /// Starts a server on a database and waits until it listens.
    pub(crate) fn start(db: &Path, fault: Option<&str>, more: &[&str]) -> Self {
        let mut command = served(db);
        command.args(["serve", "--listen", "127.0.0.1:0", "--json"]).args(more);
        if let Some(fault) = fault {
            command.env("CAMPAIGN_FAULT", fault);
        }
        Self::listening(command)
    }

    /// Starts this command and waits until it says where it listens.
    pub(crate) fn listening(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).expect("the server starts");
        let address = said["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        let token = std::fs::read_to_string(said["tokenFile"].as_str().unwrap()).unwrap().trim().to_owned();
        Self { child, _stdout: stdout, address, token }
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(&self.address, &self.token).unwrap()
    }

    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for a death that a fault brings about; true if it was by SIGKILL.
    pub(crate) fn died_by_kill(mut self) -> bool {
        died_by_kill(&mut self.child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The real command line, on this database and no other configuration.
pub(crate) fn served(db: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_served"));
    command.arg("--database").arg(format!("sqlite:{}", db.display())).args(["--log", "error"]);
    command.current_dir(db.parent().unwrap());
    command
}

/// Waits until a process is dead; true if it was by SIGKILL.
pub(crate) fn died_by_kill(child: &mut Child) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    wait_for("the death of a process", || child.try_wait().unwrap()).signal() == Some(9)
}

/// Looks until there is something to see: tests wait for a state, never for a time.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(began.elapsed() < PATIENCE, "{what} is still waited for");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Where the callers find the server of the moment, and how far they have come.
#[derive(Default)]
pub(crate) struct Site {
    /// Address and token; none while it is known to be dead.
    at: Mutex<Option<(String, String)>>,
    opened: Condvar,
    /// Requests that were answered.
    steps: AtomicU64,
}

impl Site {
    pub(crate) fn open(&self, server: &Server) {
        *self.at.lock().unwrap() = Some((server.address.clone(), server.token.clone()));
        self.opened.notify_all();
    }

    pub(crate) fn close(&self) {
        *self.at.lock().unwrap() = None;
    }

    /// Connects to the server of the moment; waits while there is none. It may be dead all the same.
    pub(crate) fn connect(&self) -> std::io::Result<Connection> {
        let at = self.at.lock().unwrap();
        let (at, waited) = self.opened.wait_timeout_while(at, PATIENCE, |at| at.is_none()).unwrap();
        assert!(!waited.timed_out(), "no server comes back");
        let (address, token) = at.clone().unwrap();
        drop(at);
        Connection::open(&address, &token)
    }

    pub(crate) fn step(&self) {
        self.steps.fetch_add(1, Ordering::SeqCst);
    }

    /// Waits until this many more requests were answered.
    pub(crate) fn wait_for_steps(&self, more: u64) {
        let goal = self.steps.load(Ordering::SeqCst) + more;
        wait_for("an answer", || (self.steps.load(Ordering::SeqCst) >= goal).then_some(()));
    }
}
