//! What everyone on the file shares beside operations: pinned kinds, tokens, and who looked.

use std::sync::Arc;

use onefold_core::error::PROGRAMMING_INVARIANT_VIOLATED;
use onefold_core::ledger::Note;
use onefold_core::operation::{KindName, OperationKey, Tenant};
use onefold_core::ports::{BoxFuture, Pinned, Share, Token};
use onefold_core::{Error, Result, Timestamp};
use rusqlite::Row;

use crate::error::translate;
use crate::row::Cell;
use crate::write::{add_note, execute, in_transaction, query};
use crate::{Sqlite, sql};

impl Share for Sqlite {
    fn pinned(&self) -> BoxFuture<'_, Result<Vec<Pinned>>> {
        Box::pin(self.inner.reader.call(|connection| query(connection, sql::PINNED_KINDS, [], read_pinned)))
    }

    fn pin(&self, kind: Pinned) -> BoxFuture<'_, Result<Pinned>> {
        let clock = Arc::clone(&self.inner.clock);
        Box::pin(self.inner.writer.call(move |connection| {
            in_transaction(connection, &clock, |connection, _| {
                let name = || text(kind.kind.as_str());
                let cells = [name(), text(&kind.declaration), Cell::Int(kind.at.as_micros())];
                execute(connection, sql::PIN_KIND, cells)?;
                let standing = query(connection, sql::FIND_KIND, [name()], read_pinned)?.pop();
                standing.ok_or_else(|| {
                    Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a kind that was just pinned is not there")
                })
            })
        }))
    }

    fn tokens(&self) -> BoxFuture<'_, Result<Vec<Token>>> {
        Box::pin(self.inner.reader.call(|connection| query(connection, sql::TOKENS, [], read_token)))
    }

    fn put_token(&self, token: Token) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.inner.writer.call(move |connection| {
            let cells = [
                text(&token.name),
                text(&token.role),
                text(token.tenant.as_str()),
                Cell::Blob(token.digest.as_slice().into()),
                Cell::Int(token.created_at.as_micros()),
            ];
            execute(connection, sql::PUT_TOKEN, cells).map(drop)
        }))
    }

    fn drop_token(&self, name: String) -> BoxFuture<'_, Result<bool>> {
        Box::pin(
            self.inner
                .writer
                .call(move |connection| Ok(execute(connection, sql::DROP_TOKEN, [Cell::Text(name.into())])? > 0)),
        )
    }

    fn witness(&self, key: OperationKey, note: Note) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.inner.writer.call(move |connection| add_note(connection, &key, &note)))
    }
}

fn text(value: &str) -> Cell<'static> {
    Cell::Text(value.to_owned().into())
}

fn read_pinned(found: &Row<'_>) -> Result<Pinned> {
    let kind: String = found.get(0).map_err(translate)?;
    let declaration: String = found.get(1).map_err(translate)?;
    Ok(Pinned {
        kind: KindName::parse(&kind)?,
        declaration: declaration.into(),
        at: Timestamp::from_micros(found.get(2).map_err(translate)?),
    })
}

fn read_token(found: &Row<'_>) -> Result<Token> {
    let column = |index: usize| found.get::<_, String>(index).map_err(translate);
    Ok(Token {
        name: column(0)?.into(),
        role: column(1)?.into(),
        tenant: Tenant::parse(&column(2)?)?,
        digest: found.get(3).map_err(translate)?,
        created_at: Timestamp::from_micros(found.get(4).map_err(translate)?),
    })
}
