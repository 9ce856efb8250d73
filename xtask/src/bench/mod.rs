//! Benchmarks: each a binary of `bench/`, a workspace of its own, that runs us and the peer.

mod catalog;
mod figures;
mod page;
mod plot;
mod record;
pub(crate) mod report;

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::args::{Size, Store};
use crate::services::{self, Install, Service, Session};
use crate::{USAGE, cargo};
use figures::Reader;

const MANIFEST: &str = "bench/Cargo.toml";
/// The peer of the gateway that is written in Rust: not a benchmark, and not built with them.
const PEER_MANIFEST: &str = "bench/restate-rust/Cargo.toml";

/// The benchmark with a peer that is too large to download for a run that measures nothing.
const RELAY_KAFKA: &str = "relay-kafka";

/// One benchmark, as it was asked for.
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) size: Size,
    pub(crate) store: Option<Store>,
}

impl Run {
    /// What must be up while it runs.
    fn needs(&self) -> &'static [Service] {
        let outbox = ["stage", "relay"].contains(&&*self.name);
        if self.name == RELAY_KAFKA {
            return &[Service::Postgres, Service::Kafka];
        }
        if self.store == Some(Store::Postgres) || self.name.ends_with("-postgres") || outbox {
            &[Service::Postgres]
        } else {
            &[]
        }
    }

    /// The name that its figures are kept under; on the default store it is the benchmark's.
    fn kept_as(&self) -> String {
        match self.store {
            None | Some(Store::Sqlite) => self.name.clone(),
            Some(Store::Postgres) => format!("{}-{}", self.name, Store::Postgres.name()),
        }
    }
}

/// Shows which benchmarks there are.
pub(crate) fn list(root: &Path) -> Result<ExitCode, String> {
    for name in names(root)? {
        println!("{name}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs one by name; what it prints last stays last.
pub(crate) fn one(root: &Path, asked: &Run, install: Install) -> Result<ExitCode, String> {
    let known = names(root)?;
    if !known.contains(&asked.name) {
        let known = known.join(", ");
        eprintln!("error: there is no benchmark `{}`; the benchmarks are {known}", asked.name);
        return Ok(ExitCode::from(USAGE));
    }
    let services = Session::default();
    let ended = run(root, asked, &services, install);
    let closed = services.close();
    ended.and(closed).map(|()| ExitCode::SUCCESS)
}

/// The binaries of `bench/`, by name.
fn names(root: &Path) -> Result<Vec<String>, String> {
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

/// Runs a benchmark with what it needs up, checks its last line and keeps the figures.
fn run(root: &Path, asked: &Run, session: &Session, install: Install) -> Result<(), String> {
    session.grant(root, asked.needs(), install)?;
    let mut environment = session.environment();
    if asked.name == RELAY_KAFKA && asked.size != Size::Smoke {
        environment.extend(services::debezium(root, install)?);
    }
    let mut reader = Reader::new(&asked.name);
    cargo::stream(invocation(root, asked).envs(environment), |line| reader.line(line))?;
    record::keep(root, &asked.kept_as(), asked.size, &reader.end()?)
}

/// Checks every benchmark and the peer that is built apart, in the workspace's own build folder: nearly everything in it is checked already.
pub(crate) fn compile(root: &Path) -> Result<(), String> {
    for manifest in [MANIFEST, PEER_MANIFEST] {
        let mut command = cargo::cargo(root);
        command.args(["check", "--manifest-path", manifest, "--all-targets", "--target-dir"]).arg(root.join("target"));
        cargo::pass_through(&mut command)?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn the_default_store_has_the_plain_name() {
        for store in [None, Some(Store::Sqlite)] {
            assert_eq!(Run { name: "growth".to_owned(), size: Size::Measured, store }.kept_as(), "growth");
        }
    }
}
