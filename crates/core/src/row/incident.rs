//! The table of incidents: a body of JSON, and beside it what statements look for.

use super::cell::{Cell, opt_time, text, time};
use super::table::{Column, ColumnGroup, ColumnType, table};
use crate::error::{Error, PROGRAMMING_INVARIANT_VIOLATED, Result};
use crate::incident::Incident;

/// An incident on its way into its row.
#[derive(Debug)]
pub struct IncidentRow<'a> {
    incident: &'a Incident,
    body: String,
}

table! {
    of &'a IncidentRow<'a>;
    Id        "id"         Text Key   |row| text(row.incident.id.as_str());
    Tenant    "tenant"     Text Fixed |row| text(row.incident.tenant.as_str());
    Subject   "subject"    Text Fixed |row| text(row.incident.subject.sort.as_str());
    Kind      "kind"       Text Fixed |row| text(row.incident.subject.kind.as_str());
    SubjectId "subject_id" Text Fixed |row| text(&row.incident.subject.id);
    FirstSeen "first_seen" Time Fixed |row| time(row.incident.first_seen);
    GroupKey  "group_key"  Text State |row| text(row.incident.group.as_str());
    ErrorCode "error_code" Text State |row| text(row.incident.error_code.as_str());
    Category  "category"   Text State |row| text(row.incident.category.as_str());
    LastSeen  "last_seen"  Time State |row| time(row.incident.last_seen);
    ClosedAt  "closed_at"  Time State |row| opt_time(row.incident.closed_at);
    Body      "body"       Text State |row| text(&row.body);
}

impl<'a> IncidentRow<'a> {
    /// The row of an incident.
    pub fn new(incident: &'a Incident) -> Result<Self> {
        let body = serde_json::to_string(incident).map_err(|cause| {
            Error::new(PROGRAMMING_INVARIANT_VIOLATED, "an incident cannot be written").caused_by(cause)
        })?;
        Ok(Self { incident, body })
    }

    /// The cells of [`ALL`].
    pub fn cells(&self) -> [Cell<'_>; ALL.len()] {
        PLACES.map(|place| cell(place, self))
    }
}

/// The incident of a stored body.
pub fn read(body: &str) -> Result<Incident> {
    serde_json::from_str(body).map_err(|cause| {
        Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a stored incident cannot be read").caused_by(cause)
    })
}
