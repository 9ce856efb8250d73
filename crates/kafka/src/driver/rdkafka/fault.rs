//! librdkafka's errors, read.

use ::krafka::error::ErrorCode;
use ::rdkafka::error::{KafkaError, RDKafkaErrorCode};
use onefold_core::error::EVENT_TARGET_REFUSED;

use crate::fault::{ClientState, Fault};

/// Reads an error of the client. No record's content and no secret is in it.
#[allow(clippy::wildcard_enum_match_arm, reason = "the enum may grow, and the others differ in their code alone")]
pub(super) fn of(error: &KafkaError) -> Fault {
    match error {
        // The value that it refused may be a secret.
        KafkaError::ClientConfig(_, why, setting, _) => Fault::NotLetIn { reason: format!("{setting}: {why}") },
        KafkaError::ClientCreation(reason) => Fault::NotLetIn { reason: reason.clone() },
        KafkaError::AdminOp(code) => of_code(*code, "asking for a topic"),
        KafkaError::Transaction(error) => of_code(error.code(), &error.string()),
        _ => match error.rdkafka_error_code() {
            Some(code) => of_code(code, "sending"),
            None => Fault::Target { reason: error.to_string(), client: ClientState::Spent },
        },
    }
}

/// What a code means that was met with this.
#[allow(clippy::wildcard_enum_match_arm, reason = "of some two hundred codes, these are what an event can cause")]
pub(super) fn of_code(code: RDKafkaErrorCode, what: &str) -> Fault {
    let reason = format!("{what}: {code}");
    match code {
        RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SSL => Fault::NotLetIn { reason },
        RDKafkaErrorCode::UnknownTopic | RDKafkaErrorCode::UnknownPartition => {
            Fault::of_code(ErrorCode::UnknownTopicOrPartition, reason)
        }
        // Another record of its batch was, and no more is known.
        RDKafkaErrorCode::InvalidDifferentRecord => Fault::Record { code: EVENT_TARGET_REFUSED, reason },
        RDKafkaErrorCode::Fenced => Fault::Target { reason, client: ClientState::ProducerSpent },
        _ => match i16::try_from(code as i32) {
            // The broker's own; the client's are negative.
            Ok(number @ 1..) => Fault::of_code(ErrorCode::from(number), reason),
            Ok(_) | Err(_) => Fault::Target { reason, client: ClientState::Spent },
        },
    }
}

/// The same for a producer with transactions, which has connections of its own: a new one has new ones.
pub(super) fn in_transaction(fault: Fault) -> Fault {
    match fault {
        Fault::Target { reason, .. } => Fault::Target { reason, client: ClientState::ProducerSpent },
        Fault::Record { .. } | Fault::Topic { .. } | Fault::NotLetIn { .. } | Fault::Aborted { .. } => fault,
    }
}

/// The topic was not in the answer.
pub(super) fn missing(topic: &str) -> Fault {
    Fault::of_code(ErrorCode::UnknownTopicOrPartition, format!("{topic} was not described"))
}
