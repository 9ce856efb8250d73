//! Callers outside the process: they claim, act by themselves, and report back.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::effect::{EffectClass, Terms};
use onefold_core::error::KIND_MISMATCH;
use onefold_core::fingerprint::{Mode, Subject};
use onefold_core::ledger::{AttemptId, Claim, ClaimRequest, Holder, Origin};
use onefold_core::operation::{OperationId, OperationKey, Tenant};
use onefold_core::ports::Store;
use onefold_core::{Error, Result};

use crate::held::{Grip, HeldLease};
use crate::ledger::Ledger;
use crate::recorder::terms_of;

/// A claim by a caller outside the process.
#[derive(Debug, Clone)]
pub struct OutsideClaim {
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
    pub async fn claim(&self, terms: &Arc<Terms>, claim: OutsideClaim) -> Result<Claim> {
        self.start().await?;
        let entrance = self.enter()?;
        let request = self.outside_request(terms, claim)?;
        let answer = self.inner.front.claim(request).await;
        drop(entrance);
        answer
    }

    fn outside_request(&self, terms: &Arc<Terms>, claim: OutsideClaim) -> Result<ClaimRequest> {
        if terms.contract.class() == EffectClass::Local {
            return Err(Error::new(KIND_MISMATCH, format!("kind {} is performed in a transaction only", terms.kind))
                .hint("use `once_in` in the process that owns the transaction, or declare another class"));
        }
        let terms = match claim.deadline_for {
            None => Arc::clone(terms),
            Some(deadline_for) => Arc::new(Terms { deadline_for, ..Terms::clone(terms) }.checked()?),
        };
        let mode = match &terms.fingerprint {
            Mode::Raw | Mode::Canonical => &Mode::Canonical,
            fields @ Mode::Fields(_) => fields,
        };
        Ok(ClaimRequest {
            key: OperationKey::new(claim.tenant, terms.kind.clone(), claim.id),
            subject: Subject::new(claim.request, mode, &self.inner.store.keyring())?,
            attempt_id: claim.attempt_id,
            origin: claim.origin.checked()?,
            holder: Holder { worker: claim.worker, installation: None },
            jitter: self.jitter(),
            terms,
        })
    }

    /// The lease of a caller that presents its fence and attempt id, to record, renew or release.
    pub fn held(&self, key: OperationKey, fence: u64, attempt_id: AttemptId) -> HeldLease<S> {
        // A kind that is no longer declared does not keep its attempts from saying what happened.
        let terms = terms_of(self, &key.kind);
        HeldLease::presented(self.clone(), terms, Grip { key, fence, attempt_id })
    }
}
