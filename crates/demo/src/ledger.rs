//! The Onefold side: three kinds, each performed through the ledger.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onefold_core::effect::{Escalate, ExternalCommand, SameKey};
use onefold_core::error::DECLARATION_INVALID;
use onefold_core::ledger::Status;
use onefold_core::operation::{KindName, OperationId};
use onefold_core::port::{Clock as _, Filter, IncidentFilter, Page, Store};
use onefold_core::retry::{Category, Schedule};
use onefold_core::{Error, Result, Timestamp};
use onefold_runtime::{
    Ask, Attempt, CallFailure, FileJournal, Kind as Declaration, KindHandle, Ledger, PendingQuestion, Performed,
    ProviderAnswer, Settings, Shutdown, SystemClock,
};

use crate::plan::AGE_MAX;
use crate::request::{Kind, Request};
use crate::tell_line;
use crate::wire::{CallResult, Caller, Try};
use crate::word::Word;

/// How long one attempt may take.
const DEADLINE: Duration = Duration::from_millis(800);
/// How long after the deadline the provider's "no" is believed: it acts on no request older than this.
pub(super) const SETTLE: Duration = AGE_MAX;
/// The sides share one machine and one clock.
const SLACK: Duration = Duration::from_millis(100);
/// How soon a failed call is tried again.
const SOON: Duration = Duration::from_millis(50);
/// How soon an operation that someone else holds, or that is asked about, is delivered again.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

onefold_core::codes! {
    /// The demo's provider said no
    DEMO_REJECTED: DomainRule, status 409, retry Never, owner Application, visible External;
        summary "the provider of the demo rejects a few requests for good",
        first_check "nothing: it is planned",
        safe_action "none needed",
        escalation "nobody";
}

/// A worker process of the Onefold side.
pub(super) struct LedgerWorker<S: Store> {
    ledger: Ledger<S>,
    kinds: HashMap<Kind, KindHandle<S, ExternalCommand>>,
    caller: Caller,
}

impl<S: Store> LedgerWorker<S> {
    pub(super) async fn open(store: S, folder: &Path, caller: Caller) -> Result<Self> {
        let name = format!("slot-{}", caller.slot);
        let settings = Settings {
            journal: Some(Arc::new(FileJournal::new(folder.join(format!("onefold-{name}.journal"))))),
            // Under this name the next life settles what this one held when it was killed; on PostgreSQL it expires.
            installation: Some(name),
            sweep_every: LOOK_AGAIN,
            ask_every: SOON,
            ask_deadline: Duration::from_secs(5),
            ..Settings::default()
        };
        let ledger = Ledger::open(store, settings)?;
        let mut kinds = HashMap::new();
        for kind in Kind::ALL {
            kinds.insert(kind, ledger.kind(declaration(kind, caller))?);
        }
        ledger.start().await?;
        Ok(Self { ledger, kinds, caller })
    }

    /// Performs a request, or says when to deliver it again.
    pub(super) async fn perform(&self, request: Request, delivery: u32) -> Word {
        self.try_to_perform(request, delivery).await.unwrap_or_else(|error| {
            tell_line(&format!("{request}: {error}"));
            Word::Later(LOOK_AGAIN)
        })
    }

    async fn try_to_perform(&self, request: Request, delivery: u32) -> Result<Word> {
        let kind = self.kinds.get(&request.kind()).ok_or_else(|| Error::new(DECLARATION_INVALID, "no such kind"))?;
        let operation = kind.operation(OperationId::parse(&request.to_string())?);
        let (caller, this) = (self.caller, Try { request, delivery, number: 1 });
        let performed = operation
            .perform(&request.number(), move |attempt| async move { call(caller, this, attempt).await })
            .await?;
        Ok(match performed {
            Performed::Completed { .. } => Word::Done,
            Performed::Rejected(_) => Word::Rejected,
            Performed::Unknown { incident: Some(_), .. } => Word::Unknown,
            Performed::Unknown { incident: None, .. } => Word::Later(LOOK_AGAIN),
            Performed::Waiting { until, .. } => Word::Later(from_now(until)),
            Performed::InFlight { retry_after } => Word::Later(retry_after.clamp(SOON, LOOK_AGAIN)),
            Performed::Conflict => Word::Failed,
        })
    }

    pub(super) async fn close(&self) {
        self.ledger.shutdown(Shutdown::Drain { within: Duration::from_secs(10) }).await;
    }
}

fn from_now(until: Timestamp) -> Duration {
    until.since(SystemClock.now()).clamp(Duration::from_millis(5), Duration::from_secs(2))
}

/// One call under a grant; what it returns says what is known.
async fn call(caller: Caller, this: Try, attempt: Attempt) -> Result<String, CallFailure> {
    match caller.call(this, || attempt.may_send().is_ok()).await {
        CallResult::Done => Ok(format!("effect of {}", this.request)),
        CallResult::Rejected => Err(CallFailure::rejected(DEMO_REJECTED)),
        CallResult::Refused => Err(CallFailure::not_sent(Category::DownstreamUnavailable).retry_after(SOON)),
        CallResult::TooLate => Err(CallFailure::not_sent(Category::DownstreamTimeout).retry_after(SOON)),
        CallResult::NoAnswer => Err(CallFailure::unknown(Category::DownstreamTimeout)),
    }
}

fn declaration(kind: Kind, caller: Caller) -> Declaration<ExternalCommand> {
    let soon = || Some(Schedule::Steps(Arc::new([SOON])));
    let because = "the demo's provider is back at once";
    let declaration = Declaration::external_command(kind.name())
        .depends_on("demo-provider")
        .deadline(DEADLINE)
        .lease(DEADLINE)
        .clock_slack(SLACK)
        .attempts_max(100)
        .ask_schedule(&[LOOK_AGAIN; 50])
        .retry(Category::DownstreamTimeout, soon(), because)
        .retry(Category::DownstreamUnavailable, soon(), because)
        .retry(Category::HolderLost, soon(), because);
    match kind {
        Kind::SameKey => declaration.on_unknown(SameKey::remembered_for(Duration::from_hours(1))),
        Kind::Ask => declaration.on_unknown(Ask::with(move |asked| look_up(caller, asked)).settle(SETTLE)),
        Kind::Escalate => declaration.on_unknown(Escalate),
    }
}

async fn look_up(caller: Caller, asked: PendingQuestion) -> ProviderAnswer {
    let Some(request) = Request::parse(asked.key()) else { return ProviderAnswer::cannot_tell() };
    match caller.lookup(request).await {
        Some(true) => ProviderAnswer::took_hold(&format!("effect of {request}")),
        Some(false) => ProviderAnswer::did_not(),
        None => ProviderAnswer::cannot_tell(),
    }
}

/// The state of each request by the ledger, and how many open incidents it has.
pub(super) async fn standings<S: Store>(store: &S) -> Result<HashMap<Request, (Status, usize)>> {
    let mut found = HashMap::new();
    for kind in Kind::ALL {
        let kind = Some(KindName::parse(kind.name())?);
        let mut page = Page { after: None, limit: Page::LIMIT_MAX };
        loop {
            let listed = store.list(Filter { kind: kind.clone(), ..Filter::default() }, page).await?;
            let entries = listed.items.iter();
            found.extend(entries.filter_map(|entry| Some((Request::parse(entry.key.id.as_str())?, (entry.status, 0)))));
            page.after = listed.next;
            if page.after.is_none() {
                break;
            }
        }
    }
    let open = IncidentFilter { open_only: true, ..IncidentFilter::default() };
    let mut page = Page { after: None, limit: Page::LIMIT_MAX };
    loop {
        let listed = store.incidents(open.clone(), page).await?;
        for incident in &listed.items {
            let standing = Request::parse(&incident.subject.id).and_then(|request| found.get_mut(&request));
            if let Some((_, incidents)) = standing {
                *incidents += 1;
            }
        }
        page.after = listed.next;
        if page.after.is_none() {
            return Ok(found);
        }
    }
}
