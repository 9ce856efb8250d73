//! The life of an operation: who may act, and what is believed after a crash.
//!
//! Every rule here is a pure function from the stored entry, a request and the present time to a
//! [`Decision`]: the answer, and the [`Transition`] that a store writes in one commit. Stores know
//! "absent" and nothing else.
//!
//! | file | rule |
//! |---|---|
//! | `claim` | may this attempt act? |
//! | `lease` | how long, and renewing |
//! | `provider_key` | the key that the provider gets, is asked about and refuses |
//! | `record` | what an attempt says happened |
//! | `release` | an attempt says that nothing was sent |
//! | `expiry` | a silent holder, an overdue retry, an overdue question |
//! | `unknown` | what the policy makes of an unknown outcome |
//! | `reconcile` | what `ask` and `void` answered |
//! | `resolve` | what a person decided |
//! | `grant_cache` | what this process granted: a completion is decided without reading |
//! | `once` | check, execute, record in the caller's own transaction |

mod attempt;
mod claim;
mod entry;
mod expiry;
mod grant_cache;
mod lease;
mod once;
mod outcome;
mod provider_key;
mod reconcile;
mod record;
mod release;
mod resolve;
mod timeline;
mod transition;
mod unknown;

pub use attempt::{AttemptId, AttemptResult, PastAttempt};
pub use claim::{Claim, ClaimRequest, Holder, decide};
pub(crate) use entry::named;
pub use entry::{Entry, Origin, SettledBy, SideEffect, Source, Status};
pub use expiry::{OVERDUE_FOR, Sweep, SweepReason, sweep};
pub use grant_cache::GrantCache;
pub use lease::{Lease, RenewRequest, Renewed, renew};
pub use once::{OnceDecision, OnceRequest, once, performed};
pub use outcome::{Completion, Digest, Failure, Outcome, Replay, StoredResult};
pub use provider_key::{PROVIDER_KEY_BYTES_MAX, provider_key};
pub use reconcile::{Question, ReconcileRequest, Reconciled, ReconcilerAnswer, reconcile};
pub use record::{RecordRequest, Recorded, Refusal, record};
pub use release::{ReleaseReason, ReleaseRequest, Released, release};
pub use resolve::{Resolution, ResolveRequest, Resolved, Verb, check_reason, resolve};
pub use timeline::{TimelineEvent, timeline};
pub use transition::{Decision, Note, Transition};
