//! The caller is who a signed token names: its issuer and its subject. The token itself rotates and is never kept.

use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use jsonwebtoken::{Validation, decode, decode_header};
use onefold_config::JwtDeclaration;
use onefold_core::operation::Tenant;
use onefold_core::port::BoxFuture;
use serde_json::{Map, Value};

use super::jwks::Keys;
use super::refused;
use crate::problem;
use onefold_http::{Caller, Identify};

/// Bytes that a token may have.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Checks a bearer token: signature, expiry, and issuer and audience where they are said.
pub struct Jwt {
    keys: Keys,
    declared: JwtDeclaration,
}

impl Jwt {
    /// Tokens signed with one of these keys, as this declaration says.
    pub fn new(keys: Keys, declared: JwtDeclaration) -> Self {
        Self { keys, declared }
    }

    async fn check(&self, headers: &HeaderMap) -> Result<Caller, Response> {
        let token = bearer(headers).ok_or_else(|| refused("the request carries no bearer token"))?;
        // An algorithm that is not known, `none` among them, does not parse.
        let head = decode_header(token).map_err(|_| refused("the bearer token is not valid"))?;
        // We implement no extension, so whatever a token calls critical is something we do not understand
        // (RFC 7515, 4.1.11).
        if head.crit.is_some() {
            return Err(refused("the bearer token names a critical header that this gateway does not understand"));
        }
        let keys = self.keys.fitting(head.kid.as_deref(), head.alg).await.map_err(problem)?;
        let rules = self.rules(head.alg);
        let claims = keys.iter().find_map(|key| decode::<Map<String, Value>>(token, key, &rules).ok());
        let claims = claims.ok_or_else(|| refused("the bearer token is not valid"))?.claims;
        self.caller(&claims).ok_or_else(|| refused("the bearer token names no caller that can be used"))
    }

    fn rules(&self, algorithm: jsonwebtoken::Algorithm) -> Validation {
        let mut rules = Validation::new(algorithm);
        let mut required = vec!["exp"];
        rules.leeway = self.declared.leeway.as_secs();
        rules.validate_nbf = true;
        if let Some(issuer) = &self.declared.issuer {
            rules.set_issuer(&[issuer]);
            required.push("iss");
        }
        match &self.declared.audience {
            Some(audience) => {
                rules.set_audience(&[audience]);
                required.push("aud");
            }
            // Without an audience of our own any is taken: the keys alone decide.
            None => rules.validate_aud = false,
        }
        rules.set_required_spec_claims(&required);
        rules
    }

    /// Issuer and subject; a space parts them, because an issuer has none. A token without an issuer has the empty one,
    /// which no token can name.
    fn caller(&self, claims: &Map<String, Value>) -> Option<Caller> {
        let text = |claim: &str| claims.get(claim).and_then(Value::as_str).filter(|text| !text.is_empty());
        // Both are strings (RFC 7519, 4.1): an issuer that is something else must not count as none, or the subjects of
        // two issuers would be one caller.
        if ["iss", "sub"].into_iter().any(|claim| claims.contains_key(claim) && text(claim).is_none()) {
            return None;
        }
        let issuer = text("iss").unwrap_or_default();
        let subject = text(&self.declared.subject)?;
        if issuer.contains(char::is_whitespace) || issuer.len() + subject.len() > 1_000 {
            return None;
        }
        let tenant = match &self.declared.tenant_claim {
            None => None,
            Some(claim) => Some(Tenant::parse(text(claim)?).ok()?),
        };
        Some(Caller::Known { subject: format!("{issuer} {subject}").into(), tenant })
    }
}

impl Identify for Jwt {
    fn identify<'a>(&'a self, parts: &'a mut Parts) -> BoxFuture<'a, Result<Caller, Box<Response>>> {
        Box::pin(async move { self.check(&parts.headers).await.map_err(Box::new) })
    }
}

/// The one bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).into_iter();
    let value = values.next()?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let one = values.next().is_none() && scheme.eq_ignore_ascii_case("bearer");
    Some(token.trim()).filter(|token| one && !token.is_empty() && token.len() <= TOKEN_BYTES_MAX)
}
