//! Tables of the source text as data.

/// One row of a table in the source text.
pub(crate) struct Row<T> {
    /// The row's first cell.
    pub(crate) name: &'static str,
    /// What this service does.
    pub(crate) ours: T,
    /// Where the product or this store differs: the decision record, or what proves the rest.
    pub(crate) note: Option<Note>,
}

/// What a row says beside its answer.
#[derive(Clone, Copy)]
pub(crate) enum Note {
    /// The record in `docs/decisions`.
    Decision(&'static str),
    /// What this store cannot show, and where it is shown.
    ShownElsewhere(&'static str),
}

/// A row that is followed to the letter.
pub(crate) const fn row<T: Copy>(name: &'static str, ours: T) -> Row<T> {
    Row { name, ours, note: None }
}

/// A row with something to say beside it.
pub(crate) const fn noted<T: Copy>(name: &'static str, ours: T, note: Note) -> Row<T> {
    Row { name, ours, note: Some(note) }
}

/// Holds each row to what is seen, and the table to its number of rows.
pub(crate) fn hold<T: PartialEq + std::fmt::Debug>(
    table: &str,
    count: usize,
    rows: &[Row<T>],
    seen: impl Fn(&str) -> T,
) {
    assert_eq!(rows.len(), count, "{table} has {count} rows");
    for row in rows {
        match row.note {
            Some(Note::Decision(record)) => {
                let path = format!("{}/../../docs/decisions/{record}", env!("CARGO_MANIFEST_DIR"));
                assert!(std::path::Path::new(&path).exists(), "{table}: {}: there is no {record}", row.name);
            }
            Some(Note::ShownElsewhere(what)) => println!("{table}: {}: {what}", row.name),
            None => {}
        }
        assert_eq!(seen(row.name), row.ours, "{table}: {}", row.name);
    }
}
