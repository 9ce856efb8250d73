//! What came of sending a request on.

use axum::response::Response;
use onefold_core::call::{CallOutcome, Sent};

/// No answer came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoResponse {
    /// Why not.
    pub happened: CallOutcome,
    /// Whether a byte of the request left this process.
    pub sent: Sent,
    /// In a sentence, without addresses and values.
    pub detail: String,
    /// Whether it ended on our side, or the caller's: the one who was called has no part in it.
    pub by_us: bool,
}

impl NoResponse {
    /// No connection: nothing was sent.
    pub fn not_sent(happened: CallOutcome, detail: impl Into<String>) -> Self {
        Self { happened, sent: Sent::Nothing, detail: detail.into(), by_us: false }
    }

    /// Something was sent, or may have been.
    pub fn lost(happened: CallOutcome, detail: impl Into<String>) -> Self {
        Self { happened, sent: Sent::Something, detail: detail.into(), by_us: false }
    }
}

impl NoResponse {
    /// The same, through no fault of the one who was called.
    #[must_use]
    pub fn by_us(mut self) -> Self {
        self.by_us = true;
        self
    }
}

/// What came of sending a request on.
pub type ForwardResult = Result<Response, NoResponse>;
