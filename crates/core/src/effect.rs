//! What an operation does to the world, and what an unknown outcome may therefore do.

mod class;
mod contract;
mod exit_code;
mod policy;
mod terms;

pub use class::{
    Class, Converging, EffectClass, ExternalCommand, FinancialOrLegal, HumanNotification, Local, MessagePublish, Pure,
};
pub use contract::EffectContract;
pub use exit_code::{DeclaredExits, ExitCodes, ExitMeaning};
pub use policy::{
    AcceptDuplicate, AskPolicy, DuplicateReason, Escalate, InTransaction, OnUnknown, Policy, PolicyName, Rerun,
    SameKey, VoidPolicy,
};
pub use terms::{KindSpec, Kinds, Retention};
