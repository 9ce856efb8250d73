//! No file mentions a folder of somebody's machine.

use super::Finding;
use super::tree::{File, Tree};

/// Folders at the top of a machine that the project has no business with.
const FOLDERS: [&str; 4] = ["work", "home", "root", "Users"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<Finding> {
    let mentions = file.text.lines().zip(1..).filter_map(|(text, line)| {
        let folder = FOLDERS.iter().find(|folder| mentions(text, folder))?;
        Some(Finding {
            path: file.path.clone(),
            line,
            what: format!("the line names a path in /{folder}"),
            fix: "say it relative to the repository, or leave it out",
        })
    });
    mentions.collect()
}

/// An absolute path begins with its slash; after a name or a host the slash is inside another path.
fn mentions(text: &str, folder: &str) -> bool {
    let path = format!("/{folder}/");
    text.match_indices(&path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~}*)>]".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&Tree::of(&[("docs/guide.md", text)])).len()
    }

    #[test]
    fn a_path_on_a_machine_is_reported() {
        for folder in FOLDERS {
            for text in [format!("/{folder}/x"), format!("see `/{folder}/x`"), format!("DIR=/{folder}/x")] {
                assert_eq!(found(&text), 1, "{text}");
            }
        }
    }

    #[test]
    fn a_path_inside_another_is_not() {
        for folder in FOLDERS {
            for text in [format!("docs/{folder}/x"), format!("https://example.com/{folder}/x"), format!("./{folder}/x")]
            {
                assert_eq!(found(&text), 0, "{text}");
            }
        }
    }
}
