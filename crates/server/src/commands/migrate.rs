//! `onefold migrate`: brings the database to this version.

use std::process::ExitCode;

use onefold_core::Result;
use serde_json::json;

use crate::app::{App, Opener};
use crate::cli::Context;
use crate::database::{Creation, Database};
use crate::exit::inform;
use crate::table::{print_json_of, say_line};

/// How far to go.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Opening a database migrates it too; this does only that. Migrations go forward only: back the database up first.\n\nExamples:\n  onefold migrate --dry-run\n  onefold migrate --database sqlite:/var/lib/onefold/onefold.db\n  onefold migrate --database postgres://db.internal/app --schema onefold"
)]
pub(crate) struct MigrateArgs {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Create a ledger even in a file or schema that holds other tables
    #[arg(long)]
    into_existing: bool,
}

pub(crate) async fn migrate(context: &Context, args: &MigrateArgs) -> Result<ExitCode> {
    context.config.refuse_server("a server migrates its own database when it starts")?;
    let (database, creation) = (context.config.database.to_string(), Creation::by_flag(args.into_existing));
    Database::check(&context.config, creation).await?;
    let missing = Database::missing_migrations(&context.config).await?;
    if !args.dry_run && !missing.is_empty() {
        App::open(&context.config, Opener::Command, creation).await?;
    }
    if context.json {
        let names: Vec<_> = missing.iter().map(|one| json!({ "version": one.version, "name": one.name })).collect();
        let shown = json!({ "database": database, "dryRun": args.dry_run, "migrations": names });
        print_json_of(&context.config.ledger(), shown);
        return Ok(ExitCode::SUCCESS);
    }
    inform(&format!("ledger {}", context.config.ledger()));
    if missing.is_empty() {
        say_line!("{} is up to date", database);
    }
    for one in missing {
        let done = if args.dry_run { "would apply" } else { "applied" };
        say_line!("{done} {:04} {}", one.version, one.name);
    }
    Ok(ExitCode::SUCCESS)
}
