//! What everyone on the file shares beside operations: pinned kinds, tokens, and who looked.

use std::sync::Arc;

use onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED;
use onefold_core::operation::{KindName, Tenant};
use onefold_core::port::{ApiToken, BoxFuture, Registry, StoredDeclaration};
use onefold_core::row::Cell;
use onefold_core::{Error, Result};
use rusqlite::Row;

use crate::ledger::row;
use crate::ledger::transition::{execute, in_transaction, query};
use crate::{Sqlite, sql};

impl Registry for Sqlite {
    fn declarations(&self) -> BoxFuture<'_, Result<Vec<StoredDeclaration>>> {
        Box::pin(self.inner.reader.call(|connection| query(connection, &sql::PINNED_KINDS, [], read_pinned)))
    }

    fn declare_if_absent(&self, kind: StoredDeclaration) -> BoxFuture<'_, Result<StoredDeclaration>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, _| {
                let name = || text(kind.kind.as_str());
                let cells = [name(), text(&kind.declaration), Cell::Int(kind.at.as_micros())];
                execute(connection, &sql::PIN_KIND, cells)?;
                let standing = query(connection, &sql::FIND_KIND, [name()], read_pinned)?.pop();
                standing.ok_or_else(|| {
                    Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a kind that was just pinned is not there")
                })
            })
        }))
    }

    fn tokens(&self) -> BoxFuture<'_, Result<Vec<ApiToken>>> {
        Box::pin(self.inner.reader.call(|connection| query(connection, &sql::TOKENS, [], read_token)))
    }

    fn put_token(&self, token: ApiToken) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.inner.writer.call(move |connection| {
            let cells = [
                text(&token.name),
                text(&token.role),
                text(token.tenant.as_str()),
                Cell::Blob(token.digest.as_slice().into()),
                Cell::Int(token.created_at.as_micros()),
            ];
            execute(connection, &sql::PUT_TOKEN, cells).map(drop)
        }))
    }

    fn drop_token(&self, name: String) -> BoxFuture<'_, Result<bool>> {
        Box::pin(
            self.inner
                .writer
                .call(move |connection| Ok(execute(connection, &sql::DROP_TOKEN, [Cell::Text(name.into())])? > 0)),
        )
    }
}

fn text(value: &str) -> Cell<'static> {
    Cell::Text(value.to_owned().into())
}

fn read_pinned(found: &Row<'_>) -> Result<StoredDeclaration> {
    Ok(StoredDeclaration {
        kind: KindName::parse(&row::get::<String>(found, "kind")?)?,
        declaration: row::get::<String>(found, "declaration")?.into(),
        at: row::time(found, "pinned_at")?,
    })
}

fn read_token(found: &Row<'_>) -> Result<ApiToken> {
    let text = |column| row::get::<String>(found, column);
    Ok(ApiToken {
        name: text("name")?.into(),
        role: text("role")?.into(),
        tenant: Tenant::parse(&text("tenant")?)?,
        digest: row::get(found, "digest")?,
        created_at: row::time(found, "created_at")?,
    })
}
