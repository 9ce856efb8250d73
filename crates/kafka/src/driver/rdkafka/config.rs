//! librdkafka's settings.

use std::time::Duration;

use ::rdkafka::ClientConfig;
use ::rdkafka::config::RDKafkaLogLevel;

use crate::client::{BATCH_BYTES_MAX, Times, WAVE_BYTES_MAX};
use crate::settings::{KafkaSasl, KafkaSettings, KafkaTls, SaslMechanism};

/// It refuses a longer time for one request.
const REQUEST_MAX: Duration = Duration::from_mins(5);

/// The settings of every client of a cluster.
pub(super) struct Config {
    connection: ClientConfig,
    times: Times,
}

impl Config {
    pub(super) fn of(settings: &KafkaSettings, times: Times) -> Self {
        let mut connection = ClientConfig::new();
        connection
            .set("bootstrap.servers", settings.brokers.join(","))
            .set("client.id", &settings.client_id)
            .set("allow.auto.create.topics", "false")
            .set("enable.metrics.push", "false")
            .set("socket.timeout.ms", millis(times.request.min(REQUEST_MAX)))
            .set("socket.connection.setup.timeout.ms", millis(times.request.max(Duration::from_secs(1))))
            // By default it waits up to ten seconds before it connects again, which is most of a delivery.
            .set("reconnect.backoff.ms", "50")
            .set("reconnect.backoff.max.ms", "500")
            .set("security.protocol", protocol(settings))
            .set_log_level(RDKafkaLogLevel::Warning);
        if let Some(encrypted) = &settings.tls {
            tls(&mut connection, encrypted);
        }
        if let Some(signed_in) = &settings.sasl {
            sasl(&mut connection, signed_in);
        }
        Self { connection, times }
    }

    /// For describing topics. Nobody hears what such a client logs, so it is to say nothing.
    pub(super) fn admin(&self) -> ClientConfig {
        let mut config = self.connection.clone();
        config.set_log_level(RDKafkaLogLevel::Emerg);
        config
    }

    /// For a producer without transactions.
    pub(super) fn plain(&self) -> ClientConfig {
        let mut config = self.connection.clone();
        config
            .set("enable.idempotence", "true")
            .set("acks", "all")
            .set("linger.ms", "1")
            // Larger than all that a wave has for a partition.
            .set("batch.size", (2 * BATCH_BYTES_MAX).to_string())
            // Topics have their own limits, which are known before anything is sent.
            .set("message.max.bytes", (2 * WAVE_BYTES_MAX).to_string())
            .set("queue.buffering.max.kbytes", (2 * WAVE_BYTES_MAX / 1024).to_string())
            .set("queue.buffering.max.messages", "1000000")
            .set("request.timeout.ms", millis(self.times.request))
            .set("message.timeout.ms", millis(self.times.delivery))
            .set("topic.metadata.propagation.max.ms", millis(self.times.block));
        config
    }

    /// For a producer with transactions.
    pub(super) fn transactional(&self, id: &str) -> ClientConfig {
        let mut config = self.plain();
        config.set("transactional.id", id).set("transaction.timeout.ms", millis(self.times.transaction()));
        config
    }
}

fn protocol(settings: &KafkaSettings) -> &'static str {
    match (&settings.sasl, &settings.tls) {
        (None, None) => "plaintext",
        (None, Some(_)) => "ssl",
        (Some(_), None) => "sasl_plaintext",
        (Some(_), Some(_)) => "sasl_ssl",
    }
}

fn tls(config: &mut ClientConfig, tls: &KafkaTls) {
    let text = String::from_utf8_lossy;
    // A broker that does not prove its name is refused, as it is by default.
    config.set("ssl.endpoint.identification.algorithm", "https");
    if let Some(pem) = &tls.ca_pem {
        config.set("ssl.ca.pem", text(pem));
    }
    if let Some(client) = &tls.client {
        config.set("ssl.certificate.pem", text(&client.chain_pem));
        config.set("ssl.key.pem", text(client.key_pem.reveal()));
    }
}

fn sasl(config: &mut ClientConfig, sasl: &KafkaSasl) {
    let mechanism = match sasl.mechanism {
        SaslMechanism::Plain => "PLAIN",
        SaslMechanism::ScramSha256 => "SCRAM-SHA-256",
        SaslMechanism::ScramSha512 => "SCRAM-SHA-512",
    };
    config
        .set("sasl.mechanism", mechanism)
        .set("sasl.username", &sasl.username)
        .set("sasl.password", sasl.password.reveal());
}

fn millis(time: Duration) -> String {
    time.as_millis().to_string()
}
