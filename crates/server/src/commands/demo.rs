//! The promise, seen.

use std::process::ExitCode;

use onefold_core::Result;

/// What the demo can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// The same seed gives the same faults.
    #[arg(long, default_value_t = 20_261_115)]
    seed: u64,
}

pub(crate) async fn demo(_args: DemoArgs) -> Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
