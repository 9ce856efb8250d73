//! Rows under lock, and carrying transitions out: each table is written once, whatever a batch holds.

use std::collections::{BTreeMap, HashMap};

use onefold_core::incident::{Incident, IncidentId, SubjectSort};
use onefold_core::ledger::{AttemptResult, Entry, Note, PastAttempt, Status, Transition};
use onefold_core::operation::OperationKey;
use onefold_core::row::incident::IncidentRow;
use onefold_core::row::{Cell, Column, KEY, attempt, incident, key_cells, note, operation};
use onefold_core::{Result, Timestamp};
use sqlx::{PgConnection, SqlStr};

use crate::Postgres;
use crate::error::translate;
use crate::ledger::row::{self, Query};
use crate::sql::Sql;

/// Whether to wait for rows that somebody else moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockedElsewhere {
    Await,
    LeaveOut,
}

/// Operations that this transaction moves: nobody else can until it ends.
pub(crate) struct LockedRows {
    /// The server's time, read after the last lock was got.
    pub(crate) now: Timestamp,
    entries: HashMap<OperationKey, Entry>,
    /// The leases that ran when the rows were locked: the sweeper finds these.
    leases: HashMap<OperationKey, Timestamp>,
    open: HashMap<OperationKey, Incident>,
    writes: Writes,
}

/// What a transaction writes, by table.
#[derive(Default)]
struct Writes {
    moved: Vec<OperationKey>,
    attempts: BTreeMap<(OperationKey, u64), PastAttempt>,
    /// In the order in which they were first written: one incident is closed before the next is opened.
    incidents: Vec<IncidentId>,
    incidents_by_id: HashMap<IncidentId, Incident>,
    notes: Vec<(OperationKey, Note)>,
}

impl Postgres {
    /// Locks these operations, in one order, and reads them with their open incidents.
    pub(crate) async fn lock(
        &self,
        connection: &mut PgConnection,
        keys: &[OperationKey],
        others: LockedElsewhere,
    ) -> Result<LockedRows> {
        let sql = match others {
            LockedElsewhere::Await => &self.inner.sql.lock,
            LockedElsewhere::LeaveOut => &self.inner.sql.lock_free,
        };
        let query = row::bind_keys(row::query(sql), keys).bind(self.inner.clock.given());
        let rows = query.fetch_all(&mut *connection).await.map_err(translate)?;
        let times: Vec<Timestamp> =
            rows.iter().map(|found| row::time(found, row::AFTER_OPERATION)).collect::<Result<_>>()?;
        let now = times.into_iter().max().unwrap_or_else(|| self.inner.clock.now());
        self.inner.clock.heard(now);
        let entries: Vec<Entry> = rows.iter().map(row::entry).collect::<Result<_>>()?;
        let troubled = entries.iter().filter(|entry| entry.incident.is_some()).map(|entry| &entry.key);
        let open = self.open_incidents(connection, troubled.collect()).await?;
        let running = entries.iter().filter(|entry| entry.status == Status::Started);
        let leases = running.map(|entry| (entry.key.clone(), entry.lease_until)).collect();
        let entries = entries.into_iter().map(|entry| (entry.key.clone(), entry)).collect();
        Ok(LockedRows { now, entries, leases, open, writes: Writes::default() })
    }

    async fn open_incidents(
        &self,
        connection: &mut PgConnection,
        keys: Vec<&OperationKey>,
    ) -> Result<HashMap<OperationKey, Incident>> {
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let query =
            row::bind_keys(row::query(&self.inner.sql.find_open_incident), keys).bind(SubjectSort::Operation.as_str());
        let rows = query.fetch_all(connection).await.map_err(translate)?;
        rows.iter()
            .map(|found| {
                let incident = row::incident(found)?;
                Ok(incident.operation_key().map(|key| (key, incident)))
            })
            .filter_map(Result::transpose)
            .collect()
    }

    /// Past attempts, by key and fence.
    pub(crate) async fn find_attempts(
        &self,
        connection: &mut PgConnection,
        wanted: &[(OperationKey, u64)],
    ) -> Result<HashMap<(OperationKey, u64), PastAttempt>> {
        if wanted.is_empty() {
            return Ok(HashMap::new());
        }
        let fences: Vec<i64> = wanted.iter().map(|(_, fence)| i64::try_from(*fence).unwrap_or(i64::MAX)).collect();
        let query = row::query(&self.inner.sql.find_attempt);
        let query = row::bind_keys(query, wanted.iter().map(|(key, _)| key)).bind(fences);
        let rows = query.fetch_all(connection).await.map_err(translate)?;
        rows.iter()
            .map(|found| row::attempt(found).map(|attempt| ((attempt.key.clone(), attempt.fence), attempt)))
            .collect()
    }
}

impl LockedRows {
    /// An operation as this transaction has it by now.
    pub(crate) fn entry(&self, key: &OperationKey) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// An attempt that this transaction ended.
    pub(crate) fn attempt(&self, at: &(OperationKey, u64)) -> Option<&PastAttempt> {
        self.writes.attempts.get(at)
    }

    /// Notes what a decision changes; the operation is in that state from now on.
    pub(crate) fn carry_out(&mut self, mut transition: Transition) -> &Entry {
        let key = transition.entry.key.clone();
        if transition.incident.is_some()
            && let Some(incident) = transition.settle_incident(self.open.remove(&key))
        {
            if incident.is_open() {
                self.open.insert(key.clone(), incident.clone());
            }
            self.writes.incident(incident);
        }
        if let Some(past) = transition.past {
            count_past(&past);
            self.writes.attempts.insert((key.clone(), past.fence), past);
        }
        for note in transition.notes {
            self.writes.notes.push((key.clone(), note));
        }
        if !self.writes.moved.contains(&key) {
            self.writes.moved.push(key.clone());
        }
        self.entries.entry(key).insert_entry(transition.entry).into_mut()
    }

    /// Writes everything that was noted.
    pub(crate) async fn write(&self, connection: &mut PgConnection, sql: &Sql) -> Result<()> {
        let Writes { moved, attempts, incidents, incidents_by_id, notes } = &self.writes;
        write_incidents(connection, sql, incidents.iter().filter_map(|id| incidents_by_id.get(id))).await?;
        let rows: Vec<_> = attempts.values().map(attempt::cells).collect();
        write_rows(connection, &sql.keep_attempt, &attempt::ALL, &rows).await?;
        let rows: Vec<_> = notes.iter().map(|(key, note)| note::cells(key, note)).collect();
        write_rows(connection, &sql.add_note, &note::ALL, &rows).await?;
        let moved = || moved.iter().filter_map(|key| self.entries.get(key));
        let rows: Vec<_> = moved().map(operation::updating_cells).collect();
        write_rows(connection, &sql.update, &operation::UPDATING, &rows).await?;
        let leases: Vec<_> =
            moved().filter(|entry| self.is_new_lease(entry)).map(|entry| key_cells(&entry.key)).collect();
        write_rows(connection, &sql.add_leases, &KEY, &leases).await
    }

    /// Whether the sweeper would not find this lease when it ends. It finds one that was only lengthened.
    fn is_new_lease(&self, entry: &Entry) -> bool {
        let before = self.leases.get(&entry.key);
        entry.status == Status::Started && before.is_none_or(|before| entry.lease_until < *before)
    }
}

impl Writes {
    fn incident(&mut self, incident: Incident) {
        if !self.incidents_by_id.contains_key(&incident.id) {
            self.incidents.push(incident.id.clone());
        }
        self.incidents_by_id.insert(incident.id.clone(), incident);
    }
}

/// Writes the current state of incidents.
pub(crate) async fn write_incidents<'i>(
    connection: &mut PgConnection,
    sql: &Sql,
    incidents: impl IntoIterator<Item = &'i Incident>,
) -> Result<()> {
    let rows: Vec<_> = incidents.into_iter().map(IncidentRow::new).collect::<Result<_>>()?;
    let rows: Vec<_> = rows.iter().map(IncidentRow::cells).collect();
    write_rows(connection, &sql.write_incident, &incident::ALL, &rows).await
}

/// Writes rows, if there are any.
pub(crate) async fn write_rows<const COLUMNS: usize>(
    connection: &mut PgConnection,
    sql: &SqlStr,
    columns: &[Column; COLUMNS],
    rows: &[[Cell<'_>; COLUMNS]],
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    run(connection, row::bind_columns(row::query(sql), columns, rows)).await
}

/// Runs a statement whose rows are not read.
pub(crate) async fn run(connection: &mut PgConnection, query: Query) -> Result<()> {
    query.execute(connection).await.map(drop).map_err(translate)
}

/// Adds a line to an operation's timeline.
pub(crate) async fn add_note(connection: &mut PgConnection, sql: &Sql, key: &OperationKey, note: &Note) -> Result<()> {
    write_rows(connection, &sql.add_note, &note::ALL, &[note::cells(key, note)]).await
}

/// Attempts that went silent, and those that spoke too late.
fn count_past(past: &PastAttempt) {
    let name = match past.ending {
        AttemptResult::Expired => "onefold_leases_expired_total",
        AttemptResult::Late => "onefold_late_records_total",
        AttemptResult::Recorded | AttemptResult::Released | AttemptResult::Unheard => return,
    };
    metrics::counter!(name, "kind" => past.key.kind.to_string()).increment(1);
}
