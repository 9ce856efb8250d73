//! `[broker.NAME]`: a cluster that relays publish to.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::mistake::Mistake;
use crate::setting::declaration;

declaration! {
    /// A cluster that relays publish to.
    [serde(default)]
    pub struct BrokerDeclaration {
        /// Kafka's brokers; the others are found through them. A broker has one of `kafka`, `rabbitmq` and `nats`.
        ["list of `HOST:PORT`", "none"]
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub kafka: Vec<String>,
        /// RabbitMQ, with its virtual host; `amqp://…` where the connection is not encrypted.
        ["`amqps://HOST:PORT/VHOST`", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rabbitmq: Option<String>,
        /// NATS servers of one cluster, tried in turn; `tls://HOST:PORT` where the connection must be encrypted.
        ["list of `nats://HOST:PORT`", "none"]
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub nats: Vec<String>,
        /// The name in every request, for the brokers' logs and quotas. Give each installation on a cluster its own: writers are fenced by it.
        ["text", "\"onefold\""]
        pub client_id: String = "onefold".to_owned(),
        /// The library that talks to Kafka: `krafka`, or `rdkafka` (librdkafka) in a binary that was built with the cargo feature of that name.
        ["`krafka` or `rdkafka`", "`krafka`"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub client: Option<BrokerClient>,
        /// Encrypts every connection. `ca` holds the certificates that alone are trusted, instead of the system's; `certificate` and `key` are our own, where brokers ask for one; `server_name` is the name that brokers prove, where it is not the one in their address. All files are PEM.
        ["`{ ca = …, certificate = …, key = …, server_name = … }`", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tls: Option<BrokerTls>,
        /// Signs in at Kafka on every connection, as `user`, with the password in `password_file`. The mechanism is `SCRAM-SHA-512`, `SCRAM-SHA-256` or, with TLS, `PLAIN`.
        ["`{ mechanism = …, user = …, password_file = … }`", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sasl: Option<BrokerSasl>,
        /// Signs in at RabbitMQ or NATS: as `user` with the password in `password_file`; at NATS also with the token in `token_file`, or with a `credentials_file` as `nsc` writes it.
        ["`{ user = …, password_file = … }`", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub login: Option<BrokerLogin>,
    }
}

/// How connections to a broker are encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BrokerTls {
    /// Certificates that alone are trusted.
    pub ca: Option<PathBuf>,
    /// Our own certificate.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// The name that brokers prove.
    pub server_name: Option<String>,
}

/// How we sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokerSasl {
    /// In which way.
    pub mechanism: BrokerMechanism,
    /// As whom.
    pub user: String,
    /// Holds the password.
    pub password_file: PathBuf,
}

/// Who signs in at RabbitMQ or NATS.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BrokerLogin {
    /// As whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Holds the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    /// Holds a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// Holds a JWT and the key that signs for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_file: Option<PathBuf>,
}

/// Which broker it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokerSort {
    /// Kafka.
    Kafka,
    /// RabbitMQ.
    RabbitMq,
    /// NATS, with JetStream.
    Nats,
}

/// A library that talks to Kafka.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BrokerClient {
    /// In every binary.
    Krafka,
    /// Only in one that was built with it.
    Rdkafka,
}

/// A way of signing in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BrokerMechanism {
    /// The password is sent: only with TLS.
    #[serde(rename = "PLAIN")]
    Plain,
    /// The password is proven and not sent.
    #[serde(rename = "SCRAM-SHA-256")]
    ScramSha256,
    /// The same, with the longer digest.
    #[serde(rename = "SCRAM-SHA-512")]
    ScramSha512,
}

impl BrokerDeclaration {
    /// Refuses a cluster that could not be reached.
    pub fn check(&self) -> Result<(), Mistake> {
        match self.sort()? {
            BrokerSort::Kafka => self.check_kafka()?,
            BrokerSort::RabbitMq => self.check_rabbitmq()?,
            BrokerSort::Nats => self.check_nats()?,
        }
        let tls = self.tls.clone().unwrap_or_default();
        if tls.certificate.is_some() != tls.key.is_some() {
            return Err(Mistake::wrong(
                "tls",
                "a certificate and its key come together",
                "write both `certificate` and `key`, or neither",
            ));
        }
        Ok(())
    }

    /// Which broker it is: exactly one.
    pub fn sort(&self) -> Result<BrokerSort, Mistake> {
        match (!self.kafka.is_empty(), self.rabbitmq.is_some(), !self.nats.is_empty()) {
            (true, false, false) => Ok(BrokerSort::Kafka),
            (false, true, false) => Ok(BrokerSort::RabbitMq),
            (false, false, true) => Ok(BrokerSort::Nats),
            (false, false, false) => Err(Mistake::missing(
                "it names no brokers",
                "write kafka = [\"HOST:9092\"], rabbitmq = \"amqps://HOST\" or nats = [\"nats://HOST:4222\"]",
            )),
            _ => Err(Mistake::missing("it names two sorts of brokers", "declare a [broker.NAME] for each")),
        }
    }

    fn check_kafka(&self) -> Result<(), Mistake> {
        if self.login.is_some() {
            return Err(Mistake::wrong("login", "Kafka has other ways of signing in", "write sasl = { … }"));
        }
        for (at, broker) in self.kafka.iter().enumerate() {
            let port = broker.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
            if port.is_none_or(|port| port.parse::<u16>().is_err()) {
                let what = format!("{broker:?} is not the address of a broker");
                return Err(Mistake::wrong(format!("kafka.{at}"), what, "write \"HOST:PORT\""));
            }
        }
        let plain = self.sasl.as_ref().is_some_and(|sasl| sasl.mechanism == BrokerMechanism::Plain);
        if plain && self.tls.is_none() {
            return Err(Mistake::wrong(
                "sasl.mechanism",
                "PLAIN would send the password unencrypted",
                "add tls = {}, or write \"SCRAM-SHA-512\"",
            ));
        }
        Ok(())
    }

    fn check_rabbitmq(&self) -> Result<(), Mistake> {
        self.has_nothing_of_kafka()?;
        let address = self.rabbitmq.as_deref().and_then(|text| BrokerAddress::read(text, ["amqp", "amqps"]));
        // Without its text: it may hold a password.
        let address = address.ok_or_else(|| {
            let hint = "write \"amqps://HOST:PORT/VHOST\" without a user: it signs in by login = { … }";
            Mistake::wrong("rabbitmq", "this is not the address of a RabbitMQ", hint)
        })?;
        let is_encrypted = address.scheme == "amqps";
        if self.tls.is_some() && !is_encrypted {
            let hint = "write amqps:// instead of amqp://, or leave tls out";
            return Err(Mistake::wrong("tls", "the address says that connections are not encrypted", hint));
        }
        let Some(login) = &self.login else { return Ok(()) };
        let is_user = login.user.is_some() && login.password_file.is_some();
        if !is_user || login.token_file.is_some() || login.credentials_file.is_some() {
            let hint = "write login = { user = \"NAME\", password_file = \"FILE\" }";
            return Err(Mistake::wrong("login", "RabbitMQ takes a user with a password", hint));
        }
        if !is_encrypted && !address.is_loopback() {
            let what = "the password would be sent unencrypted";
            return Err(Mistake::wrong("rabbitmq", what, "write amqps:// instead of amqp://"));
        }
        Ok(())
    }

    fn check_nats(&self) -> Result<(), Mistake> {
        self.has_nothing_of_kafka()?;
        if self.tls.as_ref().is_some_and(|tls| tls.server_name.is_some()) {
            let hint = "name the server in its address as its certificate does";
            return Err(Mistake::wrong("tls.server_name", "a NATS server proves the name in its address", hint));
        }
        let mut is_open = false;
        for (at, server) in self.nats.iter().enumerate() {
            let address = BrokerAddress::read(server, ["nats", "tls"]).filter(|address| address.rest.is_empty());
            let address = address.ok_or_else(|| {
                let hint = "write \"nats://HOST:PORT\" without a user: it signs in by login = { … }";
                Mistake::wrong(format!("nats.{at}"), "this is not the address of a NATS server", hint)
            })?;
            is_open |= address.scheme == "nats" && !address.is_loopback();
        }
        let Some(login) = &self.login else { return Ok(()) };
        let is_user = login.user.is_some() && login.password_file.is_some();
        let ways = [is_user, login.token_file.is_some(), login.credentials_file.is_some()];
        if ways.iter().filter(|way| **way).count() != 1 || login.user.is_some() != login.password_file.is_some() {
            let hint = "write { user = …, password_file = … }, { token_file = … } or { credentials_file = … }";
            return Err(Mistake::wrong("login", "there is one way of signing in", hint));
        }
        if is_open && self.tls.is_none() && login.credentials_file.is_none() {
            let hint = "write \"tls://HOST:PORT\", add tls = {}, or sign in with a credentials_file";
            return Err(Mistake::wrong("login", "the password or token would be sent unencrypted", hint));
        }
        Ok(())
    }

    fn has_nothing_of_kafka(&self) -> Result<(), Mistake> {
        if self.client.is_some() {
            return Err(Mistake::wrong("client", "there is one for each broker but Kafka", "leave client out"));
        }
        if self.sasl.is_none() {
            return Ok(());
        }
        Err(Mistake::wrong("sasl", "only Kafka is signed in to by this", "write login = { … }"))
    }

    /// The same with its relative paths beginning in this folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        if let Some(tls) = &mut self.tls {
            for file in [&mut tls.ca, &mut tls.certificate, &mut tls.key].into_iter().flatten() {
                *file = folder.join(&*file);
            }
        }
        if let Some(sasl) = &mut self.sasl {
            sasl.password_file = folder.join(&sasl.password_file);
        }
        if let Some(login) = &mut self.login {
            let files = [&mut login.password_file, &mut login.token_file, &mut login.credentials_file];
            for file in files.into_iter().flatten() {
                *file = folder.join(&*file);
            }
        }
        self
    }
}

/// `SCHEME://HOST:PORT` and what follows, without a user.
struct BrokerAddress<'t> {
    scheme: &'t str,
    host: &'t str,
    /// What follows the first slash.
    rest: &'t str,
}

impl<'t> BrokerAddress<'t> {
    fn read(text: &'t str, schemes: [&str; 2]) -> Option<Self> {
        let (scheme, rest) = text.split_once("://").filter(|(scheme, _)| schemes.contains(scheme))?;
        let (authority, rest) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return None;
        }
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if !authority.ends_with(']') => port.parse::<u16>().ok().map(|_| host)?,
            Some(_) | None => authority,
        };
        (!host.is_empty()).then_some(Self { scheme, host, rest })
    }

    fn is_loopback(&self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<BrokerSort, String> {
        let read: BrokerDeclaration = toml::from_str(text).map_err(|error| error.to_string())?;
        read.check().and_then(|()| read.sort()).map_err(|mistake| format!("{}", mistake.of("broker")))
    }

    #[test]
    fn a_broker_is_of_one_sort_with_what_belongs_to_it() {
        let right = [
            ("kafka = [\"k:9092\"]", BrokerSort::Kafka),
            ("kafka = [\"k:9092\"]\nclient = \"rdkafka\"", BrokerSort::Kafka),
            ("rabbitmq = \"amqps://r.example/cases\"", BrokerSort::RabbitMq),
            (
                "rabbitmq = \"amqp://127.0.0.1:5672\"\nlogin = { user = \"u\", password_file = \"p\" }",
                BrokerSort::RabbitMq,
            ),
            ("nats = [\"tls://n1:4222\", \"tls://n2:4222\"]\nlogin = { token_file = \"t\" }", BrokerSort::Nats),
            ("nats = [\"nats://n1:4222\"]\nlogin = { credentials_file = \"c\" }", BrokerSort::Nats),
        ];
        for (text, sort) in right {
            assert_eq!(checked(text), Ok(sort), "{text}");
        }
        let wrong = [
            ("", "no brokers"),
            ("kafka = [\"k:9092\"]\nnats = [\"nats://n:4222\"]", "two sorts"),
            ("kafka = [\"k:9092\"]\nlogin = { token_file = \"t\" }", "login"),
            ("kafka = [\"k:9092\"]\nclient = \"librdkafka\"", "krafka"),
            ("rabbitmq = \"amqps://r.example\"\nclient = \"krafka\"", "client"),
            ("rabbitmq = \"r.example:5672\"", "rabbitmq"),
            ("rabbitmq = \"amqps://u:hush@r.example\"", "rabbitmq"),
            ("rabbitmq = \"amqp://r.example\"\nlogin = { user = \"u\", password_file = \"p\" }", "unencrypted"),
            ("rabbitmq = \"amqps://r.example\"\nlogin = { token_file = \"t\" }", "login"),
            ("rabbitmq = \"amqp://r.example\"\ntls = {}", "tls"),
            ("nats = [\"nats://n:4222\", \"http://n:4222\"]", "nats.1"),
            ("nats = [\"nats://u:hush@n:4222\"]", "nats.0"),
            ("nats = [\"nats://n:4222\"]\nlogin = { token_file = \"t\" }", "unencrypted"),
            ("nats = [\"tls://n:4222\"]\nlogin = { user = \"u\", token_file = \"t\" }", "login"),
            ("nats = [\"tls://n:4222\"]\ntls = { server_name = \"n\" }", "tls.server_name"),
            (
                "nats = [\"tls://n:4222\"]\nsasl = { mechanism = \"PLAIN\", user = \"u\", password_file = \"p\" }",
                "sasl",
            ),
        ];
        for (text, says) in wrong {
            let error = checked(text).unwrap_err();
            assert!(error.contains(says) && !error.contains("hush"), "{text}: {error}");
        }
    }
}
