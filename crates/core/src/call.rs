//! What a failed call to the outside means: not applied, unknown, or final.
//!
//! A timeout after sending is not a failure. Neither is a 503: the server that answers it may have acted first,
//! unless the dependency promises otherwise.

mod health;

pub use health::CallHealth;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::effect::Policy;
use crate::error::CodeName;
use crate::ledger::{SideEffect, named};
use crate::retry::{Category, Schedule};
use crate::time::Timestamp;

/// Whether a byte of the request left the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sent {
    /// None did.
    Nothing,
    /// One did, or may have.
    Something,
}

/// What happened to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallOutcome {
    /// No connection: refused, no such name, TLS failed.
    NoConnection,
    /// No answer in time.
    Timeout,
    /// The connection ended before the answer.
    Reset,
    /// An HTTP status other than success.
    Status(u16),
    /// A gRPC status other than OK.
    Grpc(GrpcStatus),
    /// An answer that cannot be decoded.
    Undecodable,
    /// Our own code panicked.
    Panicked,
    /// We did not call: the breaker is open.
    BreakerOpen,
    /// We did not call: too many calls are in flight.
    BulkheadFull,
}

named! {
    /// A gRPC status other than OK.
    GrpcStatus {
        /// Code 1.
        Cancelled = "CANCELLED",
        /// Code 2.
        Unknown = "UNKNOWN",
        /// Code 3.
        InvalidArgument = "INVALID_ARGUMENT",
        /// Code 4.
        DeadlineExceeded = "DEADLINE_EXCEEDED",
        /// Code 5.
        NotFound = "NOT_FOUND",
        /// Code 6.
        AlreadyExists = "ALREADY_EXISTS",
        /// Code 7.
        PermissionDenied = "PERMISSION_DENIED",
        /// Code 8.
        ResourceExhausted = "RESOURCE_EXHAUSTED",
        /// Code 9.
        FailedPrecondition = "FAILED_PRECONDITION",
        /// Code 10.
        Aborted = "ABORTED",
        /// Code 11.
        OutOfRange = "OUT_OF_RANGE",
        /// Code 12.
        Unimplemented = "UNIMPLEMENTED",
        /// Code 13.
        Internal = "INTERNAL",
        /// Code 14.
        Unavailable = "UNAVAILABLE",
        /// Code 15.
        DataLoss = "DATA_LOSS",
        /// Code 16.
        Unauthenticated = "UNAUTHENTICATED",
    }
}

impl GrpcStatus {
    /// The status with this number; what is not known counts as UNKNOWN. None for OK.
    pub fn from_number(number: i32) -> Option<Self> {
        match usize::try_from(number) {
            Ok(0) => None,
            Ok(number) => Some(Self::ALL.get(number - 1).copied().unwrap_or(Self::Unknown)),
            Err(_) => Some(Self::Unknown),
        }
    }
}

/// What is known of the effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CallMeaning {
    /// No byte was sent: the claim is released.
    NotSent(Category),
    /// It was sent and surely did not take hold: tried again on the category's schedule.
    NotApplied(Category),
    /// It is unknown.
    Unknown(Category),
    /// This call did nothing: an earlier one under the same key is still at work. Ask again later; its answer judges
    /// both.
    StillRunning,
    /// It surely did not take hold and never will: what we send is wrong, and a person must look.
    ///
    /// Only for a request that we made ourselves. A client's own request that is passed on is the client's to fix.
    Broken(Category),
    /// The dependency said no, for good.
    Final,
    /// The dependency said no, for good, and we have a word for it.
    Business(CodeName),
}

/// What a dependency promises beyond what every caller must assume, by status. Declared once per dependency.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Promises {
    by_status: BTreeMap<u16, Promise>,
}

/// What a status of this dependency means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    /// It answers so only if it did nothing.
    NotApplied(Category),
    /// It may have acted.
    Unknown,
    /// It is an answer of the business.
    Business(CodeName),
}

impl Promises {
    /// The same with a promise for a status.
    #[must_use]
    pub fn with(mut self, status: u16, promise: Promise) -> Self {
        self.by_status.insert(status, promise);
        self
    }
}

/// What a failed call means.
///
/// ```
/// use onefold_core::call::{CallOutcome, CallMeaning, Promises, Sent, judge};
/// use onefold_core::retry::Category;
///
/// let nothing_promised = Promises::default();
/// assert_eq!(judge(CallOutcome::Timeout, Sent::Something, &nothing_promised), CallMeaning::Unknown(Category::DownstreamTimeout));
/// assert_eq!(judge(CallOutcome::Status(429), Sent::Something, &nothing_promised), CallMeaning::NotApplied(Category::RateLimited));
/// ```
pub fn judge(happened: CallOutcome, sent: Sent, promises: &Promises) -> CallMeaning {
    match (happened, sent) {
        (CallOutcome::BreakerOpen | CallOutcome::BulkheadFull, _)
        | (CallOutcome::NoConnection | CallOutcome::Reset | CallOutcome::Undecodable, Sent::Nothing) => {
            CallMeaning::NotSent(Category::DownstreamUnavailable)
        }
        (CallOutcome::Status(status), _) => of_status(status, promises),
        (CallOutcome::Grpc(status), sent) => of_grpc(status, sent),
        (CallOutcome::Timeout, Sent::Nothing) => CallMeaning::NotSent(Category::DownstreamTimeout),
        (CallOutcome::Panicked, Sent::Nothing) => CallMeaning::NotSent(Category::Unexpected),
        (CallOutcome::Timeout, Sent::Something) => CallMeaning::Unknown(Category::DownstreamTimeout),
        (CallOutcome::NoConnection | CallOutcome::Reset, Sent::Something) => {
            CallMeaning::Unknown(Category::DownstreamUnavailable)
        }
        (CallOutcome::Undecodable | CallOutcome::Panicked, Sent::Something) => {
            CallMeaning::Unknown(Category::Unexpected)
        }
    }
}

/// What an error of the system says of a call, and whether a byte may have left the process.
///
/// Only a refused connection proves that none did: every other error may come after the request was sent.
#[expect(clippy::wildcard_enum_match_arm, reason = "the system's list of errors grows; a further one proves nothing")]
pub fn of_io(kind: std::io::ErrorKind) -> (CallOutcome, Sent) {
    use std::io::ErrorKind;
    match kind {
        ErrorKind::ConnectionRefused => (CallOutcome::NoConnection, Sent::Nothing),
        ErrorKind::TimedOut => (CallOutcome::Timeout, Sent::Something),
        ErrorKind::InvalidData => (CallOutcome::Undecodable, Sent::Something),
        _ => (CallOutcome::Reset, Sent::Something),
    }
}

/// Whether the dependency may have seen the key of a call before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeySent {
    /// For the first time, or by attempts that surely did nothing.
    First,
    /// By an earlier attempt that may be at work still, to a dependency that takes it for the same request.
    Repeated,
}

impl KeySent {
    /// Under this policy, with this known of earlier attempts.
    pub fn of(policy: &Policy, earlier: SideEffect) -> Self {
        match (policy, earlier) {
            (Policy::SameKey { .. }, SideEffect::Unknown) => Self::Repeated,
            _ => Self::First,
        }
    }
}

/// What the status of a call under a key means.
///
/// A dependency that follows the `Idempotency-Key` draft answers 409, others 425, while the first request with a key is
/// at work. To a repeated key that is not an answer to the operation, whatever the status means otherwise; only what the
/// dependency promises for that status goes before it.
pub fn judge_keyed(status: u16, key: KeySent, promises: &Promises) -> CallMeaning {
    let declared = promises.by_status.contains_key(&status);
    match (key, status) {
        (KeySent::Repeated, 409 | 425) if !declared => CallMeaning::StillRunning,
        (KeySent::First | KeySent::Repeated, _) => of_status(status, promises),
    }
}

/// What an HTTP status means; none for a success.
fn of_status(status: u16, promises: &Promises) -> CallMeaning {
    match promises.by_status.get(&status) {
        Some(Promise::NotApplied(category)) => return CallMeaning::NotApplied(*category),
        Some(Promise::Unknown) => return CallMeaning::Unknown(Category::DownstreamUnavailable),
        Some(Promise::Business(code)) => return CallMeaning::Business(code.clone()),
        None => {}
    }
    match status {
        // We are refused, not the request.
        401 | 403 | 407 => CallMeaning::NotApplied(Category::Permission),
        408 => CallMeaning::NotApplied(Category::DownstreamTimeout),
        425 => CallMeaning::NotApplied(Category::DownstreamUnavailable),
        429 => CallMeaning::NotApplied(Category::RateLimited),
        // The request did not get past the door.
        405 | 411 | 413 | 414 | 415 | 417 | 421 | 426 | 428 | 431 => {
            CallMeaning::NotApplied(Category::InvalidWorkerContract)
        }
        // The dependency cannot read what we send: a defect of ours, which no repetition changes.
        400 => CallMeaning::Broken(Category::InvalidWorkerContract),
        401..=499 => CallMeaning::Final,
        504 => CallMeaning::Unknown(Category::DownstreamTimeout),
        500..=599 => CallMeaning::Unknown(Category::DownstreamUnavailable),
        // Neither success nor failure: an answer that nobody here understands.
        _ => CallMeaning::Unknown(Category::Unexpected),
    }
}

fn of_grpc(status: GrpcStatus, sent: Sent) -> CallMeaning {
    match (status, sent) {
        (GrpcStatus::Unavailable, Sent::Nothing) => CallMeaning::NotSent(Category::DownstreamUnavailable),
        (GrpcStatus::DeadlineExceeded, _) => CallMeaning::Unknown(Category::DownstreamTimeout),
        (
            GrpcStatus::Unavailable
            | GrpcStatus::Aborted
            | GrpcStatus::Cancelled
            | GrpcStatus::Unknown
            | GrpcStatus::Internal
            | GrpcStatus::DataLoss,
            _,
        ) => CallMeaning::Unknown(Category::DownstreamUnavailable),
        (GrpcStatus::ResourceExhausted, _) => CallMeaning::NotApplied(Category::RateLimited),
        // We are refused, not the request.
        (GrpcStatus::Unauthenticated | GrpcStatus::PermissionDenied, _) => {
            CallMeaning::NotApplied(Category::Permission)
        }
        (GrpcStatus::InvalidArgument, _) => CallMeaning::Broken(Category::InvalidWorkerContract),
        (
            GrpcStatus::NotFound
            | GrpcStatus::AlreadyExists
            | GrpcStatus::FailedPrecondition
            | GrpcStatus::OutOfRange
            | GrpcStatus::Unimplemented,
            _,
        ) => CallMeaning::Final,
    }
}

/// How long a `Retry-After` header asks to wait: seconds, or a date. None where it cannot be read.
pub fn retry_after(header: &str, now: Timestamp) -> Option<Duration> {
    let text = header.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(Schedule::WAIT_MAX));
    }
    let at = time::OffsetDateTime::parse(text, &time::format_description::well_known::Rfc2822).ok()?;
    let at = Timestamp::from_micros(i64::try_from(at.unix_timestamp_nanos() / 1_000).ok()?);
    Some(at.since(now).min(Schedule::WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_http_status_means_what_the_table_says() {
        let not_applied = [401, 403, 405, 407, 408, 411, 413, 414, 415, 417, 421, 425, 426, 428, 429, 431];
        for status in 400..600 {
            let meaning = judge(CallOutcome::Status(status), Sent::Something, &Promises::default());
            let expected = match status {
                _ if not_applied.contains(&status) => "NotApplied",
                400 => "Broken",
                401..=499 => "Final",
                _ => "Unknown",
            };
            assert!(format!("{meaning:?}").starts_with(expected), "{status}: {meaning:?}");
        }
    }

    #[test]
    fn only_a_refused_connection_proves_that_nothing_was_sent() {
        use std::io::ErrorKind;
        let meaning = |kind| {
            let (happened, sent) = of_io(kind);
            judge(happened, sent, &Promises::default())
        };
        assert_eq!(meaning(ErrorKind::ConnectionRefused), CallMeaning::NotSent(Category::DownstreamUnavailable));
        assert_eq!(meaning(ErrorKind::TimedOut), CallMeaning::Unknown(Category::DownstreamTimeout));
        for kind in [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset, ErrorKind::HostUnreachable, ErrorKind::Other] {
            assert_eq!(meaning(kind), CallMeaning::Unknown(Category::DownstreamUnavailable), "{kind}");
        }
    }

    #[test]
    fn what_was_never_sent_is_never_unknown() {
        let happened = [
            CallOutcome::NoConnection,
            CallOutcome::Timeout,
            CallOutcome::Reset,
            CallOutcome::Undecodable,
            CallOutcome::Panicked,
            CallOutcome::BreakerOpen,
            CallOutcome::BulkheadFull,
            CallOutcome::Grpc(GrpcStatus::Unavailable),
        ];
        for one in happened {
            let meaning = judge(one, Sent::Nothing, &Promises::default());
            assert!(matches!(meaning, CallMeaning::NotSent(_)), "{one:?}: {meaning:?}");
        }
    }

    #[test]
    fn what_was_sent_and_not_answered_is_unknown() {
        for one in [
            CallOutcome::NoConnection,
            CallOutcome::Timeout,
            CallOutcome::Reset,
            CallOutcome::Undecodable,
            CallOutcome::Panicked,
        ] {
            let meaning = judge(one, Sent::Something, &Promises::default());
            assert!(matches!(meaning, CallMeaning::Unknown(_)), "{one:?}: {meaning:?}");
        }
    }

    #[test]
    fn every_grpc_status_means_what_the_table_says() {
        let unknown = ["DEADLINE_EXCEEDED", "ABORTED", "CANCELLED", "UNKNOWN", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"];
        for status in GrpcStatus::ALL {
            let meaning = judge(CallOutcome::Grpc(*status), Sent::Something, &Promises::default());
            let expected = match status.as_str() {
                name if unknown.contains(&name) => "Unknown",
                "RESOURCE_EXHAUSTED" | "UNAUTHENTICATED" | "PERMISSION_DENIED" => "NotApplied",
                "INVALID_ARGUMENT" => "Broken",
                _ => "Final",
            };
            assert!(format!("{meaning:?}").starts_with(expected), "{status}: {meaning:?}");
        }
        assert_eq!(GrpcStatus::from_number(14), Some(GrpcStatus::Unavailable));
        assert_eq!((GrpcStatus::from_number(0), GrpcStatus::from_number(99)), (None, Some(GrpcStatus::Unknown)));
    }

    #[test]
    fn a_dependency_may_promise_more_or_less() {
        let refused = CodeName::parse("CREDIT_REFUSED").unwrap();
        let promises = Promises::default()
            .with(503, Promise::NotApplied(Category::Maintenance))
            .with(409, Promise::Unknown)
            .with(422, Promise::Business(refused.clone()));
        let meaning = |status| judge(CallOutcome::Status(status), Sent::Something, &promises);
        assert_eq!(meaning(503), CallMeaning::NotApplied(Category::Maintenance));
        assert_eq!(meaning(409), CallMeaning::Unknown(Category::DownstreamUnavailable));
        assert_eq!(meaning(422), CallMeaning::Business(refused));
        assert_eq!(meaning(500), CallMeaning::Unknown(Category::DownstreamUnavailable));
    }

    #[test]
    fn a_repeated_key_that_is_refused_as_in_flight_is_still_running() {
        let nothing = Promises::default();
        let business = Promises::default().with(409, Promise::Business(CodeName::parse("TAKEN").unwrap()));
        for status in 400..600 {
            let plain = judge(CallOutcome::Status(status), Sent::Something, &nothing);
            assert_eq!(judge_keyed(status, KeySent::First, &nothing), plain, "{status}");
            let repeated = judge_keyed(status, KeySent::Repeated, &nothing);
            if [409, 425].contains(&status) {
                assert_eq!(repeated, CallMeaning::StillRunning, "{status}");
            } else {
                assert_eq!(repeated, plain, "{status}");
            }
        }
        assert!(matches!(judge_keyed(409, KeySent::Repeated, &business), CallMeaning::Business(_)));
    }

    #[test]
    fn a_key_is_repeated_only_where_the_provider_knows_it_and_an_attempt_may_have_sent_it() {
        let same_key = Policy::SameKey { provider_memory: Duration::from_hours(24) };
        assert_eq!(KeySent::of(&same_key, SideEffect::Unknown), KeySent::Repeated);
        assert_eq!(KeySent::of(&same_key, SideEffect::NotApplied), KeySent::First);
        for policy in [Policy::Rerun, Policy::Void, Policy::Escalate] {
            assert_eq!(KeySent::of(&policy, SideEffect::Unknown), KeySent::First, "{policy}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_never_longer_than_a_day() {
        let now = Timestamp::parse("1994-11-06T08:49:07Z").unwrap();
        let rows = [
            ("60", Some(60)),
            (" 5 ", Some(5)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(30)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("99999999999999999999", Some(86_400)),
            ("soon", None),
            ("", None),
            ("-1", None),
        ];
        for (header, seconds) in rows {
            assert_eq!(retry_after(header, now), seconds.map(Duration::from_secs), "{header:?}");
        }
    }
}
