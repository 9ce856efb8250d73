//! What everyone on the schema shares beside operations: pinned kinds, tokens, and who looked.

use std::sync::Arc;

use onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED;
use onefold_core::ledger::Note;
use onefold_core::operation::{KindName, OperationKey, Tenant};
use onefold_core::ports::{BoxFuture, Pinned, Share, Token};
use onefold_core::{Error, Result};
use sqlx::postgres::PgRow;

use crate::Postgres;
use crate::error::translate;
use crate::row;
use crate::write::add_note;

impl Share for Postgres {
    fn pinned(&self) -> BoxFuture<'_, Result<Vec<Pinned>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            store.rows(row::query(&store.inner.sql.pinned_kinds)).await?.iter().map(read_pinned).collect()
        }))
    }

    fn pin(&self, kind: Pinned) -> BoxFuture<'_, Result<Pinned>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let sql = &store.inner.sql;
            let name = kind.kind.as_str();
            let pin = row::query(&sql.pin_kind).bind(name).bind(&*kind.declaration).bind(kind.at.as_micros());
            store.rows(pin).await?;
            // The one that stands may be another's, and is visible only to a later statement.
            let standing = store.rows(row::query(&sql.find_kind).bind(name)).await?;
            standing
                .first()
                .map(read_pinned)
                .transpose()?
                .ok_or_else(|| Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a kind that was just pinned is not there"))
        }))
    }

    fn tokens(&self) -> BoxFuture<'_, Result<Vec<Token>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            store.rows(row::query(&store.inner.sql.tokens)).await?.iter().map(read_token).collect()
        }))
    }

    fn put_token(&self, token: Token) -> BoxFuture<'_, Result<()>> {
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

    fn witness(&self, key: OperationKey, note: Note) -> BoxFuture<'_, Result<()>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let adding = async {
                let mut transaction = store.inner.connected.begin().await?;
                add_note(&mut transaction, &store.inner.sql, &key, &note).await?;
                transaction.commit().await.map_err(translate)
            };
            store.answered(adding).await
        }))
    }
}

fn read_pinned(found: &PgRow) -> Result<Pinned> {
    let declaration: Arc<str> = row::get::<&str>(found, 1)?.into();
    Ok(Pinned { kind: KindName::parse(row::get(found, 0)?)?, declaration, at: row::time(found, 2)? })
}

fn read_token(found: &PgRow) -> Result<Token> {
    let digest: &[u8] = row::get(found, 3)?;
    let unreadable = || Error::new(PROGRAMMING_INVARIANT_VIOLATED, "the digest of a stored token cannot be read");
    Ok(Token {
        name: row::get::<&str>(found, 0)?.into(),
        role: row::get::<&str>(found, 1)?.into(),
        tenant: Tenant::parse(row::get(found, 2)?)?,
        digest: digest.try_into().map_err(|_| unreadable())?,
        created_at: row::time(found, 4)?,
    })
}
