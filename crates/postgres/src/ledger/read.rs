//! Reads, on connections that do not wait for locks.

use std::sync::Arc;

use onefold_core::error::CodeName;
use onefold_core::fingerprint::Keyring;
use onefold_core::incident::{Group, GroupKey, Incident, IncidentId, SubjectSort};
use onefold_core::ledger::{Entry, Status, TimelineEvent, timeline};
use onefold_core::operation::{KindName, OperationId, OperationKey, Tenant};
use onefold_core::port::{
    BoxFuture, Counts, Filter, IncidentFilter, InstallationLock, LedgerRead, Listed, Page, Store,
};
use onefold_core::retry::Category;
use onefold_core::{Result, Timestamp};
use sqlx::SqlStr;
use sqlx::postgres::PgRow;

use crate::Postgres;
use crate::error::translate;
use crate::ledger::maintenance::count;
use crate::ledger::row::{self, Query};

impl LedgerRead for Postgres {
    fn find(&self, keys: Vec<OperationKey>) -> BoxFuture<'_, Result<Vec<Option<Entry>>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let reading = async {
                let mut transaction = store.inner.connected.begin().await?;
                let (entries, _) = store.read(&mut transaction, &keys).await?;
                transaction.rollback().await.map_err(translate)?;
                Ok(entries)
            };
            let entries = store.answered(reading).await?;
            Ok(keys.iter().map(|key| entries.get(key).cloned()).collect())
        }))
    }

    fn list(&self, filter: Filter, page: Page) -> BoxFuture<'_, Result<Listed<Entry>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let limit = page.limit.clamp(1, Page::LIMIT_MAX);
            let rows = store.rows(store.list_query(&filter, page, limit)).await?;
            let entries = rows.iter().map(|found| Ok((row::entry(found)?, row::get(found, "seq")?)));
            Ok(listed(entries.collect::<Result<_>>()?, limit))
        }))
    }

    fn timeline(&self, key: OperationKey) -> BoxFuture<'_, Result<Option<Vec<TimelineEvent>>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.answered(store.story(&key)).await }))
    }

    fn incidents(&self, filter: IncidentFilter, page: Page) -> BoxFuture<'_, Result<Listed<Incident>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let limit = page.limit.clamp(1, Page::LIMIT_MAX);
            let query = row::query(&store.inner.sql.list_incidents)
                .bind(filter.tenant.as_str())
                .bind(filter.id.as_ref().map(IncidentId::as_str))
                .bind(i64::from(filter.open_only))
                .bind(filter.subject.map(SubjectSort::as_str))
                .bind(filter.kind.as_ref().map(KindName::as_str))
                .bind(filter.group.as_deref())
                .bind(page.after)
                .bind(count(limit));
            let rows = store.rows(query).await?;
            let incidents = rows.iter().map(|found| Ok((row::incident(found)?, row::get(found, "seq")?)));
            Ok(listed(incidents.collect::<Result<_>>()?, limit))
        }))
    }

    fn groups(&self, tenant: Tenant) -> BoxFuture<'_, Result<Vec<Group>>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            let rows = store.rows(row::query(&store.inner.sql.incident_groups).bind(tenant.as_str())).await?;
            rows.iter().map(read_group).collect()
        }))
    }

    fn counts(&self) -> BoxFuture<'_, Result<Counts>> {
        let store = self.clone();
        Box::pin(Self::detached(async move {
            Ok(Counts {
                unknown: store.counted(&store.inner.sql.count_unknown).await?,
                open_incidents: store.counted(&store.inner.sql.count_open_incidents).await?,
            })
        }))
    }
}

impl Store for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn keyring(&self) -> Arc<Keyring> {
        Arc::clone(&self.inner.keyring)
    }

    fn lock_installation(&self, installation: &str) -> Result<InstallationLock> {
        Ok(Self::take_name(installation))
    }

    fn remember(&self) -> BoxFuture<'_, Result<()>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.raise_mark().await }))
    }

    fn probe(&self) -> BoxFuture<'_, Result<()>> {
        let store = self.clone();
        Box::pin(Self::detached(async move { store.take_room().await }))
    }

    fn finish(&self) -> BoxFuture<'_, Result<()>> {
        self.remember()
    }
}

impl Postgres {
    pub(crate) async fn rows(&self, query: Query) -> Result<Vec<PgRow>> {
        self.answered(self.inner.connected.rows_once(query)).await
    }

    async fn counted(&self, sql: &SqlStr) -> Result<Vec<(Category, u64)>> {
        let rows = self.answered(self.inner.connected.tuned_rows_once(row::query(sql))).await?;
        rows.iter().map(read_count).collect()
    }

    /// Row, attempts and notes as they were at one time.
    async fn story(&self, key: &OperationKey) -> Result<Option<Vec<TimelineEvent>>> {
        let sql = &self.inner.sql;
        let mut snapshot = self.inner.connected.snapshot().await?;
        let (mut entries, _) = self.read(&mut snapshot, std::slice::from_ref(key)).await?;
        let of_key = |sql| row::query(sql).bind(key.tenant.as_str()).bind(key.kind.as_str()).bind(key.id.as_str());
        let attempts = of_key(&sql.list_attempts).fetch_all(&mut *snapshot).await.map_err(translate)?;
        let notes = of_key(&sql.list_notes).fetch_all(&mut *snapshot).await.map_err(translate)?;
        snapshot.rollback().await.map_err(translate)?;
        let attempts: Vec<_> = attempts.iter().map(row::attempt).collect::<Result<_>>()?;
        let notes: Vec<_> = notes.iter().map(row::note).collect::<Result<_>>()?;
        Ok(entries.remove(key).map(|entry| timeline(&entry, &attempts, &notes)))
    }

    fn list_query(&self, filter: &Filter, page: Page, limit: usize) -> Query {
        let sql = &self.inner.sql;
        let sql = match (&filter.id, &filter.business_key, &filter.process_instance_key) {
            (Some(_), _, _) => &sql.list_by_id,
            (None, Some(_), _) => &sql.list_by_business_key,
            (None, None, Some(_)) => &sql.list_by_process_instance,
            (None, None, None) => &sql.list,
        };
        row::query(sql)
            .bind(filter.tenant.as_str())
            .bind(filter.kind.as_ref().map(KindName::as_str))
            .bind(filter.status.map(Status::as_str))
            .bind(filter.business_key.as_deref())
            .bind(filter.process_instance_key.as_deref())
            .bind(filter.error_code.as_ref().map(CodeName::as_str))
            .bind(filter.since.map(Timestamp::as_micros))
            .bind(filter.until.map(Timestamp::as_micros))
            .bind(page.after)
            .bind(count(limit))
            .bind(filter.id.as_ref().map(OperationId::as_str))
    }
}

fn listed<T>(rows: Vec<(T, i64)>, limit: usize) -> Listed<T> {
    let next = (rows.len() == limit).then(|| rows.last().map(|(_, seq)| *seq)).flatten();
    Listed { items: rows.into_iter().map(|(item, _)| item).collect(), next }
}

fn read_count(found: &PgRow) -> Result<(Category, u64)> {
    let category: Option<&str> = row::get(found, "category")?;
    let count: i64 = row::get(found, "counted")?;
    Ok((category.and_then(Category::parse).unwrap_or(Category::HolderLost), u64::try_from(count).unwrap_or(0)))
}

fn read_group(found: &PgRow) -> Result<Group> {
    Ok(Group {
        key: GroupKey::stored(row::get(found, "group_key")?),
        incidents: u64::try_from(row::get::<i64>(found, "incidents")?).unwrap_or(0),
        first_seen: row::time(found, "first_seen")?,
        last_seen: row::time(found, "last_seen")?,
        head: row::incident(found)?,
    })
}
