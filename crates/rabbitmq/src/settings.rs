//! How a broker is reached: plain data, with the secrets as values that are never printed.

use std::sync::Arc;

use lapin::uri::{AMQPScheme, AMQPUri};
use onefold_core::error::{DECLARATION_INVALID, Error, Redacted, Result};

use crate::tls;

/// A RabbitMQ broker, and who we are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RabbitMqSettings {
    /// `amqps://HOST:PORT/VHOST`, or `amqp://…` where the connection is not encrypted; without a user. Without a virtual
    /// host it is `/`.
    pub address: String,
    /// The name of each connection, for the broker's list of them. Default: `onefold`.
    pub name: String,
    /// Signs in. Default: as `guest`, which a broker takes only from its own machine.
    pub login: Option<RabbitMqLogin>,
    /// How an `amqps` connection is encrypted. Default: what the system trusts is trusted.
    pub tls: RabbitMqTls,
}

/// Who signs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RabbitMqLogin {
    /// As whom.
    pub user: String,
    /// With what.
    pub password: Redacted<String>,
}

/// How a connection is encrypted; the broker is always checked against its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RabbitMqTls {
    /// Certificates, in PEM, that alone are trusted. Default: those that the system trusts.
    pub ca_pem: Option<Vec<u8>>,
    /// The certificate that we show. Default: none.
    pub client: Option<RabbitMqClientCertificate>,
    /// The name that the broker proves, where it is not the one in its address. Default: that one.
    pub server_name: Option<String>,
}

/// A certificate that we show, with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RabbitMqClientCertificate {
    /// The certificate and those that signed it, in PEM.
    pub chain_pem: Vec<u8>,
    /// Its key, in PEM.
    pub key_pem: Redacted<Vec<u8>>,
}

/// Settings that were checked, as the client wants them.
pub(crate) struct Address {
    pub(crate) uri: AMQPUri,
    pub(crate) name: String,
    /// How it is encrypted, and the name that is proven.
    pub(crate) tls: Option<(Arc<rustls::ClientConfig>, String)>,
}

/// A broker that is silent for twice as long is gone. In seconds.
const HEARTBEAT: u16 = 10;

impl RabbitMqSettings {
    /// A broker with the defaults.
    pub fn new(address: impl Into<String>) -> Self {
        Self { address: address.into(), name: "onefold".to_owned(), login: None, tls: RabbitMqTls::default() }
    }

    /// The same for the client; an error says what cannot be used.
    pub(crate) fn read(&self) -> Result<Address> {
        // Without its text: it may hold a password.
        let refused = |what: &str| {
            Error::new(DECLARATION_INVALID, format!("the address of RabbitMQ {what}"))
                .hint("write amqps://HOST:PORT/VHOST without a user: it signs in by its login")
        };
        let authority = self.address.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default());
        let authority = authority.ok_or_else(|| refused("is not one"))?;
        if authority.contains('@') {
            return Err(refused("holds a user"));
        }
        let mut uri: AMQPUri = self.address.parse().map_err(|_| refused("is not one"))?;
        if authority.is_empty() || authority.starts_with(':') {
            return Err(refused("has no host"));
        }
        uri.query.heartbeat.get_or_insert(HEARTBEAT);
        let is_encrypted = uri.scheme == AMQPScheme::AMQPS;
        if let Some(login) = &self.login {
            if !is_encrypted && !is_loopback(&uri.authority.host) {
                return Err(Error::new(DECLARATION_INVALID, "the password would be sent to RabbitMQ unencrypted")
                    .hint("write amqps:// instead of amqp://"));
            }
            uri.authority.userinfo.username.clone_from(&login.user);
            uri.authority.userinfo.password.clone_from(login.password.reveal());
        }
        let tls = if is_encrypted {
            let name = self.tls.server_name.clone().unwrap_or_else(|| uri.authority.host.clone());
            Some((tls::config(&self.tls)?, name))
        } else {
            None
        };
        Ok(Address { uri, name: self.name.clone(), tls })
    }
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(address: &str) -> RabbitMqSettings {
        let login = RabbitMqLogin { user: "cases".to_owned(), password: Redacted::new("hush-hush".to_owned()) };
        RabbitMqSettings { login: Some(login), ..RabbitMqSettings::new(address) }
    }

    #[test]
    fn an_address_that_cannot_be_used_is_refused_without_its_text() {
        for bad in ["rabbit:5672", "http://rabbit", "amqp://", "amqp://:5672", "amqps://cases:hush-hush@rabbit/"] {
            let error = RabbitMqSettings::new(bad).read().err().unwrap();
            assert!(error.next_step().contains("amqps://") && !error.to_string().contains("hush"), "{bad}: {error}");
        }
        for good in ["amqp://rabbit", "amqps://rabbit.example:5671/cases", "amqp://127.0.0.1:5672/%2f"] {
            assert!(RabbitMqSettings::new(good).read().is_ok(), "{good}");
        }
    }

    #[test]
    fn a_password_is_not_sent_unencrypted_to_another_machine() {
        let error = login("amqp://rabbit.example").read().err().unwrap();
        assert!(error.next_step().contains("amqps://"), "{error}");
        for good in ["amqps://rabbit.example", "amqp://127.0.0.1", "amqp://localhost:5672", "amqp://[::1]"] {
            assert!(login(good).read().is_ok(), "{good}");
        }
    }

    #[test]
    fn a_broker_without_a_virtual_host_is_the_default_one() {
        let vhost = |address: &str| RabbitMqSettings::new(address).read().unwrap().uri.vhost;
        assert_eq!((vhost("amqp://rabbit"), vhost("amqp://rabbit/cases")), ("/".to_owned(), "cases".to_owned()));
    }

    #[test]
    fn no_secret_is_printed() {
        let key_pem = Redacted::new(b"PRIVATE".to_vec());
        let client = Some(RabbitMqClientCertificate { chain_pem: b"PUBLIC".to_vec(), key_pem });
        let settings =
            RabbitMqSettings { tls: RabbitMqTls { client, ..RabbitMqTls::default() }, ..login("amqps://rabbit") };
        let shown = format!("{settings:?}");
        assert!(!shown.contains("hush") && !shown.contains(&format!("{:?}", b"PRIVATE")), "{shown}");
    }

    #[test]
    fn certificates_that_are_none_are_refused() {
        let tls = RabbitMqTls { ca_pem: Some(b"not a certificate".to_vec()), ..RabbitMqTls::default() };
        let error = RabbitMqSettings { tls, ..RabbitMqSettings::new("amqps://rabbit") }.read().err().unwrap();
        assert!(error.detail().contains("certificate"), "{error}");
    }
}
