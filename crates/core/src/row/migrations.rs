//! The migrations of the ledger: one list, and a text of its own in each store.

/// The migrations that every store has, in the order of their numbers, as `$migration { version, name, sql }`.
///
/// The text is `migrations/NNNN_name.sql` of the calling crate. Where a store has nothing to change, its text is a
/// comment that says so: a number means the same in every store.
#[macro_export]
macro_rules! migrations {
    ($migration:ident) => {
        $crate::migrations! { $migration of
            1 "0001" "create_ledger",
            2 "0002" "create_shared",
            3 "0003" "create_telling",
            4 "0004" "create_position",
            5 "0005" "create_outbox",
        }
    };
    ($migration:ident of $($version:literal $number:literal $name:literal,)+) => {
        &[$($migration {
            version: $version,
            name: $name,
            sql: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/", $number, "_", $name, ".sql")),
        }),+]
    };
}
