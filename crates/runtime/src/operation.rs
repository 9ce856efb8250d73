//! One operation: where it comes from, and claiming it.

use std::sync::Arc;

use onefold_core::effect::Class;
use onefold_core::error::FINGERPRINT_INVALID;
use onefold_core::fingerprint::Subject;
use onefold_core::ledger::{AttemptId, ClaimRequest, Holder, Origin, Source};
use onefold_core::operation::{OperationId, OperationKey, Tenant};
use onefold_core::ports::Store;
use onefold_core::{Error, Result};
use serde::Serialize;

use crate::held::{Claimed, Grip, HeldLease};
use crate::kind::Performs;
use crate::ledger::KindHandle;

/// One operation of a kind; says where it comes from, then is performed, claimed or run in a transaction.
pub struct Operation<S, C> {
    pub(crate) kind: KindHandle<S, C>,
    id: OperationId,
    tenant: Tenant,
    origin: Origin,
    pub(crate) wait: std::time::Duration,
}

impl<S: Store, C: Class> Operation<S, C> {
    pub(crate) fn new(kind: KindHandle<S, C>, id: OperationId) -> Self {
        let tenant = kind.ledger.inner.settings.tenant.clone();
        Self { kind, id, tenant, origin: Origin::new(Source::Api), wait: std::time::Duration::from_secs(5) }
    }

    /// For whom.
    #[must_use]
    pub fn tenant(mut self, tenant: Tenant) -> Self {
        self.tenant = tenant;
        self
    }

    /// The case, order or account it belongs to.
    #[must_use]
    pub fn business_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.origin.business_key = Some(key.into());
        self
    }

    /// The trace it belongs to.
    #[must_use]
    pub fn correlation_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.origin.correlation_id = Some(id.into());
        self
    }

    /// Everything that is known of where it comes from.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// How long [`Operation::once_in`] waits for another transaction.
    #[must_use]
    pub fn wait_up_to(mut self, wait: std::time::Duration) -> Self {
        self.wait = wait;
        self
    }

    /// The claim of this operation for a request.
    pub(crate) fn request(
        &self,
        request: &impl Serialize,
        holder: Holder,
        attempt_id: AttemptId,
    ) -> Result<ClaimRequest> {
        let ledger = &self.kind.ledger;
        let terms = Arc::clone(&self.kind.terms);
        let input = serde_json::to_vec(request).map_err(|cause| {
            Error::new(FINGERPRINT_INVALID, "the request cannot be written as JSON").caused_by(cause)
        })?;
        Ok(ClaimRequest {
            key: OperationKey::new(self.tenant.clone(), terms.kind.clone(), self.id.clone()),
            subject: Subject::new(input, &terms.fingerprint, &ledger.inner.store.keyring())?,
            attempt_id,
            origin: self.origin.clone().checked()?,
            holder,
            jitter: ledger.jitter(),
            terms,
        })
    }
}

impl<S: Store, C: Performs> Operation<S, C> {
    /// Claims it for a caller that acts by itself and reports back; a restart of this process leaves such a lease alone.
    ///
    /// `attempt_id` is random, made in memory right before the call: **the same id again is
    /// permission to act again**.
    pub async fn claim(&self, request: &impl Serialize, attempt_id: AttemptId) -> Result<Claimed<S>> {
        let ledger = &self.kind.ledger;
        ledger.start().await?;
        let entrance = ledger.enter()?;
        let request = self.request(request, ledger.caller_holder(), attempt_id)?;
        let claim = ledger.inner.front.claim(request).await?;
        drop(entrance);
        Ok(claim.map_grant(|lease| HeldLease::new(ledger.clone(), Arc::clone(&self.kind.terms), lease)))
    }

    /// The lease of a caller that presents its fence and attempt id again, to record, renew or release.
    pub fn held(&self, fence: u64, attempt_id: AttemptId) -> HeldLease<S> {
        let key = OperationKey::new(self.tenant.clone(), self.kind.terms.kind.clone(), self.id.clone());
        let grip = Grip { key, fence, attempt_id };
        HeldLease::presented(self.kind.ledger.clone(), Arc::clone(&self.kind.terms), grip)
    }
}
