//! How a connection is encrypted: by rustls, with ring.

use std::sync::Arc;

use onefold_core::error::{DECLARATION_INVALID, Error, Result};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::settings::RabbitMqTls;

/// The client's configuration; a broker is always checked against its name.
pub(crate) fn config(tls: &RabbitMqTls) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = versions.map_err(|_| unusable("TLS"))?.with_root_certificates(roots(tls.ca_pem.as_deref())?);
    let config = match &tls.client {
        Some(client) => {
            let key = PrivateKeyDer::from_pem_slice(client.key_pem.reveal()).map_err(|_| unusable("our key"))?;
            let chain = certificates(&client.chain_pem, "our certificate")?;
            builder.with_client_auth_cert(chain, key).map_err(|_| unusable("our certificate with its key"))?
        }
        None => builder.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

/// What is trusted: the given certificates alone, else what the system trusts.
fn roots(ca_pem: Option<&[u8]>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(pem) = ca_pem else {
        // One that cannot be read is one fewer that is trusted.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    for certificate in certificates(pem, "the certificate that is trusted")? {
        roots.add(certificate).map_err(|_| unusable("the certificate that is trusted"))?;
    }
    Ok(roots)
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>> {
    let read: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    read.ok().filter(|read| !read.is_empty()).ok_or_else(|| unusable(what))
}

fn unusable(what: &str) -> Error {
    Error::new(DECLARATION_INVALID, format!("{what} cannot be used"))
        .hint("give files in PEM, the key with its certificate")
}
