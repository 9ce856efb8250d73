//! `caller`: who calls a route.

use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::HeaderName;
use onefold_core::declare::Place;
use onefold_core::error::DECLARATION_INVALID;
use onefold_core::time::parse_duration;
use onefold_core::{Error, Result};
use onefold_http::gateway::identify::KeysFrom;
use serde::Deserialize;
use serde_spanned::Spanned;

/// Who calls a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeclaredCaller {
    Anonymous,
    Certificate,
    Jwt(DeclaredJwt),
    Auth(DeclaredAuth),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredJwt {
    pub(crate) keys: KeysFrom,
    pub(crate) subject: Option<String>,
    pub(crate) issuer: Option<String>,
    pub(crate) audience: Option<String>,
    pub(crate) tenant_claim: Option<String>,
    pub(crate) leeway: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeclaredAuth {
    pub(crate) url: String,
    pub(crate) subject_header: HeaderName,
    pub(crate) tenant_header: Option<HeaderName>,
    pub(crate) timeout: Duration,
}

impl DeclaredCaller {
    /// The same with its relative paths beginning in this folder.
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        match self {
            Self::Jwt(jwt) => {
                let keys = match jwt.keys {
                    KeysFrom::File(file) => KeysFrom::File(folder.join(file)),
                    KeysFrom::Secret(file) => KeysFrom::Secret(folder.join(file)),
                    KeysFrom::Url(url) => KeysFrom::Url(url),
                };
                Self::Jwt(DeclaredJwt { keys, ..jwt })
            }
            Self::Anonymous | Self::Certificate | Self::Auth(_) => self,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallerText {
    jwt: Option<JwtText>,
    auth: Option<AuthText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JwtText {
    jwks: Option<String>,
    hs256: Option<PathBuf>,
    subject: Option<String>,
    issuer: Option<String>,
    audience: Option<String>,
    tenant_claim: Option<String>,
    leeway: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AuthText {
    url: String,
    subject_header: String,
    tenant_header: Option<String>,
    timeout: Option<String>,
}

const HINT: &str = "write \"anonymous\", \"certificate\", { jwt = { jwks = \"keys.json\" } } or { auth = { url = \"http://…\", subject_header = \"X-Subject\" } }";

pub(super) fn read(place: &Place<'_>, value: &Spanned<toml::Value>) -> Result<DeclaredCaller> {
    let wrong = |what: &str| place.error(value.span(), what, HINT);
    match value.get_ref() {
        toml::Value::String(name) if name == "anonymous" => Ok(DeclaredCaller::Anonymous),
        toml::Value::String(name) if name == "certificate" => Ok(DeclaredCaller::Certificate),
        toml::Value::Table(table) => {
            let read: CallerText = table.clone().try_into().map_err(|cause: toml::de::Error| wrong(cause.message()))?;
            let caller = match (read.jwt, read.auth) {
                (Some(text), None) => jwt(text).map(DeclaredCaller::Jwt),
                (None, Some(text)) => auth(text).map(DeclaredCaller::Auth),
                (Some(_), Some(_)) | (None, None) => {
                    Err(Error::new(DECLARATION_INVALID, "name one of `jwt` and `auth`"))
                }
            };
            caller.map_err(|error| place.wrap(value.span(), "caller", &error))
        }
        toml::Value::String(_)
        | toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_) => Err(wrong("this says nothing about who calls")),
    }
}

fn jwt(text: JwtText) -> Result<DeclaredJwt> {
    let keys = match (text.jwks, text.hs256) {
        (Some(jwks), None) if jwks.starts_with("http://") || jwks.starts_with("https://") => KeysFrom::Url(jwks),
        (Some(jwks), None) => KeysFrom::File(jwks.into()),
        (None, Some(file)) => KeysFrom::Secret(file),
        (Some(_), Some(_)) | (None, None) => {
            return Err(Error::new(DECLARATION_INVALID, "tokens are checked with `jwks` or with `hs256`")
                .hint("write jwks = \"keys.json\", jwks = \"https://…\", or hs256 = \"secret.key\""));
        }
    };
    let leeway = text.leeway.as_deref().map(duration).transpose()?;
    let JwtText { subject, issuer, audience, tenant_claim, .. } =
        JwtText { jwks: None, hs256: None, leeway: None, ..text };
    Ok(DeclaredJwt { keys, subject, issuer, audience, tenant_claim, leeway })
}

fn auth(text: AuthText) -> Result<DeclaredAuth> {
    Ok(DeclaredAuth {
        url: text.url,
        subject_header: header(&text.subject_header)?,
        tenant_header: text.tenant_header.as_deref().map(header).transpose()?,
        timeout: text.timeout.as_deref().map_or(Ok(Duration::from_secs(5)), duration)?,
    })
}

fn duration(text: &str) -> Result<Duration> {
    parse_duration(text).ok_or_else(|| {
        Error::new(DECLARATION_INVALID, format!("{text:?} is no duration")).hint("write \"250ms\", \"10s\" or \"5m\"")
    })
}

/// A header's name.
pub(super) fn header(name: &str) -> Result<HeaderName> {
    name.parse()
        .map_err(|_| Error::new(DECLARATION_INVALID, format!("{name:?} is no header")).hint("write \"X-Subject\""))
}
