//! Every limit and interval of the runtime, each with its unit.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::operation::Tenant;
use onefold_core::port::{Clock, Faults, NoFaults, Random};

use crate::ledger::journal::Journal;
use crate::system::{SystemClock, SystemRandom};

/// How a ledger runs. `Settings::default()` is right for a service on one machine.
#[derive(Clone)]
pub struct Settings {
    /// The name under which this process' own leases are settled by its next life. Two living
    /// processes never share one. Without a name, or on a store that cannot prove a process dead
    /// (PostgreSQL), leases of a dead process expire.
    pub installation: Option<String>,
    /// Shown to people beside each attempt; made from host and process id unless given.
    pub worker: Option<String>,
    /// For whom operations are, unless a call says otherwise.
    pub tenant: Tenant,
    /// Where outcomes wait that could not be recorded; none means memory only.
    pub journal: Option<Arc<dyn Journal>>,
    /// How long a holder tries to record before the outcome goes to the journal.
    pub record_for: Duration,
    /// How often it is remembered how far the ledger has come: a database that loses more than that is noticed.
    pub remember_every: Duration,
    /// How often the sweeper looks.
    pub sweep_every: Duration,
    /// How often due questions are looked for.
    pub ask_every: Duration,
    /// How long a provider may take to answer a question.
    pub ask_deadline: Duration,
    /// How often opened and closed incidents are looked for, to announce them.
    pub announce_every: Duration,
    /// How often retention is applied.
    pub prune_every: Duration,
    /// Where pruned operations are written first.
    pub archive: Option<PathBuf>,
    /// Steps in one commit at most.
    pub batch_max: usize,
    /// Steps that may wait for their commit; more callers wait before they are taken in.
    pub waiting_max: usize,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
    /// Where tests stop the process.
    pub faults: Arc<dyn Faults>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            installation: None,
            worker: None,
            tenant: Tenant::default(),
            journal: None,
            record_for: Duration::from_secs(15),
            remember_every: Duration::from_secs(1),
            sweep_every: Duration::from_secs(5),
            ask_every: Duration::from_secs(1),
            ask_deadline: Duration::from_secs(30),
            announce_every: Duration::from_secs(2),
            prune_every: Duration::from_hours(1),
            archive: None,
            batch_max: 128,
            waiting_max: 16_384,
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom::default()),
            faults: Arc::new(NoFaults),
        }
    }
}

impl Settings {
    /// The worker's name: host and process id unless one is given.
    pub(crate) fn worker_name(&self) -> Arc<str> {
        self.worker.as_deref().map_or_else(
            || {
                let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
                Arc::from(format!("{host}/{}", std::process::id()))
            },
            Arc::from,
        )
    }
}
