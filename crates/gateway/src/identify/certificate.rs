//! The caller is who the verified client certificate names.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::response::Response;
use onefold_core::port::BoxFuture;

use super::refused;
use onefold_http::listen::ClientCertificate;
use onefold_http::{Caller, Identify};

/// The caller is who the verified client certificate names; 401 without one.
#[derive(Debug, Clone, Copy)]
pub struct Certificate;

impl Identify for Certificate {
    fn identify<'a>(&'a self, parts: &'a mut Parts) -> BoxFuture<'a, Result<Caller, Box<Response>>> {
        let shown = parts.extensions.get::<ClientCertificate>();
        let found = shown.map(|shown| Caller::known(Arc::clone(&shown.subject)));
        Box::pin(std::future::ready(
            found.ok_or_else(|| Box::new(refused("the request carries no client certificate"))),
        ))
    }
}
