//! `docs/guides/configuration.md` is made from what declares each key.

use std::fmt::Write as _;
use std::path::Path;

use onefold_config::{
    AuthDeclaration, BrokerDeclaration, CredentialDeclaration, DependencyDeclaration, EventDeclaration,
    GatewayDeclaration, JwtDeclaration, KindDeclaration, NotifyDeclaration, PolicyDeclaration, RelayDeclaration,
    RetentionDeclaration, RetryDeclaration, ReusedDeclaration, RouteDeclaration, Setting, TlsFiles,
};
use onefold_core::time::parse_duration;

use super::keys::{KEYS, Key};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/configuration.md");

const HEAD: &str = "# Configuration

Every setting of `onefold.toml`, with its default. This page is made from the code: change the comment beside the key, \
then run `UPDATE_CONFIGURATION=1 cargo test -p onefold-server --lib guide`.

The file is found in the working folder or the next one above it, or named with `--config`. Durations are `\"250ms\"`, \
`\"10s\"`, `\"5m\"`, `\"24h\"` or `\"30d\"`. Relative paths begin in the file's folder. A mistake is reported with its \
line, a caret and what to write instead, and the server does not start. `onefold config` shows what holds, and where \
each value came from.
";

/// The tables of the file: heading, what it is, and its keys.
fn tables() -> Vec<(&'static str, &'static str, Vec<Setting>)> {
    vec![
        (
            "`[kind.NAME]`",
            "What sort of effect a kind has: [guide](kinds.md). `declare` of a first claim has the same keys in camelCase.",
            KindDeclaration::SETTINGS.to_vec(),
        ),
        (
            "`on_unknown`",
            "What follows an unknown outcome, for kinds and routes: [guide](gateway.md#before-a-provider-that-is-not-idempotent). \
             A name (`\"rerun\"`, `\"escalate\"`), or a table with one of `same_key`, `ask`, `void` and `accept_duplicate` \
             and what belongs to it. `onefold explain CLASS` says which ones a class allows.",
            PolicyDeclaration::SETTINGS.to_vec(),
        ),
        (
            "`retry.CATEGORY`",
            "When a kind is tried again after failures of one category.",
            RetryDeclaration::SETTINGS.to_vec(),
        ),
        (
            "`retention`",
            "How long results and ids are kept: [guide](retention.md).",
            RetentionDeclaration::SETTINGS.to_vec(),
        ),
        (
            "`[dependency.NAME]`",
            "Limits on the calls to an outside system; `depends_on` of a route or a relay names it. A refusal comes with \
             `Retry-After`, before anything is claimed.",
            DependencyDeclaration::SETTINGS.to_vec(),
        ),
        (
            "`[[route]]`",
            "A route of the [gateway](gateway.md): which requests it is for and where they go, every key of a kind, and how \
             its requests are guarded. `Route` of the library has the last ones as methods of the same name.",
            RouteDeclaration::settings(),
        ),
        ("`caller = { jwt = … }`", "The caller is who a signed token names.", JwtDeclaration::SETTINGS.to_vec()),
        (
            "`caller = { auth = … }`",
            "The caller is whom another service names; it is asked on every request.",
            AuthDeclaration::SETTINGS.to_vec(),
        ),
        (
            "`credential`",
            "The credential that a route sends to its upstream.",
            CredentialDeclaration::SETTINGS.to_vec(),
        ),
        (
            "`reused`",
            "What a key that was used for another request is answered with.",
            ReusedDeclaration::SETTINGS.to_vec(),
        ),
        ("`[gateway]`", "How the [gateway](gateway.md) listens.", GatewayDeclaration::settings()),
        ("`tls`", "The files that TLS of the gateway needs, all in PEM.", TlsFiles::SETTINGS.to_vec()),
        (
            "`[[event]]`",
            "The contract of an event type: [guide](outbox.md#contracts). `EventContract` of the library has the same as methods.",
            EventDeclaration::SETTINGS.to_vec(),
        ),
        (
            "`[[relay]]`",
            "A relay of the [outbox](outbox.md): which events it publishes, and where. Two targets are two relays.",
            RelayDeclaration::SETTINGS.to_vec(),
        ),
        ("`[broker.NAME]`", "A cluster that relays publish to.", BrokerDeclaration::SETTINGS.to_vec()),
        ("`[notify]`", "Who is told of incidents: [guide](notify.md).", NotifyDeclaration::SETTINGS.to_vec()),
    ]
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str(
        "\n## Top of the file\n\nEach is also a variable, `ONEFOLD_` and the name in capitals, and most are flags: \
         `--` and the name with dashes.\n\n| key | value | default | what it says |\n|---|---|---|---|\n",
    );
    for key in KEYS {
        let default = if key.default.is_empty() { "none".to_owned() } else { format!("`{}`", key.default) };
        let _ = writeln!(page, "| `{}` | {} | {default} | {} |", key.name, sort(key), key.about);
    }
    for (heading, about, settings) in tables() {
        let _ =
            write!(page, "\n## {heading}\n\n{about}\n\n| key | value | default | what it says |\n|---|---|---|---|\n");
        for setting in settings {
            let Setting { key, value, meaning, .. } = setting;
            let _ = writeln!(page, "| `{key}` | {value} | {} | {} |", shown(&setting), meaning.trim());
        }
    }
    page
}

/// What is written for a key at the top of the file.
fn sort(key: &Key) -> &'static str {
    if key.name == "hosts" {
        "list of texts"
    } else if key.default.parse::<u64>().is_ok() {
        "number"
    } else if parse_duration(key.default).is_some() {
        "duration"
    } else {
        "text"
    }
}

/// A default as TOML is in backticks, a sentence does not.
fn shown(setting: &Setting) -> String {
    if setting.shows_toml() { format!("`{}`", setting.default) } else { setting.default.to_owned() }
}

#[test]
fn the_guide_of_the_configuration_is_the_one_made_from_the_code() {
    let made = page();
    if std::env::var_os("UPDATE_CONFIGURATION").is_some() {
        std::fs::write(PAGE, &made).unwrap();
    }
    let kept = std::fs::read_to_string(Path::new(PAGE)).unwrap_or_default();
    assert!(kept == made, "docs/guides/configuration.md is stale: run with UPDATE_CONFIGURATION=1");
}

/// The keys that a parser knows, as it lists them when it meets another one.
fn known(file: &str) -> Vec<String> {
    let error = super::file::read_text("x.toml", file).unwrap_err();
    let listed = error.detail().split_once("expected one of ").map(|(_, listed)| listed.to_owned());
    let line = listed.unwrap_or_else(|| panic!("{error}"));
    let line = line.lines().next().unwrap_or_default();
    line.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_key_of_the_file_is_in_the_guide() {
    let rows = [
        ("[[route]]\nzzz = 1\n", RouteDeclaration::settings()),
        ("[[route]]\ncaller = { jwt = { zzz = 1 } }\n", JwtDeclaration::SETTINGS.to_vec()),
        ("[[route]]\ncaller = { auth = { zzz = 1 } }\n", AuthDeclaration::SETTINGS.to_vec()),
        ("[gateway]\nzzz = 1\n", GatewayDeclaration::settings()),
        ("[gateway]\ntls = { zzz = 1 }\n", TlsFiles::SETTINGS.to_vec()),
        ("[[event]]\nzzz = 1\n", EventDeclaration::SETTINGS.to_vec()),
        ("[[relay]]\nzzz = 1\n", RelayDeclaration::SETTINGS.to_vec()),
        ("[broker.b]\nzzz = 1\n", BrokerDeclaration::SETTINGS.to_vec()),
        ("[notify]\nzzz = 1\n", NotifyDeclaration::SETTINGS.to_vec()),
        ("[dependency.d]\nzzz = 1\n", DependencyDeclaration::SETTINGS.to_vec()),
        ("[kind.k]\nzzz = 1\n", KindDeclaration::SETTINGS.to_vec()),
    ];
    for (file, settings) in rows {
        let mut known = known(file);
        let mut told: Vec<String> = settings.iter().map(|setting| setting.key.to_owned()).collect();
        known.sort();
        told.sort();
        assert_eq!(told, known, "{file}");
    }
}
