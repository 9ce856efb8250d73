//! Servers of a test's own, to kill, or with other settings; gone when the test ends.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// No start may take longer.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port is free").port()
}

/// A server with its data.
pub(crate) struct Server {
    port: u16,
    probes: u16,
    folder: TempDir,
    child: Option<Child>,
}

impl Server {
    /// One with these further settings, answering.
    pub(crate) async fn start(settings: &str) -> Self {
        loop {
            let mut server = Self::set_up(settings);
            if server.comes_up().await {
                return server;
            }
            // Another test was given one of its ports meanwhile.
        }
    }

    fn set_up(settings: &str) -> Self {
        let (port, probes) = (free_port(), free_port());
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!(
            "server_name: t1\nhost: 127.0.0.1\nport: {port}\nhttp: 127.0.0.1:{probes}\n\
             jetstream {{ store_dir: \"{}\" }}\n{settings}\n",
            folder.path().join("data").display()
        );
        std::fs::write(folder.path().join("nats.conf"), text).expect("the folder can be written to");
        Self { port, probes, folder, child: None }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
    }

    /// Starts it again, with what it had written.
    pub(crate) async fn restart(&mut self) {
        assert!(self.comes_up().await, "the server ended: {}", self.log());
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Starts it, and waits until it answers; false where it ended instead.
    async fn comes_up(&mut self) -> bool {
        self.kill();
        let server = std::env::var("ONEFOLD_TEST_NATS_SERVER").expect("`cargo xtask test` sets it");
        let log = std::fs::File::create(self.folder.path().join("log")).expect("a log");
        let mut command = Command::new(server);
        command.arg("-c").arg(self.folder.path().join("nats.conf")).stdin(Stdio::null()).stdout(Stdio::null());
        self.child = Some(command.stderr(log).spawn().expect("the server runs"));
        let begun = Instant::now();
        while !self.is_healthy().await {
            if self.child.as_mut().is_none_or(|child| child.try_wait().is_ok_and(|ended| ended.is_some())) {
                return false;
            }
            assert!(begun.elapsed() < PATIENCE, "the server does not answer: {}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        true
    }

    async fn is_healthy(&self) -> bool {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let Ok(mut stream) = tokio::net::TcpStream::connect(("127.0.0.1", self.probes)).await else { return false };
        let mut answer = String::new();
        let asked = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n").await;
        asked.is_ok() && stream.read_to_string(&mut answer).await.is_ok() && answer.starts_with("HTTP/1.1 200")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
