//! How krafka encrypts, and signs in.

use ::krafka::auth::{AuthConfig, TlsConfig};

use crate::settings::{KafkaSasl, KafkaSettings, KafkaTls, SaslMechanism};

pub(super) fn of(settings: &KafkaSettings) -> AuthConfig {
    let auth = settings.sasl.as_ref().map_or_else(AuthConfig::plaintext, sasl);
    match &settings.tls {
        Some(encrypted) => auth.with_tls(tls(encrypted)),
        None => auth,
    }
}

fn sasl(sasl: &KafkaSasl) -> AuthConfig {
    let (username, password) = (sasl.username.as_str(), sasl.password.reveal().as_str());
    match sasl.mechanism {
        SaslMechanism::Plain => AuthConfig::sasl_plain(username, password),
        SaslMechanism::ScramSha256 => AuthConfig::sasl_scram_sha256(username, password),
        SaslMechanism::ScramSha512 => AuthConfig::sasl_scram_sha512(username, password),
    }
}

fn tls(tls: &KafkaTls) -> TlsConfig {
    let mut config = match &tls.ca_pem {
        Some(pem) => TlsConfig::new().with_ca_cert_pem(pem.clone()),
        None => TlsConfig::new().with_native_roots(),
    };
    if let Some(client) = &tls.client {
        config = config.with_client_cert_pem(client.chain_pem.clone(), client.key_pem.reveal().clone());
    }
    if let Some(name) = &tls.server_name {
        config = config.with_sni_hostname(name);
    }
    config
}

#[cfg(test)]
mod tests {
    use onefold_core::error::Redacted;

    use super::*;
    use crate::settings::KafkaClientCertificate;

    #[test]
    fn no_secret_is_printed() {
        let key_pem = Redacted::new(b"PRIVATE".to_vec());
        let client = Some(KafkaClientCertificate { chain_pem: b"PUBLIC".to_vec(), key_pem });
        let password = Redacted::new("hush-hush".to_owned());
        let sasl = KafkaSasl { mechanism: SaslMechanism::ScramSha512, username: "onefold".to_owned(), password };
        let settings = KafkaSettings {
            tls: Some(KafkaTls { client, ..KafkaTls::default() }),
            sasl: Some(sasl),
            ..KafkaSettings::new(["broker:9092"])
        };
        let shown = format!("{settings:?} {:?}", of(&settings));
        assert!(!shown.contains("hush-hush") && !shown.contains("PRIVATE"), "{shown}");
        assert!(!shown.contains(&format!("{:?}", b"PRIVATE")), "{shown}");
    }
}
