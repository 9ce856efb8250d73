//! Steps: run one after the other, all of them, and shown in one table.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::args::Options;
use crate::services::{Install, Service, Session};
use crate::table;

/// One thing that passes, fails or is not run: a row of the final table.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// Asked first; changes nothing of the project, but may install what the step needs.
    ready: fn(&Context) -> Ready,
    /// Does the work, and says what it counted and what went wrong.
    run: fn(&Context) -> Tally,
    /// What must be up while it runs; it is not run where one of these cannot be had.
    pub(crate) needs: &'static [Service],
}

impl Step {
    /// On one line, so that a list of steps reads as a table.
    pub(crate) const fn new(name: &'static str, ready: fn(&Context) -> Ready, run: fn(&Context) -> Tally) -> Self {
        Self { name, ready, run, needs: &[] }
    }

    /// The same step, run with these services up.
    pub(crate) const fn needing(self, needs: &'static [Service]) -> Self {
        Self { needs, ..self }
    }
}

/// Whether a step can and should run now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    Yes,
    /// Why not, for the table.
    No(String),
}

/// What every step may look at.
pub(crate) struct Context {
    pub(crate) root: PathBuf,
    pub(crate) options: Options,
    pub(crate) services: Session,
}

impl Context {
    pub(crate) fn new(root: PathBuf, options: Options) -> Self {
        Self { root, options, services: Session::default() }
    }

    /// Brings up what a step needs; an error is the reason why the step cannot run.
    fn grant(&self, needs: &[Service]) -> Result<(), String> {
        let install = if self.options.no_install { Install::Never } else { Install::Missing };
        self.services.grant(&self.root, needs, install)
    }
}

/// What a step counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
    /// What went wrong, where the counts alone do not tell.
    pub(crate) trouble: Vec<String>,
}

impl Tally {
    /// A step that either holds or does not counts as one test.
    pub(crate) fn of_one(result: Result<(), String>) -> Self {
        let mut tally = Self::default();
        tally.add(result);
        tally
    }

    /// A step that could not do its work.
    pub(crate) fn trouble(why: String) -> Self {
        Self { trouble: vec![why], ..Self::default() }
    }

    /// Counts one more.
    pub(crate) fn add(&mut self, result: Result<(), String>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(why) => {
                self.failed += 1;
                self.trouble.push(why);
            }
        }
    }
}

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    NotRun(String),
}

struct Row {
    name: &'static str,
    outcome: Outcome,
    tally: Tally,
    took: Duration,
}

/// For steps that need nothing but the toolchain.
pub(crate) fn always(_: &Context) -> Ready {
    Ready::Yes
}

/// Runs every step, shows the table and the totals, and says whether all is well.
pub(crate) fn run_all(steps: &[Step], context: &Context) -> ExitCode {
    let mut rows = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        println!("\n=== {}/{} {}", at + 1, steps.len(), step.name);
        let row = run(step, context);
        println!("--- {}: {}", row.name, sentence(&row));
        rows.push(row);
    }
    if let Err(why) = context.services.close() {
        let outcome = Outcome::Failed(format!("a service was not stopped: {why}"));
        rows.push(Row { name: "services down", outcome, tally: Tally::default(), took: Duration::ZERO });
    }
    let (passed, failed) = totals(&rows, context.options.require_all);
    print!("\n{}\n{passed} passed, {failed} failed\n", show(&rows));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(step: &Step, context: &Context) -> Row {
    let started = Instant::now();
    let (outcome, tally) = match able(step, context) {
        Ready::No(why) => (Outcome::NotRun(why), Tally::default()),
        Ready::Yes => {
            let tally = (step.run)(context);
            (judge(&tally), tally)
        }
    };
    Row { name: step.name, outcome, tally, took: started.elapsed() }
}

/// Its services are brought up last: one that cannot run anyway needs none.
fn able(step: &Step, context: &Context) -> Ready {
    match (step.ready)(context) {
        Ready::Yes => context.grant(step.needs).map_or_else(Ready::No, |()| Ready::Yes),
        Ready::No(why) => Ready::No(why),
    }
}

/// Passed means that tests ran, that all passed and that none was left out.
fn judge(tally: &Tally) -> Outcome {
    let mut why = tally.trouble.clone();
    if tally.failed > 0 && why.is_empty() {
        why.push(format!("{} failed", tally.failed));
    }
    if tally.ignored > 0 {
        why.push(format!("{} ignored", tally.ignored));
    }
    if why.is_empty() && tally.passed == 0 {
        why.push("ran no test".to_owned());
    }
    if why.is_empty() { Outcome::Passed } else { Outcome::Failed(why.join("; ")) }
}

/// The failed ones are zero exactly when the exit code is: a step that failed
/// without a failed test counts as one, and so does one that was required but not run.
fn totals(rows: &[Row], require_all: bool) -> (u64, u64) {
    let passed = rows.iter().map(|row| row.tally.passed).sum();
    let failed = rows
        .iter()
        .map(|row| match row.outcome {
            Outcome::Passed => 0,
            Outcome::Failed(_) => row.tally.failed.max(1),
            Outcome::NotRun(_) => u64::from(require_all),
        })
        .sum();
    (passed, failed)
}

fn sentence(row: &Row) -> String {
    match &row.outcome {
        Outcome::Passed => format!("passed in {:.1} s", row.took.as_secs_f64()),
        Outcome::Failed(why) => format!("FAILED in {:.1} s: {why}", row.took.as_secs_f64()),
        Outcome::NotRun(why) => format!("not run: {why}"),
    }
}

/// How each step ended and how long it took; the last row is the sum.
fn show(rows: &[Row]) -> String {
    let cells: Vec<[String; 5]> = rows.iter().map(cells).chain([total(rows)]).collect();
    table::render(["suite", "result", "tests", "seconds", "why"], &cells)
}

fn total(rows: &[Row]) -> [String; 5] {
    let tests: u64 = rows.iter().map(|row| row.tally.passed + row.tally.failed).sum();
    let took: Duration = rows.iter().map(|row| row.took).sum();
    let seconds = took.as_secs_f64();
    ["total".to_owned(), String::new(), format!("{tests:>5}"), format!("{seconds:>7.1}"), String::new()]
}

fn cells(row: &Row) -> [String; 5] {
    let tests = row.tally.passed + row.tally.failed;
    let seconds = row.took.as_secs_f64();
    let (result, why) = match &row.outcome {
        Outcome::Passed => ("passed", ""),
        Outcome::Failed(why) => ("FAILED", why.as_str()),
        Outcome::NotRun(why) => {
            return [row.name, "not run", "", "", why].map(str::to_owned);
        }
    };
    [row.name.to_owned(), result.to_owned(), format!("{tests:>5}"), format!("{seconds:>7.1}"), why.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: u64, failed: u64, ignored: u64) -> Tally {
        Tally { passed, failed, ignored, trouble: Vec::new() }
    }

    fn row(name: &'static str, outcome: Outcome, tally: Tally) -> Row {
        Row { name, outcome, tally, took: Duration::from_millis(1250) }
    }

    fn failed(why: &str) -> Outcome {
        Outcome::Failed(why.to_owned())
    }

    fn not_run(why: &str) -> Outcome {
        Outcome::NotRun(why.to_owned())
    }

    #[test]
    fn tests_that_all_passed_make_a_passed_step() {
        assert_eq!(judge(&tally(3, 0, 0)), Outcome::Passed);
    }

    #[test]
    fn a_step_that_ran_no_test_has_failed() {
        assert_eq!(judge(&tally(0, 0, 0)), failed("ran no test"));
    }

    #[test]
    fn an_ignored_test_is_a_failure() {
        assert_eq!(judge(&tally(3, 0, 1)), failed("1 ignored"));
    }

    #[test]
    fn trouble_beside_the_tests_is_a_failure() {
        let tally = Tally { trouble: vec!["cargo exited with 101".to_owned()], ..tally(3, 0, 0) };
        assert_eq!(judge(&tally), failed("cargo exited with 101"));
    }

    #[test]
    fn a_step_that_failed_before_any_test_counts_as_one() {
        let rows = [
            row("unit", Outcome::Passed, tally(5, 0, 0)),
            row("model", failed("cargo exited with 101"), tally(0, 0, 0)),
        ];
        assert_eq!(totals(&rows, false), (5, 1));
    }

    #[test]
    fn what_was_not_run_counts_as_failed_only_when_all_is_required() {
        let rows = [row("benches", not_run("later"), tally(0, 0, 0))];
        assert_eq!(totals(&rows, false), (0, 0));
        assert_eq!(totals(&rows, true), (0, 1));
    }

    #[test]
    fn the_table_says_how_each_step_ended_why_and_how_long_all_took() {
        let rows = [
            row("unit", Outcome::Passed, tally(12, 0, 0)),
            row("crash", failed("1 failed"), tally(2, 1, 0)),
            row("deny", not_run("not installed"), tally(0, 0, 0)),
        ];
        let expected = "\
suite | result  | tests | seconds | why
------+---------+-------+---------+--------------
unit  | passed  |    12 |     1.2 |
crash | FAILED  |     3 |     1.2 | 1 failed
deny  | not run |       |         | not installed
total |         |    15 |     3.8 |
";
        assert_eq!(show(&rows), expected);
    }
}
