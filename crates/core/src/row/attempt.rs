//! The table of past attempts.

use super::cell::{Cell, blob, number, opt_digest, opt_name, opt_text, text, time};
use super::key::key;
use super::reader::{Columns, Reader};
use super::table::{Column, ColumnGroup, ColumnType, table};
use crate::error::{CodeName, Result};
use crate::ledger::{AttemptId, AttemptResult, PastAttempt, SideEffect, Status};
use crate::operation::OperationKey;
use crate::retry::Category;

table! {
    of &'a PastAttempt, key |attempt| &attempt.key;
    Fence            "fence"              Number Key   |attempt| number(attempt.fence);
    AttemptId        "attempt_id"         Hex    Fixed |attempt| blob(attempt.attempt_id.as_bytes());
    Worker           "worker"             Text   Fixed |attempt| text(&attempt.worker);
    StartedAt        "started_at"         Time   Fixed |attempt| time(attempt.started_at);
    Deadline         "deadline"           Time   Fixed |attempt| time(attempt.deadline);
    LastAliveAt      "last_alive_at"      Time   State |attempt| time(attempt.last_alive_at);
    EndedAt          "ended_at"           Time   State |attempt| time(attempt.ended_at);
    Ending           "ending"             Text   State |attempt| text(attempt.ending.as_str());
    Status           "status"             Text   State |attempt| text(attempt.status.as_str());
    ErrorCode        "error_code"         Text   State |attempt| opt_text(attempt.error_code.as_ref().map(CodeName::as_str));
    Category         "category"           Text   State |attempt| opt_name(attempt.category.map(Category::as_str));
    SideEffectStatus "side_effect_status" Text   State |attempt| text(attempt.side_effect.as_str());
    Recorded         "recorded"           Hex    State |attempt| opt_digest(attempt.recorded.as_ref());
    EvidenceRef      "evidence_ref"       Text   State |attempt| opt_text(attempt.evidence_ref.as_ref());
}

/// The cells of [`ALL`].
pub fn cells(attempt: &PastAttempt) -> [Cell<'_>; ALL.len()] {
    PLACES.map(|place| cell(place, attempt))
}

/// The attempt of a row.
pub fn read(row: &impl Columns) -> Result<PastAttempt> {
    let read = Reader::new(row, &ALL);
    Ok(PastAttempt {
        key: key(row)?,
        fence: read.int(Place::Fence)?,
        attempt_id: AttemptId::from_stored(read.bytes(Place::AttemptId)?),
        worker: read.shared(Place::Worker)?,
        started_at: read.time(Place::StartedAt)?,
        deadline: read.time(Place::Deadline)?,
        last_alive_at: read.time(Place::LastAliveAt)?,
        ended_at: read.time(Place::EndedAt)?,
        ending: read.parsed(Place::Ending, AttemptResult::parse)?,
        status: read.parsed(Place::Status, Status::parse)?,
        error_code: read.opt_parsed(Place::ErrorCode, |text| CodeName::parse(text).ok())?,
        category: read.opt_parsed(Place::Category, Category::parse)?,
        side_effect: read.parsed(Place::SideEffectStatus, SideEffect::parse)?,
        recorded: read.opt_digest(Place::Recorded)?,
        evidence_ref: read.opt_shared(Place::EvidenceRef)?,
    })
}
