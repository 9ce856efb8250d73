//! Which event it is, however often it is sent.

use std::fmt;

use sha2::{Digest as _, Sha256};
use uuid::{Builder, Uuid};

use super::name::EventType;
use crate::error::{DECLARATION_INVALID, Error, Result};
use crate::operation::OperationKey;
use crate::time::Timestamp;

/// The id of an event: consumers know a repeated event by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(Uuid);

impl EventId {
    /// A new id: UUID version 7 of this time and chance.
    pub fn fresh(now: Timestamp, chance: [u8; 10]) -> Self {
        let millis = u64::try_from(now.as_micros() / 1_000).unwrap_or(0);
        Self(Builder::from_unix_timestamp_millis(millis, &chance).into_uuid())
    }

    /// The id of the `ordinal`-th event of this type that an operation stages: UUID version 8.
    ///
    /// A second run of the operation stages the same id, so it stages nothing new.
    pub fn of_operation(key: &OperationKey, event_type: &EventType, ordinal: u32) -> Self {
        let mut hash = Sha256::new();
        // No name has a zero byte, and an id none either, so no two lists of parts are one text.
        for part in [key.tenant.as_str(), key.kind.as_str(), key.id.as_str(), event_type.as_str()] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        hash.update(ordinal.to_be_bytes());
        let digest = hash.finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Self(Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// The id of a row of a team's own table: the row's, where that is a UUID, else UUID version 8 of table and row.
    ///
    /// A row that is sent again is sent with the same id.
    pub fn of_row(table: &str, row: &str) -> Self {
        if let Ok(uuid) = Uuid::parse_str(row) {
            return Self(uuid);
        }
        let mut hash = Sha256::new();
        for part in [table, row] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        let digest = hash.finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Self(Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// Reads an id as people and consumers write it.
    pub fn parse(text: &str) -> Result<Self> {
        Uuid::parse_str(text).map(Self).map_err(|_| {
            let shown: String = text.chars().take(40).collect();
            Error::new(DECLARATION_INVALID, format!("{shown:?} is not the id of an event"))
                .hint("an event's id is a UUID, such as 0198f2a4-5b8e-7c3a-9d21-6f0e4b1a2c3d")
        })
    }

    /// The id with these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// As a UUID, for a store that has a type for it.
    pub const fn as_uuid(&self) -> Uuid {
        self.0
    }
}

impl From<Uuid> for EventId {
    fn from(uuid: Uuid) -> Self {
        Self(uuid)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{KindName, OperationId, Tenant};

    fn key(id: &str) -> OperationKey {
        OperationKey::new(Tenant::default(), KindName::parse("case.submit").unwrap(), OperationId::parse(id).unwrap())
    }

    #[test]
    fn an_operation_stages_the_same_id_again_and_no_other_operation_does() {
        let submitted = EventType::parse("case.submitted").unwrap();
        let opened = EventType::parse("case.opened").unwrap();
        let first = EventId::of_operation(&key("CASE-7"), &submitted, 0);
        assert_eq!(first, EventId::of_operation(&key("CASE-7"), &submitted, 0));
        assert_eq!(first.as_uuid().get_version_num(), 8);
        for other in [
            EventId::of_operation(&key("CASE-8"), &submitted, 0),
            EventId::of_operation(&key("CASE-7"), &opened, 0),
            EventId::of_operation(&key("CASE-7"), &submitted, 1),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_fresh_id_sorts_by_its_time_and_reads_back() {
        let earlier = EventId::fresh(Timestamp::from_micros(1_000_000), [255; 10]);
        let later = EventId::fresh(Timestamp::from_micros(2_000_000), [0; 10]);
        assert!(earlier < later);
        assert_eq!(EventId::parse(&later.to_string()).unwrap(), later);
        assert!(EventId::parse("7").unwrap_err().next_step().contains("UUID"));
    }
}
