//! The outbox: which events a relay publishes next, in which order, and what a target's answers change.
//!
//! Every rule here is a pure function; stores and the relay's loop carry out what it decides.
//!
//! | file | rule |
//! |---|---|
//! | `window` | which events lie between two snapshots |
//! | `cursor` | what a lane's holder does with what a poll found |
//! | `page` | what the answers to a page change: cursor, events set aside, a lane that stops |
//! | `aside` | an event that was refused: when it is tried again, who waits behind it, what a person may do |
//! | `pattern` | the event types that a relay wants |
//! | `destination` | the topic that an event is sent to |
//! | `own_table` | a team's own table: names, and what an answer does to a row |
//! | `replay` | what is sent again, within which bounds, and when that ends |

mod aside;
mod cursor;
mod destination;
mod own_table;
mod page;
mod pattern;
mod relay;
mod replay;
mod window;

pub use aside::{AsideEvent, AsideStatus, AsideVerb, PayloadEdit, RelayRetry, SendTime};
pub use cursor::{CursorStep, Found, LaneCursor, Moved};
pub use destination::DestinationTemplate;
pub use own_table::{OwnColumns, OwnTable, RowMark, SqlName};
pub use page::{
    JudgedEvent, LaneHealth, LaneState, PUBLISHED_WITHIN, PageSettlement, TargetUnavailable, WindowEnd, settle,
    settle_asides,
};
pub use pattern::{EventPattern, EventPatterns};
pub use relay::{Begin, RelayName, RelaySpec};
pub use replay::{EventReplay, ReplayFilter, ReplayRefusal, ReplayRequest, ReplaySpec, ReplayState, ReplayedPage};
pub use window::{EventPlace, Horizon, Snapshot, Window};
