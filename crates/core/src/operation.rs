//! Identity: what is done once.

mod id;
mod key;
mod kind;
pub mod template;

pub use id::{IntoOperationId, OperationId};
pub use key::OperationKey;
pub use kind::{KindName, Tenant};
pub use template::Template;
