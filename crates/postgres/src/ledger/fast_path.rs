//! What nearly every operation needs: one statement that grants what is absent and completes what was granted here.

use std::collections::HashMap;

use onefold_core::error::DATABASE_BUSY;
use onefold_core::ledger::{self, Claim, ClaimRequest, Decision, Entry, RecordRequest};
use onefold_core::operation::OperationKey;
use onefold_core::port::{FaultPoint, StepAnswer};
use onefold_core::row::{KEY, operation};
use onefold_core::{Result, Timestamp};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::Postgres;
use crate::ledger::row::{self, Query};

/// The position of a grant's time in a row, behind its key.
const GRANTED_AT: usize = KEY.len();

/// Claims of operations that may be absent, and records of grants that may still be live; in the order of their keys, as
/// everyone locks them.
#[derive(Default)]
pub(crate) struct FastPath<'a> {
    claims: Vec<&'a ClaimRequest>,
    /// As they are granted, at no time at all: the server adds its own to what counts from the grant.
    entries: Vec<Entry>,
    records: Vec<SettledRow>,
}

/// A record that changes nothing but the row of its grant.
struct SettledRow {
    answer: StepAnswer,
    after: Entry,
}

/// What was written.
#[derive(Default)]
pub(crate) struct FastPathAnswers {
    pub(crate) answers: HashMap<OperationKey, StepAnswer>,
    pub(crate) granted: Vec<Entry>,
}

impl<'a> FastPath<'a> {
    /// Adds a claim; an operation that is absent is granted.
    pub(crate) fn claim(&mut self, request: &'a ClaimRequest) {
        if let Some((_, entry)) = grant(request, Timestamp::default()) {
            self.claims.push(request);
            self.entries.push(entry);
        }
    }

    /// Adds a record of this grant, if it changes nothing but the row.
    pub(crate) fn record(&mut self, before: &Entry, request: &RecordRequest, now: Timestamp) {
        let Decision { answer, transition } = ledger::record(Some(before), None, request, now);
        if let Some(transition) = transition.filter(|transition| transition.row_alone())
            && operation::only_settles(before, &transition.entry)
        {
            self.records.push(SettledRow { answer: StepAnswer::Record(answer), after: transition.entry });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.records.is_empty()
    }

    /// Every operation.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &OperationKey> {
        self.claimed().chain(self.records.iter().map(|record| &record.after.key))
    }

    /// The operations that are claimed.
    pub(crate) fn claimed(&self) -> impl Iterator<Item = &OperationKey> {
        self.claims.iter().map(|claim| &claim.key)
    }

    fn understand(&self, rows: &[PgRow], store: &Postgres) -> Result<FastPathAnswers> {
        let mut written = FastPathAnswers::default();
        for found in rows {
            let key = row::key(found)?;
            let at = if found.len() > GRANTED_AT { row::get::<Option<i64>>(found, GRANTED_AT)? } else { None };
            match at.map(Timestamp::from_micros) {
                Some(at) => {
                    store.inner.clock.heard(at);
                    let claim = self.claims.binary_search_by(|claim| claim.key.cmp(&key));
                    if let Some((answer, entry)) = claim.ok().and_then(|index| grant(self.claims[index], at)) {
                        written.answers.insert(key, StepAnswer::Claim(answer));
                        written.granted.push(entry);
                    }
                }
                None => {
                    if let Ok(index) = self.records.binary_search_by(|record| record.after.key.cmp(&key)) {
                        written.answers.insert(key, self.records[index].answer.clone());
                    }
                }
            }
        }
        Ok(written)
    }
}

/// The first grant of an operation, at this time.
fn grant(request: &ClaimRequest, at: Timestamp) -> Option<(Claim, Entry)> {
    let Decision { answer, transition } = ledger::decide(None, request, at).ok()?;
    Some((answer, transition?.entry))
}

impl Postgres {
    /// Writes them in one commit. The second answer is whether somebody's own transaction was in the way of a claim.
    pub(crate) async fn write_fresh(&self, fresh: &FastPath<'_>) -> Result<(FastPathAnswers, bool)> {
        self.reach(fresh, FaultPoint::BEFORE_CLAIM_COMMIT, FaultPoint::BEFORE_RECORD_COMMIT);
        let (rows, busy) = match self.inner.connected.rows(self.fresh_query(fresh)).await {
            // It may stay there for long: the records go first, and then the claims without that one.
            Err(error) if error.code() == DATABASE_BUSY && error.native() == Some("55P03") => {
                (self.write_around(fresh).await?, true)
            }
            rows => (rows?, false),
        };
        self.inner.connected.commits.count();
        self.reach(fresh, FaultPoint::AFTER_CLAIM_COMMIT, FaultPoint::AFTER_RECORD_COMMIT);
        Ok((fresh.understand(&rows, self)?, busy))
    }

    async fn write_around(&self, fresh: &FastPath<'_>) -> Result<Vec<PgRow>> {
        let connected = &self.inner.connected;
        let mut rows = Vec::new();
        if !fresh.records.is_empty() {
            let settle = bind_records(row::query(&self.inner.sql.settle), fresh);
            rows = connected.rows(settle).await?;
        }
        if !fresh.claims.is_empty() {
            let insert = row::query(&self.inner.sql.insert_if_free).bind(self.inner.clock.given());
            rows.extend(connected.rows(bind_claims(insert, fresh)).await?);
        }
        Ok(rows)
    }

    /// The statement for what there is. One step alone is a plain statement where that may have a name; otherwise the
    /// functions' kept plans are better.
    fn fresh_query(&self, fresh: &FastPath<'_>) -> Query {
        let sql = &self.inner.sql;
        let named = self.inner.connected.named();
        match (fresh.records.as_slice(), fresh.entries.as_slice()) {
            ([], [entry]) if named => {
                let query = row::query(&sql.insert_one).persistent(true).bind(self.inner.clock.given());
                row::bind(query, &operation::GRANTED, &operation::granted_cells(entry))
            }
            ([record], []) if named => {
                let query = row::query(&sql.settle_one).persistent(true);
                row::bind(query, &operation::SETTLING, &operation::settling_cells(&record.after))
            }
            ([], _) => {
                let query = row::query(&sql.insert_if_absent).persistent(named);
                bind_claims(query.bind(self.inner.clock.given()), fresh)
            }
            (_, []) => bind_records(row::query(&sql.settle).persistent(named), fresh),
            (_, _) => {
                let query = row::query(&sql.act).persistent(named).bind(self.inner.clock.given());
                bind_claims(bind_records(query, fresh), fresh)
            }
        }
    }

    fn reach(&self, fresh: &FastPath<'_>, claim: FaultPoint, record: FaultPoint) {
        if !fresh.claims.is_empty() {
            self.inner.faults.reach(claim);
        }
        if !fresh.records.is_empty() {
            self.inner.faults.reach(record);
        }
    }
}

fn bind_claims(query: Query, fresh: &FastPath<'_>) -> Query {
    let rows: Vec<_> = fresh.entries.iter().map(operation::granted_cells).collect();
    row::bind_columns(query, &operation::GRANTED, &rows)
}

fn bind_records(query: Query, fresh: &FastPath<'_>) -> Query {
    let rows: Vec<_> = fresh.records.iter().map(|record| operation::settling_cells(&record.after)).collect();
    row::bind_columns(query, &operation::SETTLING, &rows)
}
