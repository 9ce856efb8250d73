//! The service's own tables, and what a broken constraint of theirs means.

use onefold::error::{DATABASE_CORRUPT, Error, Result};
use onefold::persistence::Constraints;
use onefold::store::{Sqlite, sqlite_fault};
use serde::Serialize;
use sqlx::{Row as _, SqliteConnection, SqlitePool};

use crate::domain::CaseStatus;
use crate::errors::{CASE_DUPLICATE_SUBMISSION, CASE_INVALID_STATE, CASE_VALIDATION_REJECTED};
use crate::request::Submission;
use crate::result::Submitted;
use crate::rules::{Known, Standing};

const MIGRATIONS: [&str; 2] =
    [include_str!("../migrations/0001_create_cases.sql"), include_str!("../migrations/0002_add_actors.sql")];
const ACTOR: &str = include_str!("../queries/actor.sql");
const STATUS: &str = include_str!("../queries/status.sql");
const SUBMITTED: &str = include_str!("../queries/submitted.sql");
const CASE: &str = include_str!("../queries/case.sql");
const INSERT: &str = include_str!("../queries/insert.sql");

/// What each constraint means, said once. Another one is a defect of this service.
pub fn constraints() -> Constraints {
    Constraints::new()
        .map("cases.idempotency_key", CASE_DUPLICATE_SUBMISSION)
        .map("case_title_given", CASE_VALIDATION_REJECTED)
        .map("case_status_known", CASE_INVALID_STATE)
}

fn translate(cause: sqlx::Error) -> Error {
    constraints().error(&sqlite_fault(&cause)).caused_by(cause)
}

/// A case as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    /// Its id.
    pub case_id: String,
    /// What it is about.
    pub title: String,
    /// Whom it is about.
    pub subject: String,
    /// Who submitted it.
    pub submitted_by: String,
    /// Its state.
    pub status: String,
    /// Since when it is here.
    pub submitted_at: String,
}

/// Creates what is not there yet.
pub(crate) async fn migrate(store: &Sqlite) -> Result<()> {
    let created = store.transaction(async |tx| {
        for migration in MIGRATIONS {
            sqlx::raw_sql(migration).execute(&mut *tx).await.map_err(translate)?;
        }
        Ok(())
    });
    created.await.map(onefold::store::Committed::into_inner)
}

/// What the store knows of what a submission refers to.
pub(crate) async fn known(tx: &mut SqliteConnection, submission: &Submission) -> Result<Known> {
    let standing = text(tx, ACTOR, &submission.submitted_by).await?;
    let status = match &submission.supplements {
        Some(case_id) => text(tx, STATUS, case_id).await?,
        None => None,
    };
    let submitter = standing.map(|name| if name == "ACTIVE" { Standing::Active } else { Standing::Suspended });
    let supplemented = match status {
        Some(name) => Some(CaseStatus::parse(&name).ok_or_else(|| Error::new(DATABASE_CORRUPT, "a case's status"))?),
        None => None,
    };
    Ok(Known { submitter, supplemented })
}

async fn text(tx: &mut SqliteConnection, query: &'static str, id: &str) -> Result<Option<String>> {
    sqlx::query_scalar(query).bind(id.to_owned()).fetch_optional(tx).await.map_err(translate)
}

/// Keeps a case. One that is kept under the key already is `CASE_DUPLICATE_SUBMISSION`.
pub(crate) async fn insert(
    tx: &mut SqliteConnection,
    key: &str,
    submission: &Submission,
    answer: &Submitted,
) -> Result<()> {
    let inserted = sqlx::query(INSERT)
        .bind(answer.case_id.clone())
        .bind(key.to_owned())
        .bind(submission.title.clone())
        .bind(submission.subject.clone())
        .bind(submission.submitted_by.clone())
        .bind(CaseStatus::Submitted.as_str())
        .bind(answer.submitted_at.clone())
        .bind(as_kept(submission))
        .bind(serde_json::json!(answer).to_string())
        .execute(tx);
    inserted.await.map(drop).map_err(translate)
}

/// The text that a submission is kept and compared as.
pub fn as_kept(submission: &Submission) -> String {
    serde_json::json!(submission).to_string()
}

/// The submission that is kept under a key, and what it was answered.
pub(crate) async fn submitted(tx: &mut SqliteConnection, key: &str) -> Result<Option<(String, Submitted)>> {
    let found = sqlx::query(SUBMITTED).bind(key.to_owned()).fetch_optional(tx).await.map_err(translate)?;
    let Some(row) = found else { return Ok(None) };
    let (submission, answer): (String, String) =
        (row.try_get(0).map_err(translate)?, row.try_get(1).map_err(translate)?);
    let answer = serde_json::from_str(&answer)
        .map_err(|cause| Error::new(DATABASE_CORRUPT, "an answer that was kept").caused_by(cause))?;
    Ok(Some((submission, answer)))
}

/// The case of this id.
pub(crate) async fn case(pool: &SqlitePool, id: &str) -> Result<Option<Case>> {
    let found = sqlx::query(CASE).bind(id.to_owned()).fetch_optional(pool).await.map_err(translate)?;
    let Some(row) = found else { return Ok(None) };
    let column = |at: usize| row.try_get::<String, _>(at).map_err(translate);
    Ok(Some(Case {
        case_id: column(0)?,
        title: column(1)?,
        subject: column(2)?,
        submitted_by: column(3)?,
        status: column(4)?,
        submitted_at: column(5)?,
    }))
}
