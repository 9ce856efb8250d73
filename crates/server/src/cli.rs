//! What can be typed; every command ends in an exit code.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands::demo;
use crate::exit::{Exit, complain};

#[derive(Debug, Parser)]
#[command(name = "onefold", version, about = "Side effects that take hold once, whatever fails")]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// See the promise: the same requests through a naive worker, a table and Onefold
    Demo(demo::DemoArgs),
    #[command(hide = true)]
    DemoProvider(demo::ProviderArgs),
    #[command(hide = true)]
    DemoWorker(demo::WorkerArgs),
}

/// Parses the command line and runs it.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(cause) => {
            eprintln!("error: the system gives no threads: {cause}");
            return Exit::Defect.into();
        }
    };
    let ended = runtime.block_on(async {
        match cli.command {
            Some(Command::Demo(args)) => demo::demo(args).await,
            Some(Command::DemoProvider(args)) => demo::provider(args).await,
            Some(Command::DemoWorker(args)) => demo::worker(args).await,
            None => Ok(ExitCode::SUCCESS),
        }
    });
    ended.unwrap_or_else(|error| {
        complain(&error);
        Exit::of(&error).into()
    })
}
