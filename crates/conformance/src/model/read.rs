//! Reads.

use std::collections::BTreeMap;

use onefold_core::error::Result;
use onefold_core::incident::{Group, Incident, grouped};
use onefold_core::ledger::{Entry, Note, PastAttempt, Status, TimelineEvent, timeline};
use onefold_core::operation::{OperationKey, Tenant};
use onefold_core::port::{BoxFuture, Counts, Filter, IncidentFilter, LedgerRead, Listed, Page};
use onefold_core::retry::Category;

use super::Model;

impl LedgerRead for Model {
    fn find(&self, keys: Vec<OperationKey>) -> BoxFuture<'_, Result<Vec<Option<Entry>>>> {
        Box::pin(async move {
            let data = self.data();
            Ok(keys.iter().map(|key| data.entry(key).cloned()).collect())
        })
    }

    fn list(&self, filter: Filter, page: Page) -> BoxFuture<'_, Result<Listed<Entry>>> {
        Box::pin(async move {
            let data = self.data();
            let found = data.entries.values().filter(|(_, entry)| wanted(&filter, entry));
            Ok(listed(found.map(|(seq, entry)| (*seq, entry)).collect(), page))
        })
    }

    fn timeline(&self, key: OperationKey) -> BoxFuture<'_, Result<Option<Vec<TimelineEvent>>>> {
        Box::pin(async move {
            let data = self.data();
            let Some(entry) = data.entry(&key) else {
                return Ok(None);
            };
            let attempts: Vec<PastAttempt> =
                data.attempts.values().filter(|attempt| attempt.key == key).cloned().collect();
            let notes: Vec<Note> =
                data.notes.iter().filter(|(of, _)| *of == key).map(|(_, note)| note.clone()).collect();
            Ok(Some(timeline(entry, &attempts, &notes)))
        })
    }

    fn incidents(&self, filter: IncidentFilter, page: Page) -> BoxFuture<'_, Result<Listed<Incident>>> {
        Box::pin(async move {
            let data = self.data();
            let found = data.incidents.iter().filter(|(_, incident)| wanted_incident(&filter, incident));
            Ok(listed(found.map(|(seq, incident)| (*seq, incident)).collect(), page))
        })
    }

    fn groups(&self, tenant: Tenant) -> BoxFuture<'_, Result<Vec<Group>>> {
        Box::pin(async move {
            let data = self.data();
            let open = data.incidents.values().filter(|incident| incident.is_open() && incident.tenant == tenant);
            Ok(grouped(open.cloned()))
        })
    }

    fn counts(&self) -> BoxFuture<'_, Result<Counts>> {
        Box::pin(async move {
            let data = self.data();
            let unknown = data.entries.values().filter(|(_, entry)| entry.status == Status::Unknown);
            let open = data.incidents.values().filter(|incident| incident.is_open());
            Ok(Counts {
                unknown: counted(unknown.map(|(_, entry)| entry.category.unwrap_or(Category::HolderLost))),
                open_incidents: counted(open.map(|incident| incident.category)),
            })
        })
    }
}

fn counted(categories: impl Iterator<Item = Category>) -> Vec<(Category, u64)> {
    let mut counts = BTreeMap::new();
    for category in categories {
        *counts.entry(category).or_default() += 1;
    }
    counts.into_iter().collect()
}

fn listed<T: Clone>(mut found: Vec<(i64, &T)>, page: Page) -> Listed<T> {
    let limit = page.limit.clamp(1, Page::LIMIT_MAX);
    found.retain(|(seq, _)| page.after.is_none_or(|after| *seq < after));
    found.sort_by_key(|(seq, _)| std::cmp::Reverse(*seq));
    found.truncate(limit);
    let next = (found.len() == limit).then(|| found.last().map(|(seq, _)| *seq)).flatten();
    Listed { items: found.into_iter().map(|(_, item)| item.clone()).collect(), next }
}

fn wanted(filter: &Filter, entry: &Entry) -> bool {
    fn is<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
        wanted.is_none() || wanted == found
    }
    let text =
        |wanted: Option<&String>, found: Option<&str>| wanted.is_none_or(|wanted| found == Some(wanted.as_str()));
    filter.tenant == entry.key.tenant
        && is(filter.id.as_ref(), Some(&entry.key.id))
        && is(filter.kind.as_ref(), Some(&entry.key.kind))
        && is(filter.status.as_ref(), Some(&entry.status))
        && is(filter.error_code.as_ref(), entry.error_code.as_ref())
        && text(filter.business_key.as_ref(), entry.origin.business_key.as_deref())
        && text(filter.process_instance_key.as_ref(), entry.origin.process_instance_key.as_deref())
        && filter.since.is_none_or(|since| entry.created_at >= since)
        && filter.until.is_none_or(|until| entry.created_at < until)
}

fn wanted_incident(filter: &IncidentFilter, incident: &Incident) -> bool {
    filter.tenant == incident.tenant
        && filter.id.as_ref().is_none_or(|id| *id == incident.id)
        && (!filter.open_only || incident.is_open())
        && filter.subject.is_none_or(|sort| sort == incident.subject.sort)
        && filter.kind.as_ref().is_none_or(|kind| *kind == incident.subject.kind)
        && filter.group.as_ref().is_none_or(|group| group == incident.group.as_str())
}
