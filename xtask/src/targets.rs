//! Which test target belongs to which suite.
//!
//! Targets are chosen by name within the whole workspace rather than by
//! package: building a part of the workspace would unify features differently
//! and compile the dependencies again.

use std::path::Path;

use serde_json::Value;

use crate::cargo;

/// The package whose tests kill processes, and so take their time.
const CAMPAIGN: &str = "onefold-campaign";
/// The test targets that run the rules under a model checker.
const MODEL: &str = "model";
/// The test targets that need PostgreSQL and PgBouncer.
const POSTGRES: [&str; 4] = ["postgres", "postgres_routes", "postgres_server", "postgres_servers"];

/// The suites that run test targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Integration,
    Model,
    Crash,
    Postgres,
}

/// A file in a package's `tests/`.
#[derive(Debug, PartialEq, Eq)]
struct TestTarget {
    package: String,
    name: String,
}

impl TestTarget {
    fn group(&self) -> Group {
        if POSTGRES.contains(&self.name.as_str()) {
            Group::Postgres
        } else if self.package == CAMPAIGN {
            Group::Crash
        } else if self.name == MODEL {
            Group::Model
        } else {
            Group::Integration
        }
    }
}

/// The names of a group's test targets, each once.
pub(crate) fn names(root: &Path, group: Group) -> Result<Vec<String>, String> {
    choose(&test_targets(&cargo::metadata(root, "Cargo.toml")?), group)
}

fn choose(targets: &[TestTarget], group: Group) -> Result<Vec<String>, String> {
    let (ours, others): (Vec<_>, Vec<_>) = targets.iter().partition(|target| target.group() == group);
    for target in &ours {
        if let Some(other) = others.iter().find(|other| other.name == target.name) {
            return Err(format!(
                "the test target `{}` is in {} and in {}, which belong to different suites: rename one",
                target.name, target.package, other.package
            ));
        }
    }
    let mut names: Vec<String> = ours.into_iter().map(|target| target.name.clone()).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

fn test_targets(metadata: &Value) -> Vec<TestTarget> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages.flat_map(|package| of_kind(package, "test")).collect()
}

fn of_kind(package: &Value, kind: &str) -> Vec<TestTarget> {
    let targets = package["targets"].as_array().into_iter().flatten();
    targets
        .filter(|target| target["kind"][0] == kind)
        .filter_map(|target| {
            Some(TestTarget {
                package: package["name"].as_str()?.to_owned(),
                name: target["name"].as_str()?.to_owned(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target(package: &str, name: &str) -> TestTarget {
        TestTarget { package: package.to_owned(), name: name.to_owned() }
    }

    #[test]
    fn every_test_target_is_in_one_group() {
        let targets = [
            target("onefold-core", "model"),
            target("onefold-sqlite", "store"),
            target("onefold-runtime", "store"),
            target("onefold-campaign", "crash"),
            target("onefold-postgres", "postgres"),
            target("onefold-server", "postgres_server"),
        ];
        assert_eq!(choose(&targets, Group::Postgres), Ok(vec!["postgres".to_owned(), "postgres_server".to_owned()]));
        assert_eq!(choose(&targets, Group::Model), Ok(vec!["model".to_owned()]));
        assert_eq!(choose(&targets, Group::Integration), Ok(vec!["store".to_owned()]));
        assert_eq!(choose(&targets, Group::Crash), Ok(vec!["crash".to_owned()]));
    }

    #[test]
    fn a_name_that_two_suites_would_run_is_refused() {
        let targets = [target("onefold-campaign", "crash"), target("onefold-sqlite", "crash")];
        let wrong = choose(&targets, Group::Crash).unwrap_err();
        assert!(wrong.contains("onefold-sqlite"), "{wrong}");
    }

    #[test]
    fn only_test_targets_are_read_from_the_metadata() {
        let metadata = json!({ "packages": [{
            "name": "onefold-sqlite",
            "targets": [
                { "name": "onefold_sqlite", "kind": ["lib"] },
                { "name": "store", "kind": ["test"] },
                { "name": "notice", "kind": ["example"] },
            ],
        }]});
        assert_eq!(test_targets(&metadata), [target("onefold-sqlite", "store")]);
    }
}
