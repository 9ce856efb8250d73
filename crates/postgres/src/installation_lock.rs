//! An installation's name: nothing here can prove that a process is dead.

use onefold_core::port::InstallationLock;

use crate::Postgres;

impl Postgres {
    /// A connection that ended says nothing of its process: it may be alive behind a cut network and still act. So
    /// nobody's leases are settled before they expire.
    pub(crate) fn take_name(_installation: &str) -> InstallationLock {
        InstallationLock::Unproved
    }
}
