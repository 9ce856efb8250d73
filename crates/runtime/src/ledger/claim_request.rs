//! The one place where a claim is built, for every caller and wherever the attempt runs.

use std::sync::Arc;

use onefold_core::Result;
use onefold_core::effect::KindSpec;
use onefold_core::fingerprint::FingerprintInput;
use onefold_core::ledger::{AttemptId, ClaimRequest, Holder, Origin};
use onefold_core::operation::{OperationId, OperationKey, Tenant};
use onefold_core::port::Store;

use crate::ledger::handle::Ledger;

/// What is to be performed.
#[derive(Debug, Clone)]
pub struct ClaimInput {
    /// For whom.
    pub tenant: Tenant,
    /// The operation.
    pub id: OperationId,
    /// What is compared with an earlier request under the same id.
    pub input: FingerprintInput,
    /// Where it comes from.
    pub origin: Origin,
}

impl<S: Store> Ledger<S> {
    /// The claim of `holder` under these terms, checked.
    pub(super) fn claim_request(
        &self,
        terms: &Arc<KindSpec>,
        claim: ClaimInput,
        holder: Holder,
        attempt_id: AttemptId,
    ) -> Result<ClaimRequest> {
        let ClaimInput { tenant, id, input, origin } = claim;
        Ok(ClaimRequest {
            key: OperationKey::new(tenant, terms.kind.clone(), id),
            input,
            attempt_id,
            origin: origin.checked()?,
            holder,
            jitter: self.jitter(),
            terms: Arc::clone(terms),
        })
    }
}
