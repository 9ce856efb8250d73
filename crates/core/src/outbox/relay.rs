//! A relay as it is declared: a name, the types it wants, where it begins.

use std::time::Duration;

use super::aside::RelayRetry;
use super::pattern::EventPatterns;
use crate::error::{DECLARATION_INVALID, Error, Result};
use crate::name::name;
use crate::time::Timestamp;

name! {
    /// What a relay is called. Relays label metrics, so there must be few of them.
    RelayName, "relay", 64, "._-"
}

/// Where a relay that is new begins; read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// With what is committed from now on.
    Now,
    /// With the oldest event that is kept.
    Oldest,
    /// With what was staged at this time or later.
    At(Timestamp),
}

/// A relay, with its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelaySpec {
    /// Its name.
    pub name: RelayName,
    /// What it wants.
    pub events: EventPatterns,
    /// Where it publishes to, for people.
    pub target: String,
    /// Where it begins when it is new.
    pub begin: Begin,
    /// When a refused event is tried again.
    pub retry: RelayRetry,
    /// How long a lane belongs to its holder without a renewal.
    pub lease_for: Duration,
    /// How long a target may take to acknowledge a page; what it has not acknowledged then is tried again.
    pub delivery_within: Duration,
    /// Events of one page of a lane.
    pub page_max: usize,
    /// Bytes of one page of a lane.
    pub page_bytes_max: usize,
    /// Events that may be set aside, before its lanes stop.
    pub set_aside_max: usize,
}

impl RelaySpec {
    /// Relays that one store has at most.
    pub const RELAYS_MAX: usize = 64;

    /// A relay with the defaults.
    pub fn new(name: RelayName, events: EventPatterns, target: String) -> Self {
        Self {
            name,
            events,
            target,
            begin: Begin::Now,
            retry: RelayRetry::default(),
            lease_for: Duration::from_secs(30),
            delivery_within: Duration::from_secs(15),
            page_max: 1_000,
            page_bytes_max: 4 * 1024 * 1024,
            set_aside_max: 100_000,
        }
    }

    /// Whether its times and sizes fit together.
    pub fn check(&self) -> Result<()> {
        if self.delivery_within >= self.lease_for {
            return Err(Error::new(
                DECLARATION_INVALID,
                format!("relay {:?}: delivery_within is not shorter than lease_for", self.name.as_str()),
            )
            .hint("a page must be over before another process may take its lane: lower delivery_within"));
        }
        if self.page_max == 0 || self.page_bytes_max == 0 {
            return Err(Error::new(DECLARATION_INVALID, format!("relay {:?}: a page is empty", self.name.as_str()))
                .hint("page_max and page_bytes_max are at least 1"));
        }
        Ok(())
    }

    /// How often a lane is renewed.
    pub fn renew_every(&self) -> Duration {
        self.lease_for / 3
    }
}
