//! What is announced together: incidents of one cause with one event.

use super::group::GroupKey;
use super::incident::Incident;
use crate::port::IncidentEvent;

/// Incidents one announcement has at most.
pub const ANNOUNCED_MAX: usize = 100;

/// Incidents by event and cause, in the order in which the first of each came.
pub fn by_cause(news: Vec<(IncidentEvent, Incident)>) -> Vec<(IncidentEvent, GroupKey, Vec<Incident>)> {
    let mut causes: Vec<(IncidentEvent, GroupKey, Vec<Incident>)> = Vec::new();
    for (event, incident) in news {
        let same = |known: &&mut (IncidentEvent, GroupKey, Vec<Incident>)| {
            known.0 == event && known.1 == incident.group && known.2.len() < ANNOUNCED_MAX
        };
        match causes.iter_mut().find(same) {
            Some((_, _, incidents)) => incidents.push(incident),
            None => causes.push((event, incident.group.clone(), vec![incident])),
        }
    }
    causes
}
