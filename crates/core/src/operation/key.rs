//! Tenant, kind and id together: the key of one row.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::{KindName, OperationId, Tenant};
use crate::error::{Error, OPERATION_NOT_FOUND, Result};

/// The full identity of an operation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationKey {
    /// For whom.
    pub tenant: Tenant,
    /// What sort.
    pub kind: KindName,
    /// Which one.
    pub id: OperationId,
}

impl OperationKey {
    /// The key of these three.
    pub fn new(tenant: Tenant, kind: KindName, id: OperationId) -> Self {
        Self { tenant, kind, id }
    }

    /// The reference that callers see: `op_` and the base64url of kind and id.
    pub fn reference(&self) -> String {
        format!("op_{}", URL_SAFE_NO_PAD.encode(format!("{}\0{}", self.kind, self.id)))
    }

    /// The key behind a reference, within the tenant that the credential names.
    pub fn from_reference(tenant: Tenant, reference: &str) -> Result<Self> {
        decode(tenant, reference).ok_or_else(|| Error::new(OPERATION_NOT_FOUND, "this is not an operation's reference"))
    }
}

fn decode(tenant: Tenant, reference: &str) -> Option<OperationKey> {
    let bytes = URL_SAFE_NO_PAD.decode(reference.strip_prefix("op_")?).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (kind, id) = text.split_once('\0')?;
    Some(OperationKey::new(tenant, KindName::parse(kind).ok()?, OperationId::stored(id).ok()?))
}

impl fmt::Display for OperationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_leads_back_to_its_operation_and_garbage_to_none() {
        let key = OperationKey::new(
            Tenant::default(),
            KindName::parse("notice.issue").unwrap(),
            OperationId::parse("CASE-1:ISSUE:Ü").unwrap(),
        );
        assert_eq!(OperationKey::from_reference(Tenant::default(), &key.reference()).unwrap(), key);
        for bad in ["", "op_", "op_!!", "inc_abc", "op_AAAA"] {
            assert_eq!(OperationKey::from_reference(Tenant::default(), bad).unwrap_err().code(), OPERATION_NOT_FOUND);
        }
    }
}
