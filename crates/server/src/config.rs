//! The configuration: defaults, then a TOML file, the environment, and flags, in rising order.

mod file;
mod keys;
mod layers;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use onefold_core::declare::DeclaredKind;
use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::time::parse_duration;
use onefold_core::{Error, Result};

pub(crate) use keys::KEYS;
pub(crate) use layers::{Layers, Origin};

/// How the server and the commands run, with where each value came from.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) database: PathBuf,
    pub(crate) listen: SocketAddr,
    /// Where a server is, for the commands that speak to one.
    pub(crate) server: Option<String>,
    /// The token itself, where the environment holds it.
    pub(crate) token: Option<String>,
    pub(crate) token_file: PathBuf,
    pub(crate) hosts: Vec<String>,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
    pub(crate) body_bytes_max: usize,
    pub(crate) connections_max: usize,
    pub(crate) drain_for: Duration,
    pub(crate) sweep_every: Duration,
    pub(crate) prune_every: Duration,
    pub(crate) archive: Option<PathBuf>,
    pub(crate) kinds: Vec<DeclaredKind>,
    /// Every value with its origin, as `onefold config` shows it.
    pub(crate) layers: Layers,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl Config {
    /// Reads everything. `file` is the file that was asked for; without it `onefold.toml` here, if there is one.
    pub(crate) fn load(file: Option<&Path>, flags: &[(&'static str, String)]) -> Result<Self> {
        let (layers, kinds) = Layers::gather(file, &Layers::environment(), flags)?;
        Self::typed(layers, kinds)
    }

    fn typed(layers: Layers, kinds: Vec<DeclaredKind>) -> Result<Self> {
        let database = database(&layers)?;
        let token_file = match layers.optional("token_file") {
            Some(path) => PathBuf::from(path),
            None => database.with_extension("token"),
        };
        Ok(Self {
            listen: layers.read("listen", "an address such as 127.0.0.1:7070", |text| text.parse().ok())?,
            server: layers.optional("server").map(str::to_owned),
            token: layers.optional("token").map(str::to_owned),
            token_file,
            hosts: layers.list("hosts"),
            log: layers.text("log").to_owned(),
            log_format: layers.read("log_format", "`text` or `json`", |text| match text {
                "text" => Some(LogFormat::Text),
                "json" => Some(LogFormat::Json),
                _ => None,
            })?,
            body_bytes_max: layers.read("body_bytes_max", "a number of bytes from 1024 to 67108864", |text| {
                text.parse().ok().filter(|bytes| (1024..=64 * 1024 * 1024).contains(bytes))
            })?,
            connections_max: layers.read("connections_max", "a number from 1 to 100000", |text| {
                text.parse().ok().filter(|count| (1..=100_000).contains(count))
            })?,
            drain_for: duration(&layers, "drain_for")?,
            sweep_every: duration(&layers, "sweep_every")?,
            prune_every: duration(&layers, "prune_every")?,
            archive: layers.optional("archive").map(PathBuf::from),
            database,
            kinds,
            layers,
        })
    }
}

fn duration(layers: &Layers, key: &'static str) -> Result<Duration> {
    layers.read(key, "a duration such as \"250ms\", \"10s\" or \"5m\"", |text| {
        parse_duration(text).filter(|wait| !wait.is_zero())
    })
}

fn database(layers: &Layers) -> Result<PathBuf> {
    let url = layers.text("database");
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Err(Error::new(
            CONFIGURATION_INVALID,
            format!("{}: this version has no PostgreSQL store", layers.origin("database")),
        )
        .hint("use an embedded file, such as sqlite:onefold.db"));
    }
    let path = url.strip_prefix("sqlite:").unwrap_or(url);
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path == ":memory:" {
        return Err(Error::new(
            CONFIGURATION_INVALID,
            format!("{}: {url:?} is no file; what is in memory is lost", layers.origin("database")),
        )
        .hint("name a file, such as sqlite:onefold.db"));
    }
    Ok(PathBuf::from(path))
}
