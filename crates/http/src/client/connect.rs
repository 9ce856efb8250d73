//! Connections to others: reused, encrypted where the address says so, and made within a time.

use std::error::Error as StdError;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer}; // tidy: allow(the name is hyper's)
use onefold_config::ForwardDeclaration;
use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::{Error, Result};
use rustls::RootCertStore;
use tower::Service;

use super::resolve::{AddressRule, CheckedResolver};
use super::roots;

/// How long an unused connection is kept. Shorter than common servers keep theirs (5 s): a request on a connection
/// that the other side just closed has an unknown outcome.
const IDLE_FOR: Duration = Duration::from_secs(4);

/// Headers of an answer that are read, so that one with many is an answer still; how many of them pass is said in
/// `answer`.
const HEADERS_READ_MAX: usize = 1024;
/// Bytes of an answer's head that are read, the same in HTTP/1.1 and HTTP/2.
const HEAD_BYTES_READ_MAX: usize = 512 * 1024;

/// How upstreams are connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connect {
    /// Certificates that vouch for upstreams, in PEM; the system's without them.
    pub ca: Option<PathBuf>,
    /// What is spoken.
    pub protocol: Protocol,
    /// How long name, connection and handshake may take together.
    pub within: Duration,
    /// Which addresses a name may lead to.
    pub addresses: AddressRule,
}

/// What is spoken to an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/2 where the handshake agrees on it, else HTTP/1.1.
    Negotiated,
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 only, also without encryption.
    Http2,
}

impl Default for Connect {
    fn default() -> Self {
        Self {
            ca: None,
            protocol: Protocol::Negotiated,
            within: ForwardDeclaration::CONNECT_TIMEOUT,
            addresses: AddressRule::Any,
        }
    }
}

/// Connections that carry bodies of type `B`.
pub type HttpClient<B> = Client<TimedConnector, B>;

impl Connect {
    /// Connections of this sort; they share nothing with others.
    pub fn client<B>(&self) -> Result<HttpClient<B>>
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let mut tcp = HttpConnector::new_with_resolver(CheckedResolver(self.addresses.clone()));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(self.within));
        let builder = HttpsConnectorBuilder::new().with_tls_config(self.tls()?).https_or_http();
        let connector = match self.protocol {
            Protocol::Negotiated => builder.enable_all_versions().wrap_connector(tcp),
            Protocol::Http1 => builder.enable_http1().wrap_connector(tcp),
            Protocol::Http2 => builder.enable_http2().wrap_connector(tcp),
        };
        let mut client = Client::builder(TokioExecutor::new()); // tidy: allow(the name is hyper's)
        client
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_FOR)
            .http1_max_headers(HEADERS_READ_MAX)
            .http1_max_buf_size(HEAD_BYTES_READ_MAX)
            .http2_max_header_list_size(u32::try_from(HEAD_BYTES_READ_MAX).unwrap_or(u32::MAX))
            .http2_only(self.protocol == Protocol::Http2);
        Ok(client.build(TimedConnector { connector, within: self.within }))
    }

    fn tls(&self) -> Result<rustls::ClientConfig> {
        let roots = match &self.ca {
            Some(file) => roots(file)?,
            None => RootCertStore { roots: Vec::new() },
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|cause| Error::new(CONFIGURATION_INVALID, "TLS cannot be set up").caused_by(cause))?;
        if self.ca.is_some() {
            return Ok(builder.with_root_certificates(roots).with_no_client_auth());
        }
        let builder = hyper_rustls::ConfigBuilderExt::with_native_roots(builder).map_err(|cause| {
            Error::new(CONFIGURATION_INVALID, "the system has no certificates to check an upstream with")
                .hint("install ca-certificates, or name a file with upstream_ca")
                .caused_by(cause)
        })?;
        Ok(builder.with_no_client_auth())
    }
}

/// A connector that gives up in time, handshake included.
#[derive(Debug, Clone)]
pub struct TimedConnector {
    connector: HttpsConnector<HttpConnector<CheckedResolver>>,
    within: Duration,
}

type Stream = <HttpsConnector<HttpConnector<CheckedResolver>> as Service<Uri>>::Response;
type BoxError = Box<dyn StdError + Send + Sync>;

impl Service<Uri> for TimedConnector {
    type Response = Stream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = std::result::Result<Stream, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<std::result::Result<(), BoxError>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(self.within, self.connector.call(uri));
        Box::pin(async move { connecting.await? })
    }
}
