//! Events: facts about an aggregate, told to others after the change behind them is committed.

mod compatibility;
mod contract;
mod contracts;
mod envelope;
mod id;
mod limits;
mod name;
mod page;
mod page_review;
mod record;
#[cfg(test)]
pub(crate) mod testing;

pub use compatibility::{SchemaChange, SchemaChangeEffect, schema_changes};
pub use contract::{Compatibility, CompiledContract, ContractMistake, ContractTerms, EventContract, SharedContract};
pub use contracts::EventContracts;
pub use envelope::{Attribute, ReplayId, attributes};
pub use id::EventId;
pub use limits::{EventLimits, HeaderName};
pub use name::{AggregateType, EventType};
pub use page::{event_page, event_page_path, schema_file_path};
pub use page_review::{PageFinding, PageProblem, review_event_pages};
pub use record::{Aggregate, NewEvent, StoredEvent};
