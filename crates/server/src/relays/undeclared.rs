//! Says at start what would otherwise be noticed late: relays that nobody serves here, types that no relay wants.

use std::sync::Arc;

use onefold_core::event::EventContracts;
use onefold_core::outbox::{EventPatterns, RelayName};
use onefold_core::port::OutboxOperate as _;

use crate::app::App;
use crate::config::Config;

/// What a configuration declares.
pub(super) struct DeclaredHere {
    relays: Vec<(RelayName, EventPatterns)>,
    contracts: EventContracts,
}

impl DeclaredHere {
    pub(super) fn of(config: &Config) -> Self {
        let relays = config.relays.iter().map(|relay| (relay.spec.name.clone(), relay.spec.events.clone())).collect();
        Self { relays, contracts: config.contracts.clone() }
    }

    /// A warning each.
    pub(super) async fn report(self, app: Arc<App>) {
        // A database that is away says it elsewhere.
        let Ok((_, known)) = app.ledger.store().relays().await else { return };
        for relay in known.iter().filter(|relay| relay.retired_at.is_none()) {
            if !self.relays.iter().any(|(name, _)| *name == relay.name) {
                tracing::warn!(
                    relay = %relay.name,
                    declared_by = %relay.declared_by,
                    "a relay is not declared here; unless another process serves it, it holds retention back until `onefold outbox retire`"
                );
            }
        }
        let mut wanted: Vec<&EventPatterns> = self.relays.iter().map(|(_, events)| events).collect();
        wanted.extend(known.iter().filter(|relay| relay.retired_at.is_none()).map(|relay| &relay.events));
        for contract in self.contracts.iter() {
            if !wanted.iter().any(|events| events.matches(contract.event_type())) {
                tracing::warn!(event_type = %contract.event_type(), "no relay wants this type: its events are pruned by age, unpublished");
            }
        }
    }
}
