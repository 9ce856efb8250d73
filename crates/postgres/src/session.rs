//! Whose session a connection has: a statement may have a name only where nobody else can be given the session.
//!
//! `PgBouncer` in transaction mode lends sessions out, a transaction each, and what one client named another would find.
//! A session that was begun for this connection knows the mark that the connection began with; a lent one does not, and
//! `PgBouncer` refuses or drops the mark.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onefold_core::Result;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, PgConnection};

use crate::error::translate;
use crate::open::{PostgresOptions, Statements};
use crate::sql::Sql;

/// How this database is connected to, and whether statements may have names there.
pub(crate) struct Session {
    pub(crate) connect: PgConnectOptions,
    pub(crate) named: Arc<AtomicBool>,
    mark: String,
}

impl Session {
    /// Tries once whether a session is one's own.
    pub(crate) async fn probe(connect: PgConnectOptions, options: PostgresOptions) -> Result<Self> {
        let mark = format!("{:032x}", u128::from_be_bytes(options.random.bytes()));
        let lent = |connect, mark| Self { connect, named: Arc::new(AtomicBool::new(false)), mark };
        if options.statements == Statements::Unnamed {
            return Ok(lent(connect, mark));
        }
        let marked = connect.clone().options([("onefold.session", &mark)]);
        match marked.connect().await {
            Ok(mut connection) => {
                let own = began_with(&mut connection, &mark).await.map_err(translate)?;
                let own_session =
                    || Self { connect: marked, named: Arc::new(AtomicBool::new(true)), mark: mark.clone() };
                Ok(if own { own_session() } else { lent(connect, mark) })
            }
            Err(cause) if may_be_the_mark(&cause) => Ok(lent(connect, mark)),
            Err(cause) => Err(translate(cause)),
        }
    }

    /// Looks at every further connection: one that was lent its session ends the naming for good.
    pub(crate) fn watch(
        &self,
    ) -> impl for<'c> Fn(&'c mut PgConnection) -> onefold_core::port::BoxFuture<'c, sqlx::Result<()>> + Send + Sync + 'static
    {
        let (named, mark) = (Arc::clone(&self.named), self.mark.clone());
        move |connection| {
            let (named, mark) = (Arc::clone(&named), mark.clone());
            Box::pin(async move {
                if named.load(Ordering::Relaxed) && !began_with(connection, &mark).await? {
                    named.store(false, Ordering::Relaxed);
                    tracing::warn!("a pooler shares sessions: prepared statements are unnamed from now on");
                }
                Ok(())
            })
        }
    }
}

/// Whether a connection was refused for what it began with. A pooler says that with a code of its own choice, so only
/// what has another reason for sure is left out: a login, a missing database, no room, a server that starts or stops.
fn may_be_the_mark(cause: &sqlx::Error) -> bool {
    let code = cause.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| !["28", "3D", "53", "57"].iter().any(|class| code.starts_with(class)))
}

async fn began_with(connection: &mut PgConnection, mark: &str) -> sqlx::Result<bool> {
    // In one message: in a lent session nothing else is safe outside a transaction.
    let found = sqlx::raw_sql(Sql::new(None).session).fetch_one(connection).await?;
    let known: Option<&str> = sqlx::Row::try_get(&found, 0)?;
    Ok(known == Some(mark))
}
