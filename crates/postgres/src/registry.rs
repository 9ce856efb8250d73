//! What everyone on the schema shares beside operations: pinned kinds, tokens, and who looked.

use std::sync::Arc;

use onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED;
use onefold_core::operation::{KindName, Tenant};
use onefold_core::port::{ApiToken, BoxFuture, Registry, StoredDeclaration};
use onefold_core::{Error, Result};
use sqlx::postgres::PgRow;

use crate::Postgres;
use crate::error::translate;
use crate::ledger::row;

impl Registry for Postgres {
    fn declarations(&self) -> BoxFuture<'_, Result<Vec<StoredDeclaration>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            store.rows(row::query(&store.inner.sql.pinned_kinds)).await?.iter().map(read_pinned).collect()
        }))
    }

    fn declare_if_absent(&self, kind: StoredDeclaration) -> BoxFuture<'_, Result<StoredDeclaration>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let sql = &store.inner.sql;
            let name = kind.kind.as_str();
            let insert = row::query(&sql.pin_kind).bind(name).bind(&*kind.declaration).bind(kind.at.as_micros());
            store.rows(insert).await?;
            // The pinned one may be another's, and is visible only to a later statement.
            let standing = store.rows(row::query(&sql.find_kind).bind(name)).await?;
            standing
                .first()
                .map(read_pinned)
                .transpose()?
                .ok_or_else(|| Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a kind that was just pinned is not there"))
        }))
    }

    fn tokens(&self) -> BoxFuture<'_, Result<Vec<ApiToken>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            store.rows(row::query(&store.inner.sql.tokens)).await?.iter().map(read_token).collect()
        }))
    }

    fn put_token(&self, token: ApiToken) -> BoxFuture<'_, Result<()>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let put = row::query(&store.inner.sql.put_token)
                .bind(&*token.name)
                .bind(&*token.role)
                .bind(token.tenant.as_str())
                .bind(token.digest.as_slice())
                .bind(token.created_at.as_micros());
            store.rows(put).await.map(drop)
        }))
    }

    fn drop_token(&self, name: String) -> BoxFuture<'_, Result<bool>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let dropping = async {
                let mut transaction = store.inner.connected.begin().await?;
                let drop = row::query(&store.inner.sql.drop_token).bind(name);
                let dropped = drop.execute(&mut *transaction).await.map_err(translate)?;
                transaction.commit().await.map_err(translate)?;
                Ok(dropped.rows_affected() > 0)
            };
            store.answered(dropping).await
        }))
    }
}

fn read_pinned(found: &PgRow) -> Result<StoredDeclaration> {
    let declaration: Arc<str> = row::get::<&str>(found, "declaration")?.into();
    Ok(StoredDeclaration {
        kind: KindName::parse(row::get(found, "kind")?)?,
        declaration,
        at: row::time(found, "pinned_at")?,
    })
}

fn read_token(found: &PgRow) -> Result<ApiToken> {
    let digest: &[u8] = row::get(found, "digest")?;
    let unreadable = || Error::new(PROGRAMMING_INVARIANT_VIOLATED, "the digest of a stored token cannot be read");
    Ok(ApiToken {
        name: row::get::<&str>(found, "name")?.into(),
        role: row::get::<&str>(found, "role")?.into(),
        tenant: Tenant::parse(row::get(found, "tenant")?)?,
        digest: digest.try_into().map_err(|_| unreadable())?,
        created_at: row::time(found, "created_at")?,
    })
}
