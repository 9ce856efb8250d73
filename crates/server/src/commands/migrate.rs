//! `onefold migrate`: brings the database to this version.

use std::process::ExitCode;

use onefold_core::Result;
use serde_json::json;

use crate::app::{App, Opener};
use crate::cli::Context;
use crate::database::Database;
use crate::table::{print_json, say_line};

/// How far to go.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Opening a database migrates it too; this does only that. Migrations go forward only: back the database up first.\n\nExamples:\n  onefold migrate --dry-run\n  onefold migrate --database sqlite:/var/lib/onefold/onefold.db\n  onefold migrate --database postgres://db.internal/app --schema onefold"
)]
pub(crate) struct MigrateArgs {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn migrate(context: &Context, args: &MigrateArgs) -> Result<ExitCode> {
    let database = context.config.database.to_string();
    let missing = Database::missing_migrations(&context.config).await?;
    if !args.dry_run && !missing.is_empty() {
        App::open(&context.config, Opener::Command).await?;
    }
    if context.json {
        let names: Vec<_> = missing.iter().map(|one| json!({ "version": one.version, "name": one.name })).collect();
        print_json(&json!({ "database": database, "dryRun": args.dry_run, "migrations": names }));
        return Ok(ExitCode::SUCCESS);
    }
    if missing.is_empty() {
        say_line!("{} is up to date", database);
    }
    for one in missing {
        let done = if args.dry_run { "would apply" } else { "applied" };
        say_line!("{done} {:04} {}", one.version, one.name);
    }
    Ok(ExitCode::SUCCESS)
}
