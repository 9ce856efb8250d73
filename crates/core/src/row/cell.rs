//! One value on its way into the database.

use std::borrow::Cow;

use crate::ledger::Digest;
use crate::time::Timestamp;

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

/// The cell of a text that was made for it.
pub(super) fn owned(value: String) -> Cell<'static> {
    Cell::Text(Cow::Owned(value))
}

/// The cell of a text that may be absent.
pub fn opt_text<T: AsRef<str> + ?Sized>(value: Option<&T>) -> Cell<'_> {
    value.map_or(Cell::Null, |value| text(value.as_ref()))
}

/// The cell of a name that may be absent.
pub(super) fn opt_name(value: Option<&'static str>) -> Cell<'static> {
    value.map_or(Cell::Null, text)
}

/// The cell of bytes.
pub(super) fn blob(bytes: &[u8]) -> Cell<'_> {
    Cell::Blob(Cow::Borrowed(bytes))
}

/// The cell of a digest that may be absent.
pub(super) fn opt_digest(digest: Option<&Digest>) -> Cell<'_> {
    digest.map_or(Cell::Null, |digest| blob(&digest.0))
}

/// A time's cell.
pub fn time(at: Timestamp) -> Cell<'static> {
    Cell::Int(at.as_micros())
}

/// The cell of a time that may be absent.
pub fn opt_time(at: Option<Timestamp>) -> Cell<'static> {
    at.map_or(Cell::Null, time)
}

/// A count's cell.
pub(super) fn number(value: u64) -> Cell<'static> {
    Cell::Int(i64::try_from(value).unwrap_or(i64::MAX))
}
