//! The real command line, killed where the variable says: `CAMPAIGN_FAULT=after-claim-commit:3`.

use std::process::ExitCode;
use std::sync::Arc;

use onefold::store::{Faults, NoFaults};
use onefold_campaign::faults::KillAt;

fn main() -> ExitCode {
    let faults: Arc<dyn Faults> = match std::env::var("CAMPAIGN_FAULT").as_deref().map(KillAt::parse) {
        Err(_) => Arc::new(NoFaults),
        Ok(Some(kill)) => Arc::new(kill),
        Ok(None) => {
            eprintln!("error: CAMPAIGN_FAULT is not of the form point:count, such as after-claim-commit:3");
            return ExitCode::FAILURE;
        }
    };
    onefold_server::run_with(std::env::args_os(), faults)
}
