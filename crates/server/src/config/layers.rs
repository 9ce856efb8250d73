//! Who set what: the last layer that speaks wins, and is remembered.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use onefold_config::suggestion;
use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::{Error, Result};

use super::address::without_password;
use super::file::{self, Declared};
use super::keys::{KEYS, Key};
use super::search;

/// The variable that names the file.
const CONFIG: &str = "ONEFOLD_CONFIG";

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It is not set.
    Default,
    /// `file:line`.
    File(String),
    /// The variable's name.
    Environment(String),
    /// The flag.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(at) => f.write_str(at),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// Every key's value and origin.
#[derive(Clone)]
pub(crate) struct Layers {
    values: BTreeMap<&'static str, (String, Origin)>,
    /// The configuration file's folder, which its relative paths begin in; empty for this folder.
    base: PathBuf,
}

impl fmt::Debug for Layers {
    /// As it may be shown: some values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.shown()).finish()
    }
}

impl Layers {
    pub(super) fn gather(
        path: Option<&Path>,
        environment: &BTreeMap<String, String>,
        flags: &[(&'static str, String)],
    ) -> Result<(Self, Declared)> {
        let mut values: BTreeMap<&'static str, (String, Origin)> =
            KEYS.iter().map(|key| (key.name, (key.default.to_owned(), Origin::Default))).collect();
        let named = path.map(Path::to_owned).or_else(|| environment.get(CONFIG).map(Into::into));
        let found = match named {
            Some(named) => Some(named),
            None => search::find(&here(), rustix::process::getuid().as_raw())?,
        };
        let base = found.as_deref().and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
        // A default path is beside the file as well: one ledger for every folder below it.
        for name in PATHS {
            if let Some((value, _)) = values.get_mut(name) {
                *value = in_folder(&base, value);
            }
        }
        let mut declared = Declared::default();
        if let Some(found) = found {
            let (read, said) = file::read(&found)?;
            for file::FileValue { name, value, at } in read {
                let placed = if PATHS.contains(&name) { in_folder(&base, &value) } else { value };
                values.insert(name, (placed, Origin::File(at)));
            }
            declared = said;
        }
        for (variable, value) in environment.iter().filter(|(_, value)| !value.is_empty()) {
            match KEYS.iter().find(|key| key.variable() == *variable) {
                Some(key) => _ = values.insert(key.name, (value.clone(), Origin::Environment(variable.clone()))),
                None => refuse_misspelt(variable)?,
            }
        }
        for (name, value) in flags {
            values.insert(name, (value.clone(), Origin::Flag(format!("--{}", name.replace('_', "-")))));
        }
        Ok((Self { values, base }, declared))
    }

    /// The variables that may speak to us.
    pub(super) fn environment() -> BTreeMap<String, String> {
        let ours = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?)).filter(|(name, _)| name.starts_with("ONEFOLD_"))
        };
        std::env::vars_os().filter_map(ours).collect()
    }

    /// The keys whose values differ.
    pub(super) fn changed(&self, other: &Self) -> Vec<&'static str> {
        let differs = |name: &&'static str| self.text(name) != other.text(name);
        self.values.keys().copied().filter(differs).collect()
    }

    /// The configuration file's folder; empty for this folder, or where there is no file.
    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    pub(super) fn text(&self, key: &str) -> &str {
        self.values.get(key).map_or("", |(value, _)| value.as_str())
    }

    pub(super) fn optional(&self, key: &str) -> Option<&str> {
        Some(self.text(key)).filter(|value| !value.is_empty())
    }

    pub(super) fn list(&self, key: &str) -> Vec<String> {
        self.text(key).split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }

    /// Where a value came from.
    pub(crate) fn origin(&self, key: &str) -> &Origin {
        self.values.get(key).map_or(&Origin::Default, |(_, origin)| origin)
    }

    /// A typed value, or an error that names where the wrong one came from.
    pub(super) fn read<T>(
        &self,
        key: &str,
        (wanted, allowed): &(&str, &str),
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T> {
        let text = self.text(key);
        let place = match self.origin(key) {
            Origin::Flag(name) | Origin::Environment(name) => name.clone(),
            Origin::File(at) => format!("{at}: {key}"),
            Origin::Default => key.to_owned(),
        };
        parse(text).ok_or_else(|| {
            Error::new(CONFIGURATION_INVALID, format!("{place}: {text:?} is not {wanted}"))
                .hint(format!("use {allowed}"))
        })
    }

    /// A value as it may be shown.
    pub(super) fn shown_value(&self, key: &str) -> String {
        self.shown().find(|(name, _, _)| *name == key).map(|(_, value, _)| value.into_owned()).unwrap_or_default()
    }

    /// Every key with its value as it may be shown, and its origin.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (&'static str, Cow<'_, str>, &Origin)> {
        KEYS.iter().map(|key| {
            let value = match self.text(key.name) {
                set if key.secret && !set.is_empty() => "(set, not shown)".into(),
                address if key.name == "database" => without_password(address),
                value => value.into(),
            };
            (key.name, value, self.origin(key.name))
        })
    }
}

/// What `onefold run` gives to its command, which may be one of ours.
const GIVEN_TO_COMMANDS: [&str; 5] =
    ["ONEFOLD_ID", "ONEFOLD_KEY", "ONEFOLD_ATTEMPT", "ONEFOLD_FENCE", "ONEFOLD_DEADLINE"];

/// Keys whose values are places in the file system.
const PATHS: [&str; 5] = ["database", "data_dir", "token_file", "archive", "gateway_listen"];

/// A relative path as it is seen from `folder`; whatever is not a relative path stays as it is.
fn in_folder(folder: &Path, value: &str) -> String {
    let (scheme, path) = match value.split_once(':') {
        Some((scheme @ ("sqlite" | "unix"), path)) => (scheme, path.strip_prefix("//").unwrap_or(path)),
        // An address of something else.
        Some(_) => return value.to_owned(),
        None => ("", value),
    };
    if folder.as_os_str().is_empty() || path.is_empty() || path.starts_with(':') || Path::new(path).is_absolute() {
        return value.to_owned();
    }
    let placed = folder.join(path).display().to_string();
    if scheme.is_empty() { placed } else { format!("{scheme}:{placed}") }
}

fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// A variable that looks like one of ours and is none would be ignored in silence.
fn refuse_misspelt(variable: &str) -> Result<()> {
    let known: Vec<String> = KEYS.iter().map(Key::variable).collect();
    match suggestion(variable, known.iter().map(String::as_str)) {
        Some(meant)
            if variable != CONFIG
                && !GIVEN_TO_COMMANDS.contains(&variable)
                && strsim::levenshtein(variable, meant) <= 2 =>
        {
            Err(Error::new(CONFIGURATION_INVALID, format!("environment: there is no variable {variable}"))
                .hint(format!("did you mean {meant}?")))
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(set: &[(&str, &str)]) -> BTreeMap<String, String> {
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_misspelt_variable_is_refused_and_a_foreign_one_is_left_alone() {
        let error = Layers::gather(None, &variables(&[("ONEFOLD_LISTN", "x")]), &[]).unwrap_err();
        assert_eq!(error.next_step(), "did you mean ONEFOLD_LISTEN?");
        assert!(Layers::gather(None, &variables(&[("ONEFOLD_SEED", "1")]), &[]).is_ok());
    }

    #[test]
    fn a_later_layer_wins_and_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        std::fs::write(&path, "listen = \"127.0.0.1:1\"\nlog = \"warn\"\ndrain_for = \"1s\"\n").unwrap();
        let environment = variables(&[("ONEFOLD_LISTEN", "127.0.0.1:2"), ("ONEFOLD_LOG", "debug")]);
        let flags = [("listen", "127.0.0.1:3".to_owned())];
        let (layers, _) = Layers::gather(Some(&path), &environment, &flags).unwrap();
        assert_eq!(
            (layers.text("listen"), layers.origin("listen").to_string().as_str()),
            ("127.0.0.1:3", "flag --listen")
        );
        assert_eq!(
            (layers.text("log"), layers.origin("log").to_string().as_str()),
            ("debug", "environment ONEFOLD_LOG")
        );
        assert!(layers.origin("drain_for").to_string().ends_with("x.toml:3"));
        assert_eq!(layers.origin("hosts"), &Origin::Default);
    }

    #[test]
    fn a_wrong_value_names_where_it_came_from_and_what_is_wanted() {
        let (layers, _) = Layers::gather(None, &BTreeMap::new(), &[("drain_for", "soon".to_owned())]).unwrap();
        let error = super::super::Config::typed(layers, Declared::default()).unwrap_err();
        assert_eq!(error.detail(), "--drain-for: \"soon\" is not a duration");
        assert!(error.next_step().contains("10s"));
    }

    #[test]
    fn a_relative_path_begins_in_the_folder_of_its_file() {
        let folder = Path::new("/srv/app");
        let rows = [
            ("sqlite:onefold.db", "sqlite:/srv/app/onefold.db"),
            ("sqlite://data/onefold.db", "sqlite:/srv/app/data/onefold.db"),
            ("sqlite:/var/lib/onefold.db", "sqlite:/var/lib/onefold.db"),
            ("onefold.db", "/srv/app/onefold.db"),
            ("postgres://db/app", "postgres://db/app"),
            ("sqlite::memory:", "sqlite::memory:"),
            ("unix:gateway.sock", "unix:/srv/app/gateway.sock"),
            ("127.0.0.1:7080", "127.0.0.1:7080"),
            ("archive", "/srv/app/archive"),
            ("", ""),
        ];
        for (value, placed) in rows {
            assert_eq!(in_folder(folder, value), placed);
            assert_eq!(in_folder(Path::new(""), value), value);
        }
    }

    #[test]
    fn a_secret_is_never_shown() {
        let environment =
            variables(&[("ONEFOLD_TOKEN", "hush"), ("ONEFOLD_DATABASE", "postgres://me:hush@db.internal/app")]);
        let (layers, _) = Layers::gather(None, &environment, &[]).unwrap();
        assert!(layers.shown().all(|(_, value, _)| !value.contains("hush")));
        assert!(!format!("{layers:?}").contains("hush"));
        let config = super::super::Config::typed(layers, Declared::default()).unwrap();
        assert_eq!(config.database.to_string(), "postgres://me@db.internal/app");
        assert!(!format!("{config:?}").contains("hush"));
    }
}
