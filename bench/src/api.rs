//! The server in a process of its own, and a client that is light enough not to be what is measured.

use std::io::BufRead as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use onefold::store::NoFaults;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The first argument of the process that serves.
const SERVE: &str = "--serve";
const TOKEN: &str = "bench-token-0123456789abcdef";

/// Becomes the server, if this process was started as one.
pub fn serve_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != SERVE {
        return None;
    }
    let line = ["onefold", "serve", "--listen", "127.0.0.1:0", "--json", "--log", "error", "--database"];
    let line = line.into_iter().map(Into::into).chain(args);
    Some(onefold_server::run_with(line, Arc::new(NoFaults)))
}

/// A server on a database of its own.
pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts this program again, as a server.
    pub fn start(database: &Path) -> Self {
        let program = std::env::current_exe().expect("this program has a name");
        let mut child = Command::new(program)
            .arg(SERVE)
            .arg(format!("sqlite:{}", database.display()))
            .env("ONEFOLD_TOKEN", TOKEN)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        std::io::BufReader::new(stdout).read_line(&mut line).expect("the server says where it is");
        let address = between(&line, "http://", "\"").expect("an address").to_owned();
        Self { child, address }
    }

    /// CPU time it has used so far.
    pub fn cpu_time(&self) -> Duration {
        crate::machine::cpu_time(&self.child.id().to_string())
    }

    /// A connection that is kept.
    pub async fn connect(&self) -> Connection {
        let stream = TcpStream::connect(&self.address).await.expect("the server listens");
        stream.set_nodelay(true).expect("no delay");
        Connection { stream, host: self.address.clone(), request: String::new(), answer: vec![0; 16 * 1024] }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One connection, one request at a time.
pub struct Connection {
    stream: TcpStream,
    host: String,
    request: String,
    answer: Vec<u8>,
}

impl Connection {
    /// One operation: claimed and completed, both durable.
    pub async fn operation(&mut self, id: &str) {
        let attempt = uuid::Uuid::new_v4();
        let claim = format!(
            "{{\"kind\":\"bench.pay\",\"id\":\"{id}\",\"attemptId\":\"{attempt}\",\"request\":[\"{id}\",4200],\
             \"declare\":{{\"class\":\"external-command\"}}}}"
        );
        let granted = self.post("/v1/claims", &claim).await;
        assert!(granted.contains("\"claim\":\"granted\""), "{id}: {granted}");
        let operation = between(granted, "\"operation\":\"", "\"").expect("a reference");
        let path = format!("/v1/operations/{operation}/complete");
        let record = format!("{{\"fence\":1,\"attemptId\":\"{attempt}\",\"result\":\"NTC-991\"}}");
        let standing = self.post(&path, &record).await;
        assert!(standing.contains("\"COMPLETED\""), "{id}: {standing}");
    }

    async fn post(&mut self, path: &str, body: &str) -> &str {
        use std::fmt::Write as _;
        let (host, length) = (&self.host, body.len());
        self.request.clear();
        let _ = write!(
            self.request,
            "POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {TOKEN}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(self.request.as_bytes()).await.expect("sent");
        let mut had = 0;
        loop {
            let more = self.stream.read(&mut self.answer[had..]).await.expect("answered");
            assert!(more > 0, "the server hung up");
            had += more;
            let text = std::str::from_utf8(&self.answer[..had]).expect("text");
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length: usize = between(head, "content-length: ", "\r\n").expect("a length").parse().expect("a number");
            if body.len() >= length {
                break;
            }
        }
        let text = std::str::from_utf8(&self.answer[..had]).expect("text");
        text.split_once("\r\n\r\n").map_or("", |(_, body)| body)
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let rest = &text[text.find(start)? + start.len()..];
    Some(&rest[..rest.find(end).unwrap_or(rest.len())])
}
