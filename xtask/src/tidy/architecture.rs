//! What `ARCHITECTURE.md` names is there: files, folders, and what a file defines (`core/ledger/claim.rs::claim`).

use std::collections::BTreeSet;
use std::path::Path;

use super::Finding;
use super::tree::{File, Tree};

const PAGE: &str = "ARCHITECTURE.md";
/// A section with this in its heading is a trace: each of its steps names a definition.
const TRACE: &str = "file by file";
/// Folders at the top of the repository that a name may begin with.
const TOP: [&str; 6] = ["crates", "examples", "campaign", "bench", "xtask", "docs"];
const ENDINGS: [&str; 2] = ["rs", "sql"];
const DEFINED_BY: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "macro_rules!"];

/// A file or folder as the page names it, and perhaps what it defines.
#[derive(Debug, PartialEq, Eq)]
struct Mention<'a> {
    path: &'a str,
    name: Option<&'a str>,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(PAGE) else { return Vec::new() };
    let mut found = Vec::new();
    // Folders that the section has named so far: `claim.rs` alone is a file in one of them.
    let mut folders = BTreeSet::new();
    let (mut is_trace, mut in_code) = (false, false);
    for (text, line) in page.text.lines().zip(1..) {
        in_code ^= text.starts_with("```");
        if in_code {
            continue;
        }
        if let Some(heading) = text.strip_prefix("## ") {
            folders.clear();
            is_trace = heading.ends_with(TRACE);
        }
        let mut finding = |what, fix| found.push(Finding { path: PAGE.to_owned(), line, what, fix });
        let mut defines = false;
        for mention in mentions(text, tree) {
            defines |= mention.name.is_some();
            if let Err((what, fix)) = resolve(&mention, &mut folders, tree) {
                finding(what, fix);
            }
        }
        if is_trace && is_step(text) && !defines {
            finding("the step names nothing that a file defines".to_owned(), "write `crate/file.rs::name`");
        }
    }
    found
}

/// `1. …` in a numbered list.
fn is_step(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && text[digits..].starts_with(". ")
}

/// What a line has in backticks and is a path: of a crate, from the root, or of a file by its name alone.
fn mentions<'a>(text: &'a str, tree: &Tree) -> Vec<Mention<'a>> {
    let tokens = text.split('`').skip(1).step_by(2);
    let mention = |token: &'a str| {
        let (path, name) = token.split_once("::").map_or((token, None), |(path, name)| (path, Some(name)));
        let first = path.split_once('/').map(|(first, _)| first);
        let is_path = match first {
            Some(first) => TOP.contains(&first) || is_crate(first, tree),
            None => is_file(path),
        };
        let spoken = path.contains([' ', '{', '*', ':']) || path.starts_with('/');
        (is_path && !spoken).then_some(Mention { path, name })
    };
    tokens.filter_map(mention).collect()
}

fn is_file(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

fn is_crate(name: &str, tree: &Tree) -> bool {
    tree.file(&format!("crates/{name}/Cargo.toml")).is_some()
}

/// Finds what is mentioned, and remembers its folder.
fn resolve(mention: &Mention<'_>, folders: &mut BTreeSet<String>, tree: &Tree) -> Result<(), (String, &'static str)> {
    let Mention { path, name } = mention;
    if !path.contains('/') {
        let candidates = folders.iter().map(|folder| format!("{folder}/{path}"));
        let files: Vec<&File> = candidates.filter_map(|path| tree.file(&path)).chain(tree.file(path)).collect();
        return defined_in(path, &files, *name);
    }
    let whole = from_root(path);
    if is_file(path) {
        let files: Vec<&File> = tree.file(&whole).into_iter().collect();
        folders.extend(whole.rsplit_once('/').map(|(folder, _)| folder.to_owned()));
        return defined_in(path, &files, *name);
    }
    let folder = format!("{}/", whole.trim_end_matches('/'));
    if !tree.files.iter().any(|file| file.path.starts_with(&folder)) {
        return Err((format!("there is no folder {path}"), "name it as it is now"));
    }
    folders.insert(folder.trim_end_matches('/').to_owned());
    Ok(())
}

/// `core/ledger/claim.rs` is `crates/core/src/ledger/claim.rs`.
fn from_root(path: &str) -> String {
    match path.split_once('/') {
        Some((first, rest)) if !TOP.contains(&first) => format!("crates/{first}/src/{rest}"),
        _ => path.to_owned(),
    }
}

fn defined_in(path: &str, files: &[&File], name: Option<&str>) -> Result<(), (String, &'static str)> {
    if files.is_empty() {
        return Err((format!("there is no file {path}"), "name it as it is now, with its crate: `crate/file.rs`"));
    }
    match name {
        Some(name) if !files.iter().any(|file| defines(&file.text, name)) => {
            Err((format!("{path} does not define `{name}`"), "name what it defines now"))
        }
        _ => Ok(()),
    }
}

/// Whether a source defines this, whatever it is.
fn defines(source: &str, name: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    DEFINED_BY.iter().any(|keyword| {
        let definition = format!("{keyword} {name}");
        source.match_indices(&definition).any(|(at, _)| {
            let (before, after) = (&source[..at], &source[at + definition.len()..]);
            !before.ends_with(in_word) && !after.starts_with(in_word)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: [(&str, &str); 4] = [
        ("crates/core/Cargo.toml", ""),
        ("crates/core/src/ledger/claim.rs", "pub struct Claim;\npub(crate) fn decide() {}\n"),
        ("crates/core/src/ledger/record.rs", "pub fn record() {}\n"),
        ("crates/core/tests/model/main.rs", ""),
    ];

    fn whats(page: &str) -> Vec<String> {
        let files: Vec<(&str, &str)> = TREE.into_iter().chain([(PAGE, page)]).collect();
        check(&Tree::of(&files)).into_iter().map(|finding| format!("{}: {}", finding.line, finding.what)).collect()
    }

    #[test]
    fn files_folders_and_definitions_that_exist_are_fine() {
        let page = "`core/ledger/claim.rs`, `core/ledger/`, `core/ledger`, `crates/core/tests/model`\n\
                    `core/ledger/claim.rs::Claim`, `core/ledger/claim.rs::decide`";
        assert_eq!(whats(page), [""; 0]);
    }

    #[test]
    fn a_file_or_folder_that_is_gone_is_reported() {
        assert_eq!(whats("\n`core/ledger/take.rs`"), ["2: there is no file core/ledger/take.rs"]);
        assert_eq!(whats("`core/none/`"), ["1: there is no folder core/none/"]);
        assert_eq!(whats("`crates/core/tests/models`"), ["1: there is no folder crates/core/tests/models"]);
    }

    #[test]
    fn a_name_that_the_file_does_not_define_is_reported() {
        let page = "`core/ledger/claim.rs::Clai`\n`core/ledger/claim.rs::record`";
        let expected =
            ["1: core/ledger/claim.rs does not define `Clai`", "2: core/ledger/claim.rs does not define `record`"];
        assert_eq!(whats(page), expected);
    }

    #[test]
    fn a_file_by_its_name_alone_is_in_a_folder_that_the_section_named() {
        assert_eq!(whats("`core/ledger/claim.rs`, then `record.rs::record`"), [""; 0]);
        assert_eq!(whats("in `core/ledger/`:\n`record.rs`"), [""; 0]);
        assert_eq!(whats("`record.rs`"), ["1: there is no file record.rs"]);
        let page = "`core/ledger/claim.rs`\n## Another section\n`record.rs`";
        assert_eq!(whats(page), ["3: there is no file record.rs"]);
    }

    #[test]
    fn each_step_of_a_trace_names_a_definition() {
        let page = |step: &str| format!("## One claim, file by file\n\n1. {step}\n");
        assert_eq!(whats(&page("`core/ledger/claim.rs::decide` decides")), [""; 0]);
        assert_eq!(whats(&page("`core/ledger/claim.rs` decides")), ["3: the step names nothing that a file defines"]);
        assert_eq!(whats("## Invariants\n\n1. One effect.\n"), [""; 0]);
    }

    #[test]
    fn what_is_not_a_path_is_left_alone() {
        let page = "`POST /v1/claims`, `http → runtime`, `Tx::commit`, `attempt.may_send()`, `/errors/`, `a/b`\n\
                    ```\n`core/gone.rs`\n```\n";
        assert_eq!(whats(page), [""; 0]);
    }
}
