//! What `docs/coverage.md` names as evidence exists: files, and tests in them.

use super::Finding;
use super::tree::{File, Tree};

const COVERAGE: &str = "docs/coverage.md";
const ENDINGS: [&str; 4] = [".rs", ".md", ".sql", ".toml"];

/// A file, and perhaps a function in it, as a row names it: `path` or `path::name`.
#[derive(Debug, PartialEq, Eq)]
struct Evidence<'a> {
    path: &'a str,
    function: Option<&'a str>,
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
    }
    if named == 0 {
        found.push(finding(1, "no row names a file".to_owned(), "name the test or page that shows it, in backticks"));
    }
    found
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
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let definition = format!("fn {name}");
    file.text.match_indices(&definition).any(|(at, _)| ends(&file.text[at + definition.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: (&str, &str) = ("crates/core/tests/model.rs", "#[test]\nfn one_effect_at_most() {}\n");

    fn whats(page: &str) -> Vec<String> {
        let findings = check(&Tree::of(&[(COVERAGE, page), TEST]));
        findings.into_iter().map(|finding| format!("{}: {}", finding.line, finding.what)).collect()
    }

    #[test]
    fn evidence_that_exists_is_fine() {
        assert_eq!(whats("| 1 | `crates/core/tests/model.rs` |"), [""; 0]);
        assert_eq!(whats("| 1 | `crates/core/tests/model.rs::one_effect_at_most` |"), [""; 0]);
        assert_eq!(whats("| 1 | `docs/coverage.md#top`, `Claim::Granted`, `a/b` |"), [""; 0]);
    }

    #[test]
    fn a_file_that_is_gone_is_reported_with_its_row() {
        let page = "text `docs/old.md`\n| 1 | `docs/gone.md` | `crates/core/tests/model.rs` |";
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
