//! What everyone shares beside operations.

use onefold_core::error::Result;
use onefold_core::ledger::Note;
use onefold_core::operation::OperationKey;
use onefold_core::ports::{BoxFuture, Pinned, Share, Token};

use super::Model;

impl Share for Model {
    fn pinned(&self) -> BoxFuture<'_, Result<Vec<Pinned>>> {
        Box::pin(async move { Ok(self.data().kinds.values().cloned().collect()) })
    }

    fn pin(&self, kind: Pinned) -> BoxFuture<'_, Result<Pinned>> {
        Box::pin(async move { Ok(self.data().kinds.entry(kind.kind.clone()).or_insert(kind).clone()) })
    }

    fn tokens(&self) -> BoxFuture<'_, Result<Vec<Token>>> {
        Box::pin(async move { Ok(self.data().tokens.values().cloned().collect()) })
    }

    fn put_token(&self, token: Token) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.data().tokens.insert(token.name.to_string(), token);
            Ok(())
        })
    }

    fn drop_token(&self, name: String) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move { Ok(self.data().tokens.remove(&name).is_some()) })
    }

    fn witness(&self, key: OperationKey, note: Note) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.data().notes.push((key, note));
            Ok(())
        })
    }
}
