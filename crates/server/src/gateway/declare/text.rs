//! A `[[route]]` as it is written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_spanned::Spanned;

#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the file, and has its name there")]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RouteText {
    pub(super) name: Spanned<String>,
    #[serde(rename = "match")]
    pub(super) pattern: Spanned<String>,
    /// One address or several.
    pub(super) upstream: Spanned<toml::Value>,
    pub(super) upstream_ca: Option<PathBuf>,
    pub(super) upstream_http2: Option<Spanned<bool>>,
    #[serde(default)]
    pub(super) preserve_host: bool,
    pub(super) connect_timeout: Option<Spanned<String>>,
    pub(super) class: Option<Spanned<String>>,
    pub(super) on_unknown: Option<Spanned<toml::Value>>,
    pub(super) key: Option<Spanned<String>>,
    pub(super) header: Option<Spanned<String>>,
    pub(super) caller: Option<Spanned<toml::Value>>,
    pub(super) tenant_header: Option<Spanned<String>>,
    /// Headers with an underscore in their name that pass.
    #[serde(default)]
    pub(super) underscored_headers: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) anonymous_replay: bool,
    #[serde(default)]
    pub(super) answers: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    pub(super) trust_effect_header: bool,
    pub(super) timeout: Option<Spanned<String>>,
    pub(super) deadline: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) retention: RetentionText,
    pub(super) body_bytes_max: Option<Spanned<usize>>,
    pub(super) body_read_timeout: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) stored_headers: Vec<Spanned<String>>,
    pub(super) in_flight_max: Option<Spanned<usize>>,
    pub(super) waiters: Option<Spanned<usize>>,
    pub(super) wait: Option<Spanned<String>>,
    pub(super) in_flight_status: Option<Spanned<u16>>,
    pub(super) reused: Option<ReusedText>,
    pub(super) evidence: Option<Spanned<String>>,
    pub(super) dependency: Option<Spanned<String>>,
    /// What the upstream knows us by.
    pub(super) credential: Option<CredentialText>,
    #[serde(default)]
    pub(super) idempotent_methods: Vec<Spanned<String>>,
    pub(super) fingerprint: Option<Spanned<toml::Value>>,
    pub(super) answer_bytes_max: Option<usize>,
    /// A place in a JSON body.
    pub(super) business_key: Option<Spanned<String>>,
    /// Bodies with a `Content-Digest` are sent on as they come.
    #[serde(default)]
    pub(super) streams: bool,
    /// Sent on unguarded while the ledger does not answer.
    #[serde(default)]
    pub(super) open: bool,
    pub(super) access_log: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RetentionText {
    pub(super) result: Option<Spanned<String>>,
    pub(super) id: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReusedText {
    pub(super) status: Spanned<u16>,
    pub(super) code: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CredentialText {
    /// `Authorization` unless it is said.
    pub(super) header: Option<Spanned<String>>,
    /// Holds the header's whole value.
    pub(super) file: PathBuf,
}
