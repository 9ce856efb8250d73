//! Small files that survive a power loss: written beside, synced, renamed, and the folder synced.
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `synced` | replaces a file as a whole |
//! | `position` | how far a ledger had come, remembered outside its database |

mod position;
mod synced;

pub use position::PositionFile;
pub use synced::{finish, replace};
