//! Certificates in PEM files.

use std::path::Path;

use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::{Error, Result};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// The certificates of a PEM file as those that vouch for others.
pub(crate) fn roots(file: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|cause| unusable(file, &cause))?;
    }
    Ok(roots)
}

/// The certificates of a PEM file; at least one.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let read: std::result::Result<Vec<_>, _> = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    match read {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(unusable(file, &"it holds no certificate")),
        Err(cause) => Err(unusable(file, &cause)),
    }
}

/// A file that cannot be used, and why.
pub(crate) fn unusable(file: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::new(CONFIGURATION_INVALID, format!("{} cannot be used: {why}", file.display()))
        .hint("name a PEM file that this user can read")
}
