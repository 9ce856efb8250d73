//! Whose fault a failure is: the event's, the place's or the target's.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::{self, ErrorCode};
use async_nats::{ConnectError, ConnectErrorKind};
use onefold_core::error::{Code, EVENT_TARGET_REFUSED, EVENT_TOO_LARGE, Error, TARGET_NOT_READY, TARGET_UNAVAILABLE};
use onefold_core::port::{Publication, RefusedRetry};

/// What a failure means for the event that it met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The event is not taken as it is.
    Event { code: Code, reason: String },
    /// No stream has the subject, or we may not publish to it.
    Place { reason: String },
    /// The stream forgets a message id before a paused relay may come back.
    Window { stream: Arc<str>, is: Duration, needed: Duration },
    /// We are not known there, or not trusted.
    NotLetIn { reason: String },
    /// The server takes nothing now, and said so.
    Busy { reason: String },
    /// It is unknown whether the message was stored, and the connection is of no more use.
    Target { reason: String },
}

/// Who names the subject, and so is at fault where it leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubjectsOf {
    /// The relay: it has one.
    Relay,
    /// The events, through a template.
    Events,
}

/// Said by JetStream where a request cannot be.
const BAD_REQUEST: usize = 400;

impl Fault {
    /// Reads an error of a publication. No message's content is in it.
    pub(crate) fn of(error: &PublishError) -> Self {
        let reason = error.to_string();
        match error.kind() {
            PublishErrorKind::MaxPayloadExceeded => Self::Event { code: EVENT_TOO_LARGE, reason },
            PublishErrorKind::Other => match answered(error) {
                Some(said) => Self::of_answer(said),
                None => Self::Target { reason },
            },
            // Perhaps a server that is starting does not know its streams yet: the next look at them tells.
            PublishErrorKind::StreamNotFound
            | PublishErrorKind::WrongLastMessageId
            | PublishErrorKind::WrongLastSequence
            | PublishErrorKind::MaxAckPending => Self::Busy { reason },
            PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => Self::Target { reason },
        }
    }

    /// Reads what a stream answered.
    fn of_answer(said: &jetstream::Error) -> Self {
        let reason = said.to_string();
        let code = said.error_code();
        if code == ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM || code == ErrorCode::STREAM_HEADER_EXCEEDS_MAXIMUM {
            return Self::Event { code: EVENT_TOO_LARGE, reason };
        }
        // A stream that is full, or whose leader is away, takes no event at all.
        if said.code() == BAD_REQUEST {
            Self::Event { code: EVENT_TARGET_REFUSED, reason }
        } else {
            Self::Busy { reason }
        }
    }

    /// Reads an error of a question about a stream.
    pub(crate) fn asking(error: &(dyn StdError + 'static)) -> Self {
        Self::Busy { reason: format!("asking for the stream failed: {error}") }
    }

    /// Reads an error of a connection that is being made.
    pub(crate) fn of_connecting(error: &ConnectError) -> Self {
        let reason = error.to_string();
        match error.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Tls => {
                Self::NotLetIn { reason }
            }
            _ if is_tls(error) => Self::NotLetIn { reason },
            ConnectErrorKind::ServerParse
            | ConnectErrorKind::Dns
            | ConnectErrorKind::TimedOut
            | ConnectErrorKind::Io
            | ConnectErrorKind::MaxReconnects => Self::Target { reason },
        }
    }

    /// The connection is of no more use.
    pub(crate) fn lost(reason: impl Into<String>) -> Self {
        Self::Target { reason: reason.into() }
    }

    /// A time that was over.
    pub(crate) fn late(what: &str) -> Self {
        Self::lost(format!("{what} took longer than the delivery may"))
    }

    /// The answer for its event.
    pub(crate) fn publication(&self, subjects: SubjectsOf) -> Publication {
        let unavailable = |code: Code, reason: String| Publication::Unavailable { code, reason, after: None };
        match self {
            Self::Event { code, reason } => {
                Publication::Refused { code: *code, reason: reason.clone(), retry: RefusedRetry::Never }
            }
            Self::Place { reason } if subjects == SubjectsOf::Events => Publication::Refused {
                code: EVENT_TARGET_REFUSED,
                reason: reason.clone(),
                retry: RefusedRetry::After(None),
            },
            Self::Place { reason } | Self::NotLetIn { reason } => unavailable(TARGET_NOT_READY, reason.clone()),
            // A person has to edit the stream, also where an event names its subject.
            Self::Window { .. } => unavailable(TARGET_NOT_READY, self.reason()),
            Self::Busy { reason } | Self::Target { reason } => unavailable(TARGET_UNAVAILABLE, reason.clone()),
        }
    }

    /// What a check that met this says to the person who sets a relay up.
    pub(crate) fn of_check(&self, target: &str) -> Error {
        let refused = |code: Code| Error::new(code, format!("{target}: {}", self.reason()));
        match self {
            Self::Place { .. } => refused(TARGET_NOT_READY).hint(
                "add a stream with this subject, and let this user publish to it and ask for $JS.API.STREAM.NAMES and \
                 $JS.API.STREAM.INFO; the relay creates none",
            ),
            Self::Window { stream, needed, .. } => refused(TARGET_NOT_READY).hint(format!(
                "give it a longer one: nats stream edit {stream} --dupe-window={}s; or lower lease_for or delivery_within",
                needed.as_secs() + 1
            )),
            Self::NotLetIn { .. } => {
                refused(TARGET_NOT_READY).hint("check the user, the password or token, the credentials and the certificates")
            }
            Self::Event { .. } | Self::Busy { .. } | Self::Target { .. } => refused(TARGET_UNAVAILABLE),
        }
    }

    fn reason(&self) -> String {
        match self {
            Self::Event { reason, .. }
            | Self::Place { reason }
            | Self::NotLetIn { reason }
            | Self::Busy { reason }
            | Self::Target { reason } => reason.clone(),
            Self::Window { stream, is, needed } => format!(
                "the stream {stream} drops repeated message ids for {is:?}, and a relay may repeat one after {needed:?}: \
                 lease_for and delivery_within together"
            ),
        }
    }
}

fn answered(error: &PublishError) -> Option<&jetstream::Error> {
    error.source()?.downcast_ref()
}

fn is_tls(error: &ConnectError) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if error.is::<rustls::Error>() || wrapped.is_some_and(<dyn StdError + Send + Sync>::is::<rustls::Error>) {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_without_a_stream_is_the_fault_of_the_relay_or_of_the_event_that_names_it() {
        let missing = Fault::Place { reason: "no stream".to_owned() };
        let by_relay = missing.publication(SubjectsOf::Relay);
        assert!(matches!(by_relay, Publication::Unavailable { code, .. } if code == TARGET_NOT_READY), "{by_relay:?}");
        let by_event = missing.publication(SubjectsOf::Events);
        assert!(matches!(by_event, Publication::Refused { retry: RefusedRetry::After(None), .. }), "{by_event:?}");
    }

    #[test]
    fn what_no_event_causes_is_the_targets_fault() {
        for kind in [PublishErrorKind::StreamNotFound, PublishErrorKind::TimedOut, PublishErrorKind::BrokenPipe] {
            let answer = Fault::of(&PublishError::new(kind)).publication(SubjectsOf::Events);
            assert!(matches!(answer, Publication::Unavailable { .. }), "{answer:?}");
        }
        let large = Fault::of(&PublishError::new(PublishErrorKind::MaxPayloadExceeded));
        assert!(matches!(large, Fault::Event { code, .. } if code == EVENT_TOO_LARGE), "{large:?}");
    }

    #[test]
    fn a_window_that_is_too_short_says_the_command_that_fixes_it() {
        let window =
            Fault::Window { stream: Arc::from("CASES"), is: Duration::from_secs(2), needed: Duration::from_secs(45) };
        let error = window.of_check("nats cases");
        assert!(error.next_step().contains("nats stream edit CASES --dupe-window=46s"), "{error}");
    }
}
