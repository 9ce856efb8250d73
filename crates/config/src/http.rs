//! What declarations say of HTTP, in plain types: methods, statuses, header names, addresses.

use onefold_core::error::DECLARATION_INVALID;
use onefold_core::{Error, Result};

use crate::mistake::Mistake;

/// An enum whose values are words of the file.
macro_rules! words {
    (
        $(#[doc = $doc:literal])+
        pub enum $name:ident, $what:literal {
            $($(#[doc = $about:literal])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $about])+ $variant,)+
        }

        impl $name {
            /// Every one.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word for it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::values::word(deserializer, |text| {
                    Self::ALL.iter().copied().find(|one| one.as_str() == text).ok_or_else(|| {
                        let words: Vec<String> = Self::ALL.iter().map(|one| format!("{:?}", one.as_str())).collect();
                        (format!("{text:?} is not {}", $what), format!("write {}", one_of(&words)))
                    })
                })
            }
        }
    };
}

/// `"a", "b" or "c"`.
fn one_of(words: &[String]) -> String {
    match words {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        one => one.concat(),
    }
}

words! {
    /// Whether a request must carry a key.
    pub enum KeyRequirement, "\"required\" or \"optional\"" {
        /// A request without one is refused.
        Required = "required",
        /// A request without one passes, unguarded.
        Optional = "optional",
    }
}

words! {
    /// A method whose requests can be guarded.
    pub enum GuardedMethod, "a method that can be guarded" {
        /// `POST`.
        Post = "POST",
        /// `PATCH`.
        Patch = "PATCH",
        /// `PUT`.
        Put = "PUT",
        /// `DELETE`.
        Delete = "DELETE",
    }
}

words! {
    /// What a status of the upstream says of the effect.
    pub enum StatusMeaning, "what a status can mean" {
        /// Surely nothing took hold: nothing is stored, the key stays usable.
        NotApplied = "not-applied",
        /// It took hold: stored and replayed.
        Applied = "applied",
        /// No, for good: stored and replayed.
        Final = "final",
        /// It may have taken hold.
        Unknown = "unknown",
    }
}

words! {
    /// What becomes of a request for `otherwise` whose path is a guarded route's in another spelling.
    pub enum Lookalikes, "what becomes of lookalikes" {
        /// Refused: an upstream that does not care about the spelling would perform it unguarded.
        Refuse = "refuse",
        /// Passed on like any other.
        Pass = "pass",
    }
}

/// Refuses what is not a header's name (a token of RFC 9110).
pub(crate) fn check_header(name: &str) -> Result<()> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !name.is_empty() && name.len() <= 256 && name.bytes().all(token) {
        return Ok(());
    }
    Err(Error::new(DECLARATION_INVALID, format!("{name:?} is not a header name")).hint("write \"X-Subject\""))
}

/// The same for the header of a key that may be left out.
pub(crate) fn check_optional_header(key: &'static str, name: Option<&str>) -> Result<(), Mistake> {
    name.map_or(Ok(()), check_header).map_err(|error| Mistake::value(key, error))
}

/// The same for each header in a list.
pub(crate) fn check_headers(
    key: &str,
    names: &[String],
    allowed: impl Fn(&str) -> Result<(), Error>,
) -> Result<(), Mistake> {
    for (at, name) in names.iter().enumerate() {
        let checked = check_header(name).and_then(|()| allowed(&name.to_ascii_lowercase()));
        checked.map_err(|error| Mistake::value(format!("{key}.{at}"), error))?;
    }
    Ok(())
}

/// Refuses a number outside its limits.
pub(crate) fn check_number<T>(key: &'static str, given: T, limits: std::ops::RangeInclusive<T>) -> Result<(), Mistake>
where
    T: PartialOrd + Copy + std::fmt::Display,
{
    if limits.contains(&given) {
        return Ok(());
    }
    let hint = format!("give a number from {} to {}", limits.start(), limits.end());
    Err(Mistake::wrong(key, format!("{given} is out of range"), &hint))
}

/// Refuses a status that is not one of these.
pub(crate) fn check_status(key: &'static str, given: u16, allowed: &[u16]) -> Result<(), Mistake> {
    if allowed.contains(&given) {
        return Ok(());
    }
    let listed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
    Err(Mistake::wrong(key, format!("the status {given} is not possible here"), &format!("use {}", one_of(&listed))))
}

/// Refuses a duration of nothing.
pub(crate) fn check_longer_than_zero(key: &'static str, given: Option<std::time::Duration>) -> Result<(), Mistake> {
    if given.is_none_or(|given| !given.is_zero()) {
        return Ok(());
    }
    Err(Mistake::wrong(key, "this must be longer than zero", "write \"10s\""))
}

/// Refuses what is not a JSON pointer.
pub(crate) fn check_pointer(key: &'static str, given: Option<&str>) -> Result<(), Mistake> {
    match given.filter(|given| !given.starts_with('/')) {
        None => Ok(()),
        Some(given) => Err(Mistake::wrong(key, format!("{given:?} is not a JSON pointer"), "write \"/caseId\"")),
    }
}

/// An address of the web, as far as declarations ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WebAddress<'a> {
    pub(crate) encrypted: bool,
    pub(crate) host: &'a str,
}

impl<'a> WebAddress<'a> {
    /// Reads `http://HOST:PORT/PATH?QUERY` or the same with `https`; without a user and a fragment.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let encrypted = match scheme {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let unsafe_in_path = |byte: u8| !byte.is_ascii_graphic() || b"\"#<>\\^`{|}".contains(&byte);
        if path.bytes().any(unsafe_in_path) {
            return None;
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                host.parse::<std::net::Ipv6Addr>().ok()?;
                (host, port)
            }
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        let port_fits = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
        let in_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
        (port_fits && !host.is_empty() && host.bytes().all(in_host)).then_some(Self { encrypted, host })
    }

    /// Whether it is on this machine.
    pub(crate) fn is_loopback(self) -> bool {
        self.host == "localhost" || self.host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_and_a_host_and_hides_no_user() {
        let rows = [
            ("https://ops.example.com/hook?a=b", true, "ops.example.com"),
            ("http://127.0.0.1:9/x", false, "127.0.0.1"),
            ("http://[::1]:9", false, "::1"),
        ];
        for (text, encrypted, host) in rows {
            assert_eq!(WebAddress::parse(text), Some(WebAddress { encrypted, host }), "{text}");
        }
        let bad = [
            "",
            "ops",
            "/hook",
            "ftp://x/",
            "https://",
            "https:///x",
            "https://me:hush@ops/",
            "https://ops/a b",
            "https://ops/#a",
            "https://ops:x/",
            "https://ops:99999/",
            "https://[::1/",
            "https://[ops]/",
            "https://ö/",
        ];
        for text in bad {
            assert_eq!(WebAddress::parse(text), None, "{text}");
        }
        assert!(WebAddress::parse("http://[::1]/").unwrap().is_loopback());
        assert!(WebAddress::parse("http://localhost").unwrap().is_loopback());
        assert!(!WebAddress::parse("http://10.0.0.1").unwrap().is_loopback());
    }

    #[test]
    fn words_are_listed_as_people_list_them() {
        let words: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        assert_eq!((one_of(&words), one_of(&words[..1])), ("a, b or c".to_owned(), "a".to_owned()));
    }
}
