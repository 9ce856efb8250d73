//! The time-bounded right to perform.

use std::sync::Arc;
use std::time::Duration;

use super::attempt::AttemptId;
use super::entry::{Entry, SideEffect, Status};
use super::provider_key::provider_key;
use super::transition::{Decision, Transition};
use crate::effect::KindSpec;
use crate::operation::OperationKey;
use crate::time::Timestamp;

/// A grant. Recording or releasing takes it by value in the runtime, so neither happens twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The operation.
    pub key: OperationKey,
    /// Which grant it is.
    pub fence: u64,
    /// Whose grant it is.
    pub attempt_id: AttemptId,
    /// When the attempt must have ended, by the store's clock; never moved.
    pub deadline: Timestamp,
    /// Until when silence is believed to be work.
    pub lease_until: Timestamp,
    /// How far away the deadline was at the grant: measured by the holder's clocks from before it asked.
    pub deadline_in: Duration,
    /// Which attempt it is, 1 for the first.
    pub attempt: u32,
    /// What is known of earlier attempts.
    pub earlier: SideEffect,
    /// The key to send to the provider.
    pub provider_key: Arc<str>,
}

impl Lease {
    pub(super) fn of(entry: &Entry, now: Timestamp) -> Self {
        Self {
            key: entry.key.clone(),
            fence: entry.fence,
            attempt_id: entry.attempt_id,
            deadline: entry.deadline,
            lease_until: entry.lease_until,
            deadline_in: entry.deadline.since(now),
            attempt: entry.attempts,
            earlier: entry.side_effect,
            provider_key: provider_key(&entry.key.id, entry.fence, entry.contract.policy()),
        }
    }
}

/// The end of a lease granted or renewed now: never past the deadline.
pub(super) fn lease_until(terms: &KindSpec, deadline: Timestamp, now: Timestamp) -> Timestamp {
    now.plus(terms.lease_for).min(deadline)
}

/// A holder says that it is alive.
#[derive(Debug, Clone)]
pub struct RenewRequest {
    /// The operation.
    pub key: OperationKey,
    /// The fence of the grant.
    pub fence: u64,
    /// The attempt of the grant.
    pub attempt_id: AttemptId,
    /// The kind's terms.
    pub terms: Arc<KindSpec>,
}

/// The answer to renewing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Renewed {
    /// The lease lasts until then.
    Until(Timestamp),
    /// The attempt is over: recorded, expired, superseded or resolved. Stop acting.
    Ended,
    /// This fence was never granted to this attempt.
    NeverGranted,
}

/// Lengthens a lease that is still held, up to the deadline.
pub fn renew(entry: Option<&Entry>, request: &RenewRequest, now: Timestamp) -> Decision<Renewed> {
    let Some(entry) = entry.filter(|entry| request.fence <= entry.fence) else {
        return Decision::unchanged(Renewed::NeverGranted);
    };
    if entry.fence == request.fence && entry.attempt_id != request.attempt_id {
        return Decision::unchanged(Renewed::NeverGranted);
    }
    if entry.fence != request.fence || entry.status != Status::Started || now >= entry.deadline {
        return Decision::unchanged(Renewed::Ended);
    }
    let until = lease_until(&request.terms, entry.deadline, now);
    let renewed = Entry { lease_until: until, updated_at: entry.touched_at(now), ..entry.clone() };
    Decision::changed(Renewed::Until(until), Transition::to(renewed))
}
