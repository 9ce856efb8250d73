//! `onefold backup`: a copy of the ledger in one file, while it is used.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use indicatif::ProgressBar;
use onefold_core::Result;
use onefold_core::backup::{BackupSummary, ExistingLedger};
use onefold_core::port::NoFaults;
use serde_json::json;

use crate::cli::Context;
use crate::database::{Creation, Database};
use crate::exit::inform;
use crate::table::{count, print_json_of, say_line};

/// Where the copy goes.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Servers go on. Everything that was acknowledged before the command began is in the file, which is checked before it gets its name.\nThe file holds results and fingerprint keys: keep it as safe as the ledger.\n\nExamples:\n  onefold backup /backups/onefold-monday.backup\n  onefold backup nightly.backup --overwrite --json"
)]
pub(crate) struct BackupArgs {
    /// The file to write
    file: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    overwrite: bool,
}

pub(crate) async fn backup(context: &Context, args: &BackupArgs) -> Result<ExitCode> {
    context.config.refuse_server("run it where the database is")?;
    let existing = if args.overwrite { ExistingLedger::Replace } else { ExistingLedger::Keep };
    let database = Database::open(&context.config, Creation::Never, Arc::new(NoFaults)).await?;
    let bar = ProgressBar::new(0).with_message("backing up");
    let shown = bar.clone();
    let progress = Arc::new(move |done, total: u64| {
        shown.set_length(total.max(done));
        shown.set_position(done);
    });
    let made = database.backup(&args.file, existing, progress).await;
    bar.finish_and_clear();
    let made = made?;
    tell(context, "backup", &args.file, &made);
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn tell(context: &Context, what: &str, file: &Path, summary: &BackupSummary) {
    let ledger = context.config.ledger();
    if context.json {
        let copied_at = summary.copied_at.to_string();
        let shown = json!({ "file": file, "copiedAt": copied_at, "bytes": summary.bytes, "rows": summary.rows });
        print_json_of(&ledger, shown);
        return;
    }
    inform(&format!("ledger {ledger}"));
    let rows = |table: &str| summary.rows.get(table).copied().unwrap_or(0);
    say_line!(
        "{what}: {}, {}, checked, {} bytes in {}",
        count(rows("onefold_operations"), "operation", "operations"),
        count(rows("onefold_incidents"), "incident", "incidents"),
        summary.bytes,
        file.display()
    );
}
