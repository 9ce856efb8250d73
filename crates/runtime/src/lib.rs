//! The loops around the rules: batching, performing, sweeping, asking, pruning, journal, shutdown.
//!
//! Time, chance, the store and every outside call come in through ports, so that a test can drive
//! the whole runtime.
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `ledger` | the handle: declares kinds, starts and stops |
//! | `kind` | the typed declaration of a kind |
//! | `operation` | one operation: claim it, perform it, or run it in a transaction |
//! | `perform` | around an outside effect, typed: claim, perform, answer from the record |
//! | `performing` | a grant at work in this process: detached, deadline, heartbeat, record |
//! | `attempt` | what a closure is handed; `may_send` |
//! | `call` | what a failed call means |
//! | `dependency` | what is called outside: breaker, bulkhead, rate |
//! | `held` | a lease in the caller's hand |
//! | `outside` | callers outside the process |
//! | `front` | one at a time outside, batches inside |
//! | `recorder`, `journal` | outcomes that could not be recorded |
//! | `sweeper`, `reconciler`, `pruner` | the loops |
//! | `archive` | files of what was pruned |
//! | `announcer` | says that an incident was opened or closed |
//! | `position` | remembers once a second how far the ledger has come |
//! | `readiness` | whether an operation could be claimed now |
//! | `every` | what these loops share |
//! | `meter` | the metrics, each named once |
//! | `settings` | every limit and interval |
//! | `system` | the system's clock and chance |

mod announcer;
mod archive;
mod attempt;
mod call;
mod dependency;
mod every;
mod front;
mod held;
mod journal;
mod kind;
mod ledger;
mod meter;
mod once;
mod operation;
mod outside;
mod perform;
mod performing;
mod position;
mod pruner;
mod readiness;
mod reconciler;
mod recorder;
mod settings;
mod shutdown;
mod sweeper;
mod system;

pub use archive::{ArchiveReading, DamagedLine, FileArchive, read_archive};
pub use attempt::{Attempt, Quiet, TooLate};
pub use call::CallFailure;
pub use dependency::{Because, Breaker, Dependency, Limits, Pass, Rate, Refused};
pub use held::{Claimed, HeldLease, Settled};
pub use journal::{FileJournal, Journal, JournalEntry, Journaled};
pub use kind::{Answer, Ask, Asked, Evidenced, IntoReconciler, Kind, Performs, Reconciler, Void};
pub use ledger::{KindHandle, Ledger, Started};
pub use meter::{conflicted, processed, replayed};
pub use once::{Once, Within};
pub use operation::Operation;
pub use outside::OutsideClaim;
pub use perform::{Performed, Rejection};
pub use performing::{Concluded, Ending, Performing, Silence, Taking};
pub use settings::Settings;
pub use shutdown::Shutdown;
pub use system::{SystemClock, SystemRandom};
