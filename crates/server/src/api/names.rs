//! Names that a field of the API takes, for its description.

use std::borrow::Cow;

use onefold_core::incident::{Needs, SubjectSort};
use onefold_core::ledger::{SideEffect, Source, Status};
use onefold_core::outbox::{AsideStatus, ReplayState};
use onefold_core::retry::Category;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

macro_rules! names {
    ($($(#[$doc:meta])* $type:ident = $values:expr;)+) => {$(
        $(#[$doc])*
        pub(crate) struct $type;

        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                let values: Vec<String> = $values.iter().map(ToString::to_string).collect();
                ObjectBuilder::new().schema_type(Type::String).enum_values(Some(values)).into()
            }
        }

        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($type))
            }
        }
    )+};
}

names! {
    /// The state of an operation.
    StatusName = Status::ALL;
    /// What a failure means for retry and incident.
    CategoryName = Category::ALL;
    /// What is known of the effect.
    SideEffectName = SideEffect::ALL;
    /// What may be said of the effect of a failure.
    FailedSideEffectName = [SideEffect::NotApplied, SideEffect::Unknown];
    /// What must happen besides a decision.
    NeedsName = Needs::ALL;
    /// What an incident is about.
    SubjectName = SubjectSort::ALL;
    /// What becomes of an event that was set aside.
    AsideStatusName = AsideStatus::ALL;
    /// What becomes of a replay.
    ReplayStateName = ReplayState::ALL;
    /// Which call staged an event.
    StagedName = ["NOW", "EARLIER"];
    /// How an operation came in.
    SourceName = Source::ALL;
}
