//! The TOML file: each value with its line, each mistake with a caret.

use std::collections::BTreeMap;
use std::path::Path;

use onefold_config::{
    BrokerDeclaration, CheckedRelay, DeclaredKind, DependencyDeclaration, EventDeclaration, NotifyDeclaration,
    SourceText, suggestion,
};
use onefold_core::error::{CONFIGURATION_INVALID, DECLARATION_INVALID};
use onefold_core::event::EventContracts;
use onefold_core::{Error, Result};
use serde_spanned::Spanned;

use super::address::starred;
use super::keys::{KEYS, Key};
use crate::gateway::DeclaredGateway;

/// Bytes a configuration file may have.
const BYTES_MAX: u64 = 1024 * 1024;

/// What a file declares in tables.
const TABLES: [&str; 8] = ["kind", "route", "gateway", "dependency", "notify", "broker", "relay", "event"];

/// A value of the file, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileValue {
    pub(super) name: &'static str,
    pub(super) value: String,
    /// `file:line`.
    pub(super) at: String,
}

/// What a file declares beside its values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Declared {
    pub(crate) kinds: Vec<DeclaredKind>,
    /// What is called outside, by name.
    pub(crate) dependencies: BTreeMap<String, DependencyDeclaration>,
    /// The gateway, where the file has routes.
    pub(crate) gateway: Option<DeclaredGateway>,
    /// Who is told of incidents.
    pub(crate) notify: Option<NotifyDeclaration>,
    /// Clusters that relays publish to, by name.
    pub(crate) brokers: BTreeMap<String, BrokerDeclaration>,
    /// What is promised of events, by type.
    pub(crate) contracts: EventContracts,
    /// What publishes events.
    pub(crate) relays: Vec<CheckedRelay>,
}

/// The values of a file, and what it declares.
pub(super) fn read(path: &Path) -> Result<(Vec<FileValue>, Declared)> {
    let file = path.display().to_string();
    let unreadable = |cause: std::io::Error| {
        Error::new(CONFIGURATION_INVALID, format!("{file} cannot be read: {cause}"))
            .hint("name a file that exists with --config, or leave it out")
    };
    if std::fs::metadata(path).map_err(unreadable)?.len() > BYTES_MAX {
        return Err(Error::new(CONFIGURATION_INVALID, format!("{file} is larger than {BYTES_MAX} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    read_text(&file, &text)
}

/// The values of a file's text, and what it declares.
pub(super) fn read_text(file: &str, text: &str) -> Result<(Vec<FileValue>, Declared)> {
    let declared = || -> Result<Declared> {
        let contracts = onefold_config::events(file, text, schema_file)?;
        Ok(Declared {
            kinds: onefold_config::kinds(file, text)?,
            dependencies: onefold_config::dependencies(file, text)?,
            gateway: crate::gateway::read(file, text)?,
            notify: onefold_config::notify(file, text)?,
            brokers: onefold_config::brokers(file, text)?,
            relays: onefold_config::relays(file, text, &contracts)?,
            contracts,
        })
    };
    let read = values(file, text).and_then(|values| Ok((values, declared()?)));
    read.map_err(|error| without_secrets(&error))
}

/// The text of a schema.
fn schema_file(path: &Path) -> Result<String> {
    let wrong = |what: String| Error::new(DECLARATION_INVALID, format!("{} {what}", path.display()));
    let unreadable = |cause: std::io::Error| {
        wrong(format!("cannot be read: {cause}"))
            .hint("name the file of a JSON Schema; relative paths begin beside this file")
    };
    let bytes_max = EventDeclaration::SCHEMA_BYTES_MAX;
    if std::fs::metadata(path).map_err(unreadable)?.len() > bytes_max {
        return Err(wrong(format!("has more than {bytes_max} bytes")).hint("leave out what payloads do not need"));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

/// A mistake is shown with its line, and that may hold a database's password.
fn without_secrets(error: &Error) -> Error {
    let lines: Vec<_> = error.detail().lines().map(starred).collect();
    Error::new(error.code(), lines.join("\n")).hint(error.next_step())
}

pub(super) fn values(file: &str, text: &str) -> Result<Vec<FileValue>> {
    let place = SourceText::new(file, text);
    let table: BTreeMap<Spanned<String>, Spanned<toml::Value>> = toml::from_str(text).map_err(|cause| {
        Error::new(CONFIGURATION_INVALID, place.show(cause.span().unwrap_or(0..0), cause.message()))
            .hint("fix this line; the file is TOML")
    })?;
    let line = |name: &Spanned<String>| text[..name.span().start].matches('\n').count() + 1;
    let mut values = Vec::new();
    for (name, value) in &table {
        if TABLES.contains(&name.get_ref().as_str()) {
            continue;
        }
        let wrong =
            |what: &str, hint: String| Error::new(CONFIGURATION_INVALID, place.show(name.span(), what)).hint(hint);
        let key = match Key::find(name.get_ref()) {
            Some(key) if key.secret => {
                // Without its line: what is refused here would be repeated in a log.
                let what = format!("{file}:{}: a secret does not belong in a configuration file", line(name));
                let hint = format!("set {} in the environment, or write the token to token_file", key.variable());
                return Err(Error::new(CONFIGURATION_INVALID, what).hint(hint));
            }
            Some(key) => key,
            None => return Err(wrong(&format!("there is no key `{}`", name.get_ref()), unknown(name.get_ref()))),
        };
        let value = text_of(value.get_ref()).ok_or_else(|| {
            wrong(&format!("`{}` is a text, a number or a list of texts", key.name), "write it so".to_owned())
        })?;
        values.push(FileValue { name: key.name, value, at: format!("{file}:{}", line(name)) });
    }
    Ok(values)
}

/// What to do about a name that does not exist.
pub(super) fn unknown(name: &str) -> String {
    let known = KEYS.iter().map(|key| key.name).chain(TABLES);
    match suggestion(name, known) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`onefold config` lists every key".to_owned(),
    }
}

fn text_of(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(yes) => Some(yes.to_string()),
        toml::Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(toml::Value::as_str).collect();
            texts.map(|texts| texts.join(","))
        }
        toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_with_its_line() {
        let read = values("onefold.toml", "# mine\n\nlisten = \"127.0.0.1:1\"\nhosts = [\"a\", \"b\"]\n").unwrap();
        let rows: Vec<_> = read.iter().map(|value| (value.name, value.value.as_str(), value.at.as_str())).collect();
        assert_eq!(rows, [("hosts", "a,b", "onefold.toml:4"), ("listen", "127.0.0.1:1", "onefold.toml:3")]);
    }

    #[test]
    fn a_misspelt_key_is_shown_where_it_stands_with_what_was_meant() {
        let error = values("onefold.toml", "\ndatabse = \"x\"\n").unwrap_err();
        assert_eq!(error.detail(), "onefold.toml:2:1: there is no key `databse`\n  2 | databse = \"x\"\n    | ^^^^^^^");
        assert_eq!(error.next_step(), "did you mean `database`?");
    }

    #[test]
    fn a_secret_in_the_file_is_refused_and_not_repeated() {
        let error = values("onefold.toml", "token = \"abc\"\n").unwrap_err();
        assert!(error.next_step().contains("ONEFOLD_TOKEN") && !error.to_string().contains("abc"), "{error}");
    }

    #[test]
    fn a_mistake_beside_a_password_is_shown_without_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for text in ["databse = \"postgres://me:hush@db/app\"\n", "database = \"postgres://me:hush@db/app\n"] {
            std::fs::write(file.path(), text).unwrap();
            let error = read(file.path()).unwrap_err();
            assert!(error.detail().contains("postgres://***") && !format!("{error:?}").contains("hush"), "{error}");
        }
    }

    #[test]
    fn broken_toml_is_shown_where_it_breaks() {
        let error = values("onefold.toml", "listen = \n").unwrap_err();
        assert!(error.detail().starts_with("onefold.toml:1:"), "{error}");
    }
}
