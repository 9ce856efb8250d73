//! A link from one page to another leads to a file, and to a heading in it.

use super::Finding;
use super::tree::{File, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().filter(|file| is_page(&file.path)).flat_map(|page| in_page(page, tree)).collect()
}

fn is_page(path: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|ending| ending == "md")
}

fn in_page(page: &File, tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (text, line) in prose(&page.text) {
        for target in targets(text) {
            if let Err((what, fix)) = resolve(page, target, tree) {
                found.push(Finding { path: page.path.clone(), line, what, fix });
            }
        }
    }
    found
}

/// The lines outside fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut fenced = false;
    text.lines().zip(1..).filter(move |(line, _)| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// What `[text](target)` points to, unless it has a scheme.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links.filter(|target| !target.contains(':') && !target.contains(' '))
}

fn resolve(page: &File, target: &str, tree: &Tree) -> Result<(), (String, &'static str)> {
    let (path, heading) = target.split_once('#').map_or((target, None), |(path, heading)| (path, Some(heading)));
    let whole = if path.is_empty() { page.path.clone() } else { beside(&page.path, path) };
    let folder = format!("{}/", whole.trim_end_matches('/'));
    let linked = tree.file(&whole);
    if linked.is_none() && !tree.files.iter().any(|file| file.path.starts_with(&folder)) {
        return Err((format!("there is no {whole}"), "link to the page as it is called now"));
    }
    match (linked, heading) {
        (Some(linked), Some(heading)) if !headings(&linked.text).any(|known| known == heading) => {
            Err((format!("{whole} has no heading #{heading}"), "link to a heading as it is now"))
        }
        _ => Ok(()),
    }
}

/// A path relative to the folder of a page, from the root.
fn beside(page: &str, path: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The names by which a page's headings are linked to.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let titles = prose(text).filter(|(line, _)| line.starts_with('#'));
    titles.map(|(line, _)| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(text: &str) -> Vec<String> {
        let tree = Tree::of(&[("README.md", "# Onefold\n"), ("docs/guides/a.md", text), ("docs/errors/X.md", "")]);
        check(&tree).into_iter().map(|finding| format!("{}: {}", finding.line, finding.what)).collect()
    }

    #[test]
    fn links_to_files_folders_and_headings_that_exist_are_fine() {
        let text = "# What `it` promises, and why\n[a](#what-it-promises-and-why) [b](../../README.md#onefold)\n\
                    [c](../errors) [d](../errors/X.md) [e](https://example.com/none.md)\n```\n[f](none.md)\n```\n";
        assert_eq!(whats(text), [""; 0]);
    }

    #[test]
    fn a_link_to_a_page_that_is_gone_is_reported() {
        assert_eq!(whats("\nsee [b](b.md)"), ["2: there is no docs/guides/b.md"]);
        assert_eq!(whats("[x](../errors/Y.md)"), ["1: there is no docs/errors/Y.md"]);
    }

    #[test]
    fn a_link_to_a_heading_that_is_gone_is_reported() {
        assert_eq!(whats("[a](#gone)"), ["1: docs/guides/a.md has no heading #gone"]);
        assert_eq!(whats("[r](../../README.md#two)"), ["1: README.md has no heading #two"]);
    }
}
