//! `Idempotency-Key`: a request takes hold once, and its duplicates get its answer.
//!
//! # Layout
//!
//! | file | what it does |
//! |---|---|
//! | `route`, `settings` | what a route declares, and the same checked, in HTTP's own types |
//! | `key` | the key as its header gives it |
//! | `guard` | the table: what is refused, performed, replayed |
//! | `buffered_body`, `stream` | bodies that are read whole, and bodies that pass |
//! | `perform` | the call, detached |
//! | `attempt_response`, `answer_meaning`, `evidence` | what an answer says of the effect |
//! | `stored`, `replay` | the answer as it is kept, and given again |
//! | `attach`, `in_flight`, `wait_list` | duplicates of a request in flight |
//! | `local` | handlers that write their own database |
//! | `refusal`, `grpc` | every answer that is not the upstream's own |
//! | `layer` | for tower and axum |
//! | `metrics` | what is counted and logged |

mod answer_meaning;
mod attach;
mod attempt_response;
mod buffered_body;
mod evidence;
mod forward_result;
#[cfg(feature = "grpc")]
mod grpc;
mod guard;
mod in_flight;
mod key;
mod layer;
mod local;
mod metrics;
mod perform;
mod refusal;
mod replay;
mod route;
mod settings;
mod stored;
mod stream;
mod wait_list;

pub use answer_meaning::ONEFOLD_EFFECT;
pub use forward_result::{ForwardResult, NoResponse};
pub use guard::{Guard, PathValues};
pub use key::IDEMPOTENCY_KEY;
pub use layer::{GuardedClass, Idempotent, IdempotentLayer, IdempotentService};
pub use local::{LocalLayer, LocalOperation, LocalService};
pub use onefold_config::{GuardedMethod, KeyRequirement, StatusMeaning};
pub use refusal::{IDEMPOTENCY_EXPIRES, IDEMPOTENT_REPLAYED, ONEFOLD_OPERATION, ONEFOLD_OUTCOME};
pub use refusal::{is_ours, strip_ours};
pub use route::Route;
pub use settings::{AccessLog, RouteContext, RouteSettings, header_name};
pub use stored::STORED_HEADERS;
