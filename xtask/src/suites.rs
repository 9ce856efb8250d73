//! The test suites, in the order they run.
//!
//! A new suite is one more row in [`SUITES`]. One that needs services names them
//! with `needing`: they are up while it runs, and it is not run without them.

use std::process::Command;

use crate::services::{self, Service};
use crate::step::{Context, Step, Tally, always};
use crate::targets::{self, Group};
use crate::{bench, cargo, examples, fuzz_api, libtest, openapi, rdkafka, tidy};

/// Every suite of `cargo xtask test`.
pub(crate) const SUITES: &[Step] = &[
    TIDY,
    COVERAGE,
    Step::new("unit", always, unit),
    Step::new("integration", always, integration),
    Step::new("model", always, model),
    Step::new("crash", always, crash),
    Step::new("postgres", always, postgres).needing(&[Service::Postgres, Service::PgBouncer]),
    Step::new("brokers", always, brokers).needing(&[
        Service::Kafka,
        Service::RabbitMq,
        Service::Nats,
        Service::Postgres,
    ]),
    Step::new("rdkafka", rdkafka::ready, rdkafka::run).needing(&[Service::Kafka]),
    Step::new("services", always, services::check).needing(Service::TESTED),
    Step::new("doctests", always, doctests),
    Step::new("examples", always, examples::run),
    Step::new("openapi", openapi::ready, openapi::run),
    Step::new("fuzz-api", fuzz_api::ready, fuzz_api::run),
    Step::new("benches", always, benches),
];

pub(crate) const TIDY: Step = Step::new("tidy", always, tidy::style);
pub(crate) const COVERAGE: Step = Step::new("coverage", always, tidy::coverage);

/// The suites with these names, in the order of the list; no name means all.
pub(crate) fn chosen(only: &[String]) -> Vec<Step> {
    SUITES.iter().filter(|suite| only.is_empty() || only.iter().any(|name| name == suite.name)).copied().collect()
}

fn unit(context: &Context) -> Tally {
    counted(cargo_test(context).args(["--lib", "--bins"]))
}

fn integration(context: &Context) -> Tally {
    test_targets(context, &targets::INTEGRATION).unwrap_or_else(Tally::trouble)
}

fn model(context: &Context) -> Tally {
    let full = if context.options.full { Some(("ONEFOLD_MODEL_FULL", "1")) } else { None };
    test_targets_with(context, &targets::MODEL, full).unwrap_or_else(Tally::trouble)
}

fn crash(context: &Context) -> Tally {
    test_targets(context, &targets::CRASH).unwrap_or_else(Tally::trouble)
}

fn postgres(context: &Context) -> Tally {
    test_targets(context, &targets::POSTGRES).unwrap_or_else(Tally::trouble)
}

fn brokers(context: &Context) -> Tally {
    let full = if context.options.full { Some(("ONEFOLD_CAMPAIGN_FULL", "1")) } else { None };
    test_targets_with(context, &targets::BROKERS, full).unwrap_or_else(Tally::trouble)
}

fn doctests(context: &Context) -> Tally {
    counted(cargo_test(context).arg("--doc"))
}

fn test_targets(context: &Context, group: &Group) -> Result<Tally, String> {
    test_targets_with(context, group, None)
}

/// The same with a variable of its own in their environment.
fn test_targets_with(
    context: &Context,
    group: &Group,
    variable: Option<(&'static str, &'static str)>,
) -> Result<Tally, String> {
    let names = targets::names(&context.root, group)?;
    if names.is_empty() {
        return Err("there is no test target".to_owned());
    }
    let mut command = cargo_test(context);
    for name in &names {
        command.args(["--test", name]);
    }
    command.envs(variable);
    Ok(counted(&mut command))
}

/// `--no-fail-fast`, because the counts are of all tests and not of those before the first failure.
fn cargo_test(context: &Context) -> Command {
    let mut command = cargo::cargo(&context.root);
    command.args(["test", "--workspace", "--no-fail-fast"]).envs(context.services.environment());
    command
}

/// Runs tests and counts them.
pub(crate) fn counted(command: &mut Command) -> Tally {
    let mut tally = Tally::default();
    let ended = cargo::stream(command, |line| libtest::count(line, &mut tally));
    // Cargo also fails when a test does, and that one is counted.
    tally.trouble.extend(ended.err().filter(|_| tally.failed == 0));
    tally
}

/// Benchmarks compile; a number that is worth reading takes a quiet machine and `cargo xtask bench NAME`.
fn benches(context: &Context) -> Tally {
    Tally::of_one(bench::compile(&context.root))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(steps: &[Step]) -> Vec<&'static str> {
        steps.iter().map(|step| step.name).collect()
    }

    #[test]
    fn no_name_chooses_every_suite() {
        assert_eq!(names(&chosen(&[])), names(SUITES));
    }

    #[test]
    fn chosen_suites_keep_the_order_of_the_list() {
        let only = ["model".to_owned(), "unit".to_owned()];
        assert_eq!(names(&chosen(&only)), ["unit", "model"]);
    }

    #[test]
    fn every_suite_is_explained_in_the_help() {
        for suite in SUITES {
            assert!(crate::help::TEST.contains(&format!("\n  {} ", suite.name)), "{}", suite.name);
        }
    }
}
