//! Where the ledger is: a file, or a PostgreSQL database whose password is shown nowhere.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::{Error, Result};

use super::layers::Layers;

/// Where the ledger is. Shown without its password.
#[derive(Debug, Clone)]
pub(crate) enum Address {
    Sqlite(PathBuf),
    Postgres(Url),
}

/// A PostgreSQL database's address, with whatever secrets it holds.
#[derive(Clone)]
pub(crate) struct Url(String);

/// Parameters of an address that the driver knows, and that may be shown.
const OPEN: [&str; 9] = ["sslmode", "sslrootcert", "sslcert", "sslkey", "host", "hostaddr", "port", "dbname", "user"];
/// Parameters that it knows, and that may hold a secret.
const CLOSED: [&str; 2] = ["password", "options"];

/// Shown in place of an address that cannot be told apart from its password.
const NOT_SHOWN: &str = "postgres://(not shown)";

impl Address {
    pub(super) fn read(layers: &Layers) -> Result<Self> {
        let (text, origin) = (layers.text("database"), layers.origin("database"));
        let wrong = |what: String, hint: &str| Err(Error::new(CONFIGURATION_INVALID, what).hint(hint));
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => Url::parse(text, &origin.to_string()).map(Self::Postgres),
            // What follows may hold a password.
            Some((scheme, _)) if scheme != "sqlite" => wrong(
                format!("{origin}: there is no store for {scheme}:// addresses"),
                "use sqlite:FILE or postgres://USER:PASSWORD@HOST:PORT/DATABASE",
            ),
            _ => {
                let path = text.strip_prefix("sqlite:").unwrap_or(text);
                let path = path.strip_prefix("//").unwrap_or(path);
                if path.is_empty() || path == ":memory:" {
                    let what = format!("{origin}: {text:?} is not a file; what is in memory is lost");
                    return wrong(what, "name a file, such as sqlite:onefold.db");
                }
                Ok(Self::Sqlite(PathBuf::from(path)))
            }
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "{}", path.display()),
            Self::Postgres(url) => write!(f, "{url:?}"),
        }
    }
}

impl Url {
    /// A PostgreSQL address; one whose parts cannot be told apart is refused without being repeated.
    pub(crate) fn parse(text: &str, origin: &str) -> Result<Self> {
        let Some(parts) = Parts::of(text) else {
            return Err(Error::new(CONFIGURATION_INVALID, format!("{origin}: the database's address cannot be read"))
                .hint("write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE; special characters percent-encoded"));
        };
        // The driver would ignore it, and log it with its value.
        if let Some((name, _)) = parts.parameters().find(|(name, _)| !OPEN.contains(name) && !CLOSED.contains(name)) {
            let known = OPEN.iter().chain(&CLOSED).copied().collect::<Vec<_>>().join(", ");
            let what = format!("{origin}: the database's address has an unknown parameter {name:?}");
            return Err(Error::new(CONFIGURATION_INVALID, what).hint(format!("the parameters are {known}")));
        }
        Ok(Self(text.to_owned()))
    }

    /// The whole address, for the driver alone.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_password(&self.0))
    }
}

/// An address that was taken apart.
struct Parts<'a> {
    user: Option<&'a str>,
    host: &'a str,
    path: &'a str,
    query: &'a str,
}

impl<'a> Parts<'a> {
    /// Takes an address apart, where there is one way to do it: a password with `@`, `/` or `?` in it has others.
    fn of(text: &'a str) -> Option<Self> {
        let (_, rest) = text.split_once("://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        if rest.contains(['@', '#']) || authority.matches('@').count() > 1 {
            return None;
        }
        let (login, host) = match authority.split_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, authority),
        };
        // `user:password` without a host looks like a host with an odd port.
        let port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']'));
        if port.is_some_and(|port| !port.chars().all(|c| c.is_ascii_digit())) {
            return None;
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        Some(Self { user: login.and_then(|login| login.split(':').next()), host, path, query })
    }

    fn parameters(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }
}

/// An address as it may be shown; other texts are left as they are.
pub(super) fn without_password(text: &str) -> Cow<'_, str> {
    match text.split_once("://") {
        None | Some(("sqlite", _)) => return text.into(),
        Some(_) => {}
    }
    let Some(parts) = Parts::of(text) else { return NOT_SHOWN.into() };
    let user = parts.user.map(|user| format!("{user}@")).unwrap_or_default();
    let open = parts.parameters().filter(|(name, _)| OPEN.contains(name));
    let query = open.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&");
    let query = if query.is_empty() { query } else { format!("?{query}") };
    format!("postgres://{user}{}{}{query}", parts.host, parts.path).into()
}

/// A line of a file as it may be shown: as long as it is, with stars for whatever may be a password.
pub(super) fn starred(line: &str) -> Cow<'_, str> {
    match line.find("://") {
        Some(at) if line[at..].contains(['@', '?']) => {
            let stars = "*".repeat(line[at + 3..].chars().count());
            format!("{}{stars}", &line[..at + 3]).into()
        }
        _ => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password_wherever_that_stands() {
        let rows = [
            (
                "postgres://me:hush@db.internal:5433/app?sslmode=require",
                "postgres://me@db.internal:5433/app?sslmode=require",
            ),
            ("postgresql://me:hush@[::1]:5432/app", "postgres://me@[::1]:5432/app"),
            ("postgres://db/app?password=hush&user=me", "postgres://db/app?user=me"),
            ("postgres://db/app?options=-c%20hush", "postgres://db/app"),
            ("postgres://me@db", "postgres://me@db"),
            ("postgres://me:hu@sh@db/app", NOT_SHOWN),
            ("postgres://me:hu/sh@db/app", NOT_SHOWN),
            ("postgres://me:hu?sh@db/app", NOT_SHOWN),
            ("postgres://me:hu#sh@db/app", NOT_SHOWN),
            ("postgres://me:hush/app", NOT_SHOWN),
            ("postgres://db/app?password=hu@sh", NOT_SHOWN),
            ("sqlite:onefold.db", "sqlite:onefold.db"),
            ("sqlite:///var/lib/a@b.db", "sqlite:///var/lib/a@b.db"),
        ];
        for (text, shown) in rows {
            assert_eq!(without_password(text), shown);
        }
    }

    #[test]
    fn an_address_that_cannot_be_read_is_refused_and_not_repeated() {
        for text in ["postgres://me:hu@sh@db/app", "postgres://me:hush/app", "postgres://db/app?passwd=hush"] {
            let error = Url::parse(text, "flag --database").unwrap_err();
            assert_eq!(error.code(), CONFIGURATION_INVALID);
            assert!(!format!("{error:?} {error}").contains("hu"), "{error}");
        }
        assert_eq!(Url::parse("postgres://me:hush@db/app", "").unwrap().secret(), "postgres://me:hush@db/app");
    }

    #[test]
    fn a_line_with_a_password_is_starred_and_keeps_its_length() {
        assert_eq!(starred("databse = \"postgres://me:hush@db\""), "databse = \"postgres://***********");
        assert_eq!(starred("ask = \"GET http://x/{id}\""), "ask = \"GET http://x/{id}\"");
    }
}
