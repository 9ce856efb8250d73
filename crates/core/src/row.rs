//! The ledger as rows: every column is named once, here, for every store and for the archive.
//!
//! A file each for a table: its columns, how they are written and how they are read. Every table begins with the key
//! of its operation. Adding a column is a line of its table, a field of what the row holds, and a migration in each
//! store; statements take their lists of columns from [`expand`].

pub mod attempt;
mod cell;
pub mod incident;
mod key;
mod migrations;
pub mod note;
pub mod operation;
mod reader;
mod statement;
mod table;

pub use cell::{Cell, opt_text, opt_time, text, time};
pub use key::{KEY, is_absent, key, key_cells};
pub use reader::{ColumnValue, Columns, WrongType};
pub use statement::expand;
pub use table::{Column, ColumnGroup, ColumnType};
