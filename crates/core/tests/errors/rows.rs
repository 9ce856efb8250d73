//! What a row of a table says, and what holds here.

/// One row of a table in a source text.
pub(crate) struct Row<T> {
    /// The row's first cell.
    pub(crate) name: &'static str,
    /// What we do.
    pub(crate) ours: T,
    /// The decision record, where we differ from the text.
    pub(crate) differs: Option<&'static str>,
}

/// A row that we follow.
pub(crate) const fn row<T: Copy>(name: &'static str, ours: T) -> Row<T> {
    Row { name, ours, differs: None }
}

/// A row that we differ from, for the reason in this decision record.
pub(crate) const fn differs<T: Copy>(name: &'static str, ours: T, record: &'static str) -> Row<T> {
    Row { name, ours, differs: Some(record) }
}

/// Holds each row to what is computed, and the table to its number of rows.
pub(crate) fn hold<T: PartialEq + std::fmt::Debug>(
    table: &str,
    count: usize,
    rows: &[Row<T>],
    computed: impl Fn(&str) -> T,
) {
    assert_eq!(rows.len(), count, "{table} has {count} rows");
    for row in rows {
        assert_eq!(computed(row.name), row.ours, "{table}: {}", row.name);
        if let Some(record) = row.differs {
            let path = format!("{}/../../docs/decisions/{record}", env!("CARGO_MANIFEST_DIR"));
            assert!(std::path::Path::new(&path).exists(), "{table}: {}: there is no {record}", row.name);
        }
    }
}
