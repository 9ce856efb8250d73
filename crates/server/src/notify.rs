//! Tells a webhook of incidents: signed, at least once, grouped by cause, without payloads.
//!
//! What is to be sent is in the store, so a restart loses nothing and several servers share the work.
//!
//! | file | what it does |
//! |---|---|
//! | `message` | what is sent, and its signature |
//! | `pace` | how often a cause, and all of them, may be told |
//! | `deliver` | sends, and waits longer after each failure |

mod deliver;
mod message;
mod pace;

pub(crate) use deliver::{NAME, start};
