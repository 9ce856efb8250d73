//! An operation as a row: one order of columns for every store that keeps rows.
//!
//! The order is that of `queries/ledger/insert.sql` in each store.

use std::borrow::Cow;
use std::str::FromStr as _;
use std::sync::Arc;

use crate::effect::{Contract, EffectClass, Policy};
use crate::error::{CodeName, Error, PROGRAMMING_INVARIANT_VIOLATED, Result};
use crate::fingerprint::{Fingerprint, KeyId, Mode};
use crate::incident::{Incident, IncidentId};
use crate::ledger::{
    Attempt, AttemptId, Digest, Ending, Entry, Note, Origin, SettledBy, SideEffect, Source, Status, StoredResult,
};
use crate::operation::{KindName, OperationId, OperationKey, Tenant};
use crate::ports::{Announcement, IncidentEvent};
use crate::retry::Category;
use crate::time::Timestamp;

/// Rows of announcements, one incident each, gathered by id; the order of the rows is kept.
pub fn announcements(rows: impl IntoIterator<Item = (String, IncidentEvent, Incident)>) -> Vec<Announcement> {
    let mut gathered: Vec<Announcement> = Vec::new();
    for (id, event, incident) in rows {
        match gathered.iter_mut().find(|known| *known.id == *id) {
            Some(known) => known.incidents.push(incident),
            None => gathered.push(Announcement { id: Arc::from(id), event, incidents: vec![incident] }),
        }
    }
    gathered
}

/// One value on its way into the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell<'a> {
    /// Nothing.
    Null,
    /// A number, or a time in microseconds since 1970.
    Int(i64),
    /// Text.
    Text(Cow<'a, str>),
    /// Bytes.
    Blob(Cow<'a, [u8]>),
}

/// A text's cell.
pub fn text(value: &str) -> Cell<'_> {
    Cell::Text(Cow::Borrowed(value))
}

/// The cell of a text that may be absent.
pub fn opt_text<T: AsRef<str> + ?Sized>(value: Option<&T>) -> Cell<'_> {
    value.map_or(Cell::Null, |value| text(value.as_ref()))
}

/// The cell of bytes.
pub fn blob(bytes: &[u8]) -> Cell<'_> {
    Cell::Blob(Cow::Borrowed(bytes))
}

/// A time's cell.
pub fn time(at: Timestamp) -> Cell<'static> {
    Cell::Int(at.as_micros())
}

/// The cell of a time that may be absent.
pub fn opt_time(at: Option<Timestamp>) -> Cell<'static> {
    at.map_or(Cell::Null, time)
}

fn opt_digest(digest: Option<&Digest>) -> Cell<'_> {
    digest.map_or(Cell::Null, |digest| blob(&digest.0))
}

/// A count's cell.
pub fn number(value: u64) -> Cell<'static> {
    Cell::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The columns of an entry, in the order of `queries/ledger/insert.sql`.
pub fn cells(entry: &Entry) -> [Cell<'_>; 49] {
    let origin = &entry.origin;
    let [result, result_type, result_bytes, result_digest, result_ref] = result_cells(entry.result.as_ref());
    [
        text(entry.key.tenant.as_str()),
        text(entry.key.kind.as_str()),
        text(entry.key.id.as_str()),
        blob(&entry.fingerprint.digest),
        match &entry.fingerprint.mode {
            Mode::Raw => text("raw.1"),
            mode @ (Mode::Canonical | Mode::Fields(_)) => Cell::Text(Cow::Owned(mode.to_string())),
        },
        Cell::Int(i64::from(entry.fingerprint.key_id.0)),
        text(origin.source.as_str()),
        opt_text(origin.business_key.as_ref()),
        opt_text(origin.correlation_id.as_ref()),
        opt_text(origin.process_id.as_ref()),
        opt_text(origin.definition_key.as_ref()),
        opt_text(origin.definition_version.as_ref()),
        opt_text(origin.process_instance_key.as_ref()),
        opt_text(origin.element_id.as_ref()),
        opt_text(origin.job_key.as_ref()),
        time(entry.created_at),
        text(entry.status.as_str()),
        text(entry.contract.class().as_str()),
        Cell::Text(Cow::Owned(entry.contract.policy().to_string())),
        number(entry.fence),
        blob(entry.attempt_id.as_bytes()),
        opt_text(entry.installation.as_ref()),
        text(&entry.worker),
        time(entry.deadline),
        time(entry.lease_until),
        Cell::Int(i64::from(entry.attempts)),
        time(entry.first_attempt_at),
        time(entry.attempt_started_at),
        opt_time(entry.next_attempt_at),
        opt_time(entry.escalate_at),
        opt_time(entry.unknown_since),
        opt_time(entry.next_ask_at),
        Cell::Int(i64::from(entry.asks)),
        result,
        result_type,
        result_bytes,
        result_digest,
        result_ref,
        opt_text(entry.evidence_ref.as_ref()),
        entry.error_code.as_ref().map_or(Cell::Null, |code| text(code.as_str())),
        entry.category.map_or(Cell::Null, |category| text(category.as_str())),
        opt_text(entry.dependency.as_ref()),
        text(entry.side_effect.as_str()),
        opt_digest(entry.recorded.as_ref()),
        entry.settled_by.map_or(Cell::Null, |by| text(by.as_str())),
        opt_text(entry.approved_by.as_ref()),
        entry.incident.as_ref().map_or(Cell::Null, |id| text(id.as_str())),
        time(entry.updated_at),
        opt_time(entry.completed_at),
    ]
}

/// The columns of `queries/ledger/settle.sql`, if nothing else differs between the two entries.
pub fn settled_cells<'a>(before: &Entry, after: &'a Entry) -> Option<[Cell<'a>; 19]> {
    let only_settled = Entry {
        status: after.status,
        contract: after.contract.clone(),
        result: after.result.clone(),
        evidence_ref: after.evidence_ref.clone(),
        side_effect: after.side_effect,
        recorded: after.recorded,
        settled_by: after.settled_by,
        updated_at: after.updated_at,
        completed_at: after.completed_at,
        ..before.clone()
    };
    if only_settled != *after {
        return None;
    }
    let [tenant, kind, id] = key_cells(&after.key);
    let [result, result_type, result_bytes, result_digest, result_ref] = result_cells(after.result.as_ref());
    Some([
        tenant,
        kind,
        id,
        text(after.status.as_str()),
        text(after.contract.class().as_str()),
        Cell::Text(Cow::Owned(after.contract.policy().to_string())),
        result,
        result_type,
        result_bytes,
        result_digest,
        result_ref,
        opt_text(after.evidence_ref.as_ref()),
        text(after.side_effect.as_str()),
        opt_digest(after.recorded.as_ref()),
        after.settled_by.map_or(Cell::Null, |by| text(by.as_str())),
        time(after.updated_at),
        opt_time(after.completed_at),
        number(after.fence),
        blob(after.attempt_id.as_bytes()),
    ])
}

fn result_cells(result: Option<&StoredResult>) -> [Cell<'_>; 5] {
    match result {
        None => [Cell::Null, Cell::Null, Cell::Null, Cell::Null, Cell::Null],
        Some(StoredResult::Kept { content_type, bytes }) => {
            // Read back with the bytes: what was changed on the disk is told from what was recorded.
            let digest = Cell::Blob(Cow::Owned(Digest::of(bytes).0.to_vec()));
            [blob(bytes), text(content_type), Cell::Null, digest, Cell::Null]
        }
        Some(StoredResult::Damaged { content_type, bytes, digest }) => {
            [blob(bytes), text(content_type), Cell::Null, blob(&digest.0), Cell::Null]
        }
        Some(StoredResult::Digest { content_type, bytes, digest, reference }) => {
            [Cell::Null, opt_text(content_type.as_ref()), number(*bytes), blob(&digest.0), opt_text(reference.as_ref())]
        }
    }
}

/// The columns of an incident, in the order of `queries/incident/write.sql`; its body is its JSON.
pub fn incident_cells(incident: &Incident) -> Result<[Cell<'_>; 10]> {
    let body = serde_json::to_string(incident).map_err(|cause| {
        Error::new(PROGRAMMING_INVARIANT_VIOLATED, "an incident cannot be written").caused_by(cause)
    })?;
    Ok([
        text(incident.id.as_str()),
        text(incident.tenant.as_str()),
        text(incident.kind.as_str()),
        text(incident.operation_id.as_str()),
        text(incident.group.as_str()),
        text(incident.error_code.as_str()),
        time(incident.first_seen),
        time(incident.last_seen),
        opt_time(incident.closed_at),
        Cell::Text(Cow::Owned(body)),
    ])
}

/// The incident of a stored body.
pub fn incident(body: &str) -> Result<Incident> {
    serde_json::from_str(body).map_err(|cause| {
        Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a stored incident cannot be read").caused_by(cause)
    })
}

/// The columns of a note, in the order of `queries/ledger/add_note.sql`.
pub fn note_cells<'a>(key: &'a OperationKey, note: &'a Note) -> [Cell<'a>; 8] {
    let [tenant, kind, id] = key_cells(key);
    let why = opt_text(note.why.as_ref());
    [tenant, kind, id, time(note.at), text(&note.who), text(&note.what), why, number(note.fence)]
}

/// The columns of a result that is dropped: those of its key, then those of an entry's result.
pub fn dropped_result_cells<'a>(key: &'a OperationKey, result: &'a StoredResult) -> [Cell<'a>; 8] {
    let [tenant, kind, id] = key_cells(key);
    let [bytes, content_type, size, digest, reference] = result_cells(Some(result));
    [tenant, kind, id, bytes, content_type, size, digest, reference]
}

/// The key's three columns.
pub fn key_cells(key: &OperationKey) -> [Cell<'_>; 3] {
    [text(key.tenant.as_str()), text(key.kind.as_str()), text(key.id.as_str())]
}

/// The columns of an attempt, in the order of `queries/ledger/keep_attempt.sql`.
pub fn attempt_cells(attempt: &Attempt) -> [Cell<'_>; 17] {
    let [tenant, kind, id] = key_cells(&attempt.key);
    [
        tenant,
        kind,
        id,
        number(attempt.fence),
        blob(attempt.attempt_id.as_bytes()),
        text(&attempt.worker),
        time(attempt.started_at),
        time(attempt.deadline),
        time(attempt.last_alive_at),
        time(attempt.ended_at),
        text(attempt.ending.as_str()),
        text(attempt.status.as_str()),
        attempt.error_code.as_ref().map_or(Cell::Null, |code| text(code.as_str())),
        attempt.category.map_or(Cell::Null, |category| text(category.as_str())),
        text(attempt.side_effect.as_str()),
        opt_digest(attempt.recorded.as_ref()),
        opt_text(attempt.evidence_ref.as_ref()),
    ]
}

/// A value of a row: there, not there, or of another type than its column says.
pub type Found<T> = Result<Option<T>, WrongType>;

/// A value that cannot be what its column says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongType;

/// A row of whatever driver.
pub trait Columns {
    /// The number in this column.
    fn int(&self, at: usize) -> Found<i64>;
    /// The text in this column.
    fn text(&self, at: usize) -> Found<&str>;
    /// The bytes in this column.
    fn blob(&self, at: usize) -> Found<&[u8]>;
}

/// Reads columns one after the other; a value that cannot be is an error that names its column.
struct Reader<'a, C> {
    row: &'a C,
    at: usize,
}

impl<'a, C: Columns> Reader<'a, C> {
    /// The next column, where it is there and reads as it should.
    fn optional<V, T>(
        &mut self,
        get: impl FnOnce(&'a C, usize) -> Found<V>,
        read: impl FnOnce(V) -> Option<T>,
    ) -> Result<Option<T>> {
        let at = self.at;
        self.at += 1;
        let unreadable =
            || Error::new(PROGRAMMING_INVARIANT_VIOLATED, format!("column {at} of a stored row cannot be read"));
        match get(self.row, at) {
            Ok(None) => Ok(None),
            Ok(Some(value)) => read(value).map(Some).ok_or_else(unreadable),
            Err(WrongType) => Err(unreadable()),
        }
    }
    fn required<V, T>(
        &mut self,
        get: impl FnOnce(&'a C, usize) -> Found<V>,
        read: impl FnOnce(V) -> Option<T>,
    ) -> Result<T> {
        let at = self.at;
        let absent = || Error::new(PROGRAMMING_INVARIANT_VIOLATED, format!("column {at} of a stored row is absent"));
        self.optional(get, read)?.ok_or_else(absent)
    }
    fn text(&mut self) -> Result<&'a str> {
        self.required(C::text, Some)
    }
    fn shared(&mut self) -> Result<Option<Arc<str>>> {
        self.optional(C::text, |text| Some(Arc::from(text)))
    }
    fn parsed<T>(&mut self, parse: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        self.required(C::text, parse)
    }
    fn opt_parsed<T>(&mut self, parse: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>> {
        self.optional(C::text, parse)
    }
    fn int<T: TryFrom<i64>>(&mut self) -> Result<T> {
        self.required(C::int, |value| T::try_from(value).ok())
    }
    fn time(&mut self) -> Result<Timestamp> {
        self.int::<i64>().map(Timestamp::from_micros)
    }
    fn opt_time(&mut self) -> Result<Option<Timestamp>> {
        self.optional(C::int, |micros| Some(Timestamp::from_micros(micros)))
    }
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.required(C::blob, |bytes| bytes.try_into().ok())
    }
    fn opt_digest(&mut self) -> Result<Option<Digest>> {
        self.optional(C::blob, |bytes| bytes.try_into().ok().map(Digest))
    }
    fn key(&mut self) -> Result<OperationKey> {
        let tenant = self.parsed(|text| Tenant::parse(text).ok())?;
        let kind = self.parsed(|text| KindName::parse(text).ok())?;
        Ok(OperationKey::new(tenant, kind, self.parsed(|text| OperationId::stored(text).ok())?))
    }
    fn contract(&mut self) -> Result<Contract> {
        let class = self.parsed(|text| EffectClass::parse(text).ok())?;
        self.parsed(|text| Contract::new(class, Policy::parse(text).ok()?).ok())
    }
    fn result(&mut self) -> Result<Option<StoredResult>> {
        let bytes = self.optional(C::blob, Some)?;
        let content_type = self.shared()?;
        let size = self.optional(C::int, Some)?;
        let digest = self.opt_digest()?;
        let reference = self.shared()?;
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
}

/// The entry of a row whose columns are those of `queries/ledger/find.sql`.
pub fn entry(row: &impl Columns) -> Result<Entry> {
    let mut read = Reader { row, at: 0 };
    let key = read.key()?;
    let digest = read.bytes()?;
    let mode = read.parsed(|text| Mode::from_str(text).ok())?;
    let fingerprint = Fingerprint { mode, key_id: KeyId(read.int()?), digest };
    let origin = Origin {
        source: read.parsed(Source::parse)?,
        business_key: read.shared()?,
        correlation_id: read.shared()?,
        process_id: read.shared()?,
        definition_key: read.shared()?,
        definition_version: read.shared()?,
        process_instance_key: read.shared()?,
        element_id: read.shared()?,
        job_key: read.shared()?,
    };
    let created_at = read.time()?;
    Ok(Entry {
        key,
        fingerprint,
        origin,
        created_at,
        status: read.parsed(Status::parse)?,
        contract: read.contract()?,
        fence: read.int()?,
        attempt_id: AttemptId::from_stored(read.bytes()?),
        installation: read.shared()?,
        worker: Arc::from(read.text()?),
        deadline: read.time()?,
        lease_until: read.time()?,
        attempts: read.int()?,
        first_attempt_at: read.time()?,
        attempt_started_at: read.time()?,
        next_attempt_at: read.opt_time()?,
        escalate_at: read.opt_time()?,
        unknown_since: read.opt_time()?,
        next_ask_at: read.opt_time()?,
        asks: read.int()?,
        result: read.result()?,
        evidence_ref: read.shared()?,
        error_code: read.opt_parsed(|text| CodeName::parse(text).ok())?,
        category: read.opt_parsed(Category::parse)?,
        dependency: read.shared()?,
        side_effect: read.parsed(SideEffect::parse)?,
        recorded: read.opt_digest()?,
        settled_by: read.opt_parsed(SettledBy::parse)?,
        approved_by: read.shared()?,
        incident: read.opt_parsed(|text| Some(IncidentId::stored(text)))?,
        updated_at: read.time()?,
        completed_at: read.opt_time()?,
    })
}

/// The result in the first five columns of a row.
pub fn result(row: &impl Columns) -> Result<Option<StoredResult>> {
    Reader { row, at: 0 }.result()
}

/// The key in the first three columns of a row.
pub fn key(row: &impl Columns) -> Result<OperationKey> {
    Reader { row, at: 0 }.key()
}

/// The attempt of a row whose columns are those of `queries/ledger/find_attempt.sql`.
pub fn attempt(row: &impl Columns) -> Result<Attempt> {
    let mut read = Reader { row, at: 0 };
    Ok(Attempt {
        key: read.key()?,
        fence: read.int()?,
        attempt_id: AttemptId::from_stored(read.bytes()?),
        worker: Arc::from(read.text()?),
        started_at: read.time()?,
        deadline: read.time()?,
        last_alive_at: read.time()?,
        ended_at: read.time()?,
        ending: read.parsed(Ending::parse)?,
        status: read.parsed(Status::parse)?,
        error_code: read.opt_parsed(|text| CodeName::parse(text).ok())?,
        category: read.opt_parsed(Category::parse)?,
        side_effect: read.parsed(SideEffect::parse)?,
        recorded: read.opt_digest()?,
        evidence_ref: read.shared()?,
    })
}

/// The note of a row whose columns are those of `queries/ledger/list_notes.sql`.
pub fn note(row: &impl Columns) -> Result<Note> {
    let mut read = Reader { row, at: 0 };
    Ok(Note {
        at: read.time()?,
        who: Arc::from(read.text()?),
        what: Arc::from(read.text()?),
        why: read.shared()?,
        fence: read.int()?,
    })
}
