//! A lease in the caller's hand. Recording takes it by value, so it cannot be recorded twice.

use std::sync::Arc;

use onefold_core::call::CallHealth;
use onefold_core::effect::KindSpec;
use onefold_core::error::{
    Code, EVIDENCE_REQUIRED, LEASE_ENDED, LEASE_NEVER_GRANTED, LEASE_NOT_YOURS, LEASE_SUPERSEDED, OUTCOME_CONFLICT,
};
use onefold_core::incident::IncidentId;
use onefold_core::ledger::{
    AttemptId, Claim, Completion, Lease, Outcome, RecordRequest, Recorded, Refusal, ReleaseReason, ReleaseRequest,
    Released, RenewRequest, Renewed, Status,
};
use onefold_core::operation::OperationKey;
use onefold_core::port::Store;
use onefold_core::{Error, Result, Timestamp};
use serde::Serialize;

use crate::ledger::handle::Ledger;
use crate::ledger::kind::encode;

/// The answer to a claim, with a grant that can be recorded, renewed and released.
pub type ClaimResult<S> = Claim<LeaseHandle<S>>;

/// A grant that its caller holds.
pub struct LeaseHandle<S> {
    ledger: Ledger<S>,
    terms: Arc<KindSpec>,
    token: LeaseToken,
    lease: Option<Lease>,
}

/// What names a grant: the operation, its fence, and whose it is.
#[derive(Debug, Clone)]
pub(crate) struct LeaseToken {
    pub(crate) key: OperationKey,
    pub(crate) fence: u64,
    pub(crate) attempt_id: AttemptId,
}

impl From<&Lease> for LeaseToken {
    fn from(lease: &Lease) -> Self {
        Self { key: lease.key.clone(), fence: lease.fence, attempt_id: lease.attempt_id }
    }
}

impl<S: Store> LeaseHandle<S> {
    pub(crate) fn new(ledger: Ledger<S>, terms: Arc<KindSpec>, lease: Lease) -> Self {
        Self { ledger, terms, token: LeaseToken::from(&lease), lease: Some(lease) }
    }

    /// The grant that a caller presents again, by its fence and attempt id.
    pub(crate) fn presented(ledger: Ledger<S>, terms: Arc<KindSpec>, token: LeaseToken) -> Self {
        Self { ledger, terms, token, lease: None }
    }

    /// The grant, where it was given here.
    pub fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Which grant it is.
    pub fn fence(&self) -> u64 {
        self.token.fence
    }

    /// It took hold, with this result.
    pub async fn complete(self, result: &impl Serialize, evidence: Option<Arc<str>>) -> Result<Status> {
        let result = encode(result)?;
        self.record(Outcome::Completed(Completion { result, evidence })).await
    }

    /// Records what happened. Answered only after it is durable; the same again is accepted.
    pub async fn record(self, outcome: Outcome) -> Result<Status> {
        self.report(outcome).await.map(|settled| settled.status)
    }

    /// The same, answered with when the next attempt may start.
    pub async fn report(self, outcome: Outcome) -> Result<RecordedStatus> {
        outcome.checked()?;
        let (key, attempt, health) = (self.token.key.clone(), self.token.attempt_id, CallHealth::of_outcome(&outcome));
        let request = record_request(&self.ledger, &self.terms, self.token, outcome);
        let recorded = self.ledger.inner.batcher.record(request).await?;
        self.ledger.inner.remote_permits.end(&key, attempt, health);
        accepted(recorded)
    }

    /// Says that it is alive.
    pub async fn renew(&self) -> Result<Timestamp> {
        match self.ledger.inner.batcher.renew(renew_request(&self.terms, self.token.clone())).await? {
            Renewed::Until(until) => Ok(until),
            Renewed::Ended => Err(refused(LEASE_ENDED, "the attempt has ended")),
            Renewed::NeverGranted => Err(refused(LEASE_NEVER_GRANTED, "this lease was never granted")),
        }
    }

    /// Gives it back: nothing was sent.
    pub async fn release(self) -> Result<()> {
        let (key, attempt) = (self.token.key.clone(), self.token.attempt_id);
        let request = release_request(&self.terms, self.token, ReleaseReason::NothingSent);
        let released = self.ledger.inner.batcher.release(request).await?;
        self.ledger.inner.remote_permits.end(&key, attempt, CallHealth::NotInvolved);
        match released {
            Released::Released => Ok(()),
            Released::Ended => Err(refused(LEASE_ENDED, "the attempt had ended before")),
            Released::NeverGranted => Err(refused(LEASE_NEVER_GRANTED, "this lease was never granted")),
            Released::MayBeHeard => Err(refused(LEASE_ENDED, "the grant may have been heard elsewhere")),
        }
    }

    /// An answer with this grant was never handed to its caller. The grant goes back only if that was the
    /// only answer; otherwise it is left to its lease.
    pub async fn undelivered(self) -> Result<Released> {
        let (key, attempt) = (self.token.key.clone(), self.token.attempt_id);
        let request = release_request(&self.terms, self.token, ReleaseReason::AnswerUndelivered);
        let released = self.ledger.inner.batcher.release(request).await?;
        if released == Released::Released {
            self.ledger.inner.remote_permits.end(&key, attempt, CallHealth::NotInvolved);
        }
        Ok(released)
    }
}

/// The state of an operation after a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedStatus {
    /// Its state.
    pub status: Status,
    /// When the next attempt may start.
    pub next_attempt_at: Option<Timestamp>,
}

pub(crate) fn record_request<S: Store>(
    ledger: &Ledger<S>,
    terms: &Arc<KindSpec>,
    token: LeaseToken,
    outcome: Outcome,
) -> RecordRequest {
    let LeaseToken { key, fence, attempt_id } = token;
    RecordRequest { key, fence, attempt_id, outcome, terms: Arc::clone(terms), jitter: ledger.jitter() }
}

pub(crate) fn renew_request(terms: &Arc<KindSpec>, token: LeaseToken) -> RenewRequest {
    let LeaseToken { key, fence, attempt_id } = token;
    RenewRequest { key, fence, attempt_id, terms: Arc::clone(terms) }
}

pub(crate) fn release_request(terms: &Arc<KindSpec>, token: LeaseToken, reason: ReleaseReason) -> ReleaseRequest {
    let LeaseToken { key, fence, attempt_id } = token;
    ReleaseRequest { key, fence, attempt_id, terms: Arc::clone(terms), reason }
}

fn refused(code: Code, detail: &str) -> Error {
    Error::new(code, detail)
}

/// The state of the operation after a record, or why it was refused.
pub(crate) fn accepted(recorded: Recorded) -> Result<RecordedStatus> {
    let named = |incident: Option<IncidentId>| incident.map(|id| format!("; see {id}")).unwrap_or_default();
    match recorded {
        Recorded::Settled { status, next_attempt_at } => Ok(RecordedStatus { status, next_attempt_at }),
        Recorded::Already { status } => Ok(RecordedStatus { status, next_attempt_at: None }),
        Recorded::Refused(Refusal::NeverGranted) => Err(refused(LEASE_NEVER_GRANTED, "this lease was never granted")),
        Recorded::Refused(Refusal::NotYours) => Err(refused(LEASE_NOT_YOURS, "this fence belongs to another attempt")),
        Recorded::Refused(Refusal::EvidenceRequired) => {
            Err(refused(EVIDENCE_REQUIRED, "this effect is completed only with a reference to its evidence"))
        }
        Recorded::Refused(Refusal::Superseded { incident }) => {
            Err(refused(LEASE_SUPERSEDED, &format!("another attempt was granted since{}", named(incident))))
        }
        Recorded::Refused(Refusal::OtherOutcome { incident }) => {
            Err(refused(OUTCOME_CONFLICT, &format!("another outcome is recorded{}", named(incident))))
        }
    }
}
