//! Reads, on a connection that never waits for a commit.

use std::sync::Arc;

use onefold_core::Result;
use onefold_core::error::CodeName;
use onefold_core::fingerprint::Keyring;
use onefold_core::incident::{Group, GroupKey, Incident, IncidentId, SubjectSort};
use onefold_core::ledger::{Entry, TimelineEvent, timeline};
use onefold_core::operation::{KindName, OperationId, OperationKey, Tenant};
use onefold_core::port::{
    BoxFuture, Counts, Filter, IncidentFilter, InstallationLock, LedgerRead, Listed, Page, Store,
};
use onefold_core::retry::Category;
use onefold_core::row::{Cell, key_cells, opt_text, opt_time, text};
use rusqlite::Connection;

use crate::ledger::maintenance::count;
use crate::ledger::row;
use crate::ledger::transition::{find, query};
use crate::{Sqlite, sql};

impl LedgerRead for Sqlite {
    fn find(&self, keys: Vec<OperationKey>) -> BoxFuture<'_, Result<Vec<Option<Entry>>>> {
        Box::pin(self.inner.reader.call(move |connection| keys.iter().map(|key| find(connection, key)).collect()))
    }

    fn list(&self, filter: Filter, page: Page) -> BoxFuture<'_, Result<Listed<Entry>>> {
        Box::pin(self.inner.reader.call(move |connection| list(connection, &filter, page)))
    }

    fn timeline(&self, key: OperationKey) -> BoxFuture<'_, Result<Option<Vec<TimelineEvent>>>> {
        Box::pin(self.inner.reader.call(move |connection| {
            let Some(entry) = find(connection, &key)? else {
                return Ok(None);
            };
            let attempts = query(connection, &sql::LIST_ATTEMPTS, key_cells(&key), row::attempt)?;
            let notes = query(connection, &sql::LIST_NOTES, key_cells(&key), row::note)?;
            Ok(Some(timeline(&entry, &attempts, &notes)))
        }))
    }

    fn incidents(&self, filter: IncidentFilter, page: Page) -> BoxFuture<'_, Result<Listed<Incident>>> {
        Box::pin(self.inner.reader.call(move |connection| incidents(connection, &filter, page)))
    }

    fn groups(&self, tenant: Tenant) -> BoxFuture<'_, Result<Vec<Group>>> {
        Box::pin(
            self.inner
                .reader
                .call(move |connection| query(connection, &sql::INCIDENT_GROUPS, [text(tenant.as_str())], read_group)),
        )
    }

    fn counts(&self) -> BoxFuture<'_, Result<Counts>> {
        Box::pin(self.inner.reader.call(|connection| {
            Ok(Counts {
                unknown: query(connection, &sql::COUNT_UNKNOWN, [], read_count)?,
                open_incidents: query(connection, &sql::COUNT_OPEN_INCIDENTS, [], read_count)?,
            })
        }))
    }
}

impl Store for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn keyring(&self) -> Arc<Keyring> {
        Arc::clone(&self.inner.keyring)
    }

    fn lock_installation(&self, installation: &str) -> Result<InstallationLock> {
        Ok(InstallationLock::Alone(Box::new(self.take_name(installation)?)))
    }

    fn remember(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.raise_mark())
    }

    fn probe(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.take_room())
    }

    fn finish(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.fold())
    }
}

fn list(connection: &Connection, filter: &Filter, page: Page) -> Result<Listed<Entry>> {
    let sql = match (&filter.id, &filter.business_key, &filter.process_instance_key) {
        (Some(_), _, _) => &sql::LIST_BY_ID,
        (None, Some(_), _) => &sql::LIST_BY_BUSINESS_KEY,
        (None, None, Some(_)) => &sql::LIST_BY_PROCESS_INSTANCE,
        (None, None, None) => &sql::LIST,
    };
    let limit = page.limit.clamp(1, Page::LIMIT_MAX);
    let cells = [
        text(filter.tenant.as_str()),
        opt_text(filter.kind.as_ref().map(KindName::as_str)),
        opt_text(filter.status.map(onefold_core::ledger::Status::as_str)),
        opt_text(filter.business_key.as_deref()),
        opt_text(filter.process_instance_key.as_deref()),
        opt_text(filter.error_code.as_ref().map(CodeName::as_str)),
        opt_time(filter.since),
        opt_time(filter.until),
        page.after.map_or(Cell::Null, Cell::Int),
        count(limit),
        opt_text(filter.id.as_ref().map(OperationId::as_str)),
    ];
    let rows = query(connection, sql, cells, |found| Ok((row::entry(found)?, row::get(found, "seq")?)))?;
    Ok(listed(rows, limit))
}

fn incidents(connection: &Connection, filter: &IncidentFilter, page: Page) -> Result<Listed<Incident>> {
    let limit = page.limit.clamp(1, Page::LIMIT_MAX);
    let cells = [
        text(filter.tenant.as_str()),
        opt_text(filter.id.as_ref().map(IncidentId::as_str)),
        Cell::Int(i64::from(filter.open_only)),
        opt_text(filter.subject.map(SubjectSort::as_str)),
        opt_text(filter.kind.as_ref().map(KindName::as_str)),
        opt_text(filter.group.as_deref()),
        page.after.map_or(Cell::Null, Cell::Int),
        count(limit),
    ];
    let rows =
        query(connection, &sql::LIST_INCIDENTS, cells, |found| Ok((row::incident(found)?, row::get(found, "seq")?)))?;
    Ok(listed(rows, limit))
}

fn listed<T>(rows: Vec<(T, i64)>, limit: usize) -> Listed<T> {
    let next = (rows.len() == limit).then(|| rows.last().map(|(_, seq)| *seq)).flatten();
    Listed { items: rows.into_iter().map(|(item, _)| item).collect(), next }
}

fn read_count(found: &rusqlite::Row<'_>) -> Result<(Category, u64)> {
    let category: Option<String> = row::get(found, "category")?;
    let count: i64 = row::get(found, "counted")?;
    let category = category.as_deref().and_then(Category::parse).unwrap_or(Category::HolderLost);
    Ok((category, u64::try_from(count).unwrap_or(0)))
}

fn read_group(found: &rusqlite::Row<'_>) -> Result<Group> {
    Ok(Group {
        key: GroupKey::stored(&row::get::<String>(found, "group_key")?),
        incidents: u64::try_from(row::get::<i64>(found, "incidents")?).unwrap_or(0),
        first_seen: row::time(found, "first_seen")?,
        last_seen: row::time(found, "last_seen")?,
        head: row::incident(found)?,
    })
}
