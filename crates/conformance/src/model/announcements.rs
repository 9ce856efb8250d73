//! Who was told of which incident.

use std::sync::Arc;
use std::time::Duration;

use onefold_core::Timestamp;
use onefold_core::error::Result;
use onefold_core::incident::{Incident, IncidentId};
use onefold_core::port::{Announcement, AnnouncementQueue, BoxFuture, IncidentEvent, Sink};

use super::{Data, Model};

/// One incident in one announcement.
#[derive(Debug, Clone)]
pub(super) struct AnnouncedIncident {
    sink: Sink,
    incident: IncidentId,
    event: IncidentEvent,
    announcement: Arc<str>,
    delivered: bool,
}

/// Whose turn it is, and until when.
pub(super) type Turns = std::collections::BTreeMap<Sink, (Arc<str>, Timestamp)>;

impl Data {
    fn told(&self, sink: Sink, incident: &Incident, event: IncidentEvent) -> Option<&AnnouncedIncident> {
        self.told.iter().find(|told| told.sink == sink && told.incident == incident.id && told.event == event)
    }

    fn untold(&self, sink: Sink, incident: &Incident) -> Option<IncidentEvent> {
        let opened = self.told(sink, incident, IncidentEvent::Opened);
        match (incident.is_open(), opened) {
            (true, None) => Some(IncidentEvent::Opened),
            (false, Some(opened)) if opened.delivered => {
                self.told(sink, incident, IncidentEvent::Closed).is_none().then_some(IncidentEvent::Closed)
            }
            (true, Some(_)) | (false, _) => None,
        }
    }
}

impl AnnouncementQueue for Model {
    fn take_turn(&self, sink: Sink, holder: Arc<str>, hold_for: Duration) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move {
            let mut data = self.data();
            let now = self.now(&mut data);
            let free = data.turns.get(&sink).is_none_or(|(other, until)| *other == holder || *until <= now);
            if free {
                data.turns.insert(sink, (holder, now.plus(hold_for)));
            }
            Ok(free)
        })
    }

    fn untold(&self, sink: Sink, limit: usize) -> BoxFuture<'_, Result<Vec<(IncidentEvent, Incident)>>> {
        Box::pin(async move {
            let data = self.data();
            let untold = data.incidents.values().filter_map(|one| Some((data.untold(sink, one)?, one.clone())));
            Ok(untold.take(limit).collect())
        })
    }

    fn queue(&self, sink: Sink, announcement: Announcement) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let mut data = self.data();
            for incident in &announcement.incidents {
                if data.told(sink, incident, announcement.event).is_none() {
                    let (incident, announcement, event) =
                        (incident.id.clone(), Arc::clone(&announcement.id), announcement.event);
                    data.told.push(AnnouncedIncident { sink, incident, event, announcement, delivered: false });
                }
            }
            Ok(())
        })
    }

    fn queued(&self, sink: Sink, limit: usize) -> BoxFuture<'_, Result<Vec<Announcement>>> {
        Box::pin(async move {
            let data = self.data();
            let waiting = data.told.iter().filter(|told| told.sink == sink && !told.delivered);
            let rows = waiting.filter_map(|told| {
                let incident = data.incidents.values().find(|incident| incident.id == told.incident)?;
                Some((told.announcement.to_string(), told.event, incident.clone()))
            });
            let mut queued = Announcement::gathered(rows);
            queued.truncate(limit);
            Ok(queued)
        })
    }

    fn delivered(&self, sink: Sink, id: Arc<str>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let mut data = self.data();
            let mut over = Vec::new();
            for told in data.told.iter_mut().filter(|told| told.sink == sink && told.announcement == id) {
                told.delivered = true;
                if told.event == IncidentEvent::Closed {
                    over.push(told.incident.clone());
                }
            }
            data.told.retain(|told| told.sink != sink || !over.contains(&told.incident));
            Ok(())
        })
    }
}
