//! What can be typed; every command ends in an exit code.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory as _, Parser, Subcommand};
use onefold_core::error::UNEXPECTED;
use onefold_core::port::{Faults, NoFaults};
use onefold_core::{Error, Result};

use crate::commands::{
    accept, archive, backup, completions, configuration, errors, events, explain, gateway, incidents, migrate,
    operations, outbox, prune, restore, run, serve, token,
};
use crate::config::Config;
use crate::database::Database;
use crate::exit::{Exit, complain};

const AFTER_HELP: &str = "\
Examples:
  onefold                                  serve ./onefold.db on 127.0.0.1:7070
  onefold serve --database postgres://db.internal/app --schema onefold
  onefold run --id backup:2026-11-15 -- ./backup.sh
  onefold incidents                        what needs a person
  onefold demo                             see the promise

Exit codes: 0 done, 1 refused, 2 wrong usage, 65 bad data, 66 not found, 69 unavailable, 70 defect,
74 output lost, 75 try later, 77 not allowed, 78 wrong configuration, 79 outcome unknown, 80 outcome not recorded
yet. `run` ends with the command's own code.";

#[derive(Debug, Parser)]
#[command(name = "onefold", version, about = "Side effects that take hold once, whatever fails", after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    shared: Shared,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What every command takes.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "For every command")]
pub(crate) struct Shared {
    /// Configuration file; by default the `onefold.toml` of this folder or of the next one above it that has one
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the ledger is: `sqlite:onefold.db` or `postgres://db.internal/app`; a password belongs in
    /// `ONEFOLD_DATABASE`
    #[arg(long, global = true, value_name = "URL")]
    database: Option<String>,
    /// PostgreSQL: the schema of the ledger's tables
    #[arg(long, global = true, value_name = "NAME")]
    schema: Option<String>,
    /// Where this machine keeps token and journal
    #[arg(long, global = true, value_name = "FOLDER")]
    data_dir: Option<String>,
    /// A running server to speak to, such as `http://127.0.0.1:7070`
    #[arg(long, global = true, value_name = "URL")]
    server: Option<String>,
    /// Where the token is
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<String>,
    /// How much is logged: error, warn, info, debug, trace or off; or per module
    #[arg(long, global = true, value_name = "LEVEL")]
    log: Option<String>,
    /// Print JSON for scripts
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the ledger to any language (the default)
    Serve(serve::ServeArgs),
    /// Run a command once: a duplicate gets its recorded output
    Run(run::RunArgs),
    /// See the promise: the same requests through a naive worker, a table and Onefold
    Demo(onefold_demo::DemoArgs),
    #[command(hide = true)]
    DemoProvider(onefold_demo::ProviderArgs),
    #[command(hide = true)]
    DemoWorker(onefold_demo::WorkerArgs),
    /// Try a route of a running gateway
    Gateway(gateway::GatewayArgs),
    /// Look at operations
    Operations(operations::OperationsArgs),
    /// See and settle what needs a person
    Incidents(incidents::IncidentsArgs),
    /// See what relays publish, and decide about events that were set aside
    Outbox(outbox::OutboxArgs),
    /// Show the contracts of events, and hold their pages to them
    Events(events::EventsArgs),
    /// Apply retention now
    Prune(prune::PruneArgs),
    /// Read what a prune archived
    Archive(archive::ArchiveArgs),
    /// Bring the database to this version
    Migrate(migrate::MigrateArgs),
    /// Copy the ledger into a file, while it is used
    Backup(backup::BackupArgs),
    /// Restore a backup to where the ledger is
    Restore(restore::RestoreArgs),
    /// Accept a ledger that went back or was restored
    AcceptRestored(accept::AcceptArgs),
    /// Add, list and remove tokens
    Token(token::TokenArgs),
    /// Show every setting and where it came from
    Config(configuration::ConfigArgs),
    /// Show the registry of error codes
    Errors(errors::ErrorsArgs),
    /// Say what a word or an error code means
    Explain(explain::ExplainArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
}

/// What a command is handed.
pub(crate) struct Context {
    pub(crate) config: Config,
    pub(crate) json: bool,
    pub(crate) faults: Arc<dyn Faults>,
}

impl Context {
    /// A further command on the same ledger, as it can be typed here.
    pub(crate) fn command(&self, words: &str) -> String {
        format!("onefold {words}{}", self.config.flags_to_find_it())
    }
}

/// Runs this process' command line.
pub fn main() -> ExitCode {
    run_with(std::env::args_os(), Arc::new(NoFaults))
}

/// Runs a command line with places where a test stops the process.
pub fn run_with(arguments: impl IntoIterator<Item = OsString>, faults: Arc<dyn Faults>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(told) => {
            // Help goes to stdout and is not a failure; a mistake goes to stderr and is.
            let _ = told.print();
            return ExitCode::from(u8::try_from(told.exit_code()).unwrap_or(2));
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(cause) => {
            complain(&Error::new(UNEXPECTED, format!("the system cannot start threads: {cause}")));
            return Exit::Defect.into();
        }
    };
    let ended = runtime.block_on(carry_out(cli, faults));
    // Reads that are still in flight on other threads have nobody waiting for them.
    runtime.shutdown_background();
    ended.unwrap_or_else(|error| {
        complain(&error);
        Exit::of(&error).into()
    })
}

async fn carry_out(cli: Cli, faults: Arc<dyn Faults>) -> Result<ExitCode> {
    let Cli { shared, command } = cli;
    let command = command.unwrap_or_else(|| Command::Serve(serve::ServeArgs::default()));
    match command {
        // These need no configuration, and work with a broken one.
        Command::Demo(args) => {
            return onefold_demo::demo::<Database>(args, shared.database.as_deref(), shared.json).await;
        }
        Command::DemoProvider(args) => return onefold_demo::provider(args).await,
        Command::DemoWorker(args) => return onefold_demo::worker::<Database>(args).await,
        Command::Errors(args) => return errors::errors(args, shared.json),
        Command::Archive(args) => return archive::archive(args, shared.json),
        Command::Explain(args) => return explain::explain(&args, shared.json),
        Command::Completions(args) => return Ok(completions::completions(&args, &mut Cli::command())),
        Command::Serve(_)
        | Command::Run(_)
        | Command::Gateway(_)
        | Command::Operations(_)
        | Command::Incidents(_)
        | Command::Outbox(_)
        | Command::Events(_)
        | Command::Prune(_)
        | Command::Migrate(_)
        | Command::Backup(_)
        | Command::Restore(_)
        | Command::AcceptRestored(_)
        | Command::Token(_)
        | Command::Config(_) => {}
    }
    let mut flags = shared.flags();
    if let Command::Serve(args) = &command {
        flags.extend(args.flags());
    }
    let config = Config::load(shared.config.as_deref(), &flags)?;
    let traces = crate::log::start(&config, matches!(command, Command::Serve(_)))?;
    let context = Context { config, json: shared.json, faults };
    let ended = Box::pin(with_configuration(command, &context)).await;
    crate::database::finish_all().await;
    if let Some(traces) = traces {
        traces.end().await;
    }
    ended
}

/// Carries out a command that needs the configuration.
async fn with_configuration(command: Command, context: &Context) -> Result<ExitCode> {
    match command {
        Command::Serve(args) => serve::serve(context, &args).await,
        Command::Run(args) => Box::pin(run::run(context, args)).await,
        Command::Gateway(args) => gateway::gateway(context, args).await,
        Command::Operations(args) => operations::operations(context, args).await,
        Command::Incidents(args) => incidents::incidents(context, args).await,
        Command::Outbox(args) => outbox::outbox(context, args).await,
        Command::Events(args) => events::events(context, args),
        Command::Prune(args) => prune::prune(context, &args).await,
        Command::Migrate(args) => migrate::migrate(context, &args).await,
        Command::Backup(args) => backup::backup(context, &args).await,
        Command::Restore(args) => restore::restore(context, &args).await,
        Command::AcceptRestored(args) => accept::accept(context, &args).await,
        Command::Token(args) => token::token(context, args).await,
        Command::Config(args) => Ok(configuration::configuration(context, &args)),
        Command::Demo(_)
        | Command::DemoProvider(_)
        | Command::DemoWorker(_)
        | Command::Errors(_)
        | Command::Archive(_)
        | Command::Explain(_)
        | Command::Completions(_) => Ok(ExitCode::SUCCESS),
    }
}

impl Shared {
    fn flags(&self) -> Vec<(&'static str, String)> {
        let given = [
            ("database", &self.database),
            ("schema", &self.schema),
            ("data_dir", &self.data_dir),
            ("server", &self.server),
            ("token_file", &self.token_file),
            ("log", &self.log),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        Cli::command().debug_assert();
    }
}
