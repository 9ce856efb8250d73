//! What is declared of kinds, routes, relays and dependencies.
//!
//! A declaration is one plain struct with its defaults and one `check()`. `onefold.toml`, the JSON of a first claim and
//! the Rust builders fill that struct, so they have the same keys and the same defaults.
//!
//! | file | holds |
//! |---|---|
//! | `kind.rs` | `[kind.NAME]`, `declare` of a claim |
//! | `policy.rs`, `question.rs` | `on_unknown`, and how a provider is asked |
//! | `route.rs` | `[[route]]`: a kind, `guard.rs` (how its requests are guarded) and `forward.rs` (where they go) |
//! | `caller.rs` | `caller` of a route |
//! | `gateway.rs`, `limits.rs` | `[gateway]`; what a listener takes on |
//! | `dependency.rs` | `[dependency.NAME]` |
//! | `relay.rs`, `broker.rs` | `[[relay]]`, `[broker.NAME]` |
//! | `event.rs` | `[[event]]` |
//! | `notify.rs` | `[notify]` |
//! | `json.rs` | the JSON of a declaration |
//! | `file.rs`, `source.rs` | the tables of `onefold.toml`; a mistake with its line and a caret |
//! | `setting.rs`, `table.rs` | how a declaration is written once, and how several share one table |
//! | `values.rs`, `http.rs` | how values are read; what declarations say of HTTP, in plain types |

mod broker;
mod caller;
mod dependency;
mod event;
#[cfg(feature = "toml")]
mod file;
mod forward;
mod gateway;
mod guard;
mod http;
mod json;
mod kind;
mod limits;
mod mistake;
mod notify;
mod policy;
mod question;
mod relay;
mod route;
mod setting;
mod source;
mod table;
pub mod values;

pub use broker::{BrokerClient, BrokerDeclaration, BrokerLogin, BrokerMechanism, BrokerSasl, BrokerSort, BrokerTls};
pub use caller::{AuthDeclaration, CallerDeclaration, Jwks, JwtDeclaration};
pub use dependency::{Breaker, DependencyDeclaration, Rate};
pub use event::{EventDeclaration, SchemaDeclaration};
#[cfg(feature = "toml")]
pub use file::{brokers, dependencies, events, gateway, kinds, notify, relays, routes};
pub use forward::{CredentialDeclaration, ForwardDeclaration};
pub use gateway::{AccessDeclaration, GatewayDeclaration};
pub use guard::{GuardDeclaration, NEVER_STORED, ReusedDeclaration};
pub use http::{GuardedMethod, KeyRequirement, Lookalikes, StatusMeaning};
pub use json::JsonDeclaration;
pub use kind::{DeclaredKind, KindDeclaration, RetentionDeclaration, RetryDeclaration};
pub use limits::{ConnectionLimits, TlsFiles};
pub use mistake::Mistake;
pub use notify::NotifyDeclaration;
pub use policy::{OnUnknownDeclaration, PolicyDeclaration, default_contract};
pub use question::DeclaredQuestion;
pub use relay::{CheckedRelay, CheckedTarget, RelayDeclaration, TargetDeclaration};
pub use route::RouteDeclaration;
pub use setting::Setting;
pub use source::{SourceText, suggestion};
pub use values::category::CategoryKey;
