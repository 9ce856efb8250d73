//! Everything that can be set, in the order it is shown.

/// One thing that can be set.
#[derive(Debug)]
pub(crate) struct Key {
    /// Its name in the file; the variable is `ONEFOLD_` and the name in capitals, the flag `--` with dashes.
    pub(crate) name: &'static str,
    /// The default; empty for nothing.
    pub(crate) default: &'static str,
    /// What it is.
    pub(crate) about: &'static str,
    /// Secrets are set in the environment only and never shown.
    pub(crate) secret: bool,
}

const fn key(name: &'static str, default: &'static str, about: &'static str) -> Key {
    Key { name, default, about, secret: false }
}

/// Every key.
pub(crate) const KEYS: &[Key] = &[
    key("database", "sqlite:onefold.db", "where the ledger is: sqlite:FILE or postgres://USER:PASSWORD@HOST/DATABASE"),
    key("schema", "", "PostgreSQL: the schema of the ledger's tables; empty is the connection's search path"),
    key("database_connections", "10", "PostgreSQL: connections to the database at most"),
    key("data_dir", "", "where token and journal are; empty is beside the SQLite file, with PostgreSQL ./onefold-data"),
    key("listen", "127.0.0.1:7070", "where the API answers"),
    key(
        "gateway_listen",
        "127.0.0.1:7080",
        "where the gateway answers, if there is a [[route]]: an address or unix:PATH",
    ),
    key("server", "", "a running server that the commands speak to; empty looks for one beside the database"),
    key("token_file", "", "where the first token is; empty is in data_dir"),
    Key { name: "token", default: "", about: "the first token itself; environment only", secret: true },
    key("hosts", "", "names that clients may call the server by, besides its address"),
    key("log", "info", "how much is logged: error, warn, info, debug, or per module"),
    key("log_format", "text", "text or json"),
    key(
        "errors_base",
        "",
        "what a problem's `type` begins with, such as https://docs.example.com/errors/; empty is /errors/ of this server",
    ),
    key("otlp", "", "where traces go: a collector of OTLP over gRPC, such as http://127.0.0.1:4317; empty is nowhere"),
    key("body_bytes_max", "8388608", "bytes a request body may have"),
    key("connections_max", "1024", "connections at once; more wait"),
    key("headers_within", "10s", "how long the head of a request may take; HTTP/1.1 waits as long for the next one"),
    key("idle_for", "2m", "how long a connection stays open without a request in flight"),
    key("stalled_for", "30s", "how long a client may stop reading its responses"),
    key("connection_for", "1h", "how long a connection takes requests; those in flight have a minute more"),
    key("drain_for", "30s", "how long a stopping server waits for requests in flight"),
    key("sweep_every", "5s", "how often expired leases are looked for"),
    key("prune_every", "1h", "how often retention is applied"),
    key("archive", "", "a folder that pruned operations are written to first"),
];

impl Key {
    /// The key with this name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The environment variable that sets it.
    pub(crate) fn variable(&self) -> String {
        format!("ONEFOLD_{}", self.name.to_uppercase())
    }
}
