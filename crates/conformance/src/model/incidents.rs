//! Incidents that are not about an operation.

use onefold_core::error::Result;
use onefold_core::port::{BoxFuture, IncidentWrite, SubjectChange};

use super::Model;

impl IncidentWrite for Model {
    fn change_incidents(&self, changes: Vec<SubjectChange>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let mut data = self.data();
            for SubjectChange { tenant, subject, change } in changes {
                let open = data
                    .incidents
                    .values()
                    .find(|incident| incident.is_open() && incident.tenant == tenant && incident.subject == subject);
                if let Some(incident) = change.apply(open.cloned()) {
                    data.write_incident(incident);
                }
            }
            Ok(())
        })
    }
}
