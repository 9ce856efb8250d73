//! No Rust file has more lines than one reads in a sitting.

use super::Finding;
use super::tree::{File, Tree};

const LINES_MAX: usize = 600;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter_map(too_long).collect()
}

fn too_long(file: &File) -> Option<Finding> {
    let lines = file.text.lines().count();
    (lines > LINES_MAX).then(|| Finding {
        path: file.path.clone(),
        line: LINES_MAX + 1,
        what: format!("the file has {lines} lines, more than {LINES_MAX}"),
        fix: "split it, a file a rule",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, lines: usize) -> usize {
        check(&Tree::of(&[(path, &"\n".repeat(lines))])).len()
    }

    #[test]
    fn a_file_over_the_limit_is_reported() {
        assert_eq!(found("crates/core/src/lib.rs", LINES_MAX + 1), 1);
    }

    #[test]
    fn a_file_at_the_limit_is_not() {
        assert_eq!(found("crates/core/src/lib.rs", LINES_MAX), 0);
    }

    #[test]
    fn files_that_are_not_rust_may_be_long() {
        assert_eq!(found("docs/guide.md", LINES_MAX + 1), 0);
    }
}
