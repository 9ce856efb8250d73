//! `Idempotency-Key`: a request takes hold once, and its duplicates get its answer.
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `route` | what a route declares |
//! | `key` | the key as its header gives it |
//! | `guard` | the table: what is refused, performed, replayed |
//! | `whole`, `stream` | bodies that are read whole, and bodies that pass |
//! | `perform` | the call, detached |
//! | `conclude`, `meaning`, `evidence` | what an answer says of the effect |
//! | `stored`, `replay` | the answer as it is kept, and given again |
//! | `attach`, `flights`, `waiters` | duplicates of a request under way |
//! | `local` | handlers that write their own database |
//! | `refusal`, `grpc` | every answer that is not the upstream's own |
//! | `layer` | for tower and axum |
//! | `meter` | what is counted and logged |

mod attach;
mod conclude;
mod evidence;
mod flights;
#[cfg(feature = "grpc")]
mod grpc;
mod guard;
mod key;
mod layer;
mod local;
mod meaning;
mod meter;
mod perform;
mod performed;
mod refusal;
mod replay;
mod route;
mod stored;
mod stream;
mod waiters;
mod whole;

pub use evidence::Evidence;
pub use guard::{Guard, PathValues};
pub use key::IDEMPOTENCY_KEY;
pub use layer::{Guarded, Idempotent, IdempotentLayer, IdempotentService};
pub use local::{LocalLayer, LocalOperation, LocalService};
pub use meaning::{Answers, Effect, ONEFOLD_EFFECT};
pub use performed::{Answered, Unanswered};
pub use refusal::{IDEMPOTENCY_EXPIRES, IDEMPOTENT_REPLAYED, ONEFOLD_OPERATION, ONEFOLD_OUTCOME};
#[cfg(feature = "gateway")]
pub(crate) use refusal::{is_ours, strip_ours};
pub use route::{Key, Route, RouteSettings};
pub use stored::{NEVER_STORED, STORED_HEADERS};
pub use whole::BodyLimits;
