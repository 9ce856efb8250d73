//! The table of what was said of operations.

use super::cell::{Cell, number, opt_text, text, time};
use super::reader::{Columns, Reader};
use super::table::{Column, ColumnGroup, ColumnType, table};
use crate::error::Result;
use crate::ledger::Note;
use crate::operation::OperationKey;

table! {
    of (&'a OperationKey, &'a Note), key |(key, _)| key;
    At    "at"    Time   Fixed |(_, note)| time(note.at);
    Who   "who"   Text   Fixed |(_, note)| text(&note.who);
    What  "what"  Text   Fixed |(_, note)| text(&note.what);
    Why   "why"   Text   Fixed |(_, note)| opt_text(note.why.as_ref());
    Fence "fence" Number Fixed |(_, note)| number(note.fence);
}

/// The cells of [`ALL`].
pub fn cells<'a>(key: &'a OperationKey, note: &'a Note) -> [Cell<'a>; ALL.len()] {
    PLACES.map(|place| cell(place, (key, note)))
}

/// The note of a row.
pub fn read(row: &impl Columns) -> Result<Note> {
    let read = Reader::new(row, &ALL);
    Ok(Note {
        at: read.time(Place::At)?,
        who: read.shared(Place::Who)?,
        what: read.shared(Place::What)?,
        why: read.opt_shared(Place::Why)?,
        fence: read.int(Place::Fence)?,
    })
}
