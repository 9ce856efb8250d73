//! Benchmarks: each a binary of `bench/`, a workspace of its own, that runs us and the peer.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::args::{Size, Store};
use crate::services::{Install, Service, Session};
use crate::{USAGE, cargo, record};

const MANIFEST: &str = "bench/Cargo.toml";

/// What every benchmark must say in its last line.
const FIELDS: [&str; 3] = ["ratio", "ours", "peer"];

/// One benchmark, as it was asked for.
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) size: Size,
    pub(crate) store: Option<Store>,
}

impl Run {
    /// What must be up while it runs.
    fn needs(&self) -> &'static [Service] {
        if self.store == Some(Store::Postgres) || self.name.ends_with("-postgres") { &[Service::Postgres] } else { &[] }
    }

    /// The name that its figures are kept under.
    pub(crate) fn kept_as(&self) -> String {
        self.store.map_or_else(|| self.name.clone(), |store| format!("{}-{}", self.name, store.name()))
    }
}

/// Where a service is.
type Environment = Vec<(&'static str, String)>;

/// Shows which benchmarks there are.
pub(crate) fn list(root: &Path) -> Result<ExitCode, String> {
    for name in names(root)? {
        println!("{name}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs one by name; what it prints last stays last.
pub(crate) fn command(root: &Path, asked: &Run, install: Install) -> Result<ExitCode, String> {
    let known = names(root)?;
    if !known.contains(&asked.name) {
        let known = known.join(", ");
        eprintln!("error: there is no benchmark `{}`; the benchmarks are {known}", asked.name);
        return Ok(ExitCode::from(USAGE));
    }
    let services = Session::default();
    services.grant(root, asked.needs(), install)?;
    let ended = run(root, asked, services.environment());
    let closed = services.close();
    ended.and(closed).map(|()| ExitCode::SUCCESS)
}

/// The binaries of `bench/`, by name.
pub(crate) fn names(root: &Path) -> Result<Vec<String>, String> {
    if !root.join(MANIFEST).is_file() {
        return Err(format!("there is no {MANIFEST}, so there is no benchmark"));
    }
    let metadata = cargo::metadata(root, MANIFEST)?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let targets = packages.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    let binaries = targets.filter(|target| target["kind"][0] == "bin");
    let mut names: Vec<String> = binaries.filter_map(|target| target["name"].as_str().map(str::to_owned)).collect();
    names.sort();
    Ok(names)
}

/// Runs a benchmark, checks its last line and keeps the figures.
pub(crate) fn run(root: &Path, asked: &Run, environment: Environment) -> Result<(), String> {
    let mut last = String::new();
    cargo::stream(invocation(root, asked).envs(environment), |line| {
        if !line.trim().is_empty() {
            line.clone_into(&mut last);
        }
    })?;
    let fields = fields(&asked.name, &last)?;
    record::keep(root, &asked.kept_as(), asked.size, &fields)
}

/// Checks every benchmark, in the workspace's own build folder: nearly everything in it is checked already.
pub(crate) fn compile(root: &Path) -> Result<(), String> {
    let mut command = cargo::cargo(root);
    command.args(["check", "--manifest-path", MANIFEST, "--all-targets", "--target-dir"]).arg(root.join("target"));
    cargo::pass_through(&mut command)
}

fn invocation(root: &Path, asked: &Run) -> Command {
    let mut command = cargo::cargo(root);
    command.args(["run", "--release", "--manifest-path", MANIFEST, "--bin", &asked.name, "--"]);
    if let Some(store) = asked.store {
        command.args(["--store", store.name()]);
    }
    match asked.size {
        Size::Measured => {}
        Size::Busy => drop(command.arg("--busy")),
        Size::Smoke => drop(command.arg("--smoke")),
    }
    command
}

/// Reads `NAME ratio=… ours=… peer=…`.
fn fields(name: &str, line: &str) -> Result<Vec<(String, String)>, String> {
    let wrong = |what: &str| format!("the last line must be `{name} ratio=… ours=… peer=…`, but {what}: {line:?}");
    let mut words = line.split_whitespace();
    if words.next() != Some(name) {
        return Err(wrong("it does not begin with the name"));
    }
    let fields: Vec<(String, String)> =
        words.filter_map(|word| word.split_once('=')).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    for needed in FIELDS {
        if !fields.iter().any(|(key, value)| key == needed && !value.is_empty()) {
            return Err(wrong(&format!("it has no {needed}")));
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_gives_the_figures() {
        let read = fields("replay", "replay ratio=2.5 ours=500 peer=200").unwrap();
        assert_eq!(read[0], ("ratio".to_owned(), "2.5".to_owned()));
        assert_eq!(read.len(), 3);
    }

    #[test]
    fn a_last_line_of_another_form_is_refused() {
        for line in ["", "done", "growth ratio=1 ours=1 peer=1", "replay ratio=1 ours=1", "replay ratio= ours=1 peer=1"]
        {
            assert!(fields("replay", line).is_err(), "{line}");
        }
    }

    #[test]
    fn smoke_is_passed_on() {
        let smoke = Run { name: "replay".to_owned(), size: Size::Smoke, store: None };
        let command = invocation(Path::new("."), &smoke);
        let args: Vec<_> = command.get_args().collect();
        assert_eq!(args[args.len() - 2..], ["--", "--smoke"]);
    }

    #[test]
    fn the_store_is_passed_on_and_brought_up() {
        let run = Run { name: "growth".to_owned(), size: Size::Measured, store: Some(Store::Postgres) };
        let command = invocation(Path::new("."), &run);
        let args: Vec<_> = command.get_args().collect();
        assert_eq!(args[args.len() - 3..], ["--", "--store", "postgres"]);
        assert_eq!(run.needs(), [Service::Postgres]);
        assert_eq!(run.kept_as(), "growth-postgres");
    }
}
