//! What a check says to the person who sets a relay up.

use std::time::Duration;

use onefold_core::error::{Error, Result, TARGET_NOT_READY, TARGET_UNAVAILABLE};

use crate::client::Times;
use crate::fault::Fault;

const TOPIC_HINT: &str = "create the topic, and let this user describe it, read its settings and write to it; the relay \
                          creates none";
const USER_HINT: &str = "check the user, the password and the certificates, and that this user may write idempotently";

/// Whether the last request of a page is over before another process may take its lane.
pub(crate) fn times(lease_for: Duration, within: Duration) -> Result<()> {
    if Times::written_within(within) <= lease_for {
        return Ok(());
    }
    Err(Error::new(
        TARGET_NOT_READY,
        format!("a record could be written after its lease: delivery_within is {within:?}, lease_for {lease_for:?}"),
    )
    .hint("lower delivery_within to three quarters of lease_for or less"))
}

/// The error of a check that met this.
pub(crate) fn refused(fault: &Fault, target: &str) -> Error {
    let detail = format!("{target}: {}", fault.reason());
    match fault {
        Fault::Topic { .. } => Error::new(TARGET_NOT_READY, detail).hint(TOPIC_HINT),
        Fault::NotLetIn { .. } => Error::new(TARGET_NOT_READY, detail).hint(USER_HINT),
        Fault::Record { .. } | Fault::Aborted { .. } | Fault::Target { .. } => Error::new(TARGET_UNAVAILABLE, detail),
    }
}
