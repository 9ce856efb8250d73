//! Decision records are called `NNNN-title.md`, and each number is given once.

use std::collections::BTreeMap;

use super::Finding;
use super::tree::Tree;

const FOLDER: &str = "docs/decisions/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut given: BTreeMap<&str, &str> = BTreeMap::new();
    for file in &tree.files {
        let Some(name) = file.path.strip_prefix(FOLDER) else {
            continue;
        };
        let mut finding = |what, fix| {
            let path = file.path.clone();
            found.push(Finding { path, line: 1, what, fix });
        };
        match number(name) {
            None => finding(format!("`{name}` is not called NNNN-title.md"), "rename it, lower case with hyphens"),
            Some(number) => {
                if let Some(other) = given.insert(number, name) {
                    finding(format!("{other} has the number {number} too"), "take the next free number");
                }
            }
        }
    }
    found
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
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        check(&Tree::of(&files)).into_iter().map(|finding| finding.path.replace(FOLDER, "")).collect()
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
