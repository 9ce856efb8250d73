//! What the servers of a store share beside the ledger.

use std::sync::Arc;

use super::BoxFuture;
use crate::error::Result;
use crate::operation::{KindName, Tenant};
use crate::time::Timestamp;

/// What the servers of a store share beside the ledger: declarations of kinds, and API tokens.
pub trait Registry: Send + Sync {
    /// Every kind that was pinned.
    fn declarations(&self) -> BoxFuture<'_, Result<Vec<StoredDeclaration>>>;
    /// Pins a kind's declaration unless there is one; answers with the one that is pinned.
    fn declare_if_absent(&self, kind: StoredDeclaration) -> BoxFuture<'_, Result<StoredDeclaration>>;
    /// Every token.
    fn tokens(&self) -> BoxFuture<'_, Result<Vec<ApiToken>>>;
    /// Adds a token, or replaces the one of that name.
    fn put_token(&self, token: ApiToken) -> BoxFuture<'_, Result<()>>;
    /// Forgets a token; answers whether there was one.
    fn drop_token(&self, name: String) -> BoxFuture<'_, Result<bool>>;
}

/// A kind that its first claim declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDeclaration {
    /// The kind.
    pub kind: KindName,
    /// Its declaration, as its first claim wrote it.
    pub declaration: Arc<str>,
    /// When.
    pub at: Timestamp,
}

/// A credential, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    /// Who it is.
    pub name: Arc<str>,
    /// What it may do.
    pub role: Arc<str>,
    /// For whom.
    pub tenant: Tenant,
    /// SHA-256 of the secret, which has 256 random bits of its own.
    pub digest: [u8; 32],
    /// Since when.
    pub created_at: Timestamp,
}
