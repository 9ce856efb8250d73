//! `onefold prune`: applies retention now.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use onefold_core::error::REQUEST_INVALID;
use onefold_core::port::Archive;
use onefold_core::{Error, Result};
use onefold_runtime::FileArchive;
use serde_json::{Value, json};

use crate::app::{App, Opener};
use crate::cli::Context;
use crate::client::Client;
use crate::database::Creation;
use crate::exit::inform;
use crate::table::{count, print_json_of, say_line};

/// What is deleted, and where it goes.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Only kinds of the configuration with a `retention` are pruned; ids are kept until told otherwise.\nAfter an id is gone a duplicate of it is a new operation and IS PERFORMED.\nNothing is deleted by a clock that jumped ahead, until it is confirmed.\n\nExamples:\n  onefold prune --dry-run\n  onefold prune --archive ./archive"
)]
pub(crate) struct PruneArgs {
    /// Only count
    #[arg(long)]
    dry_run: bool,
    /// Write everything that is deleted to this folder first; `archive show` reads it
    #[arg(long, value_name = "FOLDER")]
    archive: Option<PathBuf>,
}

pub(crate) async fn prune(context: &Context, args: &PruneArgs) -> Result<ExitCode> {
    let pruned =
        if context.config.server.is_some() { there(context, args).await? } else { here(context, args).await? };
    let ledger = context.config.ledger_named();
    if context.json {
        print_json_of(&ledger, pruned);
        return Ok(ExitCode::SUCCESS);
    }
    inform(&format!("ledger {ledger}"));
    let would = if args.dry_run { "would forget" } else { "forgot" };
    let forgotten = pruned["operations"].as_u64().unwrap_or(0);
    let operations = count(forgotten, "operation", "operations");
    say_line!("{would} {operations}, {would} only the result of {}", pruned["results"]);
    if forgotten > 0 {
        say_line!("a duplicate of a forgotten operation is performed again");
    }
    if pruned["more"] == true {
        say_line!("there are more than this command counts");
    }
    Ok(ExitCode::SUCCESS)
}

/// On the ledger of this machine.
async fn here(context: &Context, args: &PruneArgs) -> Result<Value> {
    let app = App::open(&context.config, Opener::Command, Creation::Never).await?;
    let folder = args.archive.as_ref().or(context.config.archive.as_ref());
    let pruned = if args.dry_run {
        app.ledger.prune_dry_run().await?
    } else {
        let archive = folder.map(|folder| FileArchive::new(folder)).transpose()?;
        app.ledger.prune_into(archive.map(|archive| Arc::new(archive) as Arc<dyn Archive>)).await?
    };
    let more = args.dry_run && pruned.more;
    Ok(json!({ "dryRun": args.dry_run, "operations": pruned.operations, "results": pruned.results, "more": more }))
}

/// On the server that was named, by its own kinds and into its own archive.
async fn there(context: &Context, args: &PruneArgs) -> Result<Value> {
    if args.archive.is_some() {
        return Err(Error::new(
            REQUEST_INVALID,
            "--archive names a folder of this machine, and --server prunes elsewhere",
        )
        .hint("set `archive` in the server's configuration, or prune where its database is"));
    }
    let client = Client::find(&context.config, &context.faults, Creation::Never).await?;
    client.post("/v1/prune", &json!({ "dryRun": args.dry_run })).await
}
