//! Which test target belongs to which suite.
//!
//! Targets are chosen by name within the whole workspace rather than by
//! package: building a part of the workspace would unify features differently
//! and compile the dependencies again.

use std::path::Path;

use serde_json::Value;

use crate::cargo;

/// The suites that run test targets; the first that takes a target has it. A new one is one more constant and its place
/// in the list.
const GROUPS: &[&Group] = &[&RDKAFKA, &POSTGRES, &BROKERS, &CRASH, &MODEL, &INTEGRATION];

/// Test targets that one suite runs.
#[derive(Debug)]
pub(crate) struct Group {
    takes: fn(&TestTarget) -> bool,
}

/// What is there only with a feature that is off: the suite of that name runs it (`rdkafka.rs`).
pub(crate) const RDKAFKA: Group = Group { takes: |target| target.name == "rdkafka" };
/// What needs PostgreSQL and PgBouncer.
pub(crate) const POSTGRES: Group = Group { takes: |target| target.name.split('_').any(|word| word == "postgres") };
/// What needs a message broker: each broker's crate has a target of its name, and campaigns say `relays_to_…`.
pub(crate) const BROKERS: Group = Group {
    takes: |target| ["kafka", "rabbitmq", "nats"].contains(&&*target.name) || target.name.starts_with("relays_to_"),
};
/// What kills processes, and so takes its time.
pub(crate) const CRASH: Group = Group { takes: |target| target.package == "onefold-campaign" };
/// What runs the rules under a model checker.
pub(crate) const MODEL: Group = Group { takes: |target| target.name == "model" };
/// Everything else.
pub(crate) const INTEGRATION: Group = Group { takes: |_| true };

/// A file in a package's `tests/`.
#[derive(Debug, PartialEq, Eq)]
struct TestTarget {
    package: String,
    name: String,
}

/// Whether the group has the target: it takes it, and no group before it does.
fn has(group: &Group, target: &TestTarget) -> bool {
    GROUPS
        .iter()
        .find(|group| (group.takes)(target))
        .is_some_and(|first| std::ptr::fn_addr_eq(first.takes, group.takes))
}

/// The names of a group's test targets, each once.
pub(crate) fn names(root: &Path, group: &Group) -> Result<Vec<String>, String> {
    choose(&test_targets(&cargo::metadata(root, "Cargo.toml")?), group)
}

fn choose(targets: &[TestTarget], group: &Group) -> Result<Vec<String>, String> {
    let (ours, others): (Vec<_>, Vec<_>) = targets.iter().partition(|target| has(group, target));
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
            target("onefold-kafka", "kafka"),
            target("onefold-kafka", "rdkafka"),
            target("onefold-rabbitmq", "rabbitmq"),
            target("onefold-nats", "nats"),
        ];
        assert_eq!(choose(&targets, &RDKAFKA), Ok(vec!["rdkafka".to_owned()]));
        assert_eq!(choose(&targets, &BROKERS), Ok(["kafka", "nats", "rabbitmq"].map(str::to_owned).to_vec()));
        assert_eq!(choose(&targets, &POSTGRES), Ok(vec!["postgres".to_owned(), "postgres_server".to_owned()]));
        assert_eq!(choose(&targets, &MODEL), Ok(vec!["model".to_owned()]));
        assert_eq!(choose(&targets, &INTEGRATION), Ok(vec!["store".to_owned()]));
        assert_eq!(choose(&targets, &CRASH), Ok(vec!["crash".to_owned()]));
    }

    #[test]
    fn a_name_that_two_suites_would_run_is_refused() {
        let targets = [target("onefold-campaign", "crash"), target("onefold-sqlite", "crash")];
        let wrong = choose(&targets, &CRASH).unwrap_err();
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
