//! `onefold run` as a process: a command that counts its own runs and waits for the test's word.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::server::{served, wait_for};

/// A command under an id. It notes that it runs, says something on both streams, and ends when it may.
pub(crate) struct Story {
    db: PathBuf,
    pub(crate) id: String,
    class: &'static str,
    lease: &'static str,
    runs: PathBuf,
    gate: PathBuf,
}

impl Story {
    pub(crate) fn new(db: &Path, id: &str, class: &'static str) -> Self {
        let beside = |what: &str| db.with_file_name(format!("{id}.{what}"));
        Self { db: db.to_owned(), id: id.to_owned(), class, lease: "1s", runs: beside("runs"), gate: beside("gate") }
    }

    /// The same with another lease. A kind has one, so its database must know none yet.
    pub(crate) fn with_lease(self, lease: &'static str) -> Self {
        Self { lease, ..self }
    }

    /// The same command line each time; what stands before `--` may differ.
    pub(crate) fn run(&self, fault: Option<&str>, more: &[&str]) -> Child {
        let mut command = self.command(more);
        if let Some(fault) = fault {
            command.env("CAMPAIGN_FAULT", fault);
        }
        command.spawn().unwrap()
    }

    fn command(&self, more: &[&str]) -> Command {
        let script = format!(
            "echo ran >> {runs}; printf 'out \\000\\377 of {id}'; printf 'err of {id}\\n' >&2; \
             while [ ! -e {gate} ]; do sleep 0.02; done",
            runs = self.runs.display(),
            gate = self.gate.display(),
            id = self.id,
        );
        let mut command = served(&self.db);
        command.args(["run", "--id", &self.id, "--kind", self.class, "--class", self.class, "--lease", self.lease]);
        command.args(more).args(["--", "sh", "-c", &script]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Lets the command end, now and in every later run.
    pub(crate) fn open_gate(&self) {
        std::fs::write(&self.gate, "").unwrap();
    }

    /// How often the command was run.
    pub(crate) fn runs(&self) -> usize {
        std::fs::read_to_string(&self.runs).unwrap_or_default().lines().count()
    }

    /// Waits until the command is at work.
    pub(crate) fn wait_until_it_runs(&self) {
        wait_for("the command", || (self.runs() > 0).then_some(()));
    }

    /// What the command writes to its streams.
    pub(crate) fn output(&self) -> (Vec<u8>, Vec<u8>) {
        let stdout = [b"out \0\xFF of ", self.id.as_bytes()].concat();
        (stdout, format!("err of {}\n", self.id).into_bytes())
    }

    /// The run was done, now or before: output byte for byte, exit code 0.
    pub(crate) fn assert_done(&self, output: &Output) {
        let (stdout, stderr) = self.output();
        assert_eq!(output.status.code(), Some(0), "{}: {output:?}", self.id);
        assert_eq!(output.stdout, stdout, "{}", self.id);
        assert!(output.stderr.starts_with(&stderr) || output.stderr.ends_with(&stderr), "{}: {output:?}", self.id);
    }

    /// The run refused: the outcome is unknown.
    pub(crate) fn assert_unknown(&self, output: &Output) {
        assert_eq!(output.status.code(), Some(79), "{}: {output:?}", self.id);
        assert_eq!(output.stdout, b"", "{}: nothing ran", self.id);
        assert!(String::from_utf8_lossy(&output.stderr).contains("it is unknown whether"), "{}: {output:?}", self.id);
    }

    /// Where the operation stands, as `onefold operations` shows it.
    pub(crate) fn operation(&self) -> Value {
        json(&self.db, &["operations", "show", "--kind", self.class, &self.id])["operation"].clone()
    }
}

/// The ids of operations with an incident, as `onefold incidents` shows them; open ones, or every one there ever was.
pub(crate) fn incidents(db: &Path, closed: &[&str]) -> Vec<String> {
    let listed = json(db, &[&["incidents", "list", "--limit", "1000"], closed].concat());
    let ids = listed["items"].as_array().unwrap().iter().map(|item| item["operationId"].as_str().unwrap().to_owned());
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    ids
}

fn json(db: &Path, args: &[&str]) -> Value {
    let output = served(db).arg("--json").args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}
