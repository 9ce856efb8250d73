//! Three servers that share one relay, each a process of its own.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;

use crate::topic;

/// Events of one page at most.
pub(crate) const PAGE_MAX: usize = 50;
pub(crate) const LANES: usize = 64;
const PROCESSES: usize = 3;

/// The server's address; `cargo xtask test` sets it.
pub(crate) fn url() -> String {
    std::env::var("ONEFOLD_TEST_POSTGRES").expect("ONEFOLD_TEST_POSTGRES names a server: run `cargo xtask test`")
}

/// A schema of their own, gone with them.
pub(crate) struct Relays {
    schema: String,
    folders: Vec<TempDir>,
    children: Vec<RelayProcess>,
}

struct RelayProcess {
    child: Child,
    /// Kept open: a server that cannot print would be a different one.
    _stdout: BufReader<ChildStdout>,
}

impl Relays {
    /// All of them, serving.
    pub(crate) fn start(kafka: &str) -> Self {
        let schema = format!("relays_{}", std::process::id());
        let folders: Vec<TempDir> = (0..PROCESSES).map(|_| folder(kafka)).collect();
        let children = folders.iter().map(|folder| serve(&schema, folder.path())).collect();
        Self { schema, folders, children }
    }

    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// One dies, and comes back.
    pub(crate) fn kill(&mut self, at: u64) {
        let at = index(at);
        self.children[at] = {
            self.children[at].end();
            serve(&self.schema, self.folders[at].path())
        };
    }

    pub(crate) fn pause(&self, at: u64) {
        self.children[index(at)].signal(Signal::STOP);
    }

    pub(crate) fn resume(&self, at: u64) {
        self.children[index(at)].signal(Signal::CONT);
    }
}

fn index(at: u64) -> usize {
    usize::try_from(at).unwrap() % PROCESSES
}

fn folder(kafka: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "[broker.main]\nkafka = [\"{kafka}\"]\n\n[[relay]]\nname = \"cases\"\nevents = [\"case.*\"]\nbegin = \"oldest\"\n\
         page_max = {PAGE_MAX}\nlease_for = \"4s\"\ndelivery_within = \"2s\"\n\
         to = {{ broker = \"main\", topic = \"{}\" }}\n",
        topic::NAME
    );
    std::fs::write(folder.path().join("onefold.toml"), config).unwrap();
    folder
}

fn serve(schema: &str, folder: &Path) -> RelayProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_served"));
    command.env("ONEFOLD_DATABASE", url()).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped());
    command.args(["serve", "--listen", "127.0.0.1:0", "--json", "--log", "error", "--schema", schema]);
    command.args(["--database-connections", "4", "--data-dir"]).arg(folder.join("data"));
    let mut child = command.spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("\"url\""), "the server starts: {line}");
    RelayProcess { child, _stdout: stdout }
}

impl RelayProcess {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for RelayProcess {
    fn drop(&mut self) {
        self.end();
    }
}

impl Drop for Relays {
    fn drop(&mut self) {
        self.children.clear();
        let sql = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
        // A runtime of its own: this one may be on its way out.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let Ok(mut connection) = PgConnection::connect(&url()).await else { return };
                let _ = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await;
            });
        });
        let _ = dropping.join();
    }
}
