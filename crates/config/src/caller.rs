//! `caller` of a route: who calls.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use onefold_core::error::DECLARATION_INVALID;
use onefold_core::{Error, Result};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::http::{WebAddress, check_header, check_longer_than_zero, check_optional_header};
use crate::mistake::Mistake;
use crate::setting::declaration;
use crate::values::{required_duration, wrong};

/// What may be written for a caller.
const WRITE: &str = "write \"anonymous\", \"certificate\", { jwt = { jwks = \"keys.json\" } } or { auth = { url = \"http://…\", subject_header = \"X-Subject\" } }";

/// Who calls a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerDeclaration {
    /// Callers are not identified.
    Anonymous,
    /// The subject of the client's certificate.
    Certificate,
    /// The subject of a signed token.
    Jwt(JwtDeclaration),
    /// Whom another service names.
    Auth(AuthDeclaration),
}

declaration! {
    /// The caller is who a signed token names.
    [serde(default)]
    pub struct JwtDeclaration {
        /// A JSON Web Key Set with the keys that tokens are signed with: a file, or an address that is asked again every five minutes.
        ["file or address", "required without `hs256`"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub jwks: Option<Jwks>,
        /// Holds the secret of HS256; nothing else is accepted then.
        ["file", "required without `jwks`"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hs256: Option<PathBuf>,
        /// The claim that names the subject.
        ["claim", "\"sub\""]
        pub subject: String = "sub".to_owned(),
        /// Only this issuer's tokens are accepted.
        ["text", "any issuer"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub issuer: Option<String>,
        /// Only tokens for this audience are accepted.
        ["text", "any audience"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub audience: Option<String>,
        /// The claim that names the tenant; a token without it is refused.
        ["claim", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tenant_claim: Option<String>,
        /// How far our clock and the issuer's may differ.
        ["duration", "\"30s\""]
        #[serde(with = "required_duration")]
        pub leeway: Duration = Duration::from_secs(30),
    }
}

declaration! {
    /// The caller is whom another service names; it is asked on every request.
    [serde(default)]
    pub struct AuthDeclaration {
        /// The address that is asked, with the client's `Authorization` and `Cookie`.
        ["address", "required"]
        pub url: String,
        /// The header of its answer that names the subject.
        ["header", "required"]
        pub subject_header: String,
        /// The header of its answer that names the tenant; an answer without it is refused.
        ["header", "none"]
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tenant_header: Option<String>,
        /// How long it may take to answer.
        ["duration", "\"5s\""]
        #[serde(with = "required_duration")]
        pub timeout: Duration = Duration::from_secs(5),
    }
}

/// Where a JSON Web Key Set is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Jwks {
    /// A file.
    File(PathBuf),
    /// An address that answers with it.
    Url(String),
}

impl CallerDeclaration {
    /// Refuses a caller that cannot be identified.
    pub fn check(&self) -> Result<(), Mistake> {
        match self {
            Self::Anonymous | Self::Certificate => Ok(()),
            Self::Jwt(jwt) => jwt.check().map_err(|mistake| mistake.within("jwt")),
            Self::Auth(auth) => auth.check().map_err(|mistake| mistake.within("auth")),
        }
    }

    /// The same with its relative paths beginning in this folder.
    #[must_use]
    pub fn in_folder(self, folder: &Path) -> Self {
        match self {
            Self::Jwt(jwt) => Self::Jwt(JwtDeclaration {
                jwks: jwt.jwks.map(|jwks| match jwks {
                    Jwks::File(file) => Jwks::File(folder.join(file)),
                    Jwks::Url(url) => Jwks::Url(url),
                }),
                hs256: jwt.hs256.map(|file| folder.join(file)),
                ..jwt
            }),
            Self::Anonymous | Self::Certificate | Self::Auth(_) => self,
        }
    }
}

impl JwtDeclaration {
    fn check(&self) -> Result<(), Mistake> {
        match (&self.jwks, &self.hs256) {
            (Some(Jwks::Url(url)), None) => check_address("jwks", url, "write jwks = \"https://issuer/keys\""),
            (Some(Jwks::File(_)), None) | (None, Some(_)) => Ok(()),
            (Some(_), Some(_)) | (None, None) => Err(Mistake::missing(
                "tokens are checked with `jwks` or with `hs256`",
                "write jwks = \"keys.json\", jwks = \"https://…\", or hs256 = \"secret.key\"",
            )),
        }
    }
}

impl AuthDeclaration {
    fn check(&self) -> Result<(), Mistake> {
        check_address("url", &self.url, "write url = \"http://auth.internal/check\"")?;
        if self.subject_header.is_empty() {
            let what = "`auth` does not say which header names the caller";
            return Err(Mistake::missing(what, "add subject_header = \"X-Subject\""));
        }
        check_header(&self.subject_header).map_err(|error| Mistake::value("subject_header", error))?;
        check_optional_header("tenant_header", self.tenant_header.as_deref())?;
        check_longer_than_zero("timeout", Some(self.timeout))
    }
}

fn check_address(key: &'static str, url: &str, hint: &str) -> Result<(), Mistake> {
    if url.is_empty() {
        return Err(Mistake::missing(&format!("there is no `{key}` to ask"), hint));
    }
    if WebAddress::parse(url).is_some() {
        return Ok(());
    }
    // Only what follows a user's name and password is shown.
    let shown = url.split('@').next_back().unwrap_or(url);
    Err(Mistake::value(key, Error::new(DECLARATION_INVALID, format!("{shown:?} is not an http address")).hint(hint)))
}

impl Serialize for Jwks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::File(file) => file.serialize(serializer),
            Self::Url(url) => serializer.serialize_str(url),
        }
    }
}

impl<'de> Deserialize<'de> for Jwks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_url = text.starts_with("http://") || text.starts_with("https://");
        Ok(if is_url { Self::Url(text) } else { Self::File(text.into()) })
    }
}

impl Serialize for CallerDeclaration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = match self {
            Self::Anonymous => return serializer.serialize_str("anonymous"),
            Self::Certificate => return serializer.serialize_str("certificate"),
            Self::Jwt(_) | Self::Auth(_) => serializer.serialize_map(Some(1))?,
        };
        match self {
            Self::Jwt(jwt) => table.serialize_entry("jwt", jwt)?,
            Self::Auth(auth) => table.serialize_entry("auth", auth)?,
            Self::Anonymous | Self::Certificate => {}
        }
        table.end()
    }
}

impl<'de> Deserialize<'de> for CallerDeclaration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

struct NameOrTable;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct CallerTable {
    jwt: Option<JwtDeclaration>,
    auth: Option<AuthDeclaration>,
}

impl<'de> Visitor<'de> for NameOrTable {
    type Value = CallerDeclaration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("who calls: \"anonymous\", \"certificate\", or a table with `jwt` or `auth`")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        match name {
            "anonymous" => Ok(CallerDeclaration::Anonymous),
            "certificate" => Ok(CallerDeclaration::Certificate),
            other => Err(wrong(&format!("{other:?} does not say who calls"), WRITE)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let CallerTable { jwt, auth } = CallerTable::deserialize(MapAccessDeserializer::new(map))?;
        match (jwt, auth) {
            (Some(jwt), None) => Ok(CallerDeclaration::Jwt(jwt)),
            (None, Some(auth)) => Ok(CallerDeclaration::Auth(auth)),
            (Some(_), Some(_)) | (None, None) => Err(wrong("this names both or neither of `jwt` and `auth`", WRITE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_that_the_guide_shows_are_those_that_hold() {
        crate::setting::tests::shown_defaults_hold::<JwtDeclaration>(JwtDeclaration::SETTINGS);
        crate::setting::tests::shown_defaults_hold::<AuthDeclaration>(AuthDeclaration::SETTINGS);
    }

    #[test]
    fn what_is_written_reads_back_as_the_same_caller() {
        let jwks = |jwks| JwtDeclaration { jwks: Some(jwks), ..JwtDeclaration::default() };
        let auth = AuthDeclaration {
            url: "http://a/".to_owned(),
            subject_header: "X-Subject".to_owned(),
            ..AuthDeclaration::default()
        };
        let callers = [
            CallerDeclaration::Anonymous,
            CallerDeclaration::Certificate,
            CallerDeclaration::Jwt(jwks(Jwks::File("keys.json".into()))),
            CallerDeclaration::Jwt(jwks(Jwks::Url("https://issuer/keys".to_owned()))),
            CallerDeclaration::Auth(auth),
        ];
        for caller in callers {
            caller.check().unwrap();
            let text = serde_json::to_string(&caller).unwrap();
            assert_eq!(serde_json::from_str::<CallerDeclaration>(&text).unwrap(), caller, "{text}");
        }
    }

    #[test]
    fn files_begin_in_the_folder_and_addresses_do_not() {
        let read = |text: &str| {
            let caller: CallerDeclaration = serde_json::from_str(text).unwrap();
            serde_json::to_string(&caller.in_folder(Path::new("/etc/onefold"))).unwrap()
        };
        assert!(read(r#"{"jwt":{"jwks":"keys.json"}}"#).contains("/etc/onefold/keys.json"));
        assert!(read(r#"{"jwt":{"hs256":"secret"}}"#).contains("/etc/onefold/secret"));
        assert!(read(r#"{"jwt":{"jwks":"https://i/keys"}}"#).contains("\"https://i/keys\""));
    }
}
