//! Events of the user's own types, and their contracts.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use bytes::Bytes;
use onefold_core::error::EVENT_CONTRACT_INVALID;
use onefold_core::event::{
    Aggregate, AggregateType, EventContract, EventContracts, EventId, EventType, HeaderName, NewEvent, SharedContract,
};
use onefold_core::operation::Tenant;
use onefold_core::{Error, Result};

use crate::trace;

/// A type of event: a fact about one aggregate, told after the change behind it is committed.
///
/// ```
/// # use serde::Serialize;
/// # use onefold_runtime::Event;
/// use onefold_core::event::EventContract;
///
/// #[derive(Serialize)]
/// #[serde(rename_all = "camelCase")]
/// struct CaseSubmitted {
///     case_id: String,
/// }
///
/// impl Event for CaseSubmitted {
///     const CONTRACT: EventContract = EventContract::new("case.submitted", 1)
///         .aggregate("case")
///         .owner("case team")
///         .ordering_key("/caseId")
///         .schema(r#"{ "type": "object", "required": ["caseId"], "properties": { "caseId": { "type": "string" } } }"#);
///
///     fn aggregate_id(&self) -> &str {
///         &self.case_id
///     }
/// }
/// ```
pub trait Event: serde::Serialize {
    /// What is promised to those who read it: its type, version, schema and owner.
    const CONTRACT: EventContract;

    /// Which one: events of one aggregate are published in the order in which they were staged.
    fn aggregate_id(&self) -> &str;
}

/// The event to be staged, as JSON.
///
/// It belongs to the trace of the current span, where an exporter of traces is installed.
pub(crate) fn of<E: Event + ?Sized>(
    event: &E,
    id: EventId,
    tenant: Tenant,
    correlation_id: Option<Arc<str>>,
) -> Result<NewEvent> {
    let contract = E::CONTRACT;
    let payload = serde_json::to_vec(event).map_err(|cause| {
        let what = format!("an event of type {:?} has no JSON", contract.event_type());
        Error::new(EVENT_CONTRACT_INVALID, what).caused_by(cause)
    })?;
    Ok(NewEvent {
        id,
        aggregate: Aggregate {
            tenant,
            aggregate_type: AggregateType::parse(contract.aggregate_type())?,
            id: Arc::from(event.aggregate_id()),
        },
        event_type: EventType::parse(contract.event_type())?,
        schema_version: contract.version(),
        payload: Bytes::from(payload),
        content_type: Arc::from("application/json"),
        headers: trace_headers(),
        correlation_id,
    })
}

fn trace_headers() -> BTreeMap<HeaderName, String> {
    let mut headers = BTreeMap::new();
    trace::pass_on(&mut |name, value| {
        if let Ok(name) = HeaderName::parse(name) {
            headers.insert(name, value);
        }
    });
    headers
}

/// Refuses an event that breaks its contract: the one that the outbox was told of, or, where it was told of none at all,
/// the type's own.
pub(crate) fn check<E: Event + ?Sized>(event: &NewEvent, declared: &EventContracts) -> Result<()> {
    if declared.is_empty() { compiled(E::CONTRACT)?.check(event) } else { declared.check(event) }
}

/// Contracts of this program's types, each compiled when its first event is staged. They are constants, so there are few.
static COMPILED: LazyLock<RwLock<CompiledContracts>> = LazyLock::new(RwLock::default);

/// By type and version; two programs in one process may have different ones.
type CompiledContracts = HashMap<(&'static str, u32), Vec<(EventContract, SharedContract)>>;

fn compiled(contract: EventContract) -> Result<SharedContract> {
    let key = (contract.event_type(), contract.version());
    let known = |all: &CompiledContracts| {
        let of_type = all.get(&key)?;
        of_type.iter().find(|(known, _)| *known == contract).map(|(_, compiled)| Arc::clone(compiled))
    };
    if let Some(compiled) = known(&COMPILED.read().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(compiled);
    }
    let compiled = Arc::new(contract.compile()?);
    let mut all = COMPILED.write().unwrap_or_else(PoisonError::into_inner);
    all.entry(key).or_default().push((contract, Arc::clone(&compiled)));
    Ok(compiled)
}
