//! `onefold prune`: applies retention now.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use onefold_core::Result;
use onefold_core::ports::Archive;
use onefold_runtime::FileArchive;
use serde_json::json;

use crate::app::{App, Opener};
use crate::cli::Context;
use crate::table::{count, print_json, say_line};

/// What is deleted, and where it goes.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Only kinds of the configuration with a `retention` are pruned; ids are kept until told otherwise.\nAfter an id is gone a duplicate of it is a new operation and IS PERFORMED.\n\nExamples:\n  onefold prune --dry-run\n  onefold prune --archive ./archive"
)]
pub(crate) struct PruneArgs {
    /// Only count
    #[arg(long)]
    dry_run: bool,
    /// Write what is deleted to this folder first
    #[arg(long, value_name = "FOLDER")]
    archive: Option<PathBuf>,
}

pub(crate) async fn prune(context: &Context, args: &PruneArgs) -> Result<ExitCode> {
    let app = App::open(&context.config, Opener::Command).await?;
    let folder = args.archive.as_ref().or(context.config.archive.as_ref());
    let pruned = if args.dry_run {
        app.ledger.prune_dry_run().await?
    } else {
        let archive = folder.map(|folder| FileArchive::new(folder)).transpose()?;
        app.ledger.prune_into(archive.map(|archive| Arc::new(archive) as Arc<dyn Archive>)).await?
    };
    if context.json {
        let more = args.dry_run && pruned.more;
        print_json(
            &json!({ "dryRun": args.dry_run, "operations": pruned.operations, "results": pruned.results, "more": more }),
        );
        return Ok(ExitCode::SUCCESS);
    }
    let would = if args.dry_run { "would forget" } else { "forgot" };
    let operations = count(pruned.operations as u64, "operation", "operations");
    say_line!("{would} {operations}, {would} only the result of {}", pruned.results);
    if pruned.operations > 0 {
        say_line!("a duplicate of a forgotten operation is performed again");
    }
    if args.dry_run && pruned.more {
        say_line!("there are more; only so many are counted");
    }
    Ok(ExitCode::SUCCESS)
}
