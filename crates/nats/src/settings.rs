//! How the servers are reached: plain data, with the secrets as values that are never printed.

use std::sync::Arc;

use async_nats::{ConnectOptions, ServerAddr};
use onefold_core::error::{DECLARATION_INVALID, Error, Redacted, Result};

use crate::tls;

/// NATS servers of one cluster, and who we are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsSettings {
    /// Servers that are tried in turn, each `nats://HOST:PORT`, or `tls://HOST:PORT` where it must be encrypted; without
    /// a user. At least one.
    pub servers: Vec<String>,
    /// The name of each connection, for the servers' list of them. Default: `onefold`.
    pub name: String,
    /// Signs in. Default: not.
    pub login: Option<NatsLogin>,
    /// Encrypts every connection. Default: only to servers that are `tls://` or ask for it.
    pub tls: Option<NatsTls>,
}

/// How we sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NatsLogin {
    /// With a password, which is sent.
    Password {
        /// As whom.
        user: String,
        /// With what.
        password: Redacted<String>,
    },
    /// With a token, which is sent.
    Token(Redacted<String>),
    /// With the text of a credentials file: a JWT, and a key that signs and is not sent.
    Credentials(Redacted<String>),
}

/// How a connection is encrypted; a server is always checked against its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NatsTls {
    /// Certificates, in PEM, that alone are trusted. Default: those that the system trusts.
    pub ca_pem: Option<Vec<u8>>,
    /// The certificate that we show. Default: none.
    pub client: Option<NatsClientCertificate>,
}

/// A certificate that we show, with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsClientCertificate {
    /// The certificate and those that signed it, in PEM.
    pub chain_pem: Vec<u8>,
    /// Its key, in PEM.
    pub key_pem: Redacted<Vec<u8>>,
}

/// Settings that were checked, as the client wants them.
pub(crate) struct Servers {
    pub(crate) addresses: Vec<ServerAddr>,
    name: String,
    login: Option<NatsLogin>,
    must_encrypt: Encryption,
    tls: Arc<rustls::ClientConfig>,
}

/// Whether a connection that is not encrypted may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encryption {
    Required,
    AsTheServerSays,
}

impl NatsSettings {
    /// Servers with the defaults.
    pub fn new<S: Into<String>>(servers: impl IntoIterator<Item = S>) -> Self {
        let servers = servers.into_iter().map(Into::into).collect();
        Self { servers, name: "onefold".to_owned(), login: None, tls: None }
    }

    /// The same for the client; an error says what cannot be used.
    pub(crate) fn read(&self) -> Result<Servers> {
        if self.servers.is_empty() {
            return Err(refused("no NATS server is named", "name one or more, each nats://HOST:PORT"));
        }
        let mut addresses = Vec::new();
        for server in &self.servers {
            let address = server.split_once("://").filter(|(scheme, _)| ["nats", "tls"].contains(scheme));
            let address = address.filter(|(_, rest)| !rest.contains(['@', '/'])).and_then(|_| server.parse().ok());
            // Without its text: it may hold a password.
            let hint = "write nats://HOST:PORT or tls://HOST:PORT without a user: it signs in by its login";
            addresses.push(address.ok_or_else(|| refused("the address of a NATS server cannot be used", hint))?);
        }
        let is_encrypted = |address: &ServerAddr| self.tls.is_some() || address.tls_required();
        let is_sent = match &self.login {
            Some(NatsLogin::Password { .. } | NatsLogin::Token(_)) => true,
            Some(NatsLogin::Credentials(_)) | None => false,
        };
        if is_sent && addresses.iter().any(|address| !is_encrypted(address) && !is_loopback(address.host())) {
            let hint = "write tls://HOST:PORT, or sign in with a credentials file";
            return Err(refused("the password or token would be sent to NATS unencrypted", hint));
        }
        if let Some(NatsLogin::Credentials(credentials)) = &self.login
            && ConnectOptions::with_credentials(credentials.reveal()).is_err()
        {
            return Err(refused("the credentials of NATS cannot be used", "give a file as `nsc` writes it"));
        }
        let must_encrypt = if self.tls.is_some() { Encryption::Required } else { Encryption::AsTheServerSays };
        let tls = tls::config(&self.tls.clone().unwrap_or_default())?;
        Ok(Servers { addresses, name: self.name.clone(), login: self.login.clone(), must_encrypt, tls })
    }
}

impl Servers {
    /// What the client is told; its times are the caller's.
    pub(crate) fn options(&self) -> ConnectOptions {
        let options = match &self.login {
            None => ConnectOptions::new(),
            Some(NatsLogin::Password { user, password }) => {
                ConnectOptions::with_user_and_password(user.clone(), password.reveal().clone())
            }
            Some(NatsLogin::Token(token)) => ConnectOptions::with_token(token.reveal().clone()),
            // They were read when the settings were.
            Some(NatsLogin::Credentials(text)) => ConnectOptions::with_credentials(text.reveal()).unwrap_or_default(),
        };
        options
            .name(&self.name)
            .require_tls(self.must_encrypt == Encryption::Required)
            .tls_client_config((*self.tls).clone())
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn refused(detail: &str, hint: &'static str) -> Error {
    Error::new(DECLARATION_INVALID, detail).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(server: &str) -> NatsSettings {
        let password = Redacted::new("hush-hush".to_owned());
        let login = Some(NatsLogin::Password { user: "cases".to_owned(), password });
        NatsSettings { login, ..NatsSettings::new([server]) }
    }

    #[test]
    fn servers_that_cannot_be_used_are_refused_without_their_text() {
        for bad in [vec![], vec!["nats"], vec!["http://nats:4222"], vec!["nats://cases:hush-hush@nats:4222"]] {
            let error = NatsSettings::new(bad.clone()).read().err().unwrap();
            assert!(error.next_step().contains("HOST:PORT") && !error.to_string().contains("hush"), "{bad:?}");
        }
        assert!(NatsSettings::new(["nats://nats-1:4222", "tls://10.0.0.1:4222"]).read().is_ok());
    }

    #[test]
    fn what_is_sent_is_not_sent_unencrypted_to_another_machine() {
        let error = password("nats://nats.example:4222").read().err().unwrap();
        assert!(error.next_step().contains("tls://"), "{error}");
        for good in ["tls://nats.example:4222", "nats://127.0.0.1:4222", "nats://localhost:4222"] {
            assert!(password(good).read().is_ok(), "{good}");
        }
        let encrypted = NatsSettings { tls: Some(NatsTls::default()), ..password("nats://nats.example:4222") };
        assert!(encrypted.read().is_ok());
    }

    #[test]
    fn credentials_that_are_none_are_refused() {
        let login = Some(NatsLogin::Credentials(Redacted::new("hush-hush".to_owned())));
        let error = NatsSettings { login, ..NatsSettings::new(["nats://nats:4222"]) }.read().err().unwrap();
        assert!(error.next_step().contains("nsc") && !error.to_string().contains("hush"), "{error}");
    }

    #[test]
    fn no_secret_is_printed() {
        let key_pem = Redacted::new(b"PRIVATE".to_vec());
        let client = Some(NatsClientCertificate { chain_pem: b"PUBLIC".to_vec(), key_pem });
        let tls = Some(NatsTls { client, ..NatsTls::default() });
        let shown = format!("{:?}", NatsSettings { tls, ..password("tls://nats:4222") });
        assert!(!shown.contains("hush") && !shown.contains(&format!("{:?}", b"PRIVATE")), "{shown}");
    }
}
