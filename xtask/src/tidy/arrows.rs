//! The dependency rule: arrows point at `core`, and only the ones listed here exist.

use super::Finding;
use super::tree::Tree;

/// Each crate, and the crates of ours that it may see.
const ARROWS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("derive", &[]),
    ("config", &["core"]),
    ("files", &["core"]),
    ("sqlite", &["core", "files"]),
    ("postgres", &["core", "files"]),
    ("kafka", &["core"]),
    ("rabbitmq", &["core"]),
    ("nats", &["core"]),
    ("conformance", &["core", "testing"]),
    ("testing", &["core", "files"]),
    ("runtime", &["core", "config"]),
    ("http", &["core", "config", "runtime"]),
    ("gateway", &["core", "config", "http", "runtime"]),
    ("demo", &["core", "http", "postgres", "runtime", "sqlite"]),
    (
        "server",
        &[
            "config", "core", "demo", "files", "gateway", "http", "kafka", "nats", "postgres", "rabbitmq", "runtime",
            "sqlite",
        ],
    ),
    (
        "onefold",
        &["config", "core", "derive", "http", "kafka", "nats", "postgres", "rabbitmq", "runtime", "sqlite", "testing"],
    ),
];

/// Words whose crates `core` does without: it waits for nothing, asks no clock, reads no file format.
const CORE_DOES_WITHOUT: &[&str] = &["tokio", "sqlx", "rusqlite", "hyper", "axum", "toml"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let manifests = tree.files.iter().filter_map(|file| {
        let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
        (!name.contains('/')).then_some((name, file))
    });
    manifests.flat_map(|(name, file)| wrong(name, &file.path, &file.text)).collect()
}

fn wrong(name: &str, path: &str, manifest: &str) -> Vec<Finding> {
    let finding = |line: usize, what: String, fix: &'static str| Finding { path: path.to_owned(), line, what, fix };
    let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
        return vec![finding(1, format!("the crate {name} has no arrows"), "say in the rule what it may see")];
    };
    let seen = dependencies(manifest);
    let ours = seen.iter().filter_map(|(line, seen)| Some((*line, seen.strip_prefix("onefold-")?)));
    let wrong = ours.filter(|(_, seen)| !allowed.contains(seen)).map(|(line, seen)| {
        finding(line, format!("{name} must not see {seen}"), "let the arrow point at core, or change the rule")
    });
    let heavy = seen.iter().filter(|(_, seen)| name == "core" && CORE_DOES_WITHOUT.contains(seen));
    let heavy = heavy.map(|(line, seen)| finding(*line, format!("core must not see {seen}"), "rules take values"));
    wrong.chain(heavy).collect()
}

/// What a crate depends on outside its tests, with lines.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut within = false;
    let mut found = Vec::new();
    for (at, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            within = line.trim() == "[dependencies]";
        } else if within && let Some(name) = line.split(['.', '=', ' ']).next().filter(|name| !name.is_empty()) {
            found.push((at + 1, name));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, manifest: &str) -> Vec<String> {
        check(&Tree::of(&[(path, manifest)])).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn an_arrow_that_is_not_listed_is_found() {
        let manifest = "[dependencies]\nonefold-core.workspace = true\nonefold-runtime = { workspace = true }\n";
        assert_eq!(found("crates/sqlite/Cargo.toml", manifest), ["sqlite must not see runtime"]);
        assert_eq!(found("crates/http/Cargo.toml", manifest), [""; 0]);
    }

    #[test]
    fn what_only_tests_use_is_not_an_arrow() {
        let manifest = "[dependencies]\n[dev-dependencies]\nonefold-sqlite.workspace = true\n";
        assert_eq!(found("crates/http/Cargo.toml", manifest), [""; 0]);
    }

    #[test]
    fn core_waits_for_nothing_and_reads_no_format() {
        assert_eq!(found("crates/core/Cargo.toml", "[dependencies]\ntokio = \"1\"\n"), ["core must not see tokio"]);
    }

    #[test]
    fn a_new_crate_says_what_it_may_see() {
        assert_eq!(found("crates/new/Cargo.toml", ""), ["the crate new has no arrows"]);
    }
}
