//! The incidents of a ledger, for the people who settle them.

use std::sync::Arc;

use onefold_core::error::{CodeName, INCIDENT_NOT_FOUND, OPERATION_NOT_FOUND, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::incident::{Group, Incident, IncidentId};
use onefold_core::ledger::{Completion, Entry, Resolution, ResolveRequest, Resolved, StoredResult, Verb};
use onefold_core::operation::Tenant;
use onefold_core::port::{BoxFuture, IncidentFilter, Listed, Page, Store};
use onefold_core::{Error, Result};
use serde::Serialize;

use crate::ledger::handle::Ledger;
use crate::ledger::kind::encode;

/// The incidents of a tenant: lists them, and settles them with what a person found out.
pub struct Incidents<S> {
    ledger: Ledger<S>,
    tenant: Tenant,
}

impl<S: Store> Ledger<S> {
    /// The incidents of this ledger's tenant.
    pub fn incidents(&self) -> Incidents<S> {
        Incidents { ledger: self.clone(), tenant: self.tenant().clone() }
    }
}

impl<S: Store> Incidents<S> {
    /// Those of another tenant.
    #[must_use]
    pub fn of(mut self, tenant: Tenant) -> Self {
        self.tenant = tenant;
        self
    }

    /// The open ones, newest first, at most [`Page::LIMIT_MAX`].
    pub async fn open(&self) -> Result<Vec<Incident>> {
        let page = Page { after: None, limit: Page::LIMIT_MAX };
        Ok(self.list(IncidentFilter { open_only: true, ..IncidentFilter::default() }, page).await?.items)
    }

    /// Those that the filter lets through, newest first. The tenant is the one of this handle.
    pub async fn list(&self, filter: IncidentFilter, page: Page) -> Result<Listed<Incident>> {
        let filter = IncidentFilter { tenant: self.tenant.clone(), ..filter };
        self.ledger.store().incidents(filter, page).await
    }

    /// The open ones by cause, the largest group first.
    pub async fn groups(&self) -> Result<Vec<Group>> {
        self.ledger.store().groups(self.tenant.clone()).await
    }

    /// One incident, open or closed.
    pub async fn get(&self, id: &IncidentId) -> Result<Incident> {
        let filter = IncidentFilter { id: Some(id.clone()), ..IncidentFilter::default() };
        let found = self.list(filter, Page { after: None, limit: 1 }).await?.items.pop();
        found.ok_or_else(|| Error::new(INCIDENT_NOT_FOUND, format!("no incident has the id {id}")))
    }

    /// Settles an incident with what was found out: [`TookHold`], [`DidNotHappen`] or [`Failed`].
    pub fn resolve(&self, id: IncidentId, found: impl Into<Resolution>) -> Settlement<S> {
        self.settle(id, Verb::Resolve(found.into()))
    }

    /// Lets the operation be attempted again; refused unless nothing took hold.
    pub fn retry(&self, id: IncidentId) -> Settlement<S> {
        self.settle(id, Verb::Retry)
    }

    /// Asks the provider now instead of later; refused unless the kind declares how.
    pub fn ask(&self, id: IncidentId) -> Settlement<S> {
        self.settle(id, Verb::AskNow)
    }

    fn settle(&self, id: IncidentId, verb: Verb) -> Settlement<S> {
        let incidents = Incidents { ledger: self.ledger.clone(), tenant: self.tenant.clone() };
        let who = self.ledger.decider();
        Settlement { incidents, id, seen: None, verb, who, why: Arc::from("") }
    }

    async fn entry(&self, incident: &Incident) -> Result<Entry> {
        let key = incident.operation_key();
        let found = self.ledger.store().find(key.into_iter().collect()).await?.pop().flatten();
        found.ok_or_else(|| Error::new(OPERATION_NOT_FOUND, "the incident's operation is gone"))
    }
}

/// A person's decision on an incident. Awaiting it writes it, or says why the rule refuses it.
#[must_use = "awaiting it writes the decision"]
pub struct Settlement<S> {
    incidents: Incidents<S>,
    id: IncidentId,
    seen: Option<u64>,
    verb: Verb,
    who: Arc<str>,
    why: Arc<str>,
}

impl<S: Store> Settlement<S> {
    /// Why, in a sentence. Required: it is kept in the operation's timeline.
    pub fn because(mut self, why: impl Into<Arc<str>>) -> Self {
        self.why = why.into();
        self
    }

    /// Who decides; the installation, or the process, unless said.
    pub fn by(mut self, who: impl Into<Arc<str>>) -> Self {
        self.who = who.into();
        self
    }

    /// What the person looked at: refused if another attempt was granted since.
    pub fn seen(mut self, fence: u64) -> Self {
        self.seen = Some(fence);
        self
    }

    async fn write(self) -> Result<Resolved> {
        let Self { incidents, id, seen, verb, who, why } = self;
        let incident = incidents.get(&id).await?;
        incident.subject.sort.check_verb(verb.name())?;
        let entry = incidents.entry(&incident).await?;
        let request = ResolveRequest {
            fence: seen.unwrap_or(entry.fence),
            status: entry.status,
            terms: incidents.ledger.terms(&entry.key.kind).ok(),
            key: entry.key,
            verb,
            who,
            why,
        };
        let answer = incidents.ledger.store().resolve(vec![request]).await?.pop();
        answer.unwrap_or_else(|| Err(Error::new(PROGRAMMING_INVARIANT_VIOLATED, "the store did not answer")))
    }
}

impl<S: Store> IntoFuture for Settlement<S> {
    type Output = Result<Resolved>;
    type IntoFuture = BoxFuture<'static, Result<Resolved>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.write())
    }
}

/// It took hold: a person found it where it was done.
#[derive(Debug, Clone)]
pub struct TookHold(Completion);

impl TookHold {
    /// With this reference to its evidence, which duplicates are told; what it answered is not known.
    pub fn evidence(reference: impl Into<Arc<str>>) -> Self {
        let evidence = Some(reference.into());
        Self(Completion { result: StoredResult::none(evidence.clone()), evidence })
    }

    /// The same with the result that duplicates are answered with.
    pub fn result(mut self, result: &impl Serialize) -> Result<Self> {
        self.0.result = encode(result)?;
        Ok(self)
    }
}

/// It did not happen: the operation may be claimed again.
#[derive(Debug, Clone, Copy)]
pub struct DidNotHappen {
    force: bool,
}

impl DidNotHappen {
    /// Believed once a late request can no longer arrive; refused before that.
    pub fn settled() -> Self {
        Self { force: false }
    }

    /// Believed at once, because the person knows that nothing is on its way.
    pub fn forced() -> Self {
        Self { force: true }
    }
}

/// It failed for good.
#[derive(Debug, Clone)]
pub struct Failed(CodeName);

impl Failed {
    /// With this code, which duplicates are told.
    pub fn code(code: impl Into<CodeName>) -> Self {
        Self(code.into())
    }
}

impl From<TookHold> for Resolution {
    fn from(TookHold(completion): TookHold) -> Self {
        Self::TookHold(completion)
    }
}

impl From<DidNotHappen> for Resolution {
    fn from(DidNotHappen { force }: DidNotHappen) -> Self {
        Self::DidNotHappen { force }
    }
}

impl From<Failed> for Resolution {
    fn from(Failed(code): Failed) -> Self {
        Self::Failed(code)
    }
}
