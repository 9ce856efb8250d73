//! `onefold restore`: puts a backup where a ledger is to be; a person must accept it before a server starts on it.

use std::path::PathBuf;
use std::process::ExitCode;

use onefold_core::Result;
use onefold_core::backup::ExistingLedger;

use super::backup::tell;
use crate::cli::Context;
use crate::database::Database;
use crate::table::say_line;

/// Which backup.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Stop every server and service on the ledger first. What was performed after the backup was made is missing from it and WILL BE PERFORMED AGAIN: see docs/runbooks/restored-database.md.\n\nExamples:\n  onefold restore /backups/onefold-monday.backup\n  onefold accept-restored --why \"restored Monday's backup, INC-4711\""
)]
pub(crate) struct RestoreArgs {
    /// A file that `onefold backup` wrote
    file: PathBuf,
    /// Replace a ledger that has operations; an SQLite file is kept under another name
    #[arg(long)]
    replace: bool,
}

pub(crate) async fn restore(context: &Context, args: &RestoreArgs) -> Result<ExitCode> {
    context.config.refuse_server("run it where the database is")?;
    let existing = if args.replace { ExistingLedger::Replace } else { ExistingLedger::Keep };
    let restored = Database::restore(&context.config, &args.file, existing).await?;
    tell(context, "restore", &args.file, &restored);
    if !context.json {
        say_line!("next: see docs/runbooks/restored-database.md, then onefold accept-restored --why REASON");
    }
    Ok(ExitCode::SUCCESS)
}
