//! The secret that signs webhooks, as Standard Webhooks asks for it.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use onefold_core::error::{CONFIGURATION_INVALID, Redacted};
use onefold_core::{Error, Result};
use sha2::Sha256;

/// Bytes a secret has at least.
const SECRET_BYTES_MIN: usize = 16;

/// The secret that signs messages to a webhook.
#[derive(Debug)]
pub struct WebhookSecret(Redacted<Vec<u8>>);

impl WebhookSecret {
    /// Reads a secret: `whsec_` and Base64 as other senders of webhooks write it, or the text itself. `place` is where
    /// the file is named, for the message.
    pub fn read(path: &Path, place: &str) -> Result<Self> {
        let wrong = |what: String| {
            Error::new(CONFIGURATION_INVALID, format!("{place} secret_file {}: {what}", path.display()))
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
    pub fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> Result<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.reveal())
            .map_err(|_| Error::new(CONFIGURATION_INVALID, "the secret of a webhook cannot sign"))?;
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        Ok(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_what_receivers_of_standard_webhooks_expect() {
        // The example of the Standard Webhooks specification's own libraries.
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
        let secret = WebhookSecret::read(file.path(), "[notify]").unwrap();
        let signed = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b"{\"test\": 2432232314}").unwrap();
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_that_protects_nothing_is_refused_and_not_repeated() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for bad in ["", "hush", "whsec_!!!", "whsec_aHVzaA=="] {
            std::fs::write(file.path(), bad).unwrap();
            let error = WebhookSecret::read(file.path(), "[notify]").err().unwrap();
            assert!(!error.to_string().contains("hush"), "{error}");
        }
        assert!(WebhookSecret::read(Path::new("/nowhere/at/all"), "[notify]").is_err());
    }
}
