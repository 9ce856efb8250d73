//! The contracts that a process knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::contract::{CompiledContract, EventContract, SharedContract};
use super::name::EventType;
use super::record::{NewEvent, StoredEvent};
use crate::error::{DECLARATION_INVALID, EVENT_TYPE_UNKNOWN, Error, LIMIT_EXCEEDED, Result};

/// The contracts that a process knows, by type. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct EventContracts(Arc<BTreeMap<EventType, SharedContract>>);

impl EventContracts {
    /// Types that a process may know.
    pub const TYPES_MAX: usize = 10_000;

    /// These contracts; a type has one.
    pub fn new(contracts: impl IntoIterator<Item = CompiledContract>) -> Result<Self> {
        let mut known = BTreeMap::new();
        for contract in contracts {
            let event_type = contract.event_type().clone();
            if known.insert(event_type.clone(), Arc::new(contract)).is_some() {
                return Err(Error::new(DECLARATION_INVALID, format!("event type {event_type} has two contracts"))
                    .hint("a type is declared once: put its versions into one contract"));
            }
        }
        if known.len() > Self::TYPES_MAX {
            let what = format!("{} event types are declared, and {} are allowed", known.len(), Self::TYPES_MAX);
            return Err(Error::new(LIMIT_EXCEEDED, what).hint("a type says what happened, not to whom"));
        }
        Ok(Self(Arc::new(known)))
    }

    /// The contracts of a program.
    pub fn of(contracts: impl IntoIterator<Item = EventContract>) -> Result<Self> {
        let compiled: Result<Vec<CompiledContract>> =
            contracts.into_iter().map(|contract| contract.compile()).collect();
        Self::new(compiled?)
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The contract of a type.
    pub fn find(&self, event_type: &EventType) -> Option<&SharedContract> {
        self.0.get(event_type)
    }

    /// Every contract, by type.
    pub fn iter(&self) -> impl Iterator<Item = &SharedContract> {
        self.0.values()
    }

    /// Refuses an event whose type has no contract here, or that breaks it: the rule for staging.
    pub fn check(&self, event: &NewEvent) -> Result<()> {
        let event_type = &event.event_type;
        let contract = self.find(event_type).ok_or_else(|| {
            Error::new(EVENT_TYPE_UNKNOWN, format!("event type {event_type} has no contract"))
                .hint("declare it once: as [[event]] with its schema, or in the program that stages it")
        })?;
        contract.check(event)
    }

    /// The rule for publishing: the same, but a process that knows no contract at all cannot judge, and lets every
    /// event pass.
    pub fn judge(&self, event: &NewEvent) -> Result<()> {
        if self.is_empty() { Ok(()) } else { self.check(event) }
    }

    /// The contract of an event that is published.
    pub fn of_event(&self, stored: &StoredEvent) -> Option<SharedContract> {
        self.find(&stored.event.event_type).cloned()
    }
}
