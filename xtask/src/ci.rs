//! Everything a change must pass.

use crate::cargo;
use crate::deny;
use crate::step::{Context, Step, Tally, always};
use crate::suites::{COVERAGE, SUITES, TIDY};

/// What takes seconds comes first, so that a slip shows before the long suites.
const CHECKS: &[Step] = &[
    Step::new("fmt", always, fmt),
    TIDY,
    Step::new("clippy", always, clippy),
    Step::new("doc", always, doc),
    deny::STEP,
    COVERAGE,
];

/// The checks, then the suites that are not among them.
pub(crate) fn steps() -> Vec<Step> {
    let is_check = |suite: &&Step| CHECKS.iter().any(|check| check.name == suite.name);
    let suites = SUITES.iter().filter(|suite| !is_check(suite));
    CHECKS.iter().chain(suites).copied().collect()
}

fn fmt(context: &Context) -> Tally {
    let mut command = cargo::cargo(&context.root);
    command.args(["fmt", "--all", "--check"]);
    Tally::of_one(cargo::pass_through(&mut command))
}

fn clippy(context: &Context) -> Tally {
    let mut command = cargo::cargo(&context.root);
    command.args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    Tally::of_one(cargo::pass_through(&mut command))
}

fn doc(context: &Context) -> Tally {
    let mut command = cargo::cargo(&context.root);
    command.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
    Tally::of_one(cargo::pass_through(&mut command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_runs_once_and_after_the_checks() {
        let names: Vec<_> = steps().iter().map(|step| step.name).collect();
        assert_eq!(names[..6], ["fmt", "tidy", "clippy", "doc", "deny", "coverage"]);
        for suite in SUITES {
            assert_eq!(names.iter().filter(|name| **name == suite.name).count(), 1, "{}", suite.name);
        }
    }

    #[test]
    fn every_check_is_explained_in_the_help() {
        for check in CHECKS {
            assert!(crate::help::CI.contains(&format!("\n  {} ", check.name)), "{}", check.name);
        }
    }
}
