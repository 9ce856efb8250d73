//! A folder, the real binary in it, and a server that does not outlive its test.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::wire::{Answer, Call, send};

/// How long a state is waited for: far more than a loaded machine needs.
const PATIENCE: Duration = Duration::from_mins(3);

/// A folder with a database of its own, unless its environment names another.
pub(crate) struct Workdir {
    folder: tempfile::TempDir,
    environment: Vec<(&'static str, String)>,
}

/// What a command said, and how it ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Workdir {
    pub(crate) fn new() -> Self {
        Self::with_environment(Vec::new())
    }

    /// A folder whose commands find these variables.
    pub(crate) fn with_environment(environment: Vec<(&'static str, String)>) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), environment }
    }

    /// A folder whose server reads this configuration.
    pub(crate) fn with_config(text: &str) -> Self {
        let dir = Self::new();
        std::fs::write(dir.path("onefold.toml"), text).unwrap();
        dir
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The binary in this folder, with nothing in its environment that could bend it.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onefold"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ONEFOLD_")) {
            command.env_remove(name);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.env("COLUMNS", "100").current_dir(self.folder()).args(args).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end. One that does not end, such as a server that should have been refused, is killed.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let child = self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let command = Pid::from_child(&child);
        let (ended, all_over) = std::sync::mpsc::channel::<()>();
        let watching = std::thread::spawn(move || {
            if all_over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let _ = kill_process(command, Signal::KILL);
            }
        });
        let ran = child.wait_with_output().unwrap().into();
        drop(ended);
        watching.join().unwrap();
        ran
    }

    /// Starts a server on a free port.
    pub(crate) fn serve(&self, flags: &[&str]) -> Server {
        self.serve_at("127.0.0.1:0", flags)
    }

    /// Starts a server that listens there.
    pub(crate) fn serve_at(&self, listen: &str, flags: &[&str]) -> Server {
        let stderr = self.path(&format!("server-{}.log", uuid::Uuid::new_v4().simple()));
        let mut args = vec!["serve", "--listen", listen, "--json"];
        args.extend(flags);
        let mut command = self.command(&args);
        command.stdout(Stdio::piped()).stderr(File::create(&stderr).unwrap());
        Server::start(command, stderr)
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self { code: output.status.code(), stdout: output.stdout, stderr: output.stderr }
    }
}

impl Ran {
    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// What it printed, once it is known to have ended well.
    pub(crate) fn done(&self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out(), self.err());
        self.out()
    }

    /// The same as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.done()).unwrap_or_else(|cause| panic!("{cause}: {}", self.out()))
    }
}

/// A server that runs. Dropping it kills it, and a panic that it logged fails the test.
pub(crate) struct Server {
    child: Child,
    stderr: PathBuf,
    pub(crate) address: SocketAddr,
    /// Where its gateway listens, if it has one.
    pub(crate) gateway: Option<SocketAddr>,
    pub(crate) token: String,
}

impl Server {
    pub(crate) fn start(mut command: Command, stderr: PathBuf) -> Self {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("{line:?} {}", std::fs::read_to_string(&stderr).unwrap_or_default()));
        let address = said["url"].as_str().unwrap().strip_prefix("http://").unwrap().parse().unwrap();
        let gateway = said["gateway"].as_str().and_then(|at| at.parse().ok());
        let folder = command.get_current_dir().unwrap();
        let token = std::fs::read_to_string(folder.join(said["tokenFile"].as_str().unwrap())).unwrap_or_default();
        Self { child, stderr, address, gateway, token: token.trim().to_owned() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    pub(crate) fn send(&self, call: &Call) -> Answer {
        send(self.address, call)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(&Call::get(path).token(&self.token))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(&Call::post(path, body).token(&self.token))
    }

    /// A claim's answer, which is one of six.
    pub(crate) fn claim(&self, claim: &Value) -> Value {
        self.post("/v1/claims", claim).ok()
    }

    /// A claim that must be granted: its reference, and what every record of it carries.
    pub(crate) fn granted(&self, claim: &Value) -> Granted {
        let answer = self.claim(claim);
        assert_eq!(answer["claim"], "granted", "{answer}");
        Granted {
            operation: answer["operation"].as_str().unwrap().to_owned(),
            grant: json!({ "fence": answer["fence"], "attemptId": claim["attemptId"] }),
        }
    }

    /// Records something about a grant.
    pub(crate) fn record(&self, granted: &Granted, what: &str, more: &Value) -> Answer {
        self.post(&format!("/v1/operations/{}/{what}", granted.operation), &merged(&granted.grant, more))
    }

    /// An operation that nobody knows the outcome of; answers with its incident.
    pub(crate) fn unknown(&self, claim: &Value) -> String {
        let granted = self.granted(claim);
        self.record(&granted, "unknown", &json!({ "dependency": "notice-service" })).ok();
        self.incident(&granted)
    }

    /// The open incident of an operation.
    pub(crate) fn incident(&self, granted: &Granted) -> String {
        let operation = self.get(&format!("/v1/operations/{}", granted.operation)).ok();
        operation["incident"].as_str().unwrap_or_else(|| panic!("no incident: {operation}")).to_owned()
    }

    /// Ends it at once, as a power cut would.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to read its configuration again.
    pub(crate) fn reload(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    }

    /// Asks it to stop; answers with its exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let log = self.log();
        if !std::thread::panicking() {
            assert!(!log.contains("panicked"), "the server panicked: {log}");
        }
    }
}

/// A grant, as its caller keeps it.
pub(crate) struct Granted {
    pub(crate) operation: String,
    pub(crate) grant: Value,
}

/// A claim of a kind that escalates, with a fresh attempt id.
pub(crate) fn claim(id: &str) -> Value {
    claim_of("notice.issue", id)
}

pub(crate) fn claim_of(kind: &str, id: &str) -> Value {
    json!({
        "kind": kind, "id": id, "attemptId": attempt(), "request": { "case": id },
        "declare": { "class": "external-command" },
    })
}

/// A claim of an effect that is financial or legal.
pub(crate) fn payment(id: &str) -> Value {
    merged(&claim_of("payment.register", id), &json!({ "declare": { "class": "financial-or-legal" } }))
}

/// A random attempt id, made right before a claim.
pub(crate) fn attempt() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// One object with the fields of both; the later one wins.
pub(crate) fn merged(one: &Value, more: &Value) -> Value {
    let mut whole = one.clone();
    for (name, value) in more.as_object().unwrap() {
        whole[name] = value.clone();
    }
    whole
}

/// Waits for a state.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
