//! How the brokers are reached: plain data, with the secrets as values that are never printed.

use onefold_core::error::{DECLARATION_INVALID, Error, Redacted, Result};

/// A Kafka cluster, and who we are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaSettings {
    /// Brokers that are asked for the others, each `host:port`. At least one.
    pub brokers: Vec<String>,
    /// The name in every request, for the broker's logs and quotas, and the first part of each `transactional.id`: give
    /// each installation on a cluster its own. Default: `onefold`.
    pub client_id: String,
    /// Encrypts every connection. Default: not.
    pub tls: Option<KafkaTls>,
    /// Signs in on every connection. Default: not.
    pub sasl: Option<KafkaSasl>,
    /// The library that talks to them. Default: krafka.
    pub client: KafkaClient,
}

/// A library that talks to brokers. Both keep the same promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KafkaClient {
    /// krafka: in Rust, always built.
    #[default]
    Krafka,
    /// rdkafka: librdkafka, in C, with the longest record. Only with the feature `rdkafka`, which needs `make`, a C
    /// compiler and OpenSSL's headers.
    Rdkafka,
}

/// How a connection is encrypted; a broker is always checked against its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KafkaTls {
    /// Certificates, in PEM, that alone are trusted. Default: those that the system trusts.
    pub ca_pem: Option<Vec<u8>>,
    /// The certificate that we show. Default: none.
    pub client: Option<KafkaClientCertificate>,
    /// The name that brokers prove, where it is not the one in their address. Default: that one.
    pub server_name: Option<String>,
}

/// A certificate that we show, with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaClientCertificate {
    /// The certificate and those that signed it, in PEM.
    pub chain_pem: Vec<u8>,
    /// Its key, in PEM.
    pub key_pem: Redacted<Vec<u8>>,
}

/// How we sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaSasl {
    /// In which way.
    pub mechanism: SaslMechanism,
    /// As whom.
    pub username: String,
    /// With what.
    pub password: Redacted<String>,
}

/// A way of signing in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaslMechanism {
    /// The password is sent as it is: only with TLS.
    Plain,
    /// The password is proven and not sent.
    ScramSha256,
    /// The same, with the longer digest.
    ScramSha512,
}

impl KafkaSettings {
    /// A cluster with the defaults: not encrypted, nobody signs in.
    pub fn new<B: Into<String>>(brokers: impl IntoIterator<Item = B>) -> Self {
        Self {
            brokers: brokers.into_iter().map(Into::into).collect(),
            client_id: "onefold".to_owned(),
            tls: None,
            sasl: None,
            client: KafkaClient::default(),
        }
    }

    /// Whether they can be used at all.
    pub fn check(&self) -> Result<()> {
        let refused = |detail: String, hint: &str| Error::new(DECLARATION_INVALID, detail).hint(hint);
        if self.brokers.is_empty() {
            return Err(refused("no Kafka broker is named".to_owned(), "name one or more, each HOST:PORT"));
        }
        for broker in &self.brokers {
            let port = broker.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
            if port.is_none_or(|port| port.parse::<u16>().is_err()) {
                return Err(refused(
                    format!("{broker:?} is not the address of a Kafka broker"),
                    "use HOST:PORT, for example broker-1.example:9092",
                ));
            }
        }
        if self.client_id.is_empty() || self.client_id.len() > 100 {
            return Err(refused("the Kafka client_id is empty or too long".to_owned(), "use 1 to 100 characters"));
        }
        if self.client == KafkaClient::Rdkafka {
            self.check_rdkafka()?;
        }
        let Some(sasl) = &self.sasl else { return Ok(()) };
        if sasl.username.is_empty() {
            return Err(refused("the Kafka username is empty".to_owned(), "name the user, or leave sasl out"));
        }
        if sasl.mechanism == SaslMechanism::Plain && self.tls.is_none() {
            return Err(refused(
                "PLAIN would send the Kafka password unencrypted".to_owned(),
                "use TLS, or SCRAM-SHA-512",
            ));
        }
        Ok(())
    }

    fn check_rdkafka(&self) -> Result<()> {
        let refused = |detail: &str, hint: &str| Err(Error::new(DECLARATION_INVALID, detail).hint(hint));
        if !cfg!(feature = "rdkafka") {
            return refused(
                "the Kafka client rdkafka is not built into this program",
                "build it with the cargo feature `rdkafka`, or use krafka, the default",
            );
        }
        if self.tls.as_ref().is_some_and(|tls| tls.server_name.is_some()) {
            return refused(
                "rdkafka checks brokers against the name in their address, and no other",
                "leave server_name out, or use krafka, the default",
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed_in(mechanism: SaslMechanism, tls: Option<KafkaTls>) -> KafkaSettings {
        let sasl =
            KafkaSasl { mechanism, username: "onefold".to_owned(), password: Redacted::new("hush-hush".to_owned()) };
        KafkaSettings { tls, sasl: Some(sasl), ..KafkaSettings::new(["broker:9092"]) }
    }

    #[test]
    fn settings_that_cannot_work_are_refused_with_what_to_write() {
        for bad in [vec![], vec!["broker"], vec!["broker:9092", ":9092"], vec!["broker:port"]] {
            let error = KafkaSettings::new(bad.clone()).check().unwrap_err();
            assert!(error.next_step().contains("HOST:PORT"), "{bad:?}");
        }
        assert!(KafkaSettings::new(["broker:9092", "10.0.0.1:9092", "[::1]:9092"]).check().is_ok());
    }

    #[test]
    fn a_password_is_not_sent_unencrypted() {
        let error = signed_in(SaslMechanism::Plain, None).check().unwrap_err();
        assert!(error.next_step().contains("TLS"), "{error}");
        assert!(signed_in(SaslMechanism::Plain, Some(KafkaTls::default())).check().is_ok());
        assert!(signed_in(SaslMechanism::ScramSha256, None).check().is_ok());
    }

    #[test]
    fn a_client_that_is_not_built_in_is_refused_with_its_feature() {
        let settings = KafkaSettings { client: KafkaClient::Rdkafka, ..KafkaSettings::new(["broker:9092"]) };
        let refused = settings.check().err();
        let next_step = refused.map(|error| error.next_step().to_owned());
        let built_in = cfg!(feature = "rdkafka");
        assert_eq!(next_step.is_none(), built_in, "{next_step:?}");
        assert!(next_step.is_none_or(|next| next.contains("feature `rdkafka`")));
    }
}
