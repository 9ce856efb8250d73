//! Small files: those that survive a power loss (written beside, synced, renamed, and the folder synced), and the pages of
//! events.
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `synced` | replaces a file as a whole |
//! | `position` | how far a ledger had come, remembered outside its database |
//! | `event_pages` | the folder of event pages, compared with contracts |

mod event_pages;
mod position;
mod synced;

pub use event_pages::EventPages;
pub use position::PositionFile;
pub use synced::{finish, replace};
