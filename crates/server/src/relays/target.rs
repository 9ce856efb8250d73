//! What sends to the target of a relay.

use std::path::Path;
use std::sync::Arc;

use hyper::Uri;
use onefold_config::{BrokerClient, BrokerDeclaration, BrokerMechanism, BrokerTls, CheckedRelay, CheckedTarget};
use onefold_core::error::{CONFIGURATION_INVALID, DECLARATION_INVALID, Redacted};
use onefold_core::{Error, Result};
use onefold_http::client::{AddressRule, Connect, Network, Webhook, WebhookSecret};
use onefold_kafka::{Kafka, KafkaClient, KafkaClientCertificate, KafkaSasl, KafkaSettings, KafkaTls, SaslMechanism};
use onefold_nats::{Nats, NatsClientCertificate, NatsLogin, NatsSettings, NatsTls};
use onefold_rabbitmq::{RabbitMq, RabbitMqClientCertificate, RabbitMqLogin, RabbitMqSettings, RabbitMqTls};
use onefold_runtime::{Relay, SystemClock};

use crate::config::Config;

/// Where `localhost` leads, as its writer means it.
const THIS_MACHINE: [&str; 2] = ["127.0.0.0/8", "::1"];

/// The relay with what sends to its target.
pub(super) fn aimed(relay: Relay, checked: &CheckedRelay, config: &Config) -> Result<Relay> {
    match &checked.target {
        CheckedTarget::Webhook { address, secret_file, allow } => {
            let place = format!("relay {:?}:", checked.spec.name.as_str());
            let secret = WebhookSecret::read(secret_file, &place)?;
            Ok(relay.to_each(webhook(address, secret, allow, &place)?, checked.in_flight_max))
        }
        CheckedTarget::Topic { broker, topic } => {
            let kafka = Kafka::connect(kafka_settings(broker, declared(config, broker)?)?)?;
            let publisher = kafka.topic(topic.clone()).for_relay(&checked.spec.name);
            Ok(relay.to(publisher))
        }
        CheckedTarget::Exchange { broker, exchange, routing_key } => {
            let rabbitmq = RabbitMq::connect(rabbitmq_settings(broker, declared(config, broker)?)?)?;
            let publisher = rabbitmq.exchange(exchange.clone(), routing_key.clone())?;
            Ok(relay.to_each(publisher, checked.in_flight_max))
        }
        CheckedTarget::Subject { broker, subject } => {
            let nats = Nats::connect(nats_settings(broker, declared(config, broker)?)?)?;
            Ok(relay.to_each(nats.subject(subject.clone())?, checked.in_flight_max))
        }
    }
}

fn declared<'c>(config: &'c Config, broker: &str) -> Result<&'c BrokerDeclaration> {
    config.brokers.get(broker).ok_or_else(|| {
        Error::new(DECLARATION_INVALID, format!("there is no broker {broker:?}"))
            .hint(format!("declare [broker.{broker}]"))
    })
}

/// A file of a broker's declaration.
fn read(name: &str, file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).map_err(|cause| {
        let what = format!("broker {name:?}: {} cannot be read: {cause}", file.display());
        Error::new(CONFIGURATION_INVALID, what).hint("name a file that this user can read")
    })
}

/// The same, which holds a secret on one line or several.
fn read_secret(name: &str, file: &Path) -> Result<Redacted<String>> {
    Ok(Redacted::new(String::from_utf8_lossy(&read(name, file)?).trim().to_owned()))
}

/// What is trusted, and the certificate that we show with its key.
type Certificates = (Option<Vec<u8>>, Option<(Vec<u8>, Redacted<Vec<u8>>)>);

fn certificates(name: &str, tls: &BrokerTls) -> Result<Certificates> {
    let shown = match (&tls.certificate, &tls.key) {
        (Some(chain), Some(key)) => Some((read(name, chain)?, Redacted::new(read(name, key)?))),
        (Some(_) | None, Some(_) | None) => None,
    };
    Ok((tls.ca.as_deref().map(|file| read(name, file)).transpose()?, shown))
}

/// A RabbitMQ as its client wants it; certificates and secrets are read here.
fn rabbitmq_settings(name: &str, declared: &BrokerDeclaration) -> Result<RabbitMqSettings> {
    let (ca_pem, shown) = certificates(name, &declared.tls.clone().unwrap_or_default())?;
    let client = shown.map(|(chain_pem, key_pem)| RabbitMqClientCertificate { chain_pem, key_pem });
    let server_name = declared.tls.as_ref().and_then(|tls| tls.server_name.clone());
    let login = declared.login.as_ref().and_then(|login| login.user.as_ref().zip(login.password_file.as_deref()));
    let login = login.map(|(user, file)| -> Result<RabbitMqLogin> {
        Ok(RabbitMqLogin { user: user.clone(), password: read_secret(name, file)? })
    });
    Ok(RabbitMqSettings {
        name: declared.client_id.clone(),
        login: login.transpose()?,
        tls: RabbitMqTls { ca_pem, client, server_name },
        ..RabbitMqSettings::new(declared.rabbitmq.clone().unwrap_or_default())
    })
}

/// A NATS cluster as its client wants it; certificates and secrets are read here.
fn nats_settings(name: &str, declared: &BrokerDeclaration) -> Result<NatsSettings> {
    let tls = declared.tls.as_ref().map(|tls| -> Result<NatsTls> {
        let (ca_pem, shown) = certificates(name, tls)?;
        let client = shown.map(|(chain_pem, key_pem)| NatsClientCertificate { chain_pem, key_pem });
        Ok(NatsTls { ca_pem, client })
    });
    let login = declared.login.clone().unwrap_or_default();
    let login = match (login.user, login.password_file, login.token_file, login.credentials_file) {
        (Some(user), Some(file), _, _) => Some(NatsLogin::Password { user, password: read_secret(name, &file)? }),
        (_, _, Some(file), _) => Some(NatsLogin::Token(read_secret(name, &file)?)),
        (_, _, None, Some(file)) => Some(NatsLogin::Credentials(read_secret(name, &file)?)),
        _ => None,
    };
    Ok(NatsSettings {
        name: declared.client_id.clone(),
        login,
        tls: tls.transpose()?,
        ..NatsSettings::new(declared.nats.iter().cloned())
    })
}

/// A cluster as its client wants it; certificates and secrets are read here.
fn kafka_settings(name: &str, declared: &BrokerDeclaration) -> Result<KafkaSettings> {
    let tls = declared.tls.as_ref().map(|tls| -> Result<KafkaTls> {
        let (ca_pem, shown) = certificates(name, tls)?;
        let client = shown.map(|(chain_pem, key_pem)| KafkaClientCertificate { chain_pem, key_pem });
        Ok(KafkaTls { ca_pem, client, server_name: tls.server_name.clone() })
    });
    let sasl = declared.sasl.as_ref().map(|sasl| -> Result<KafkaSasl> {
        let password = read_secret(name, &sasl.password_file)?;
        let mechanism = match sasl.mechanism {
            BrokerMechanism::Plain => SaslMechanism::Plain,
            BrokerMechanism::ScramSha256 => SaslMechanism::ScramSha256,
            BrokerMechanism::ScramSha512 => SaslMechanism::ScramSha512,
        };
        Ok(KafkaSasl { mechanism, username: sasl.user.clone(), password })
    });
    Ok(KafkaSettings {
        client_id: declared.client_id.clone(),
        tls: tls.transpose()?,
        sasl: sasl.transpose()?,
        client: match declared.client {
            None | Some(BrokerClient::Krafka) => KafkaClient::Krafka,
            Some(BrokerClient::Rdkafka) => KafkaClient::Rdkafka,
        },
        ..KafkaSettings::new(declared.kafka.iter().cloned())
    })
}

fn webhook(address: &str, secret: WebhookSecret, allow: &[String], place: &str) -> Result<Webhook> {
    let address: Uri = address.parse().map_err(|_| {
        Error::new(CONFIGURATION_INVALID, format!("{place} events cannot be sent to this address"))
            .hint("write https://HOST/PATH")
    })?;
    let mut allowed = networks(allow)?;
    if address.host() == Some("localhost") {
        allowed.extend(THIS_MACHINE.iter().filter_map(|text| Network::parse(text)));
    }
    let rule = AddressRule::Public { allowed: allowed.into() };
    let client = Connect { addresses: rule, ..Connect::default() }.client()?;
    Ok(Webhook::new(address, secret, client, Arc::new(SystemClock)))
}

/// Private networks that a webhook's name may lead to.
fn networks(allow: &[String]) -> Result<Vec<Network>> {
    let read = |text: &String| {
        Network::parse(text).ok_or_else(|| {
            Error::new(DECLARATION_INVALID, format!("{text:?} is not an address or a network"))
                .hint("write \"10.0.0.7\", \"10.0.0.0/8\" or \"fd00::/8\"")
        })
    };
    allow.iter().map(read).collect()
}
