//! `onefold accept-restored`: a person accepts a ledger that is not the one that was last seen.

use std::process::ExitCode;

use onefold_core::Result;
use serde_json::json;

use crate::cli::Context;
use crate::client::login_name;
use crate::database::Database;
use crate::exit::inform;
use crate::table::{print_json_of, say_line};

/// Why it is accepted.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A ledger that went back, lost its log or was restored from a backup is refused (LEDGER_WENT_BACK) until it is accepted.\nWhat was performed since then is missing from it and WILL BE PERFORMED AGAIN: see docs/runbooks/restored-database.md first.\n\nExamples:\n  onefold accept-restored --why \"restored Monday's backup after the disk died, INC-4711\""
)]
pub(crate) struct AcceptArgs {
    /// Why; kept in the ledger with your name
    #[arg(long, value_name = "REASON")]
    why: String,
}

pub(crate) async fn accept(context: &Context, args: &AcceptArgs) -> Result<ExitCode> {
    context.config.refuse_server("run it where the database is")?;
    let ledger = context.config.ledger();
    let wrong = Database::accept(&context.config, &login_name(), &args.why).await?;
    if context.json {
        let wrong = wrong.as_ref().map(onefold_core::Error::detail);
        print_json_of(&ledger, json!({ "accepted": wrong.is_some(), "wrong": wrong }));
        return Ok(ExitCode::SUCCESS);
    }
    inform(&format!("ledger {ledger}"));
    match wrong {
        None => say_line!("nothing to accept: it is the ledger that was last seen here"),
        Some(wrong) => {
            say_line!("accepted: {}", wrong.detail());
            say_line!("a server may start on it; what is missing from it is performed again when it is asked for");
        }
    }
    Ok(ExitCode::SUCCESS)
}
