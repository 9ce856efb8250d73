//! What the compiler cannot check: names, sizes, where things live. One file a rule.

mod architecture;
mod arrows;
mod coverage;
mod decisions;
mod length;
mod links;
mod paths;
mod prose;
mod public_names;
mod scan;
mod sql;
mod stores;
mod tree;
mod unfinished;
mod vocabulary;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use crate::step::{Context, Tally};
use tree::Tree;

/// Something to put right, and how.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    what: String,
    fix: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} ({})", self.path, self.line, self.what, self.fix)
    }
}

/// A pure look at the tree.
struct Rule {
    name: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

const fn rule(name: &'static str, check: fn(&Tree) -> Vec<Finding>) -> Rule {
    Rule { name, check }
}

const STYLE: &[Rule] = &[
    rule("length", length::check),
    rule("vocabulary", vocabulary::check),
    rule("prose", prose::check),
    rule("sql", sql::check),
    rule("stores", stores::check),
    rule("unfinished", unfinished::check),
    rule("decisions", decisions::check),
    rule("paths", paths::check),
    rule("architecture", architecture::check),
    rule("links", links::check),
    rule("names", public_names::check),
    rule("arrows", arrows::check),
];

const COVERAGE: &[Rule] = &[rule("coverage", coverage::check)];

/// `cargo xtask tidy`: every rule.
pub(crate) fn command(root: &Path) -> Result<ExitCode, String> {
    let tree = Tree::read(root)?;
    let all = || STYLE.iter().chain(COVERAGE);
    let tally = apply(all(), &tree);
    if tally.failed > 0 {
        return Ok(ExitCode::FAILURE);
    }
    println!("tidy: {} rules, {} files, nothing found", all().count(), tree.files.len());
    Ok(ExitCode::SUCCESS)
}

/// The rules of style, as a step.
pub(crate) fn style(context: &Context) -> Tally {
    step(STYLE, context)
}

/// The coverage of the source texts, as a step.
pub(crate) fn coverage(context: &Context) -> Tally {
    step(COVERAGE, context)
}

fn step(rules: &[Rule], context: &Context) -> Tally {
    match Tree::read(&context.root) {
        Ok(tree) => apply(rules, &tree),
        Err(why) => Tally::trouble(why),
    }
}

/// Prints what the rules find; each rule counts as one test.
fn apply<'a>(rules: impl IntoIterator<Item = &'a Rule>, tree: &Tree) -> Tally {
    let mut tally = Tally::default();
    for rule in rules {
        let found = findings(rule, tree);
        for finding in &found {
            println!("{finding}");
        }
        let result = if found.is_empty() { Ok(()) } else { Err(format!("{}: {} found", rule.name, found.len())) };
        tally.add(result);
    }
    tally
}

/// What a rule finds, in order, without the lines that say why they are right.
fn findings(rule: &Rule, tree: &Tree) -> Vec<Finding> {
    let mut found = (rule.check)(tree);
    found.sort();
    found.dedup();
    found.retain(|finding| !excused(finding, tree));
    found
}

fn excused(finding: &Finding, tree: &Tree) -> bool {
    let file = tree.files.iter().find(|file| file.path == finding.path);
    let line = file.and_then(|file| file.text.lines().nth(finding.line.saturating_sub(1)));
    line.is_some_and(gives_a_reason)
}

/// `tidy: allow(…)` without a reason excuses nothing.
fn gives_a_reason(line: &str) -> bool {
    let reason = line.split_once("tidy: allow(").and_then(|(_, rest)| rest.split_once(')'));
    reason.is_some_and(|(reason, _)| !reason.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> impl Iterator<Item = &'static str> {
        STYLE.iter().chain(COVERAGE).map(|rule| rule.name)
    }

    #[test]
    fn every_rule_is_explained_in_the_help() {
        for name in names() {
            assert!(crate::help::TIDY.contains(&format!("\n  {name} ")), "{name}");
        }
    }

    #[test]
    fn a_finding_says_where_what_and_what_to_do() {
        let finding = Finding { path: "a.rs".to_owned(), line: 3, what: "is wrong".to_owned(), fix: "put it right" };
        assert_eq!(finding.to_string(), "a.rs:3: is wrong (put it right)");
    }

    #[test]
    fn a_line_with_a_reason_is_excused() {
        let rule = rule("unfinished", unfinished::check);
        let text = "#[ignore]\n#[ignore] // tidy: allow()\n#[ignore] // tidy: allow(shows the form)\n";
        let tree = Tree::of(&[("a.rs", text)]);
        let lines: Vec<_> = findings(&rule, &tree).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 2]);
    }

    #[test]
    fn each_rule_counts_as_one_test() {
        let tree = Tree::of(&[("docs/decisions/first.md", ""), ("docs/decisions/second.md", "")]);
        let tally = apply(STYLE, &tree);
        assert_eq!((tally.passed, tally.failed), (11, 1));
        assert_eq!(tally.trouble, ["decisions: 2 found"]);
    }
}
