//! Callers outside the process: they claim, act by themselves, and report back.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::effect::{EffectClass, KindSpec};
use onefold_core::error::KIND_MISMATCH;
use onefold_core::fingerprint::{FingerprintInput, Mode};
use onefold_core::ledger::{AttemptId, Claim, ClaimRequest, Holder, Origin};
use onefold_core::operation::{OperationId, OperationKey, Tenant};
use onefold_core::port::Store;
use onefold_core::{Error, Result};

use crate::ledger::claim_request::ClaimInput;
use crate::ledger::handle::Ledger;
use crate::ledger::lease_handle::{LeaseHandle, LeaseToken};
use crate::ledger::recorder::terms_of;

/// A claim by a caller outside the process.
#[derive(Debug, Clone)]
pub struct RemoteClaim {
    /// For whom.
    pub tenant: Tenant,
    /// The operation.
    pub id: OperationId,
    /// What is to be performed, as JSON; compared in its canonical form unless the kind compares fields.
    pub request: Vec<u8>,
    /// The caller's id for this claim.
    pub attempt_id: AttemptId,
    /// Where it comes from.
    pub origin: Origin,
    /// Where the attempt runs, for people.
    pub worker: Arc<str>,
    /// How long this attempt may take, where that differs from the kind's.
    pub deadline_for: Option<Duration>,
}

impl<S: Store> Ledger<S> {
    /// Claims for a caller that acts by itself; a restart of this process leaves such a lease alone.
    pub async fn claim(&self, terms: &Arc<KindSpec>, claim: RemoteClaim) -> Result<Claim> {
        self.start().await?;
        let admission = self.enter()?;
        let request = self.remote_request(terms, claim)?;
        let answer = self.claim_for_caller(request).await;
        drop(admission);
        answer
    }

    /// Claims for a caller that calls the kind's dependency by itself. The permit is kept until it reports, or until its
    /// deadline has passed.
    pub(super) async fn claim_for_caller(&self, request: ClaimRequest) -> Result<Claim> {
        let (clock, permits) = (&self.inner.settings.clock, &self.inner.remote_permits);
        permits.expire(clock.boot());
        let (key, attempt) = (request.key.clone(), request.attempt_id);
        if permits.has(&key, attempt) {
            return self.inner.batcher.claim(request).await;
        }
        let permit = match self.permit(&request.terms) {
            Ok(permit) => permit,
            Err(refused) => {
                let standing = self.answer_without_call(&request).await?;
                return standing.ok_or_else(|| Error::from(refused));
            }
        };
        let asked = clock.boot();
        match self.inner.batcher.claim(request).await? {
            Claim::Granted(lease) => {
                permits.keep(key, attempt, permit, asked.saturating_add(lease.deadline_in));
                Ok(Claim::Granted(lease))
            }
            standing @ (Claim::Replay(_)
            | Claim::InFlight { .. }
            | Claim::Conflict
            | Claim::Unknown { .. }
            | Claim::Waiting { .. }) => {
                permit.unused();
                Ok(standing)
            }
        }
    }

    fn remote_request(&self, terms: &Arc<KindSpec>, claim: RemoteClaim) -> Result<ClaimRequest> {
        if terms.contract.class() == EffectClass::Local {
            return Err(Error::new(KIND_MISMATCH, format!("kind {} is performed in a transaction only", terms.kind))
                .hint("use `once_in` in the process that owns the transaction, or declare another class"));
        }
        let terms = match claim.deadline_for {
            None => Arc::clone(terms),
            Some(deadline_for) => Arc::new(KindSpec { deadline_for, ..KindSpec::clone(terms) }.checked()?),
        };
        let mode = match &terms.fingerprint {
            Mode::Raw | Mode::Canonical => &Mode::Canonical,
            fields @ Mode::Fields(_) => fields,
        };
        let RemoteClaim { tenant, id, request, attempt_id, origin, worker, .. } = claim;
        let input = FingerprintInput::new(request, mode, &self.inner.store.keyring())?;
        let holder = Holder { worker, installation: None };
        self.claim_request(&terms, ClaimInput { tenant, id, input, origin }, holder, attempt_id)
    }

    /// The lease of a caller that presents its fence and attempt id, to record, renew or release.
    pub fn held(&self, key: OperationKey, fence: u64, attempt_id: AttemptId) -> LeaseHandle<S> {
        // A kind that is no longer declared does not keep its attempts from saying what happened.
        let terms = terms_of(self, &key.kind);
        LeaseHandle::presented(self.clone(), terms, LeaseToken { key, fence, attempt_id })
    }
}
