//! The gateway of `onefold serve`: its configuration, its start, and its reload.
//!
//! | file | what it does |
//! |---|---|
//! | `declare` | `[gateway]`, `[[route]]` and `[dependency]` as plain values; each mistake with its place |
//! | `build` | declared routes as a table of the gateway |
//! | `start` | listening, and reading the configuration again |

mod build;
mod declare;
mod start;

pub(crate) use declare::{DeclaredCaller, DeclaredGateway, DeclaredRoute, read};
pub(crate) use start::Running;
