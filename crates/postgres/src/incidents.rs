//! Incidents that are not about an operation.

use onefold_core::Result;
use onefold_core::incident::{Incident, Subject};
use onefold_core::operation::Tenant;
use onefold_core::port::{BoxFuture, IncidentWrite, SubjectChange};
use sqlx::PgConnection;

use crate::Postgres;
use crate::error::translate;
use crate::ledger::row;
use crate::ledger::transition::{run, write_incidents};
use crate::sql::Sql;

impl IncidentWrite for Postgres {
    fn change_incidents(&self, changes: Vec<SubjectChange>) -> BoxFuture<'_, Result<()>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let changing = async {
                let mut transaction = store.inner.connected.begin().await?;
                for change in changes {
                    apply(&mut transaction, &store.inner.sql, change).await?;
                }
                transaction.commit().await.map_err(translate)
            };
            store.answered(changing).await
        }))
    }
}

/// Writes what a change makes of the open incident of its subject, within the caller's transaction.
pub(crate) async fn apply(
    connection: &mut PgConnection,
    sql: &Sql,
    SubjectChange { tenant, subject, change }: SubjectChange,
) -> Result<()> {
    let Subject { sort, kind, id } = &subject;
    let lock = row::query(&sql.lock_subject).bind(tenant.to_string()).bind(sort.as_str());
    run(connection, lock.bind(kind.to_string()).bind(id.to_string())).await?;
    let open = find_open(connection, sql, &tenant, &subject).await?;
    match change.apply(open) {
        None => Ok(()),
        Some(incident) => write_incidents(connection, sql, [&incident]).await,
    }
}

async fn find_open(
    connection: &mut PgConnection,
    sql: &Sql,
    tenant: &Tenant,
    subject: &Subject,
) -> Result<Option<Incident>> {
    let Subject { sort, kind, id } = subject;
    let query = row::query(&sql.find_open_incident)
        .bind(vec![tenant.to_string()])
        .bind(vec![kind.to_string()])
        .bind(vec![id.to_string()])
        .bind(sort.as_str());
    let found = query.fetch_optional(connection).await.map_err(translate)?;
    found.map(|found| row::incident(&found)).transpose()
}
