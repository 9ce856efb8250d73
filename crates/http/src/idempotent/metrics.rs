//! What is counted and logged of each request to a route.

use std::time::{Duration, Instant};

use axum::http::Method;
use axum::response::Response;
use metrics::{counter, histogram};
use onefold_core::error::{
    BREAKER_OPEN, BULKHEAD_FULL, Code, OPERATION_IN_FLIGHT, OPERATION_WAITING, OUTCOME_UNKNOWN, RATE_EXCEEDED,
    RESULT_UNAVAILABLE, TOO_BUSY,
};
use onefold_core::ledger::Status;
use onefold_core::operation::{KindName, OperationKey};

/// What sort of answer a request got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerKind {
    /// Sent on, unguarded.
    Passed,
    /// Performed now, and its answer recorded.
    Performed,
    /// Sent on, and surely nothing took hold.
    NotApplied,
    /// The answer of an earlier request.
    Replayed,
    /// Done, and its answer not shown.
    Unavailable,
    /// In flight, or waiting for its next attempt.
    InFlight,
    /// It is unknown whether it took hold.
    Unknown,
    /// Refused before it was sent on.
    Refused,
    /// Too much is in flight, or the dependency is given a rest.
    Shed,
    /// The ledger failed.
    Failed,
}

impl AnswerKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Performed => "performed",
            Self::NotApplied => "not_applied",
            Self::Replayed => "replayed",
            Self::Unavailable => "unavailable",
            Self::InFlight => "in_flight",
            Self::Unknown => "unknown",
            Self::Refused => "refused",
            Self::Shed => "shed",
            Self::Failed => "failed",
        }
    }

    /// What an attempt that ended here is counted as.
    pub(super) fn of(status: Status) -> Self {
        match status {
            Status::Completed | Status::FailedFinal => Self::Performed,
            Status::Unknown | Status::FailedRetryable | Status::Started => Self::Unknown,
            Status::Released => Self::NotApplied,
        }
    }

    fn of_code(code: Code) -> Self {
        match code {
            _ if code == OPERATION_IN_FLIGHT || code == OPERATION_WAITING => Self::InFlight,
            _ if code == OUTCOME_UNKNOWN => Self::Unknown,
            _ if code == RESULT_UNAVAILABLE => Self::Unavailable,
            _ if [TOO_BUSY, BREAKER_OPEN, BULKHEAD_FULL, RATE_EXCEEDED].contains(&code) => Self::Shed,
            _ if code.descriptor().status >= 500 => Self::Failed,
            _ => Self::Refused,
        }
    }
}

/// One request, from its arrival to its answer.
pub(super) struct RequestMetrics {
    route: KindName,
    method: Method,
    began: Instant,
    key: Option<String>,
    operation: Option<String>,
    pub(super) kind: AnswerKind,
    pub(super) upstream: Option<Duration>,
}

impl RequestMetrics {
    pub(super) fn start(route: &KindName, method: &Method) -> Self {
        Self {
            route: route.clone(),
            method: method.clone(),
            began: Instant::now(),
            key: None,
            operation: None,
            kind: AnswerKind::Refused,
            upstream: None,
        }
    }

    pub(super) fn key(&mut self, key: &str) {
        self.key = Some(key.to_owned());
    }

    pub(super) fn operation(&mut self, key: &OperationKey) {
        tracing::Span::current().record("operation_id", key.id.as_str());
        self.operation = Some(key.reference());
    }

    pub(super) fn refused(&mut self, code: Code) {
        self.kind = AnswerKind::of_code(code);
    }

    /// Counts it, and writes its line of the access log: the key is in it, so that a record can be found.
    pub(super) fn end(self, response: &Response, access_log: bool) {
        let took = self.began.elapsed();
        let route = self.route.to_string();
        counter!("onefold_route_answers_total", "route" => route.clone(), "answer" => self.kind.as_str()).increment(1);
        if let Some(upstream) = self.upstream {
            histogram!("onefold_upstream_seconds", "route" => route.clone()).record(upstream.as_secs_f64());
            let added = took.saturating_sub(upstream);
            histogram!("onefold_added_seconds", "route" => route.clone()).record(added.as_secs_f64());
        }
        if access_log {
            tracing::info!(
                route,
                method = %self.method,
                status = response.status().as_u16(),
                answer = self.kind.as_str(),
                key = self.key,
                operation = self.operation,
                upstream_ms = self.upstream.map(|took| took.as_secs_f64() * 1e3),
                took_ms = took.as_secs_f64() * 1e3,
                "request answered"
            );
        }
    }
}
