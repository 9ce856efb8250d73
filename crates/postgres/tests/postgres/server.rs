//! A PostgreSQL server of a test's own, for faults that others must not feel; gone when the test ends.

use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;

/// No start and no stop may take longer.
const PATIENCE: Duration = Duration::from_mins(2);

/// The folder of the server's programs; `cargo xtask test` sets it.
fn program(name: &str) -> PathBuf {
    let folder = std::env::var_os("ONEFOLD_TEST_POSTGRES_BIN");
    let folder = folder.expect("ONEFOLD_TEST_POSTGRES_BIN names the folder of its programs: run `cargo xtask test`");
    Path::new(&folder).join(name)
}

/// Where a user's or group's number comes from.
fn number(args: &[&str]) -> u32 {
    let output = Command::new("id").args(args).output().expect("`id` runs");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("`id` says a number")
}

/// The account that servers run under where we are root, whom PostgreSQL refuses.
fn account() -> Option<(u32, u32)> {
    (number(&["-u"]) == 0).then(|| (number(&["-u", "postgres"]), number(&["-g", "postgres"])))
}

/// A command under the account of servers, in a folder that it may enter.
fn command(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(program(name));
    command.current_dir(folder).stdin(Stdio::null());
    if let Some((user, group)) = account() {
        command.uid(user).gid(group).env("HOME", "/").env("USER", "postgres");
    }
    command
}

/// Lets the account of servers write there.
pub(crate) fn give(folder: &Path) {
    if let Some((user, group)) = account() {
        chown(folder, Some(user), Some(group)).unwrap_or_else(|cause| panic!("{}: {cause}", folder.display()));
    }
}

/// Runs a program to its end; what it says is the panic's message if it fails.
fn finish(mut command: Command) {
    let output = command.output().unwrap_or_else(|cause| panic!("{command:?}: {cause}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port is free").port()
}

/// A server.
pub(crate) struct Server {
    pub(crate) port: u16,
    data: PathBuf,
    settings: Vec<String>,
    postmaster: Option<Child>,
    folder: TempDir,
}

impl Server {
    /// A new one with these settings beside the defaults, answering.
    pub(crate) async fn start(settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        Self::start_in(folder, data, settings).await
    }

    /// The same with its data elsewhere; its log of changes stays in the folder.
    pub(crate) async fn start_in(folder: TempDir, data: PathBuf, settings: &[&str]) -> Self {
        give(folder.path());
        let mut initdb = command("initdb", folder.path());
        initdb.args(["--no-sync", "-U", "postgres", "-A", "trust", "--locale=C.UTF-8", "-E", "UTF8", "-D"]).arg(&data);
        initdb.arg("-X").arg(folder.path().join("changes"));
        finish(initdb);
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let mut server = Self { port: free_port(), data, settings, postmaster: None, folder };
        server.run().await;
        server
    }

    /// A standby of this one that is as far as it is.
    pub(crate) async fn standby(&self, settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        give(folder.path());
        let data = folder.path().join("data");
        let mut copy = command("pg_basebackup", folder.path());
        let from = format!("host=127.0.0.1 port={} user=postgres application_name=standby", self.port);
        copy.args(["--no-sync", "--checkpoint=fast", "--wal-method=stream", "--write-recovery-conf", "-d", &from]);
        finish(copy_into(copy, &data));
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let mut server = Self { port: free_port(), data, settings, postmaster: None, folder };
        server.run().await;
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    pub(crate) async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.url()).await.expect("the server answers")
    }

    /// Starts it, and waits until it answers; one that ends meanwhile is started again.
    pub(crate) async fn run(&mut self) {
        let began = Instant::now();
        self.spawn();
        while PgConnection::connect(&self.url()).await.is_err() {
            assert!(began.elapsed() < PATIENCE, "the server does not answer: {}", self.log());
            // The processes of a killed one hold on to its memory for a moment.
            if self.postmaster.as_mut().is_none_or(|child| child.try_wait().is_ok_and(|ended| ended.is_some())) {
                self.spawn();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn spawn(&mut self) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.folder.path().join("log"));
        let mut postgres = command("postgres", self.folder.path());
        postgres.arg("-D").arg(&self.data).args(["-c", &format!("port={}", self.port)]);
        let usual = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=60", "fsync=on"];
        for setting in usual.into_iter().chain(self.settings.iter().map(String::as_str)) {
            postgres.args(["-c", setting]);
        }
        postgres.stdout(Stdio::null()).stderr(log.expect("a log"));
        self.postmaster = Some(postgres.spawn().unwrap_or_else(|cause| panic!("{postgres:?}: {cause}")));
    }

    /// What it said last.
    fn log(&self) -> String {
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        log.lines().rev().take(20).collect::<Vec<_>>().join("\n")
    }

    /// Ends the first of its processes as a power cut would; the others follow by themselves.
    pub(crate) fn kill(&mut self) {
        if let Some(mut postmaster) = self.postmaster.take() {
            postmaster.kill().expect("it runs");
            postmaster.wait().expect("it ends");
        }
    }

    /// Makes a standby the primary.
    pub(crate) fn promote(&self) {
        let mut promote = command("pg_ctl", self.folder.path());
        promote.args(["promote", "--wait", "-D"]).arg(&self.data);
        finish(promote);
    }
}

fn copy_into(mut copy: Command, data: &Path) -> Command {
    copy.arg("-D").arg(data);
    copy
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(mut postmaster) = self.postmaster.take() else { return };
        // At once, and with every process of it; what it wrote is gone with the folder.
        signal("-QUIT", postmaster.id());
        let began = Instant::now();
        while postmaster.try_wait().is_ok_and(|ended| ended.is_none()) {
            if began.elapsed() > Duration::from_secs(20) {
                let _ = postmaster.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(which: &str, process: u32) {
    let sent = Command::new("kill").args([which, &process.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()) || std::thread::panicking(), "{which} to {process}");
}
