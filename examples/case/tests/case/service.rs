//! The service as a child process, asked over a socket.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use rustix::process::{Pid, Resource, Rlimit, Signal};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long the service waits for another's write transaction: short, so that tests need not wait either.
pub(crate) const BUSY_WAIT: Duration = Duration::from_millis(150);

pub(crate) struct Service {
    child: Child,
    address: String,
    folder: TempDir,
}

/// What the service answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Answer {
    /// Status and code; the code of a success is empty.
    pub(crate) fn seen(&self) -> (u16, String) {
        (self.status, self.body["code"].as_str().unwrap_or_default().to_owned())
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (given, value) = line.split_once(':')?;
            given.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Service {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // A process that ignores the signal of the file size limit is told by its writes instead.
        let mut child = Command::new("sh")
            .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_onefold-example-case")])
            .arg(folder.path().join("cases.db"))
            .args(["0", &BUSY_WAIT.as_millis().to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").expect("the address is printed").to_owned();
        Self { child, address, folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("cases.db")
    }

    /// Another connection to the service's file.
    pub(crate) fn database(&self) -> Connection {
        let connection = Connection::open(self.path()).unwrap();
        connection.busy_timeout(Duration::from_secs(10)).unwrap();
        connection
    }

    pub(crate) fn count(&self) -> i64 {
        self.database().query_row("SELECT count(*) FROM cases", [], |row| row.get(0)).unwrap()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Whether the service can write files at all.
    pub(crate) fn let_write(&self, bytes_max: Option<u64>) {
        let maximum = rustix::process::getrlimit(Resource::Fsize).maximum;
        rustix::process::prlimit(Some(self.pid()), Resource::Fsize, Rlimit { current: bytes_max, maximum }).unwrap();
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        request.push_str("Content-Type: application/json\r\n");
        for (name, value) in headers {
            let _ = write!(request, "{name}: {value}\r\n");
        }
        let _ = write!(request, "Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_owned(),
            body: serde_json::from_str(text).unwrap_or_default(),
            text: text.to_owned(),
        }
    }

    pub(crate) fn submit(&self, key: &str, submission: &Value) -> Answer {
        self.ask("POST", "/cases", &[("Idempotency-Key", key)], &submission.to_string())
    }

    /// Asks the service to stop; whether it ended well.
    pub(crate) fn stop(mut self) -> bool {
        rustix::process::kill_process(self.pid(), Signal::TERM).unwrap();
        self.child.wait().unwrap().success()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A submission that is accepted.
pub(crate) fn submission() -> Value {
    json!({
        "title": "Noise at night",
        "subject": "company-7",
        "submittedBy": "officer-1",
        "evidence": [{ "id": "E-1", "kind": "DOCUMENT", "occurredOn": "2026-01-31" }],
    })
}

/// The same with one value put elsewhere.
pub(crate) fn with(pointer: &str, value: Value) -> Value {
    let mut changed = submission();
    match changed.pointer_mut(pointer) {
        Some(place) => *place = value,
        None => changed[pointer.trim_start_matches('/')] = value,
    }
    changed
}
