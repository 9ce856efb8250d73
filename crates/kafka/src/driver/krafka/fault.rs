//! krafka's errors, read.

use ::krafka::error::{ErrorCode, KrafkaError};

use crate::fault::{ClientState, Fault};

/// Reads an error of the client. No record's content is in it.
#[allow(clippy::wildcard_enum_match_arm, reason = "the enum may grow, and what is not listed is the target's fault")]
pub(super) fn of(error: &KrafkaError) -> Fault {
    let reason = error.to_string();
    match error {
        KrafkaError::Broker { code, .. } => Fault::of_code(*code, reason),
        KrafkaError::TransactionAbortable { message } => match code_in(message) {
            Some(code) => Fault::of_code(code, reason),
            None => Fault::Target { reason, client: ClientState::ProducerSpent },
        },
        KrafkaError::UnknownTopic { .. } => Fault::of_code(ErrorCode::UnknownTopicOrPartition, reason),
        KrafkaError::Fenced { .. } => Fault::Target { reason, client: ClientState::ProducerSpent },
        KrafkaError::Auth { .. } => Fault::NotLetIn { reason },
        // No broker has said this: a task of the client may have died, and it would not say so.
        _ => Fault::Target { reason, client: ClientState::Spent },
    }
}

/// The broker's code, which the client gives only as text for a record of a transaction.
///
/// The client's version is pinned, and a test on a real broker fails where the text has changed.
fn code_in(message: &str) -> Option<ErrorCode> {
    let (_, name) = message.rsplit_once("failed with ")?;
    [
        ErrorCode::MessageTooLarge,
        ErrorCode::RecordListTooLarge,
        ErrorCode::InvalidMessageSize,
        ErrorCode::InvalidRecord,
        ErrorCode::InvalidTimestamp,
        ErrorCode::UnknownTopicOrPartition,
        ErrorCode::TopicAuthorizationFailed,
        ErrorCode::InvalidProducerEpoch,
    ]
    .into_iter()
    .find(|code| format!("{code:?}") == name)
}

#[cfg(test)]
mod tests {
    use onefold_core::error::EVENT_TOO_LARGE;

    use super::*;

    #[test]
    fn the_code_of_a_record_in_a_transaction_is_read() {
        let error = KrafkaError::transaction_abortable("produce to cases-0 failed with MessageTooLarge");
        assert!(matches!(of(&error), Fault::Record { code, .. } if code == EVENT_TOO_LARGE));
    }
}
