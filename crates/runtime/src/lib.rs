//! The loops around the rules: batching, performing, sweeping, asking, pruning, journal, shutdown.
//!
//! Time, chance, the store and every outside call come in through ports, so that a test can drive
//! the whole runtime.
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `ledger/builder` | opening: on which database, and how it runs |
//! | `ledger/handle` | the handle: declares kinds, starts and stops |
//! | `ledger/kind` | the typed declaration of a kind |
//! | `ledger/claim_request` | the one place where a claim is built |
//! | `ledger/operation` | one operation: claim it, perform it, or run it in a transaction |
//! | `ledger/perform` | around an outside effect, typed: claim, perform, answer from the record |
//! | `ledger/once` | inside the user's own transaction |
//! | `ledger/running_attempt` | a grant at work in this process: detached, deadline, heartbeat, record |
//! | `ledger/attempt` | what a closure is handed; `may_send` |
//! | `ledger/lease_handle`, `ledger/remote` | a lease in the caller's hand, and callers outside the process |
//! | `ledger/incidents` | what people see and decide |
//! | `ledger/batcher` | one at a time outside, batches inside |
//! | `ledger/recorder`, `ledger/journal` | outcomes that could not be recorded |
//! | `ledger/sweeper`, `ledger/reconciler`, `ledger/pruner` | the loops |
//! | `ledger/archive` | files of what was pruned |
//! | `call` | what a failed call means |
//! | `conflict` | what was read has changed since: compare and set, and run again |
//! | `dependency` | what is called outside: breaker, bulkhead, rate |
//! | `announcer` | says that an incident was opened or closed |
//! | `outbox/handle`, `outbox/event` | staging |
//! | `outbox/relay`, `outbox/turn`, `outbox/lanes` | the relay's loop: hold lanes, poll, publish, settle |
//! | `outbox/delivery`, `outbox/one_at_a_time` | a page on its way to its target |
//! | `outbox/outage` | a target that takes nothing |
//! | `outbox/own_table` | a relay on a team's own table |
//! | `outbox/replay` | events that are sent again, beside the live ones |
//! | `position` | remembers once a second how far the ledger has come |
//! | `readiness` | whether an operation could be claimed now |
//! | `every` | what these loops share |
//! | `meter` | the metrics, each named once |
//! | `settings` | every limit and interval |
//! | `trace` | the trace that something belongs to, whatever carries it |
//! | `system` | the system's clock and chance |

mod announcer;
mod call;
mod conflict;
mod dependency;
mod every;
mod ledger;
mod meter;
mod outbox;
mod position;
mod readiness;
mod settings;
mod shutdown;
mod system;
pub mod trace;

pub use call::CallFailure;
pub use conflict::{Commutative, CompareAndSet, retry_on_conflict, transition};
pub use dependency::{Dependency, LimitReached, Permit, Refused};
pub use ledger::archive::{ArchiveReading, DamagedLine, FileArchive, read_archive};
pub use ledger::attempt::{Attempt, SendGuard, TooLate};
pub use ledger::builder::LedgerBuilder;
pub use ledger::claim_request::ClaimInput;
pub use ledger::handle::{KindHandle, Ledger, StartupReport};
pub use ledger::incidents::{DidNotHappen, Failed, Incidents, Settlement, TookHold};
pub use ledger::journal::{FileJournal, Journal, JournalEntry, Journaled};
pub use ledger::kind::{
    Ask, IntoReconciler, Kind, PendingQuestion, PerformableClass, ProviderAnswer, Reconciler, Void, WithEvidence,
};
pub use ledger::lease_handle::{ClaimResult, LeaseHandle, RecordedStatus};
pub use ledger::once::{Once, TransactionOutcome};
pub use ledger::operation::Operation;
pub use ledger::perform::{Performed, Rejection};
pub use ledger::remote::RemoteClaim;
pub use ledger::running_attempt::{AttemptReport, EffectResult, NoResult, RunningAttempt};
pub use meter::{conflicted, processed, replayed};
pub use onefold_config::{Breaker, DependencyDeclaration, Rate};
pub use outbox::event::Event;
pub use outbox::handle::{OperationEvents, Outbox, PublicationWait};
pub use outbox::one_at_a_time::OneAtATime;
pub use outbox::relay::{Relay, RunningRelay};
pub use settings::Settings;
pub use shutdown::Shutdown;
pub use system::{SystemClock, SystemRandom};
