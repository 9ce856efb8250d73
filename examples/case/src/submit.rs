//! The use case: check, execute and record in one commit, in the service's own transaction.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use onefold::Ledger;
use onefold::error::{Error, Result, Violation};
use onefold::http::Projected;
use onefold::http::idempotent::LocalOperation;
use onefold::settings::Clock;
use onefold::settings::{Settings, Shutdown, SystemClock};
use onefold::store::Sqlite;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{SqliteConnection, SqlitePool};
use time::OffsetDateTime;

use crate::errors::CASE_DUPLICATE_SUBMISSION;
use crate::request::Submission;
use crate::result::{IdempotencyDecision, SubmitCaseApplicationError, SubmitCaseResult, Submitted};
use crate::rules::{Verdict, judge};
use crate::store::{self, Case};

/// Connections that only read.
const READERS_MAX: u32 = 4;

/// Takes and shows cases. Cheap to clone.
#[derive(Clone)]
pub struct Cases {
    store: Sqlite,
    ledger: Ledger<Sqlite>,
    /// Reading does not wait behind transactions.
    readers: SqlitePool,
    clock: Arc<dyn Clock>,
}

/// What a submission is answered with.
pub enum Submit {
    /// What the ledger keeps under its key.
    Answered(Response),
    /// What this service decided, and keeps under no key.
    Decided(IdempotencyDecision),
}

/// Why a submission is not performed: decided otherwise, or the store failed.
enum Stop {
    Decided(IdempotencyDecision),
    Store(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl Cases {
    /// Opens the file of the ledger and the cases; a write transaction of another process is waited for this long.
    pub async fn open(path: &Path, busy_wait: Duration) -> Result<Self> {
        let options = onefold::store::SqliteOptions { busy_wait, ..onefold::store::sqlite_options() };
        Self::open_with(path, options, Settings::default()).await
    }

    /// The same with these limits and this clock.
    pub async fn open_with(path: &Path, options: onefold::store::SqliteOptions, settings: Settings) -> Result<Self> {
        let busy_wait = options.busy_wait;
        let store = Sqlite::open(path, options).await?;
        store::migrate(&store).await?;
        let ledger = Ledger::open(store.clone(), settings)?;
        let reading = SqliteConnectOptions::new().filename(path).read_only(true).busy_timeout(busy_wait);
        let readers = SqlitePoolOptions::new().max_connections(READERS_MAX).connect_lazy_with(reading);
        Ok(Self { store, ledger, readers, clock: Arc::new(SystemClock) })
    }

    /// The ledger that knows what was submitted.
    pub fn ledger(&self) -> &Ledger<Sqlite> {
        &self.ledger
    }

    /// Submits a case: performed once per key, whatever fails; contention runs it again.
    ///
    /// Owns what it needs, so that the future may move between threads.
    pub async fn submit(self, operation: LocalOperation<Sqlite>, submission: Submission) -> Submit {
        let store = self.store.clone();
        let ended = store.transaction(async move |tx| self.submit_in(tx, &operation, &submission).await).await;
        ended.map_or_else(
            |error| Submit::Decided(IdempotencyDecision::failed(SubmitCaseApplicationError::of_store(&error))),
            onefold::store::Committed::into_inner,
        )
    }

    async fn submit_in(
        &self,
        tx: &mut SqliteConnection,
        operation: &LocalOperation<Sqlite>,
        submission: &Submission,
    ) -> Result<Submit> {
        let key = operation.key().unwrap_or_default();
        let once = operation.once_in(tx, async |tx| {
            let submitted = self.perform(tx, &key, submission).await?;
            Ok::<_, Stop>(Projected(IdempotencyDecision::FirstAttempt(SubmitCaseResult::Accepted(submitted))))
        });
        match once.await {
            Ok(answer) => Ok(Submit::Answered(answer)),
            // Nothing was recorded: a fixed submission may come under the same key.
            Err(Stop::Decided(decision)) => Ok(Submit::Decided(decision)),
            Err(Stop::Store(error)) => Err(error),
        }
    }

    async fn perform(&self, tx: &mut SqliteConnection, key: &str, submission: &Submission) -> Result<Submitted, Stop> {
        let known = store::known(tx, submission).await?;
        let warnings = match judge(submission, known, self.today().date()) {
            Verdict::Accept(warnings) => warnings,
            Verdict::Reject(findings) => {
                let rejected = SubmitCaseResult::Rejected { findings };
                return Err(Stop::Decided(IdempotencyDecision::FirstAttempt(rejected)));
            }
            Verdict::Refuse(refused) => return Err(Stop::Decided(IdempotencyDecision::failed(refused))),
        };
        let submitted = self.accepted(warnings);
        match store::insert(tx, key, submission, &submitted).await {
            Ok(()) => Ok(submitted),
            Err(error) if error.code() == CASE_DUPLICATE_SUBMISSION => {
                Err(Stop::Decided(kept_before(tx, key, submission).await?))
            }
            Err(error) => Err(Stop::Store(error)),
        }
    }

    fn accepted(&self, warnings: Vec<Violation>) -> Submitted {
        let id = uuid::Uuid::new_v4().simple().to_string().to_ascii_uppercase();
        Submitted { case_id: format!("CASE-{}", &id[..12]), submitted_at: self.clock.now().to_string(), warnings }
    }

    fn today(&self) -> OffsetDateTime {
        let micros = i128::from(self.clock.now().as_micros());
        OffsetDateTime::from_unix_timestamp_nanos(micros * 1_000).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    /// The case of this id.
    pub async fn find(&self, id: &str) -> Result<Option<Case>> {
        store::case(&self.readers, id).await
    }

    /// Lets what is in flight end.
    pub async fn close(&self) {
        self.ledger.shutdown(Shutdown::Drain { within: Duration::from_secs(5) }).await;
        self.readers.close().await;
    }
}

/// A case stands under the key that the ledger does not know: it was imported, or the ledger's entry was pruned.
async fn kept_before(
    tx: &mut SqliteConnection,
    key: &str,
    submission: &Submission,
) -> Result<IdempotencyDecision, Stop> {
    Ok(match store::submitted(tx, key).await? {
        Some((kept, answer)) if kept == store::as_kept(submission) => {
            IdempotencyDecision::ReplayCompleted(SubmitCaseResult::Duplicate(answer))
        }
        Some(_) | None => IdempotencyDecision::ConflictWithDifferentPayload,
    })
}
