//! Log lines on stderr: constant messages, values as fields.

use std::io::IsTerminal as _;

use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::{Error, Result};
use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat, Origin};

/// Starts logging as configured. A second start in one process changes nothing.
pub(crate) fn start(config: &Config, server: bool) -> Result<()> {
    // A command speaks for itself, unless it is asked for its log.
    let quiet = !server && *config.layers.origin("log") == Origin::Default;
    let filter = EnvFilter::try_new(if quiet { "off" } else { &config.log }).map_err(|cause| {
        Error::new(CONFIGURATION_INVALID, format!("{}: log is {:?}: {cause}", config.layers.origin("log"), config.log))
            .hint("use error, warn, info or debug, or module=level")
    })?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match config.log_format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).with_target(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    drop(started);
    if server {
        onefold_http::log_panics();
    }
    Ok(())
}
