//! TLS from clients: our certificate, and theirs where they must show one.

use std::sync::{Arc, PoisonError, RwLock};

use onefold_config::TlsFiles;
use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::{Error, Result};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio_rustls::TlsAcceptor;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::peer::ClientCertificate;
use crate::client::{certificates, roots, unusable};

/// How clients are spoken to; exchangeable, because certificates expire.
#[derive(Clone)]
pub struct ServerTls(Arc<RwLock<TlsAcceptor>>);

impl ServerTls {
    /// Reads the files.
    pub fn read(files: &TlsFiles) -> Result<Self> {
        Ok(Self(Arc::new(RwLock::new(acceptor(files)?))))
    }

    /// Handshakes from now on use what was read later.
    pub fn exchange(&self, later: &Self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = later.acceptor();
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor> {
    let chain = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|cause| unusable(&files.key, &cause))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let wrong =
        |what: &'static str| move |cause: rustls::Error| Error::new(CONFIGURATION_INVALID, what).caused_by(cause);
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(wrong("TLS cannot be set up"))?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(file)?), provider)
                .build()
                .map_err(|cause| unusable(file, &cause))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|cause| unusable(&files.certificate, &format!("it does not fit the key: {cause}")))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The stable name in a verified certificate: a URI, else a host name, else the whole subject.
pub(super) fn subject(certificate: &CertificateDer<'_>) -> Option<ClientCertificate> {
    let (_, read) = X509Certificate::from_der(certificate).ok()?;
    let alternative = read.subject_alternative_name().ok().flatten();
    let names = alternative.map(|extension| extension.value.general_names.as_slice()).unwrap_or_default();
    let uri =
        names.iter().find_map(|name| if let GeneralName::URI(uri) = name { Some(format!("URI:{uri}")) } else { None });
    let dns = || {
        names
            .iter()
            .find_map(|name| if let GeneralName::DNSName(dns) = name { Some(format!("DNS:{dns}")) } else { None })
    };
    let whole = || Some(read.subject().to_string()).filter(|text| !text.is_empty()).map(|text| format!("DN:{text}"));
    uri.or_else(dns).or_else(whole).map(|subject| ClientCertificate { subject: subject.into() })
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};

    use super::*;

    fn named(sans: Vec<SanType>) -> String {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "till 7");
        params.subject_alt_names = sans;
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        subject(certificate.der()).unwrap().subject.to_string()
    }

    #[test]
    fn a_certificate_names_its_owner_by_uri_then_host_then_subject() {
        let uri = SanType::URI("spiffe://shop/till/7".try_into().unwrap());
        let dns = SanType::DnsName("till7.shop.example".try_into().unwrap());
        assert_eq!(named(vec![dns.clone(), uri]), "URI:spiffe://shop/till/7");
        assert_eq!(named(vec![dns]), "DNS:till7.shop.example");
        assert_eq!(named(Vec::new()), "DN:CN=till 7");
    }
}
