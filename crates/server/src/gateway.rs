//! The gateway of `onefold serve`: its configuration, its start, and its reload.
//!
//! | file | what it does |
//! |---|---|
//! | `declare` | `[gateway]` and `[[route]]`, with addresses and paths as the gateway reads them |
//! | `build` | declared routes as a table of the gateway |
//! | `start` | listening, and reading the configuration again |

mod build;
mod declare;
mod start;

pub(crate) use declare::{CheckedRoute, DeclaredGateway, read};
pub(crate) use start::{NAME, start};
