//! The configuration: defaults, then a TOML file, the environment, and flags, in rising order.

mod address;
mod data_dir;
mod file;
#[cfg(test)]
mod guide;
mod keys;
mod layers;
mod listen;
mod search;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use onefold_config::{BrokerDeclaration, CheckedRelay, DeclaredKind, DependencyDeclaration, NotifyDeclaration};
use onefold_core::error::CONFIGURATION_INVALID;
use onefold_core::event::EventContracts;
use onefold_core::time::parse_duration;
use onefold_core::{Error, Result};

use onefold_http::ErrorsBase;
use onefold_http::listen::ConnectionLimits;
use onefold_http::listen::ListenAt;

use crate::gateway::DeclaredGateway;
use file::Declared;

pub(crate) use address::Address;
pub(crate) use data_dir::DataDir;
pub(crate) use keys::KEYS;
pub(crate) use layers::{Layers, Origin};

/// How the server and the commands run, with where each value came from.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) database: Address,
    /// PostgreSQL's schema; the connection's search path without one.
    pub(crate) schema: Option<String>,
    /// Connections to PostgreSQL at most.
    pub(crate) database_connections: u32,
    /// What a server keeps on its own machine.
    pub(crate) files: DataDir,
    pub(crate) listen: SocketAddr,
    /// Where a server is, for the commands that speak to one.
    pub(crate) server: Option<String>,
    /// The token itself, where the environment holds it.
    pub(crate) token: Option<String>,
    pub(crate) token_file: PathBuf,
    pub(crate) hosts: Vec<String>,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
    /// What a problem's `type` begins with, where that is not this server's own pages.
    pub(crate) errors_base: Option<ErrorsBase>,
    /// Where traces go, if they go anywhere.
    pub(crate) otlp: Option<String>,
    pub(crate) body_bytes_max: usize,
    /// What the API's listener takes on.
    pub(crate) connection_limits: ConnectionLimits,
    pub(crate) drain_for: Duration,
    pub(crate) sweep_every: Duration,
    pub(crate) prune_every: Duration,
    pub(crate) archive: Option<PathBuf>,
    pub(crate) kinds: Vec<DeclaredKind>,
    /// What is called outside, by name.
    pub(crate) dependencies: BTreeMap<String, DependencyDeclaration>,
    /// Where the gateway answers, if there is one.
    pub(crate) gateway_listen: ListenAt,
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
    source: Source,
    /// Every value with its origin, as `onefold config` shows it.
    pub(crate) layers: Layers,
}

/// What was asked for, so that it can be read again.
#[derive(Debug, Clone, Default)]
struct Source {
    file: Option<PathBuf>,
    flags: Vec<(&'static str, String)>,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl std::fmt::Debug for Config {
    /// As it may be shown: the token and a database's password are secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("layers", &self.layers).finish_non_exhaustive()
    }
}

impl Config {
    /// Reads everything. `file` is the file that was asked for; without it the `onefold.toml` of this folder or the next
    /// one above it, if there is one.
    pub(crate) fn load(file: Option<&Path>, flags: &[(&'static str, String)]) -> Result<Self> {
        let (layers, declared) = Layers::gather(file, &Layers::environment(), flags)?;
        let source = Source { file: file.map(Path::to_owned), flags: flags.to_vec() };
        Ok(Self { source, ..Self::typed(layers, declared)? })
    }

    /// Reads everything again, as it is now.
    pub(crate) fn again(&self) -> Result<Self> {
        Self::load(self.source.file.as_deref(), &self.source.flags)
    }

    /// The settings that differ in `next` and that a running server does not change.
    pub(crate) fn needing_restart(&self, next: &Self) -> Vec<&'static str> {
        self.layers.changed(&next.layers)
    }

    /// The ledger that these settings name, for people: where it is, and never its password.
    pub(crate) fn ledger(&self) -> String {
        match (&self.database, &self.schema) {
            (Address::Sqlite(path), _) => {
                std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
            }
            (Address::Postgres(_), Some(schema)) => format!("{} (schema {schema})", self.database),
            (Address::Postgres(_), None) => self.database.to_string(),
        }
    }

    /// The ledger that a command speaks to: a server's that is named, else the one of these settings.
    pub(crate) fn ledger_named(&self) -> String {
        self.server.clone().unwrap_or_else(|| self.ledger())
    }

    /// What files with outcomes begin with that the ledger of a run did not take.
    pub(crate) fn outcomes(&self) -> PathBuf {
        self.server.as_deref().map_or_else(|| self.files.outcomes.clone(), |server| self.files.outcomes_of(server))
    }

    /// Refuses to act on a local database while a server is named that the command does not speak to.
    pub(crate) fn refuse_server(&self, because: &str) -> Result<()> {
        let Some(server) = &self.server else { return Ok(()) };
        let what = format!("{}: this command cannot act through {server}: {because}", self.layers.origin("server"));
        Err(Error::new(CONFIGURATION_INVALID, what)
            .hint("leave the server out, and run this where the database is: --database, --schema"))
    }

    /// Whether the ledger is a file of this machine.
    pub(crate) fn is_file(&self) -> bool {
        self.server.is_none() && matches!(self.database, Address::Sqlite(_))
    }

    /// The flags that a further command needs to find the same ledger, each quoted for a shell, with a space before it.
    pub(crate) fn flags_to_find_it(&self) -> String {
        let named = self.source.file.as_ref().map(|file| ("config", file.display().to_string()));
        let kept = ["database", "schema", "data_dir", "server", "token_file"];
        let flags = self.source.flags.iter().filter(|(name, _)| kept.contains(name));
        let flags = flags.map(|(name, _)| (*name, self.layers.shown_value(name)));
        let all = named.into_iter().chain(flags);
        let words =
            all.flat_map(|(name, value)| [" --".to_owned(), name.replace('_', "-"), " ".to_owned(), quoted(&value)]);
        words.collect()
    }

    /// The variables that name the ledger, and that a further command needs too.
    pub(crate) fn variables_to_find_it(&self) -> String {
        let kept = ["database", "schema", "data_dir", "token", "token_file"];
        let set = kept.iter().filter_map(|key| match self.layers.origin(key) {
            Origin::Environment(variable) => Some(variable.as_str()),
            Origin::Default | Origin::File(_) | Origin::Flag(_) => None,
        });
        set.collect::<Vec<_>>().join(" and ")
    }

    fn typed(layers: Layers, declared: Declared) -> Result<Self> {
        let database = Address::read(&layers)?;
        let schema = schema(&layers, &database)?;
        let files = DataDir::of(&database, schema.as_deref(), layers.optional("data_dir"), layers.base());
        let token_file = layers.optional("token_file").map_or_else(|| files.token.clone(), PathBuf::from);
        Ok(Self {
            listen: layers.read("listen", &listen::WANTED, listen::address)?,
            server: layers.optional("server").map(str::to_owned),
            token: layers.optional("token").map(str::to_owned),
            token_file,
            hosts: layers.list("hosts"),
            log: layers.read("log", &LOG_WANTED, |text| crate::log::is_filter(text).then(|| text.to_owned()))?,
            log_format: layers.read("log_format", &("a format", "text or json"), |text| match text {
                "text" => Some(LogFormat::Text),
                "json" => Some(LogFormat::Json),
                _ => None,
            })?,
            errors_base: layers.optional("errors_base").map(ErrorsBase::parse).transpose()?,
            otlp: layers.optional("otlp").map(str::to_owned),
            body_bytes_max: layers.read(
                "body_bytes_max",
                &("a size in bytes", "a number from 1024 to 67108864"),
                |text| text.parse().ok().filter(|bytes| (1024..=64 * 1024 * 1024).contains(bytes)),
            )?,
            connection_limits: connection_limits(&layers)?,
            drain_for: duration(&layers, "drain_for")?,
            sweep_every: duration(&layers, "sweep_every")?,
            prune_every: duration(&layers, "prune_every")?,
            archive: layers.optional("archive").map(PathBuf::from),
            database_connections: layers.read(
                "database_connections",
                &("a count", "a number from 1 to 1000"),
                |text| text.parse().ok().filter(|count| (1..=1000).contains(count)),
            )?,
            database,
            schema,
            files,
            gateway_listen: gateway_listen(&layers)?,
            kinds: declared.kinds,
            dependencies: declared.dependencies,
            gateway: declared.gateway,
            notify: declared.notify,
            brokers: declared.brokers,
            contracts: declared.contracts,
            relays: declared.relays,
            source: Source::default(),
            layers,
        })
    }
}

fn connection_limits(layers: &Layers) -> Result<ConnectionLimits> {
    Ok(ConnectionLimits {
        connections_max: layers.read("connections_max", &("a count", "a number from 1 to 100000"), |text| {
            text.parse().ok().filter(|count| (1..=100_000).contains(count))
        })?,
        headers_within: duration(layers, "headers_within")?,
        idle_for: duration(layers, "idle_for")?,
        stalled_for: duration(layers, "stalled_for")?,
        connection_for: duration(layers, "connection_for")?,
        headers_bytes_max: 64 * 1024,
        streams_max: 256,
    })
}

/// What a log filter is, and what is allowed.
const LOG_WANTED: (&str, &str) = ("a log level", "off, error, warn, info, debug or trace, or module=level");

/// A word for a shell, in quotes where it needs them.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// An address, or `unix:` and a path.
fn gateway_listen(layers: &Layers) -> Result<ListenAt> {
    layers.read("gateway_listen", &listen::WANTED_BY_GATEWAY, |text| match text.strip_prefix("unix:") {
        Some(path) => Some(path).filter(|path| !path.is_empty()).map(|path| ListenAt::Unix(path.into())),
        None => listen::address(text).map(ListenAt::Tcp),
    })
}

fn duration(layers: &Layers, key: &'static str) -> Result<Duration> {
    layers.read(key, &("a duration", "\"250ms\", \"10s\" or \"5m\""), |text| {
        parse_duration(text).filter(|wait| !wait.is_zero())
    })
}

/// A schema is PostgreSQL's; beside a file it would be ignored in silence.
fn schema(layers: &Layers, database: &Address) -> Result<Option<String>> {
    match (layers.optional("schema"), database) {
        (Some(_), Address::Sqlite(_)) => {
            Err(Error::new(CONFIGURATION_INVALID, format!("{}: an SQLite file has no schema", layers.origin("schema")))
                .hint("leave schema out, or name a database such as postgres://HOST/DATABASE"))
        }
        (schema, _) => Ok(schema.map(str::to_owned)),
    }
}
