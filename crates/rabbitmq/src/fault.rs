//! Whose fault a failure is: the event's, the place's or the target's.

use lapin::protocol::{AMQPErrorKind, AMQPHardError, AMQPSoftError};
use lapin::{Error as ClientError, ErrorKind};
use onefold_core::error::{Code, EVENT_TARGET_REFUSED, EVENT_TOO_LARGE, Error, TARGET_NOT_READY, TARGET_UNAVAILABLE};
use onefold_core::port::{Publication, RefusedRetry};

/// What a failure means for the event that it met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The event is not taken as it is.
    Event { code: Code, reason: String },
    /// There is no such exchange, no queue is bound to it for this routing key, or we may not write to it.
    Place { reason: String },
    /// A queue did not take it this time: it is full, or had a failure of its own.
    Queue,
    /// We are not known there, or not trusted.
    NotLetIn { reason: String },
    /// It is unknown whether the message was taken, and the connection is of no more use.
    Target { reason: String },
}

/// Who names the exchange and the routing key, and so is at fault where no queue takes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlacesOf {
    /// The relay: it has one.
    Relay,
    /// The events, through a template.
    Events,
}

#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "the client's errors may grow, and what is not listed is the target's"
)]
impl Fault {
    /// Reads an error of a channel or its connection. No message's content is in it.
    pub(crate) fn of(error: &ClientError) -> Self {
        let ErrorKind::ProtocolError(said) = error.kind() else { return Self::lost(error.to_string()) };
        let reason = said.get_message().to_string();
        match said.kind() {
            AMQPErrorKind::Soft(AMQPSoftError::NOTFOUND | AMQPSoftError::ACCESSREFUSED) => Self::Place { reason },
            AMQPErrorKind::Soft(AMQPSoftError::CONTENTTOOLARGE) => Self::Event { code: EVENT_TOO_LARGE, reason },
            // The one precondition of a message that we send.
            AMQPErrorKind::Soft(AMQPSoftError::PRECONDITIONFAILED) if reason.contains("message size") => {
                Self::Event { code: EVENT_TOO_LARGE, reason }
            }
            _ => Self::lost(error.to_string()),
        }
    }

    /// Reads an error of a connection that is being made.
    pub(crate) fn of_connecting(error: &ClientError) -> Self {
        let reason = error.to_string();
        match error.kind() {
            ErrorKind::ProtocolError(said) => match said.kind() {
                AMQPErrorKind::Soft(AMQPSoftError::ACCESSREFUSED | AMQPSoftError::NOTFOUND)
                | AMQPErrorKind::Hard(AMQPHardError::NOTALLOWED) => Self::NotLetIn { reason },
                _ => Self::Target { reason },
            },
            ErrorKind::IOError(cause)
                if cause.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>) =>
            {
                Self::NotLetIn { reason }
            }
            _ => Self::Target { reason },
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
    pub(crate) fn publication(&self, places: PlacesOf) -> Publication {
        match self {
            Self::Event { code, reason } => {
                Publication::Refused { code: *code, reason: reason.clone(), retry: RefusedRetry::Never }
            }
            Self::Place { reason } if places == PlacesOf::Events => refused(reason.clone()),
            Self::Queue => refused("a queue of RabbitMQ did not take it".to_owned()),
            Self::Place { reason } | Self::NotLetIn { reason } => {
                Publication::Unavailable { code: TARGET_NOT_READY, reason: reason.clone(), after: None }
            }
            Self::Target { reason } => {
                Publication::Unavailable { code: TARGET_UNAVAILABLE, reason: reason.clone(), after: None }
            }
        }
    }

    /// What a check that met this says to the person who sets a relay up.
    pub(crate) fn of_check(&self, target: &str) -> Error {
        let refused = |code: Code, reason: &str| Error::new(code, format!("{target}: {reason}"));
        match self {
            Self::Place { reason } => refused(TARGET_NOT_READY, reason).hint(
                "declare the exchange, bind a durable queue to it, and let this user write to it; the relay creates none",
            ),
            Self::NotLetIn { reason } => refused(TARGET_NOT_READY, reason)
                .hint("check the user, the password, the virtual host and the certificates"),
            Self::Event { reason, .. } | Self::Target { reason } => refused(TARGET_UNAVAILABLE, reason),
            Self::Queue => refused(TARGET_UNAVAILABLE, "a queue did not take it"),
        }
    }
}

fn refused(reason: String) -> Publication {
    Publication::Refused { code: EVENT_TARGET_REFUSED, reason, retry: RefusedRetry::After(None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Fault {
        Fault::Place { reason: "NO_ROUTE".to_owned() }
    }

    #[test]
    fn a_place_that_takes_nothing_is_the_fault_of_the_relay_or_of_the_event_that_names_it() {
        let by_relay = place().publication(PlacesOf::Relay);
        assert!(matches!(by_relay, Publication::Unavailable { code, .. } if code == TARGET_NOT_READY), "{by_relay:?}");
        let by_event = place().publication(PlacesOf::Events);
        assert!(matches!(by_event, Publication::Refused { retry: RefusedRetry::After(None), .. }), "{by_event:?}");
    }

    #[test]
    fn an_event_that_a_queue_did_not_take_is_tried_again_and_one_that_is_too_large_never() {
        let nacked = Fault::Queue.publication(PlacesOf::Relay);
        assert!(matches!(nacked, Publication::Refused { retry: RefusedRetry::After(None), .. }), "{nacked:?}");
        let large = Fault::Event { code: EVENT_TOO_LARGE, reason: String::new() }.publication(PlacesOf::Events);
        assert!(matches!(large, Publication::Refused { retry: RefusedRetry::Never, .. }), "{large:?}");
    }

    #[test]
    fn a_lost_connection_is_the_targets_fault() {
        let lost = Fault::of(&ClientError::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset)));
        assert!(matches!(lost.publication(PlacesOf::Events), Publication::Unavailable { .. }), "{lost:?}");
    }
}
