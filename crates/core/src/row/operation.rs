//! The table of operations: what every operation writes has a column, what is rare shares one.

mod details;
mod terms;

use std::borrow::Cow;
use std::sync::Arc;

use super::cell::{Cell, blob, number, opt_digest, opt_text, opt_time, owned, text, time};
use super::key::key;
use super::reader::{Columns, Reader};
use super::table::{Column, ColumnGroup, ColumnSet, ColumnType, table};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::incident::IncidentId;
use crate::ledger::{AttemptId, Digest, Entry, Origin, Status, StoredResult};
use crate::operation::OperationKey;
use details::{Details, UsualFields};
use terms::{ReadTerms, RowTerms};

table! {
    of &'a Entry, key |entry| &entry.key;
    Fingerprint         "fingerprint"          Hex    Fixed   |entry| blob(&entry.fingerprint.digest);
    BusinessKey         "business_key"         Text   Fixed   |entry| opt_text(entry.origin.business_key.as_ref());
    CorrelationId       "correlation_id"       Text   Fixed   |entry| opt_text(entry.origin.correlation_id.as_ref());
    ProcessInstanceKey  "process_instance_key" Text   Fixed   |entry| opt_text(entry.origin.process_instance_key.as_ref());
    CreatedAt           "created_at"           Time   Fixed   |entry| time(entry.created_at);
    Fence               "fence"                Number Holder  |entry| number(entry.fence);
    AttemptId           "attempt_id"           Hex    Holder  |entry| blob(entry.attempt_id.as_bytes());
    Installation        "installation"         Text   Attempt |entry| opt_text(entry.installation.as_ref());
    Worker              "worker"               Text   Attempt |entry| text(&entry.worker);
    Deadline            "deadline"             Time   Attempt |entry| time(entry.deadline);
    LeaseUntil          "lease_until"          Time   Attempt |entry| time(entry.lease_until);
    Terms               "terms"                Json   Attempt |entry| owned(RowTerms::of(entry).text());
    Status              "status"               Text   State   |entry| text(entry.status.as_str());
    Details             "details"              Json   State   |entry| Details::of(entry).text().map_or(Cell::Null, owned);
    Result              "result"               Bytes  Ending  |entry| result_bytes(entry.result.as_ref());
    ResultType          "result_type"          Text   Ending  |entry| result_type(entry.result.as_ref());
    ResultBytes         "result_bytes"         Number Ending  |entry| result_size(entry.result.as_ref());
    ResultDigest        "result_digest"        Hex    Ending  |entry| result_digest(entry.result.as_ref());
    ResultRef           "result_ref"           Text   Ending  |entry| result_ref(entry.result.as_ref());
    EvidenceRef         "evidence_ref"         Text   Ending  |entry| opt_text(entry.evidence_ref.as_ref());
    Recorded            "recorded"             Hex    Ending  |entry| opt_digest(entry.recorded.as_ref());
    CompletedAt         "completed_at"         Time   Ending  |entry| opt_time(entry.completed_at);
    EscalateAt          "escalate_at"          Time   Trouble |entry| opt_time(entry.escalate_at);
    NextAskAt           "next_ask_at"          Time   Trouble |entry| opt_time(entry.next_ask_at);
    IncidentId          "incident_id"          Text   Trouble |entry| opt_text(entry.incident.as_ref().map(IncidentId::as_str));
}

/// The entry of a row.
pub fn read(row: &impl Columns) -> Result<Entry> {
    let read = Reader::new(row, &ALL);
    let terms = read.parsed(Place::Terms, ReadTerms::parse)?;
    let details = read.opt_parsed(Place::Details, Details::parse)?.unwrap_or_default();
    let status = read.parsed(Place::Status, Status::parse)?;
    let (created_at, completed_at) = (read.time(Place::CreatedAt)?, read.opt_time(Place::CompletedAt)?);
    let recorded = read.opt_digest(Place::Recorded)?;
    let usual = details.over(&UsualFields::plain(status, created_at, completed_at, recorded.as_ref()));
    Ok(Entry {
        key: key(row)?,
        fingerprint: Fingerprint { digest: read.bytes(Place::Fingerprint)?, mode: terms.mode, key_id: terms.key_id },
        origin: Origin {
            source: terms.source,
            business_key: read.opt_shared(Place::BusinessKey)?,
            correlation_id: read.opt_shared(Place::CorrelationId)?,
            process_id: details.process_id,
            definition_key: details.definition_key,
            definition_version: details.definition_version,
            process_instance_key: read.opt_shared(Place::ProcessInstanceKey)?,
            element_id: details.element_id,
            job_key: details.job_key,
        },
        created_at,
        fence: read.int(Place::Fence)?,
        attempt_id: AttemptId::from_stored(read.bytes(Place::AttemptId)?),
        installation: read.opt_shared(Place::Installation)?,
        worker: read.shared(Place::Worker)?,
        deadline: read.time(Place::Deadline)?,
        lease_until: read.time(Place::LeaseUntil)?,
        attempts: usual.attempts,
        first_attempt_at: usual.first_attempt_at,
        attempt_started_at: usual.attempt_started_at,
        asks: usual.asks,
        status,
        contract: terms.contract,
        side_effect: usual.side_effect,
        updated_at: usual.updated_at,
        result: result(row)?,
        evidence_ref: read.opt_shared(Place::EvidenceRef)?,
        recorded,
        settled_by: usual.settled_by,
        completed_at,
        next_attempt_at: details.next_attempt_at,
        escalate_at: read.opt_time(Place::EscalateAt)?,
        unknown_since: details.unknown_since,
        next_ask_at: read.opt_time(Place::NextAskAt)?,
        error_code: details.error_code,
        category: details.category,
        dependency: details.dependency,
        approved_by: details.approved_by,
        incident: read.opt_parsed(Place::IncidentId, |text| Some(IncidentId::stored(text)))?,
    })
}

/// The result of a row.
pub fn result(row: &impl Columns) -> Result<Option<StoredResult>> {
    let read = Reader::new(row, &ALL);
    let bytes = read.optional(Place::Result, Columns::blob, Some)?;
    let content_type = read.opt_shared(Place::ResultType)?;
    let size = read.optional(Place::ResultBytes, Columns::int, Some)?;
    let digest = read.opt_digest(Place::ResultDigest)?;
    let reference = read.opt_shared(Place::ResultRef)?;
    Ok(match (bytes, content_type, size, digest) {
        (Some(bytes), Some(content_type), _, digest) => {
            Some(StoredResult::verified(content_type, Arc::from(bytes), digest))
        }
        (_, content_type, Some(size), Some(digest)) => {
            let bytes = u64::try_from(size).unwrap_or(0);
            Some(StoredResult::Digest { content_type, bytes, digest, reference })
        }
        _ => None,
    })
}

const fn count(set: ColumnSet) -> usize {
    let (mut counted, mut at) = (0, 0);
    while at < ALL.len() {
        counted += ALL[at].group.is_in(set) as usize;
        at += 1;
    }
    counted
}

/// The places of a set, in order.
const fn places<const N: usize>(set: ColumnSet) -> [Place; N] {
    let mut places = [Place::Tenant; N];
    let (mut counted, mut at) = (0, 0);
    while at < ALL.len() {
        if ALL[at].group.is_in(set) {
            places[counted] = PLACES[at];
            counted += 1;
        }
        at += 1;
    }
    places
}

const fn columns<const N: usize>(set: [Place; N]) -> [Column; N] {
    let mut columns = [ALL[0]; N];
    let mut at = 0;
    while at < N {
        columns[at] = ALL[set[at] as usize];
        at += 1;
    }
    columns
}

const GRANTED_PLACES: [Place; count(ColumnSet::Granted)] = places(ColumnSet::Granted);
const UPDATING_PLACES: [Place; count(ColumnSet::Updating)] = places(ColumnSet::Updating);
const SETTLING_PLACES: [Place; count(ColumnSet::Settling)] = places(ColumnSet::Settling);

/// The columns that a first grant writes.
pub const GRANTED: [Column; GRANTED_PLACES.len()] = columns(GRANTED_PLACES);
/// The columns of an update: the key, then what a transition may change.
pub const UPDATING: [Column; UPDATING_PLACES.len()] = columns(UPDATING_PLACES);
/// The columns of a settlement: the key, the holder, then what the holder's completion changes.
pub const SETTLING: [Column; SETTLING_PLACES.len()] = columns(SETTLING_PLACES);

/// The cells of [`ALL`].
pub fn cells(entry: &Entry) -> [Cell<'_>; ALL.len()] {
    PLACES.map(|place| cell(place, entry))
}

/// The cells of [`GRANTED`].
pub fn granted_cells(entry: &Entry) -> [Cell<'_>; GRANTED.len()] {
    GRANTED_PLACES.map(|place| cell(place, entry))
}

/// The cells of [`UPDATING`].
pub fn updating_cells(entry: &Entry) -> [Cell<'_>; UPDATING.len()] {
    UPDATING_PLACES.map(|place| cell(place, entry))
}

/// The cells of [`SETTLING`].
pub fn settling_cells(entry: &Entry) -> [Cell<'_>; SETTLING.len()] {
    SETTLING_PLACES.map(|place| cell(place, entry))
}

/// Whether a settlement is all that is between the two entries.
pub fn only_settles(before: &Entry, after: &Entry) -> bool {
    let settled = |place: &Place| ALL[*place as usize].group.is_in(ColumnSet::Settled);
    let mut others = PLACES.into_iter().filter(|place| !settled(place));
    others.all(|place| {
        // The terms are compared before they are written as text, which a settlement does not do.
        if place == Place::Terms {
            RowTerms::of(before) == RowTerms::of(after)
        } else {
            cell(place, before) == cell(place, after)
        }
    })
}

const RESULT_PLACES: [Place; 8] = [
    Place::Tenant,
    Place::Kind,
    Place::OperationId,
    Place::Result,
    Place::ResultType,
    Place::ResultBytes,
    Place::ResultDigest,
    Place::ResultRef,
];

/// The key and the columns of the result.
pub const RESULT: [Column; RESULT_PLACES.len()] = columns(RESULT_PLACES);

/// The cells of [`RESULT`].
pub fn result_cells<'a>(key: &'a OperationKey, result: &'a StoredResult) -> [Cell<'a>; RESULT.len()] {
    let [tenant, kind, id] = super::key_cells(key);
    let result = Some(result);
    [
        tenant,
        kind,
        id,
        result_bytes(result),
        result_type(result),
        result_size(result),
        result_digest(result),
        result_ref(result),
    ]
}

fn result_bytes(result: Option<&StoredResult>) -> Cell<'_> {
    match result {
        Some(StoredResult::Kept { bytes, .. } | StoredResult::Damaged { bytes, .. }) => blob(bytes),
        Some(StoredResult::Digest { .. }) | None => Cell::Null,
    }
}

fn result_type(result: Option<&StoredResult>) -> Cell<'_> {
    match result {
        Some(StoredResult::Kept { content_type, .. } | StoredResult::Damaged { content_type, .. }) => {
            text(content_type)
        }
        Some(StoredResult::Digest { content_type, .. }) => opt_text(content_type.as_ref()),
        None => Cell::Null,
    }
}

/// The size of a result that is not kept.
fn result_size(result: Option<&StoredResult>) -> Cell<'_> {
    match result {
        Some(StoredResult::Digest { bytes, .. }) => number(*bytes),
        Some(StoredResult::Kept { .. } | StoredResult::Damaged { .. }) | None => Cell::Null,
    }
}

/// Read back with the bytes: what was changed on the disk is told from what was recorded.
fn result_digest(result: Option<&StoredResult>) -> Cell<'_> {
    match result {
        Some(StoredResult::Kept { bytes, .. }) => Cell::Blob(Cow::Owned(Digest::of(bytes).0.to_vec())),
        Some(StoredResult::Damaged { digest, .. } | StoredResult::Digest { digest, .. }) => blob(&digest.0),
        None => Cell::Null,
    }
}

fn result_ref(result: Option<&StoredResult>) -> Cell<'_> {
    match result {
        Some(StoredResult::Digest { reference, .. }) => opt_text(reference.as_ref()),
        Some(StoredResult::Kept { .. } | StoredResult::Damaged { .. }) | None => Cell::Null,
    }
}
