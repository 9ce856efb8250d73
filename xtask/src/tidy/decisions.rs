//! Decision records are called `NNNN-title.md`, each number is given once, and a record holds one decision.

use std::collections::BTreeMap;

use super::Finding;
use super::tree::Tree;

const FOLDER: &str = "docs/decisions/";
/// The sections that one decision may have; a heading of its own begins a second decision.
const SECTIONS: [&str; 5] = ["Context", "Decision", "Consequences", "Rejected", "Known limits"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut given: BTreeMap<&str, &str> = BTreeMap::new();
    for file in &tree.files {
        let Some(name) = file.path.strip_prefix(FOLDER) else {
            continue;
        };
        let mut finding = |line, what, fix| {
            let path = file.path.clone();
            found.push(Finding { path, line, what, fix });
        };
        match number(name) {
            None => finding(1, format!("`{name}` is not called NNNN-title.md"), "rename it, lower case with hyphens"),
            Some(number) => {
                if let Some(other) = given.insert(number, name) {
                    finding(1, format!("{other} has the number {number} too"), "take the next free number");
                }
                let heading = format!("# {}. ", number.trim_start_matches('0'));
                if !file.text.starts_with(&heading) {
                    finding(
                        1,
                        format!("the heading does not begin with `{heading}`"),
                        "write the number, then the decision",
                    );
                }
            }
        }
        for (heading, line) in second_decisions(&file.text) {
            let what = format!("`{heading}` begins another decision");
            finding(line, what, "give it a record with the next free number");
        }
    }
    found
}

/// Headings that are not sections of one decision, with their lines.
fn second_decisions(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let headings = text.lines().zip(1..).filter_map(|(line, at)| Some((line.strip_prefix("## ")?, at)));
    headings.filter(|(heading, _)| !SECTIONS.contains(heading))
}

/// The number of `NNNN-title.md`.
fn number(name: &str) -> Option<&str> {
    let (number, title) = name.strip_suffix(".md")?.split_once('-')?;
    let is_number = number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit());
    let in_title = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (is_number && !title.is_empty() && title.bytes().all(in_title)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<String> {
        let paths: Vec<String> = names.iter().map(|name| format!("{FOLDER}{name}")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), heading_of(path))).collect();
        check(&Tree::of(&files)).into_iter().map(|finding| finding.path.replace(FOLDER, "")).collect()
    }

    fn heading_of(path: &str) -> &'static str {
        if path.contains("/0002-") { "# 2. A title\n" } else { "# 1. A title\n" }
    }

    fn whats(text: &str) -> Vec<String> {
        let findings = check(&Tree::of(&[("docs/decisions/0012-advice.md", text)]));
        findings.into_iter().map(|finding| format!("{}: {}", finding.line, finding.what)).collect()
    }

    #[test]
    fn a_record_holds_one_decision() {
        assert_eq!(whats("# 12. Advice\n\n## Context\n\n## Decision\n\n## Rejected\n"), [""; 0]);
        assert_eq!(whats("# 12. Advice\n\n## Another thing\n"), ["3: `Another thing` begins another decision"]);
    }

    #[test]
    fn a_heading_has_the_number_of_its_file() {
        assert_eq!(whats("# 13. Advice\n"), ["1: the heading does not begin with `# 12. `"]);
        assert_eq!(whats("# Advice\n"), ["1: the heading does not begin with `# 12. `"]);
    }

    #[test]
    fn numbered_records_are_in_order() {
        assert_eq!(paths(&["0001-unknown-is-a-status.md", "0002-422-for-a-reused-key.md"]), [""; 0]);
    }

    #[test]
    fn a_record_by_another_name_is_reported() {
        for name in ["unknown.md", "1-unknown.md", "0001_unknown.md", "0001-Unknown.md", "0001-.md", "0001-a.txt"] {
            assert_eq!(paths(&[name]), [name], "{name}");
        }
    }

    #[test]
    fn the_second_record_of_a_number_is_reported() {
        assert_eq!(paths(&["0001-a.md", "0001-b.md"]), ["0001-b.md"]);
    }
}
