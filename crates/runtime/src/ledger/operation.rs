//! One operation: where it comes from, and claiming it.

use std::sync::Arc;

use onefold_core::effect::Class;
use onefold_core::error::FINGERPRINT_INVALID;
use onefold_core::fingerprint::FingerprintInput;
use onefold_core::ledger::{AttemptId, ClaimRequest, Holder, Origin, Source};
use onefold_core::operation::{OperationId, OperationKey, Tenant};
use onefold_core::port::Store;
use onefold_core::{Error, Result};
use serde::Serialize;

use crate::ledger::claim_request::ClaimInput;
use crate::ledger::handle::KindHandle;
use crate::ledger::kind::PerformableClass;
use crate::ledger::lease_handle::{ClaimResult, LeaseHandle, LeaseToken};

/// One operation of a kind; says where it comes from, then is performed, claimed or run in a transaction.
pub struct Operation<S, C> {
    pub(crate) kind: KindHandle<S, C>,
    id: Result<OperationId>,
    tenant: Tenant,
    origin: Origin,
    pub(crate) wait: std::time::Duration,
}

impl<S: Store, C: Class> Operation<S, C> {
    pub(crate) fn new(kind: KindHandle<S, C>, id: Result<OperationId>) -> Self {
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

    fn key(&self) -> Result<OperationKey> {
        let id = self.id.as_ref().map_err(Error::share)?.clone();
        Ok(OperationKey::new(self.tenant.clone(), self.kind.terms.kind.clone(), id))
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
        let OperationKey { tenant, id, .. } = self.key()?;
        let input = FingerprintInput::new(input, &terms.fingerprint, &ledger.inner.store.keyring())?;
        let claim = ClaimInput { tenant, id, input, origin: self.origin.clone() };
        ledger.claim_request(&terms, claim, holder, attempt_id)
    }
}

impl<S: Store, C: PerformableClass> Operation<S, C> {
    /// Claims it for a caller that acts by itself and reports back; a restart of this process leaves such a lease alone.
    ///
    /// `attempt_id` is random, made in memory right before the call: **the same id again is
    /// permission to act again**.
    pub async fn claim(&self, request: &impl Serialize, attempt_id: AttemptId) -> Result<ClaimResult<S>> {
        let ledger = &self.kind.ledger;
        ledger.start().await?;
        let admission = ledger.enter()?;
        let request = self.request(request, ledger.caller_holder(), attempt_id)?;
        let claim = ledger.claim_for_caller(request).await?;
        drop(admission);
        Ok(claim.map_grant(|lease| LeaseHandle::new(ledger.clone(), Arc::clone(&self.kind.terms), lease)))
    }

    /// The lease of a caller that presents its fence and attempt id again, to record, renew or release.
    pub fn held(&self, fence: u64, attempt_id: AttemptId) -> Result<LeaseHandle<S>> {
        let token = LeaseToken { key: self.key()?, fence, attempt_id };
        Ok(LeaseHandle::presented(self.kind.ledger.clone(), Arc::clone(&self.kind.terms), token))
    }
}
