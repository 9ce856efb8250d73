//! Whose fault a failure is: the event's, the topic's or the target's.

use krafka::error::ErrorCode;
use onefold_core::error::{Code, EVENT_TARGET_REFUSED, EVENT_TOO_LARGE, TARGET_NOT_READY, TARGET_UNAVAILABLE};
use onefold_core::port::{Publication, RefusedRetry};

/// What a failure means for the events that it met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The record, or another one of its batch, is not taken as it is. Nothing of the batch was written.
    Record { code: Code, reason: String },
    /// There is no such topic, or none that we may write to.
    Topic { reason: String, retry: RefusedRetry },
    /// We are not known there, or may not do what every producer does.
    NotLetIn { reason: String },
    /// Nothing of its transaction is written, because of another record of it.
    #[cfg_attr(not(feature = "rdkafka"), allow(dead_code, reason = "krafka tells such a record its own cause"))]
    Aborted { reason: String },
    /// It is unknown whether the records were written.
    Target { reason: String, client: ClientState },
}

/// Whether a client is of use after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClientState {
    /// A broker has answered, so it goes on by itself.
    Usable,
    /// Its producer cannot go on, its connections can.
    ProducerSpent,
    /// It got no answer, or was not let in: a new one is made.
    Spent,
}

impl Fault {
    /// What a broker's code means.
    #[allow(clippy::wildcard_enum_match_arm, reason = "there are some hundred codes, and a broker may send new ones")]
    pub(crate) fn of_code(code: ErrorCode, reason: String) -> Self {
        match code {
            ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge | ErrorCode::InvalidMessageSize => {
                Self::Record { code: EVENT_TOO_LARGE, reason }
            }
            ErrorCode::InvalidRecord | ErrorCode::InvalidTimestamp => {
                Self::Record { code: EVENT_TARGET_REFUSED, reason }
            }
            ErrorCode::UnknownTopicOrPartition | ErrorCode::TopicAuthorizationFailed => {
                Self::Topic { reason, retry: RefusedRetry::After(None) }
            }
            ErrorCode::InvalidTopic => Self::Topic { reason, retry: RefusedRetry::Never },
            ErrorCode::ProducerFenced | ErrorCode::InvalidProducerEpoch => {
                Self::Target { reason, client: ClientState::ProducerSpent }
            }
            ErrorCode::ClusterAuthorizationFailed
            | ErrorCode::TransactionalIdAuthorizationFailed
            | ErrorCode::SaslAuthenticationFailed => Self::NotLetIn { reason },
            // Of some hundred codes, those above are the ones that an event or a setting can cause.
            _ => Self::Target { reason, client: ClientState::Usable },
        }
    }

    /// A time that was over.
    pub(crate) fn late(what: &str) -> Self {
        Self::Target { reason: format!("{what} took longer than the delivery may"), client: ClientState::Spent }
    }

    /// A producer without transactions was asked for one.
    pub(crate) fn no_transactions() -> Self {
        Self::Target { reason: "this producer has no transactions".to_owned(), client: ClientState::ProducerSpent }
    }

    /// Why, in a sentence.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Record { reason, .. }
            | Self::Topic { reason, .. }
            | Self::NotLetIn { reason }
            | Self::Aborted { reason }
            | Self::Target { reason, .. } => reason,
        }
    }

    /// What the client is worth now.
    pub(crate) fn client(&self) -> ClientState {
        match self {
            Self::Target { client, .. } => *client,
            Self::NotLetIn { .. } => ClientState::Spent,
            Self::Aborted { .. } => ClientState::ProducerSpent,
            Self::Record { .. } | Self::Topic { .. } => ClientState::Usable,
        }
    }

    /// The answer for an event that was on its way or was to go next.
    pub(crate) fn publication(&self, topics: TopicsOf) -> Publication {
        match self {
            Self::Record { code, reason } => {
                Publication::Refused { code: *code, reason: reason.clone(), retry: RefusedRetry::Never }
            }
            Self::Topic { reason, retry } if topics == TopicsOf::Events => {
                Publication::Refused { code: EVENT_TARGET_REFUSED, reason: reason.clone(), retry: *retry }
            }
            Self::Topic { reason, .. } | Self::NotLetIn { reason } => {
                Publication::Unavailable { code: TARGET_NOT_READY, reason: reason.clone(), after: None }
            }
            Self::Aborted { reason } | Self::Target { reason, .. } => unavailable(reason.clone()),
        }
    }
}

/// Who names the topic, and so is at fault where it does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TopicsOf {
    /// The relay: it has one.
    Relay,
    /// The events, through a template.
    Events,
}

pub(crate) fn unavailable(reason: String) -> Publication {
    Publication::Unavailable { code: TARGET_UNAVAILABLE, reason, after: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: ErrorCode, topics: TopicsOf) -> Publication {
        Fault::of_code(code, "no".to_owned()).publication(topics)
    }

    #[test]
    fn what_an_event_causes_is_refused_and_everything_else_is_the_targets_fault() {
        for code in [ErrorCode::MessageTooLarge, ErrorCode::InvalidRecord, ErrorCode::InvalidTimestamp] {
            let refused = answer(code, TopicsOf::Relay);
            assert!(matches!(refused, Publication::Refused { retry: RefusedRetry::Never, .. }), "{refused:?}");
        }
        for code in [ErrorCode::NotEnoughReplicas, ErrorCode::ClusterAuthorizationFailed, ErrorCode::Unknown(999)] {
            assert!(matches!(answer(code, TopicsOf::Events), Publication::Unavailable { .. }), "{code:?}");
        }
    }

    #[test]
    fn a_missing_topic_is_the_fault_of_the_relay_or_of_the_event_that_names_it() {
        let missing = ErrorCode::UnknownTopicOrPartition;
        assert!(matches!(answer(missing, TopicsOf::Relay), Publication::Unavailable { .. }));
        let by_event = answer(missing, TopicsOf::Events);
        assert!(matches!(by_event, Publication::Refused { retry: RefusedRetry::After(None), .. }), "{by_event:?}");
    }
}
