//! The one entry point for what a developer runs: `cargo xtask --help`.
//!
//! Layout: `args` reads the command line and `help` explains it; `step` runs
//! steps one after the other and `table` shows how they ended; `suites` and
//! `ci` are the lists of steps; `tidy` holds one file a rule, `services` one
//! file a service, and `bench` runs benchmarks and reports them.

mod args;
mod bench;
mod cargo;
mod ci;
mod deny;
mod examples;
mod fuzz_api;
mod help;
mod libtest;
mod openapi;
mod python;
mod rdkafka;
mod services;
mod step;
mod suites;
mod table;
mod targets;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use args::{Action, BenchOptions, BenchRequest};

/// A wrong command line, as most shells and tools report it.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let action = match args::parse(&args) {
        Ok(action) => action,
        Err(wrong) => {
            eprintln!("error: {wrong}");
            return ExitCode::from(USAGE);
        }
    };
    match perform(action) {
        Ok(code) => code,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn perform(action: Action) -> Result<ExitCode, String> {
    let root = root()?;
    match action {
        Action::Help(text) => {
            print!("{text}");
            Ok(ExitCode::SUCCESS)
        }
        Action::Test(options) => {
            let steps = suites::chosen(&options.only);
            Ok(step::run_all(&steps, &step::Context::new(root, options)))
        }
        Action::Ci(options) => Ok(step::run_all(&ci::steps(), &step::Context::new(root, options))),
        Action::Services(request) => services::command(&root, &request),
        Action::Tidy => tidy::command(&root),
        Action::Bench(options) => bench(&root, options),
    }
}

fn bench(root: &Path, options: BenchOptions) -> Result<ExitCode, String> {
    let BenchOptions { request, size, no_install } = options;
    let install = if no_install { services::Install::Never } else { services::Install::Missing };
    match request {
        BenchRequest::List => bench::list(root),
        BenchRequest::One { name, store } => bench::one(root, &bench::Run { name, size, store }, install),
        BenchRequest::Report(source) => bench::report::command(root, source, size, install),
    }
}

/// The workspace's folder. Cargo names the crate's folder at run time; the
/// compiled-in one serves a binary that is started without cargo.
fn root() -> Result<PathBuf, String> {
    let here =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map(PathBuf::from).ok_or_else(|| format!("{} has no parent folder", here.display()))
}
