//! What everyone shares beside operations.

use onefold_core::error::Result;
use onefold_core::port::{ApiToken, BoxFuture, Registry, StoredDeclaration};

use super::Model;

impl Registry for Model {
    fn declarations(&self) -> BoxFuture<'_, Result<Vec<StoredDeclaration>>> {
        Box::pin(async move { Ok(self.data().kinds.values().cloned().collect()) })
    }

    fn declare_if_absent(&self, kind: StoredDeclaration) -> BoxFuture<'_, Result<StoredDeclaration>> {
        Box::pin(async move { Ok(self.data().kinds.entry(kind.kind.clone()).or_insert(kind).clone()) })
    }

    fn tokens(&self) -> BoxFuture<'_, Result<Vec<ApiToken>>> {
        Box::pin(async move { Ok(self.data().tokens.values().cloned().collect()) })
    }

    fn put_token(&self, token: ApiToken) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.data().tokens.insert(token.name.to_string(), token);
            Ok(())
        })
    }

    fn drop_token(&self, name: String) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move { Ok(self.data().tokens.remove(&name).is_some()) })
    }
}
