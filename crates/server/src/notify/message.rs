//! What is sent: ids, codes and advice of incidents with one cause, and a signature over it.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use onefold_core::error::{CONFIGURATION_INVALID, Redacted};
use onefold_core::incident::Incident;
use onefold_core::port::Announcement;
use onefold_core::{Error, Result, Timestamp};
use serde_json::{Value, json};
use sha2::Sha256;

/// Incidents that a message names one by one; the rest is counted.
const NAMED_MAX: usize = 20;
/// Bytes a secret has at least.
const SECRET_BYTES_MIN: usize = 16;

/// The secret that signs messages.
pub(super) struct Secret(Redacted<Vec<u8>>);

impl Secret {
    /// Reads a secret: `whsec_` and Base64 as other senders of webhooks write it, or the text itself.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let wrong = |what: String| {
            Error::new(CONFIGURATION_INVALID, format!("[notify] secret_file {}: {what}", path.display()))
                .hint("write a secret of at least 16 bytes into it, such as: openssl rand -base64 32")
        };
        let text = std::fs::read_to_string(path).map_err(|cause| wrong(cause.to_string()))?;
        let text = text.trim();
        let bytes = match text.strip_prefix("whsec_") {
            Some(encoded) => STANDARD.decode(encoded).map_err(|_| wrong("after `whsec_` comes Base64".to_owned()))?,
            None => text.as_bytes().to_vec(),
        };
        if bytes.len() < SECRET_BYTES_MIN {
            return Err(wrong(format!("the secret has {} bytes", bytes.len())));
        }
        Ok(Self(Redacted::new(bytes)))
    }

    /// `v1,` and the Base64 of HMAC-SHA256 over id, time in seconds and body, joined by dots.
    pub(super) fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> Result<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.reveal())
            .map_err(|_| Error::new(CONFIGURATION_INVALID, "the secret of [notify] cannot sign"))?;
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        Ok(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_what_receivers_of_standard_webhooks_expect() {
        // The example of the Standard Webhooks specification's own libraries.
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
        let secret = Secret::read(file.path()).unwrap();
        let signed = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b"{\"test\": 2432232314}").unwrap();
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_that_protects_nothing_is_refused_and_not_repeated() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for bad in ["", "hush", "whsec_!!!", "whsec_aHVzaA=="] {
            std::fs::write(file.path(), bad).unwrap();
            let error = Secret::read(file.path()).err().unwrap();
            assert!(!error.to_string().contains("hush"), "{error}");
        }
        assert!(Secret::read(Path::new("/nowhere/at/all")).is_err());
    }
}
