//! What librdkafka says by itself: its log, and why it cannot connect.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use ::rdkafka::ClientContext;
use ::rdkafka::config::RDKafkaLogLevel;
use ::rdkafka::error::{KafkaError, RDKafkaErrorCode};
use tokio::sync::watch;

use super::fault;
use crate::fault::Fault;

/// Hears a client's threads.
#[derive(Clone)]
pub(crate) struct Context {
    /// Why no broker can be talked to, once that is known.
    refused: Arc<watch::Sender<Option<Fault>>>,
}

impl Default for Context {
    fn default() -> Self {
        Self { refused: Arc::new(watch::Sender::new(None)) }
    }
}

impl Context {
    /// Waits until it is known that no broker will talk to us.
    pub(super) async fn refused(&self) -> Fault {
        let mut refused = self.refused.subscribe();
        let heard = refused.wait_for(Option::is_some).await;
        heard.ok().and_then(|fault| fault.clone()).unwrap_or_else(|| fault::of(&KafkaError::Canceled))
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        unharmed(|| match level {
            RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical | RDKafkaLogLevel::Error => {
                tracing::warn!(facility, line, "librdkafka");
            }
            RDKafkaLogLevel::Warning | RDKafkaLogLevel::Notice | RDKafkaLogLevel::Info | RDKafkaLogLevel::Debug => {
                tracing::debug!(facility, line, "librdkafka");
            }
        });
    }

    fn error(&self, error: KafkaError, reason: &str) {
        let Some(code) = error.rdkafka_error_code() else { return };
        if matches!(code, RDKafkaErrorCode::AllBrokersDown | RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SSL) {
            self.refused.send_modify(|refused| {
                refused.get_or_insert_with(|| fault::of_code(code, reason));
            });
        }
        unharmed(|| tracing::debug!(%code, reason, "librdkafka"));
    }
}

/// A log that cannot be written must not end the thread that hears acknowledgements.
fn unharmed(log: impl FnOnce()) {
    let _ = std::panic::catch_unwind(AssertUnwindSafe(log));
}
