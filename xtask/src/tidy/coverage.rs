//! What `docs/coverage.md` names as evidence exists and runs: files where something is built, tests that show it.

use super::Finding;
use super::tree::{File, Tree};

const COVERAGE: &str = "docs/coverage.md";
const ENDINGS: [&str; 4] = [".rs", ".md", ".sql", ".toml"];
/// The promises of the conformance suites are plain functions; these lists make tests of them, one a capability.
const SUITES: &str = "crates/conformance/src/";

/// A file, and perhaps a function in it, as a row names it: `path` or `path::name`.
#[derive(Debug, PartialEq, Eq)]
struct Evidence<'a> {
    path: &'a str,
    function: Option<&'a str>,
}

impl Evidence<'_> {
    fn is_rust(&self) -> bool {
        std::path::Path::new(self.path).extension().is_some_and(|ending| ending == "rs")
    }
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(COVERAGE) else {
        return vec![finding(1, "the page is missing".to_owned(), "write a row per section of the source texts")];
    };
    let mut found = Vec::new();
    let mut named = 0;
    for (row, line) in page.text.lines().zip(1..).filter(|(row, _)| row.trim_start().starts_with('|')) {
        for evidence in evidence(row) {
            named += 1;
            found.extend(missing(&evidence, tree).map(|(what, fix)| finding(line, what, fix)));
        }
        found.extend(not_shown(row, tree).into_iter().map(|(what, fix)| finding(line, what, fix)));
    }
    if named == 0 {
        found.push(finding(1, "no row names a file".to_owned(), "name the test or page that shows it, in backticks"));
    }
    found
}

/// What a row claims to be built and no test that runs shows.
fn not_shown(row: &str, tree: &Tree) -> Vec<(String, &'static str)> {
    let cells: Vec<&str> = row.trim().trim_matches('|').split(" | ").map(str::trim).collect();
    let [_, built, shown] = cells[..] else { return Vec::new() };
    let mut found = Vec::new();
    let mut runs = false;
    for evidence in evidence(shown).filter(Evidence::is_rust) {
        match evidence.function {
            None => found.push((
                format!("{} is a file, and no test", evidence.path),
                "name the test in it that shows the section: `path::test`",
            )),
            Some(name) if is_test(&evidence, name, tree) => runs = true,
            Some(name) => found.push((
                format!("{}::{name} is not a test that runs", evidence.path),
                "name a function with a test attribute that is not ignored",
            )),
        }
    }
    let is_built = evidence(built).next().is_some();
    if is_built && !runs && found.is_empty() {
        found.push(("nothing that runs shows this row".to_owned(), "name a test, or say that it comes later"));
    }
    found
}

fn is_test(evidence: &Evidence<'_>, name: &str, tree: &Tree) -> bool {
    if evidence.path.starts_with("crates/conformance/src/") {
        let mut suites = tree.rust().filter(|file| file.path.starts_with(SUITES) && file.path.ends_with("suite.rs"));
        return suites.any(|suite| suite.text.contains(&format!(" {name},\n")));
    }
    tree.file(evidence.path).is_some_and(|file| {
        // A table of tests that run at every front: `at_each_front! { name, … }`.
        let listed = file.text.contains(&format!("\n    {name},\n"));
        listed
            || definitions(file, name).any(|at| {
                let line = file.text[..at].rfind('\n').map_or(0, |end| end + 1);
                let above = file.text[..line].lines().rev();
                let attributes: Vec<&str> =
                    above.map(str::trim).take_while(|line| line.starts_with('#') || line.starts_with("//")).collect();
                let has = |word: &str| attributes.iter().any(|line| line.starts_with("#[") && line.contains(word));
                (has("test]") || has("test(")) && !has("ignore")
            })
    })
}

fn finding(line: usize, what: String, fix: &'static str) -> Finding {
    Finding { path: COVERAGE.to_owned(), line, what, fix }
}

/// What a row has in backticks and looks like a path.
fn evidence(row: &str) -> impl Iterator<Item = Evidence<'_>> {
    row.split('`').skip(1).step_by(2).filter_map(|token| {
        let (path, function) = match token.split_once("::") {
            Some((path, names)) => (path, names.rsplit("::").next()),
            None => (token, None),
        };
        let path = path.split_once('#').map_or(path, |(path, _)| path);
        let is_path = path.contains('/') && ENDINGS.iter().any(|ending| path.ends_with(ending));
        is_path.then_some(Evidence { path, function })
    })
}

fn missing(evidence: &Evidence<'_>, tree: &Tree) -> Option<(String, &'static str)> {
    let Evidence { path, function } = evidence;
    let Some(file) = tree.file(path) else {
        return Some((format!("there is no {path}"), "name the file as it is now"));
    };
    let name = function.filter(|name| !has_function(file, name))?;
    Some((format!("{path} has no `fn {name}`"), "name the test as it is now"))
}

fn has_function(file: &File, name: &str) -> bool {
    definitions(file, name).next().is_some()
}

/// Where functions of this name are defined.
fn definitions<'a>(file: &'a File, name: &str) -> impl Iterator<Item = usize> + 'a {
    let definition = format!("fn {name}");
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let found: Vec<usize> = file.text.match_indices(&definition).map(|(at, _)| at).collect();
    let length = definition.len();
    found.into_iter().filter(move |at| ends(&file.text[at + length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: (&str, &str) = (
        "crates/core/tests/model.rs",
        "#[test]\nfn one_effect_at_most() {}\n\nfn a_plain_function() {}\n\n#[test]\n#[ignore]\nfn an_ignored_one() {}\n",
    );

    fn whats(page: &str) -> Vec<String> {
        let findings = check(&Tree::of(&[(COVERAGE, page), TEST]));
        findings.into_iter().map(|finding| format!("{}: {}", finding.line, finding.what)).collect()
    }

    #[test]
    fn evidence_that_exists_is_fine() {
        assert_eq!(whats("| 1 | `crates/core/tests/model.rs` |"), [""; 0]);
        assert_eq!(whats("| 1 | `docs/coverage.md` | `crates/core/tests/model.rs::one_effect_at_most` |"), [""; 0]);
        assert_eq!(whats("| 1 | `docs/coverage.md#top`, `Claim::Granted`, `a/b` |"), [""; 0]);
    }

    #[test]
    fn what_is_built_is_shown_by_a_test_that_runs() {
        let row = |shown: &str| format!("| 1 | `crates/core/tests/model.rs` | {shown} |");
        assert_eq!(whats(&row("`crates/core/tests/model.rs::one_effect_at_most`")), [""; 0]);
        assert_eq!(whats(&row("`docs/coverage.md`")), ["1: nothing that runs shows this row"]);
        assert_eq!(
            whats(&row("`crates/core/tests/model.rs`")),
            ["1: crates/core/tests/model.rs is a file, and no test"]
        );
        for not_run in ["a_plain_function", "an_ignored_one"] {
            let what = format!("1: crates/core/tests/model.rs::{not_run} is not a test that runs");
            assert_eq!(whats(&row(&format!("`crates/core/tests/model.rs::{not_run}`"))), [what]);
        }
        assert_eq!(whats("| 1 | – | `docs/coverage.md` |"), [""; 0], "a page may be all that a section asks for");
    }

    #[test]
    fn a_promise_of_the_conformance_suite_is_a_test_if_a_capability_lists_it() {
        let promises = "pub async fn kept() {}\npub async fn forgotten() {}\n";
        let row = |name: &str| format!("| 1 | `docs/coverage.md` | `crates/conformance/src/ledger/claim.rs::{name}` |");
        let whats = |page: &str| {
            let tree = Tree::of(&[
                (COVERAGE, page),
                ("crates/conformance/src/ledger/claim.rs", promises),
                ("crates/conformance/src/ledger/suite.rs", "claim {\n    kept,\n}\n"),
            ]);
            check(&tree).into_iter().map(|finding| finding.what).collect::<Vec<_>>()
        };
        assert_eq!(whats(&row("kept")), [""; 0]);
        let what = "crates/conformance/src/ledger/claim.rs::forgotten is not a test that runs";
        assert_eq!(whats(&row("forgotten")), [what]);
    }

    #[test]
    fn a_file_that_is_gone_is_reported_with_its_row() {
        let page = "text `docs/old.md`\n| 1 | `docs/gone.md` | `crates/core/tests/model.rs::one_effect_at_most` |";
        assert_eq!(whats(page), ["2: there is no docs/gone.md"]);
    }

    #[test]
    fn a_test_that_is_gone_is_reported() {
        let page = "| 1 | `crates/core/tests/model.rs::one_effect` |";
        assert_eq!(whats(page), ["1: crates/core/tests/model.rs has no `fn one_effect`"]);
    }

    #[test]
    fn a_page_without_evidence_is_reported() {
        assert_eq!(whats("# Coverage\n"), ["1: no row names a file"]);
        assert_eq!(check(&Tree::of(&[])).len(), 1);
    }
}
