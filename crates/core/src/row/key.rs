//! The columns that every table begins with.

use super::cell::{Cell, text};
use super::reader::{Columns, Reader};
use super::table::{Column, ColumnGroup, ColumnType};
use crate::error::Result;
use crate::operation::{KindName, OperationId, OperationKey, Tenant};

const fn column(name: &'static str) -> Column {
    Column { name, holds: ColumnType::Text, group: ColumnGroup::Key }
}

pub(super) const TENANT: Column = column("tenant");
pub(super) const KIND: Column = column("kind");
pub(super) const OPERATION_ID: Column = column("operation_id");

/// The columns of a key.
pub const KEY: [Column; 3] = [TENANT, KIND, OPERATION_ID];

/// Where they are.
enum Place {
    Tenant,
    Kind,
    OperationId,
}

/// The cells of a key.
pub fn key_cells(key: &OperationKey) -> [Cell<'_>; KEY.len()] {
    [text(key.tenant.as_str()), text(key.kind.as_str()), text(key.id.as_str())]
}

/// Whether a row has no key: nothing was joined to it.
pub fn is_absent(row: &impl Columns) -> bool {
    row.text(Place::Tenant as usize) == Ok(None)
}

/// The key that a row begins with.
pub fn key(row: &impl Columns) -> Result<OperationKey> {
    let read = Reader::new(row, &KEY);
    let tenant = read.parsed(Place::Tenant as usize, |text| Tenant::parse(text).ok())?;
    let kind = read.parsed(Place::Kind as usize, |text| KindName::parse(text).ok())?;
    let id = read.parsed(Place::OperationId as usize, |text| OperationId::stored(text).ok())?;
    Ok(OperationKey::new(tenant, kind, id))
}
