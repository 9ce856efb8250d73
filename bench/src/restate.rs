//! Restate, from its own packages: the server with its durable defaults, and a service with one durable step, by its
//! Rust SDK or by its Node SDK.
//!
//! Ingress gets the key, the server logs the invocation (synced), calls the service, logs the result of the
//! step (synced) and answers: what a gateway with a ledger does.

use std::io::BufRead as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::load::Target;

/// A server that is not up by then does not come up.
const READY_WITHIN: Duration = Duration::from_mins(2);

/// What the service is written with.
#[derive(Debug, Clone, Copy)]
pub enum Sdk {
    /// `bench/restate-rust`.
    Rust,
    /// `bench/restate/service.mjs`.
    Node,
}

/// Restate and its service, running: a process each.
pub struct Restate {
    server: Child,
    service: Child,
    ingress: String,
}

impl Restate {
    /// Installs what is missing, starts both and makes the service known.
    pub async fn start(sdk: Sdk, folder: &Path, upstream: &str) -> Self {
        let here = installed();
        let ports: Vec<u16> = free_ports(4);
        let local = |port: u16| format!("127.0.0.1:{port}");
        let service = sdk.start(ports[0], upstream);
        let log = std::fs::File::create(folder.join(format!("restate-{sdk:?}.log"))).expect("a file");
        let server = Command::new(binary(&here))
            .args(["--no-logo", "--listen-mode", "tcp", "--bind-ip", "127.0.0.1", "--log-filter", "warn"])
            .args(["--bind-port", &ports[1].to_string(), "--base-dir"])
            .arg(folder.join(format!("restate-{sdk:?}")))
            .env("RESTATE_INGRESS__BIND_ADDRESS", local(ports[2]))
            .env("RESTATE_ADMIN__BIND_ADDRESS", local(ports[3]))
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .spawn()
            .expect("Restate starts");
        let this = Self { server, service, ingress: local(ports[2]) };
        let uri = format!("{{\"uri\":\"http://{}\"}}", local(ports[0]));
        until_answered(&local(ports[3]), "POST", "/deployments", &uri, 201).await;
        until_answered(&this.ingress, "POST", "/pay/pay", "{\"order\":\"first\",\"amount\":1}", 200).await;
        this
    }

    /// Where its callers go.
    pub fn target(&self) -> Target {
        Target { address: self.ingress.clone(), path: "/pay/pay" }
    }
}

impl Drop for Restate {
    fn drop(&mut self) {
        for child in [&mut self.server, &mut self.service] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The folder with package and service; its packages are installed if they are not there.
fn installed() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("restate");
    if !binary(&here).is_file() {
        println!("Restate is missing: installing its packages");
        let done = Command::new("npm").args(["ci", "--silent"]).current_dir(&here).status();
        let done = done.expect("npm is needed: install Node 20 or later");
        assert!(done.success(), "npm cannot install Restate");
    }
    here
}

/// The server itself; the package's script would only start it.
fn binary(here: &Path) -> PathBuf {
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    here.join(format!("node_modules/@restatedev/restate-server-{system}-{arch}/bin/restate-server"))
}

impl Sdk {
    /// The service, once it says that it is ready.
    fn start(self, port: u16, upstream: &str) -> Child {
        let mut command = match self {
            Self::Rust => rust_service(),
            Self::Node => node_service(),
        };
        let mut child = command
            .args([&port.to_string(), &format!("http://{upstream}/pay")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{:?}: {error}", command.get_program()));
        let mut lines = std::io::BufReader::new(child.stdout.as_mut().expect("a pipe")).lines();
        let ready = lines.any(|line| line.expect("a pipe").trim() == "ready");
        assert!(ready, "the service did not start: {self:?}");
        child
    }
}

/// Built apart from the benchmarks, which do not depend on a peer's crates.
fn rust_service() -> Command {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("restate-rust/Cargo.toml");
    let cargo = || Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let built = cargo().args(["build", "--quiet", "--release", "--manifest-path"]).arg(&manifest).status();
    assert!(built.expect("cargo is needed").success(), "the service with the Rust SDK cannot be built");
    let mut service = cargo();
    // Cargo becomes the service, which keeps its process.
    service.args(["run", "--quiet", "--release", "--manifest-path"]).arg(manifest).arg("--");
    service
}

fn node_service() -> Command {
    let mut service = Command::new("node");
    service.arg("service.mjs").current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("restate"));
    service.env("NODE_ENV", "production").env("RESTATE_LOGGING", "ERROR");
    service
}

/// Ports that nobody listens on, all at once so that they differ.
fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    listeners.iter().map(|listener| listener.local_addr().expect("an address").port()).collect()
}

async fn until_answered(address: &str, method: &str, path: &str, body: &str, status: u16) {
    let began = Instant::now();
    loop {
        match asked(address, method, path, body).await {
            Ok(answer) if answer.starts_with(&format!("HTTP/1.1 {status}")) => return,
            answer if began.elapsed() > READY_WITHIN => panic!("{path}: {answer:?}"),
            _ => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

async fn asked(address: &str, method: &str, path: &str, body: &str) -> std::io::Result<String> {
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
