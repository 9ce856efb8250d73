//! What is known of a column, and which of them are written together.

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name, in every store.
    pub name: &'static str,
    /// What it holds.
    pub holds: ColumnType,
    /// When it is written.
    pub group: ColumnGroup,
}

/// What a column holds. Stores know text, numbers and bytes; people read times and digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Text.
    Text,
    /// A number.
    Number,
    /// A time, as microseconds since 1970.
    Time,
    /// Bytes that people read as hexadecimal digits.
    Hex,
    /// Bytes that may be text.
    Bytes,
    /// JSON, as text.
    Json,
}

/// When a column is written. Moving a column to another group changes every statement that lists it; the rows that
/// are stored already need a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnGroup {
    /// What identifies the row.
    Key,
    /// Written with the row, and never again.
    Fixed,
    /// Who holds the grant: a record is written only where these are unchanged.
    Holder,
    /// The rest of what a grant writes and the holder's completion leaves alone.
    Attempt,
    /// Written by the grant and by everything after it.
    State,
    /// Written by the holder's completion, and empty until then.
    Ending,
    /// Written by what goes wrong, and empty otherwise.
    Trouble,
}

/// Columns that a statement lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSet {
    /// Every one.
    All,
    /// What a first grant writes; the rest is empty.
    Granted,
    /// What any transition may change.
    Changing,
    /// The key, then what a transition may change.
    Updating,
    /// What the holder's completion changes, where nothing had gone wrong.
    Settled,
    /// The key and the holder, then what the completion changes.
    Settling,
}

impl ColumnGroup {
    /// Whether a column of this group is in the set.
    pub const fn is_in(self, set: ColumnSet) -> bool {
        match set {
            ColumnSet::All => true,
            ColumnSet::Granted => matches!(self, Self::Key | Self::Fixed | Self::Holder | Self::Attempt | Self::State),
            ColumnSet::Changing => !matches!(self, Self::Key | Self::Fixed),
            ColumnSet::Updating => !matches!(self, Self::Fixed),
            ColumnSet::Settled => matches!(self, Self::State | Self::Ending),
            ColumnSet::Settling => matches!(self, Self::Key | Self::Holder | Self::State | Self::Ending),
        }
    }
}

impl ColumnSet {
    /// The set as a statement names it.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "all" => Self::All,
            "granted" => Self::Granted,
            "changing" => Self::Changing,
            "updating" => Self::Updating,
            "settled" => Self::Settled,
            "settling" => Self::Settling,
            _ => return None,
        })
    }
}

/// The columns of one table: a line each with the column's name, what it holds, its group, and its cell. A table of
/// what belongs to an operation first says where the key of a row is, and begins with its columns.
///
/// Makes `ALL`, the columns in order; `Place`, by which they are read; and `cell`.
macro_rules! table {
    (of $type:ty, key |$key_row:pat_param| $key:expr; $($columns:tt)+) => {
        table! {
            of $type;
            Tenant      "tenant"       Text Key |row| text(key_of(row).tenant.as_str());
            Kind        "kind"         Text Key |row| text(key_of(row).kind.as_str());
            OperationId "operation_id" Text Key |row| text(key_of(row).id.as_str());
            $($columns)+
        }

        fn key_of<'a>($key_row: $type) -> &'a OperationKey {
            $key
        }
    };
    (of $type:ty; $($place:ident $name:literal $holds:ident $group:ident |$row:pat_param| $cell:expr;)+) => {
        /// Where a column is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Place { $($place),+ }

        const PLACES: [Place; ALL.len()] = [$(Place::$place),+];

        impl From<Place> for usize {
            fn from(place: Place) -> Self {
                place as Self
            }
        }

        /// The columns, in order.
        pub const ALL: [Column; [$($name),+].len()] =
            [$(Column { name: $name, holds: ColumnType::$holds, group: ColumnGroup::$group }),+];

        fn cell<'a>(place: Place, row: $type) -> Cell<'a> {
            match place {
                $(Place::$place => { let $row = row; $cell })+
            }
        }
    };
}
pub(super) use table;
