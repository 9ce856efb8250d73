//! What is sent: ids, codes and advice of incidents with one cause.

use onefold_core::Timestamp;
use onefold_core::incident::Incident;
use onefold_core::port::Announcement;
use serde_json::{Value, json};

/// Incidents that a message names one by one; the rest is counted.
const NAMED_MAX: usize = 20;
/// The body of a message.
pub(super) fn body(announcement: &Announcement, now: Timestamp) -> Value {
    let incidents = &announcement.incidents;
    let head = incidents.first();
    let text = |of: fn(&Incident) -> String| head.map(of);
    json!({
        "type": format!("incident.{}", announcement.event),
        "timestamp": now.to_string(),
        "data": {
            "group": text(|incident| incident.group.to_string()),
            "errorCode": text(|incident| incident.error_code.to_string()),
            "category": text(|incident| incident.category.to_string()),
            "subject": text(|incident| incident.subject.sort.to_string()),
            "kind": text(|incident| incident.subject.kind.to_string()),
            "dependency": head.and_then(|incident| incident.dependency.clone()),
            "message": text(|incident| incident.message.to_string()),
            "firstCheck": text(|incident| incident.first_check.to_string()),
            "suggestedAction": text(|incident| incident.suggested_action.to_string()),
            "safeToRetry": head.map(|incident| incident.safe_to_retry),
            "runbook": text(|incident| incident.runbook.to_string()),
            "count": incidents.len(),
            "incidents": incidents.iter().take(NAMED_MAX).map(named).collect::<Vec<_>>(),
        },
    })
}

fn named(incident: &Incident) -> Value {
    let mut named = json!({
        "id": incident.id.as_str(),
        "tenant": incident.tenant.as_str(),
        "businessKey": incident.business_key,
        "sideEffectStatus": incident.side_effect_status,
        "firstSeen": incident.first_seen,
        "closedAt": incident.closed_at,
    });
    if let (Some(named), Value::Object(subject)) = (named.as_object_mut(), json!(incident.subject)) {
        named.extend(subject);
    }
    named
}
