//! Log lines on stderr: constant messages, values as fields; and spans for a collector, where there is one.

use std::io::IsTerminal as _;

use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::{Error, Result};
use tracing::Subscriber;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

use crate::config::{Config, LogFormat, Origin};
use crate::trace::Traces;

/// Starts logging as configured, and tracing for a server that has a collector. A second start in one process
/// changes nothing.
pub(crate) fn start(config: &Config, server: bool) -> Result<Option<Traces>> {
    // A command speaks for itself, unless it is asked for its log.
    let quiet = !server && *config.layers.origin("log") == Origin::Default;
    let filter = EnvFilter::try_new(if quiet { "off" } else { &config.log })
        .map_err(|cause| Error::new(CONFIGURATION_INVALID, format!("{}: log: {cause}", config.layers.origin("log"))))?;
    let traces = config.otlp.as_deref().filter(|_| server).map(Traces::start).transpose()?;
    let started = match &traces {
        None => tracing_subscriber::registry().with(filter).with(lines(config)).try_init(),
        Some(traces) => {
            // What is logged does not decide what is traced.
            let spans = tracing_opentelemetry::layer().with_tracer(traces.tracer()).with_filter(LevelFilter::INFO);
            tracing_subscriber::registry().with(lines(config).with_filter(filter)).with(spans).try_init()
        }
    };
    drop(started);
    if server {
        onefold_http::log_panics();
    }
    Ok(traces)
}

/// Whether a text says how much is logged: a level, or levels of modules. A bare word that is not a level would be taken for
/// a module's name, and silence everything else.
pub(crate) fn is_filter(text: &str) -> bool {
    let is_level = |word: &str| !word.is_empty() && word.parse::<LevelFilter>().is_ok() && word.parse::<u8>().is_err();
    let is_part = |part: &str| match part.rsplit_once('=') {
        Some((module, level)) => !module.trim().is_empty() && is_level(level.trim()),
        None => is_level(part),
    };
    text.split(',').all(|part| is_part(part.trim())) && EnvFilter::try_new(text).is_ok()
}

fn lines<S>(config: &Config) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    // A log whose reader is gone is not a reason to end.
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).log_internal_errors(false);
    match config.log_format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).with_target(false).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_filter;

    #[test]
    fn a_level_or_levels_of_modules_are_a_filter_and_other_words_are_not() {
        for text in ["off", "error", "warn", "info", "debug", "trace", "INFO", "warn,onefold_http=debug"] {
            assert!(is_filter(text), "{text}");
        }
        for text in ["", "verbose", "loud", "2", "a=b=c", "onefold=loud", "=info", "info,"] {
            assert!(!is_filter(text), "{text}");
        }
    }
}
